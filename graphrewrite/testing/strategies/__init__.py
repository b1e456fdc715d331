"""Hypothesis strategies: graphs and digraphs, inputs, attributes, types."""

from graphrewrite.testing.strategies.attributes import attributes_of
from graphrewrite.testing.strategies.digraph_strategy import digraphs
from graphrewrite.testing.strategies.graph_strategy import graphs
from graphrewrite.testing.strategies.inputs import inputs_for
from graphrewrite.testing.strategies.pattern_strategy import patterns
from graphrewrite.testing.strategies.type_strategy import types

__all__ = ["attributes_of", "digraphs", "graphs", "inputs_for", "patterns", "types"]
