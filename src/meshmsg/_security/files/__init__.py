"""Files with keys and secrets: how they are written, read and refused."""
