"""What was promised of meshmsg's speed, and the stored line; only in a checkout."""
