"""Cycle prediction: when each beat moves, how deep buffers must be, and whether a network can run at all."""
