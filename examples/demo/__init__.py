"""The main job: real records, over real sockets, through a real Spark job, and back.

    producer process                 Spark, local mode                      this process
    WorkQueue (PUSH) <--credits--- task 0: Worker (PULL), PUSH ----+
                     ---records--> task 1: Worker (PULL), PUSH ----+--results--> PULL

Run it with `make demo`, or `python -m examples.demo --help` from the top of the repository.
Every process also sends samples of its sockets' `stats()` to this one, for the picture.
"""
