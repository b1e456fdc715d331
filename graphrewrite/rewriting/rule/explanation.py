"""The explanation why a rule does or does not apply at a node: a sentence, with the rule, the graph and the nodes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from graphrewrite.runtime.display import Displayed

__all__ = ["Explanation"]


class Explanation(Displayed, str, shown_by="rules.explained.explained"):
    """A sentence that says why a rule does or does not apply at a node; a notebook draws it.

    It is the sentence itself, a `str`, with the results of the search; true if the rule applies.

    Attributes
    ----------
    rule : object
        The rule.
    graph : networkx.DiGraph
        The graph in which it was tried; not a copy.
    at : node
        The node at which it was tried.
    match : Match, GraphMatch or None
        The match, if there is one.
    node : node or None
        The node at which the search came furthest into the pattern.
    reason : str
        Why it stopped there; empty if the rule applies.
    term : object
        The term of the pattern that the node did not match; None for the match as a whole.
    fits : mapping
        Terms of the pattern, or nodes of a pattern graph, each with its match.
    nodes : tuple
        All nodes that fit.

    Examples
    --------
    >>> from graphrewrite import Graph, op, rule
    >>> @rule
    ... def drop_double_negation(x):
    ...     yield op.neg(op.neg(x))
    ...     return x
    >>> graph = Graph.parse('''graph g
    ... x = input() : f32[N]
    ... r = relu(x)
    ... n = neg(r)
    ... y = output(n)''')
    >>> explanation = drop_double_negation.explain(graph, at="n")
    >>> print(explanation)
    drop_double_negation does not match at 'n': 'r' is relu, and the pattern needs neg.
    >>> explanation.nodes, explanation.node, explanation.match
    (('n',), 'r', None)
    >>> bool(explanation)
    False
    >>> explanation
    <explanation: drop_double_negation does not match at 'n'>
    """

    rule: Any = None
    graph: Any = None
    at: Any = None
    match: Any = None
    node: Any = None
    reason: str = ""
    term: Any = None
    fits: Mapping[Any, Any] = MappingProxyType({})
    nodes: tuple[Any, ...] = ()

    def __new__(cls, sentence: str, **attributes: Any) -> Explanation:
        """Return the sentence with its attributes."""
        explanation = super().__new__(cls, sentence)
        vars(explanation).update(attributes)
        explanation.fits, explanation.nodes = dict(explanation.fits), tuple(explanation.nodes)
        return explanation

    @property
    def is_match(self) -> bool:
        """Whether the rule applies."""
        return self.match is not None

    def __bool__(self) -> bool:
        return self.is_match

    def __repr__(self) -> str:
        verb = "matches" if self.is_match else "does not match"
        return f"<explanation: {getattr(self.rule, 'name', 'the rule')} {verb} at {self.at!r}>"
