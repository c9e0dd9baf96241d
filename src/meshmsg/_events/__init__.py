"""What happens to connections, told: to logging, to `on_event=` and to `watch()`.

Not here: what an event is (_binding/snapshots.py). Law: a user's function or handler never holds up
a send, a receive or the engine.
"""
