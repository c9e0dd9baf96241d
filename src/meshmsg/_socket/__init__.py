"""What every socket is, for threads and for asyncio: options, life, engine, inspection, and why a
call gave up; and what the roles share of their messages.

Not here: waiting (_sync, aio). Law: nothing here waits.
"""
