"""Synthesis: what a design takes of an FPGA, by GHDL, Yosys and nextpnr, beside what its components predict."""

from graphrewrite.hdl.synthesis.family import FAMILIES, Family, Usage
from graphrewrite.hdl.synthesis.flow import synthesise
from graphrewrite.hdl.synthesis.report import Clock, PartReport, SynthesisReport

__all__ = ["FAMILIES", "Clock", "Family", "PartReport", "SynthesisReport", "Usage", "synthesise"]
