"""The mesh: peers that find each other. What it does without sockets, threads or clocks."""
