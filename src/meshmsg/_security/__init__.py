"""Keys and the libraries that protect connections.

Not here: what a socket does with them.
"""
