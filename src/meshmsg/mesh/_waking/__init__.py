"""How the thread of a mesh and those that use it wake each other, and what is done for whom."""
