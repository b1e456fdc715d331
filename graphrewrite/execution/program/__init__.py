"""Compiled programs for evaluation: a schedule of steps, a memory plan and instructions.

`compile_graph` reads a graph once. Nodes that have a translation become instructions of a *kernel*; all others are
*calls* of their op's function on arrays, batch first. A kernel computes integers in floating point, to use matrix
products and vector units, and only where that is provably exact: bounds follow from the formats of its entries, the
weights and the limits of each requantisation, and a carrier (`carrier`) is chosen that holds every partial sum. Nodes
without such a proof are called, and so are the nodes of a kernel whose entries violate a premise at run time (a
mantissa outside of its format, NaN): the results have the same bits either way.

Layers on numbers that were dequantised are exact sums, too, which are scaled and rounded once (`exact_layers`): their
results have the same bits for any batch, by instructions (`quantised_islands`) and by calls.

Networks of real numbers with convolutions also run as instructions (`reals`): large batches in chunks, and a few frames
one by one, if their convolutions have enough to do. Sums are then rounded in another order than those of the ops'
functions, which compute the others.
"""

from graphrewrite.execution.program.program import Program, compile_graph

__all__ = ["Program", "compile_graph"]


def __dir__() -> list[str]:
    return sorted(__all__)
