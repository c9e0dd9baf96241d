"""The commands, a file for each kind of measurement; `args` is what they share."""
