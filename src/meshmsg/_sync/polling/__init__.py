"""Waiting for many sockets at once."""
