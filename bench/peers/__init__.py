"""Who is measured: the shape they share (`seam`), meshmsg, pyzmq; and all by name (`roster`)."""
