"""Rewrite graphs, watch it happen, test and prove it, and take a trained network down to VHDL."""
