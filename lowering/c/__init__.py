"""Graphs as plain C: kernels by op, loops over arrays, memory by place."""

from graphrewrite.lowering.c.emission import C_OPS, to_c
from graphrewrite.lowering.c.running import run_c

__all__ = ["C_OPS", "run_c", "to_c"]
