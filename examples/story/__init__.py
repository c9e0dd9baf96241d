"""The full story: records kept by their producers, counted by Spark, and sent back, exactly.

    producer: Spool, SpoolServer ---+                          this process
    producer: Spool, SpoolServer ---+--> Spark: executors read, parse, aggregate --Push--> Pull
       found through a mesh              one worker is killed in the middle

Run it with `make demo`, or `python -m examples.story --help` from the top of the repository.
What it shares with the other demo, of work that is handed out to tasks, is in `examples.demo`.
"""
