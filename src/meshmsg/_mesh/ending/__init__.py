"""When what a node thinks of a member comes to an end."""
