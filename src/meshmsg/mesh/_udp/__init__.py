"""The mesh over datagrams, where the user asks for it."""
