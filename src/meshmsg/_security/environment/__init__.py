"""The policy that the environment names: MESHMSG_SECURITY is the path of a file.

`variable` says whether there is one, `ini` reads the file, `mechanisms` has what may stand in it.
Not here: which sockets have it (_socket/engine.py).
"""
