"""Spools for asyncio."""
