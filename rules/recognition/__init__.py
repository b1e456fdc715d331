"""Composite ops from their parts: what exporters take apart, in one node again."""
