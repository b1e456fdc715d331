"""Why a rule does or does not apply at a node: a sentence, and what it is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import networkx as nx

__all__ = ["Explanation"]

_NOTHING: Mapping[Any, Any] = {}


class Explanation(str):
    """A sentence that says why a rule does or does not apply at a node; a notebook draws what it says.

    It is the sentence itself, a `str`, and keeps what the search found.

    Attributes
    ----------
    rule : object
        The rule.
    graph : networkx.DiGraph
        Where it was tried; not a copy.
    at : node
        The node that was asked for.
    match : Match, GraphMatch or None
        The match, if there is one.
    node : node or None
        Where the search came to its end furthest into the pattern.
    reason : str
        What hindered it there; empty if the rule applies.
    term : object
        What of the pattern that node should have been; None where it is none alone.
    fits : mapping
        Terms of the pattern, or nodes of a pattern that is a graph, to what fits them.
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
    >>> told = drop_double_negation.explain(graph, at="n")
    >>> print(told)
    drop_double_negation does not match at 'n': 'r' is relu, and the pattern needs neg.
    >>> told.nodes, told.node, told.match
    (('n',), 'r', None)
    >>> told
    <explanation: drop_double_negation does not match at 'n'>
    """

    rule: Any
    graph: nx.DiGraph
    at: Any
    match: Any
    node: Any
    reason: str
    term: Any
    fits: Mapping[Any, Any]
    nodes: tuple[Any, ...]

    def __new__(
        cls,
        sentence: str,
        *,
        rule: Any = None,
        graph: Any = None,
        at: Any = None,
        match: Any = None,
        node: Any = None,
        reason: str = "",
        term: Any = None,
        fits: Mapping[Any, Any] = _NOTHING,
        nodes: Iterable[Any] = (),
    ) -> Explanation:
        """Return the sentence with what it is about."""
        told = super().__new__(cls, sentence)
        told.rule, told.graph, told.at, told.match = rule, graph, at, match
        told.node, told.reason, told.term = node, reason, term
        told.fits, told.nodes = dict(fits), tuple(nodes)
        return told

    @property
    def is_match(self) -> bool:
        """Whether the rule applies."""
        return self.match is not None

    def __repr__(self) -> str:
        verb = "matches" if self.is_match else "does not match"
        return f"<explanation: {getattr(self.rule, 'name', 'the rule')} {verb} at {self.at!r}>"

    def show(self) -> Any:
        """Return the display: what fits in green and what hinders in red, in the graph and beside it in the pattern."""
        from graphrewrite.view.rules.explained import (
            explained,  # the view is a leaf that knows rules, loaded when asked for
        )

        return explained(self)

    def _repr_html_(self) -> str:
        """Let Jupyter show it."""
        html: str = self.show()._repr_html_()
        return html
