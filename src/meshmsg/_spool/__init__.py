"""Spools: messages that are kept in files, by number, and read again."""
