"""The text form of graphs: one notation for printing, parsing, golden files, differences and counterexamples.

A line is a node: ``name = op(operands, attribute=value) : type``. Further notation:

- ``r = relu(x:1, ^a, ^b:memory)``: an operand is the second result of `x`; `r` runs after `a` and `b` without reading
  them (control edges, with their kind after the colon).
- ``m = ?Foo(x, alpha=1) : f32[N]``: a raw node, which is not checked against an op: `Foo` is unknown, or its type or
  attributes differ from those inferred. ``?()`` is a node without a type.
- ``~a`` and ``~a{'weight': 2}``: edges of digraphs that are not dataflow graphs, with their data.
- ``graph net(author='me')`` and ``module net``: the first line of a graph or module, with its attributes. Nested
  graphs, and the graphs of a module, follow.
- ``c = cond(x, y, then=body(double), otherwise=body(half))``: attributes that are graphs; each follows, its first line
  is ``body double``.
- ``value=@'array_1'``: an array in a separate file; ``value=<400 values, 0 to 1>`` is an abbreviation that cannot be
  parsed, as are long mappings such as ``doc=<1 entry, 2,011 letters>``.
"""

from __future__ import annotations

from graphrewrite.formats.text.graph_printer import lines_of, to_text
from graphrewrite.formats.text.line_printer import line_of, line_of_data
from graphrewrite.formats.text.literal_printer import format_attribute, format_exactly

__all__ = ["format_attribute", "format_exactly", "line_of", "line_of_data", "lines_of", "to_text"]
