"""Ranges of a spool, for readers in other processes: what is asked and answered, and by whom."""
