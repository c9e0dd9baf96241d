"""Keys of the mesh, besides those that records are signed with."""
