"""Dedupe windows: which messages were done already, in memory or in a table beside the effect."""
