"""Measure meshmsg beside others: `python -m meshmsg.bench thr`, `lat`, and more (`--help`).

Sender and receiver are separate processes (threads for inproc), the peers' rounds are interleaved,
and the rates of both ends are shown, because a sender that only fills a queue is fast in every
library.  Only ratios measured in one run count; nothing counts as sent until it was received.
"""
