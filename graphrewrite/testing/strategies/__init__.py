"""Hypothesis strategies: graphs, inputs, attributes, types."""

from graphrewrite.testing.strategies.attributes import attributes_of
from graphrewrite.testing.strategies.graphs import graphs
from graphrewrite.testing.strategies.inputs import inputs_for
from graphrewrite.testing.strategies.types import types

__all__ = ["attributes_of", "graphs", "inputs_for", "types"]
