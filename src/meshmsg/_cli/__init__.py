"""The command line: `meshmsg`, or `python -m meshmsg`.

`program` has the commands, `codes` what they end with; `making` makes keys, `lists` changes who may
come in, `showing` tells what is in a file, `doctor` finds out why a connection works or not. Not
here: the bench (`python -m meshmsg.bench`). Law: nothing printed has a secret.
"""
