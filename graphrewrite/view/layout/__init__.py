"""Scenes laid out by Graphviz: its language, its program, and the SVG that it writes."""
