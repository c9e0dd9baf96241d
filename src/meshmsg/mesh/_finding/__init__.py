"""Where nodes may be: the seeds, and the thread that asks them."""
