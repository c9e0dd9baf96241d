"""Starts and leads the ends, in rounds, and makes figures of what they say."""
