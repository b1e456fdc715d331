"""Hypothesis strategies: graphs, inputs, attributes."""

from graphrewrite.testing.strategies.attributes import attributes_of
from graphrewrite.testing.strategies.graphs import graphs
from graphrewrite.testing.strategies.inputs import inputs_for

__all__ = ["attributes_of", "graphs", "inputs_for"]
