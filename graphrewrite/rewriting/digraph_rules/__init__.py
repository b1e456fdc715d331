"""Rules over digraphs of any kind: a pattern graph and the graph that takes its place."""

from graphrewrite.rewriting.digraph_rules.digraph_rule import GraphRule, from_graphs
from graphrewrite.rewriting.digraph_rules.match import GraphMatch, non_overlapping
from graphrewrite.rewriting.digraph_rules.naming import fresh_name
from graphrewrite.rewriting.digraph_rules.pattern import GraphPattern

__all__ = ["GraphMatch", "GraphPattern", "GraphRule", "fresh_name", "from_graphs", "non_overlapping"]
