"""Measure throughput and latency: `python -m meshmsg.bench thr` and `python -m meshmsg.bench lat`.

Sender and receiver are separate processes (threads for inproc), repetitions of the libraries are
interleaved, and the rates of both ends are shown, because a sender that only fills a queue is
fast in every library.
"""
