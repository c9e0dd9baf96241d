"""How long a node waits: for answers, and until what it thinks of a member comes to an end."""
