"""Graphs and modules: whole, in part, beside one another, and as tables."""
