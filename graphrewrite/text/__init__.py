"""The text form: one notation for printing, golden files, differences, counterexamples, and for reading graphs.

A line is a node: ``name = op(operands, attribute=value) : type``. What else there is:

- ``r = relu(x:1, ^a, ^b:memory)``: an operand is the second result of `x`; `r` comes after `a` and `b` without reading
  them (a control edge, its kind behind the colon).
- ``m = ?Foo(x, alpha=1) : f32[N]``: to be taken as it is written. `Foo` may be an op that nobody knows, or the node is
  not what the op would make of its operands. ``?()`` is a node without a type.
- ``~a`` and ``~a{'weight': 2}``: edges of digraphs that are no dataflow, with their data.
- ``graph net(author='me')`` and ``module net``: the first line of a graph or module, with its attributes. The graphs
  that are nodes of a graph, or make up a module, follow below it.
- ``value=@'array_1'``: an array in the file beside the text; ``value=<400 values, 0 to 1>`` is for people only, and so
  are long mappings such as ``body=<graph 'loop', 12 nodes>``.
"""

from __future__ import annotations

from graphrewrite.text.line import line_of, line_of_data
from graphrewrite.text.literal import format_attribute, format_exactly
from graphrewrite.text.printed import lines_of, to_text

__all__ = ["format_attribute", "format_exactly", "line_of", "line_of_data", "lines_of", "to_text"]
