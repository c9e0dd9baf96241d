"""The sockets for threads, which may block, and the Poller: what `meshmsg` gives out.

Not here: what they share with those for asyncio (_socket). Law: whoever waits here runs signal
handlers in between.
"""
