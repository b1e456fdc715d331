"""The VHDL simulator GHDL: run a design, and compare values and cycles with the prediction."""
