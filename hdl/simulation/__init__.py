"""Simulation in numpy: values and cycles as the VHDL gives them, and waveforms of them."""
