"""Rules over digraphs of any kind: a pattern graph and the graph that takes its place."""

from graphrewrite.graph_rule.definition import from_graphs
from graphrewrite.graph_rule.found import GraphMatch, non_overlapping
from graphrewrite.graph_rule.naming import fresh_name
from graphrewrite.graph_rule.pattern import GraphPattern
from graphrewrite.graph_rule.rule import GraphRule

__all__ = ["GraphMatch", "GraphPattern", "GraphRule", "fresh_name", "from_graphs", "non_overlapping"]
