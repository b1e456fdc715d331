"""Graphs and modules as nested dictionaries of primitive types, without loss in either direction."""
