"""What one end of a measurement does in its own process (`process`), or as a thread of one."""
