"""The border to C: the extension, its errors, and what goes in and comes out as Python objects.

Not here: sockets. Law: core.py alone imports the extension; nothing here knows a role.
"""
