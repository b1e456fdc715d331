"""The low-level program that evaluation runs: a schedule of steps, a plan of memory, instructions.

`compile_graph` reads a graph once. Nodes that have a translation become instructions of a *kernel*; all others are
*calls* of their op's function on arrays, batch first. A kernel computes whole numbers in floating point, with matrix
products and vector units, and only where that is provably exact: bounds follow from the formats of its entries, from
the weights and from the limits of each requantisation, and a carrier is chosen that holds every partial sum
(`carrier`). What cannot be proven is called, and so is a kernel whose entries break a premise at run time (a mantissa
outside of its format, NaN): the results are the same bits either way.

Networks of real numbers with convolutions run as instructions as well, in large batches (`reals`); their sums are
rounded in another order than those of the ops' functions, which compute small batches.
"""

from graphrewrite.program.program import Program, compile_graph

__all__ = ["Program", "compile_graph"]
