"""Other libraries and brokers that are measured beside meshmsg; only in a checkout."""
