"""How a node of a mesh meets others: whom it tries, and who turns out to be of another one."""
