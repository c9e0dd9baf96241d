"""Who is no member asks a node who is there, and the node answers."""
