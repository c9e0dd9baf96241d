"""The roles, each once: what the classes for threads and for asyncio are made of.

Not here: waiting, and with it sending and receiving (_sync, aio). Law: nothing here waits.
"""
