"""Graphs and modules as nested dictionaries of primitive types, as JSON, and in files."""
