"""Ops of the level memory: regions, computing into them, and parts of them; each writes a new version of a region."""
