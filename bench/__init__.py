"""Measure meshmsg beside others: `python -m bench thr`, `lat`, and more (`--help`).

Sender and receiver are separate processes (threads for inproc), the peers' rounds are interleaved,
and the rates of both ends are shown, because a sender that only fills a queue is fast in every
library.  Only ratios measured in one run count; nothing counts as sent until it was received.

The rooms, each of which imports only those before it:

* `base`: what a measurement is told, what of it may be missing here, facts of the machine.
* `peers`: the one shape of whoever is measured; meshmsg and pyzmq; and all by name.
* `ends`: what one end does in its own process.
* `scenarios`: measurements written down in YAML, and how they are read.
* `measure`: starts and leads processes, in rounds, and makes figures of what they say.
* `report`: figures as tables, charts, JSON and a page.
* `commands`: one file for the command line of each kind of measurement.

An installed meshmsg has these, as `python -m meshmsg.bench`: they measure a machine or a network of
one's own.  Only a checkout has what is about the project itself:

* `rivals`: the other libraries and brokers, and `c`, those of them that are C programs.
* `targets`: what was promised, the stored line, and the command for `micro`.
* `micro`: micro-benchmarks of the core, for pytest-benchmark.
"""
