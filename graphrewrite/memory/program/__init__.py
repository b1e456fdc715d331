"""The text of programs over memory: printed, and parsed."""
