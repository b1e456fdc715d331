"""Hypothesis strategies: graphs and digraphs, inputs, attributes, types."""

from graphrewrite.testing.strategies.attributes import attributes_of
from graphrewrite.testing.strategies.digraphs import digraphs
from graphrewrite.testing.strategies.graphs import graphs
from graphrewrite.testing.strategies.inputs import inputs_for
from graphrewrite.testing.strategies.patterns import patterns
from graphrewrite.testing.strategies.types import types

__all__ = ["attributes_of", "digraphs", "graphs", "inputs_for", "patterns", "types"]
