"""A rule as a picture."""

from __future__ import annotations

from graphrewrite.rewriting.digraph_rules import GraphRule
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.view.picture import Picture
from graphrewrite.view.rules.graph_sketch import graph_sketch_of
from graphrewrite.view.rules.sketch import sketch_of, text_of

__all__ = ["rule_picture"]


def rule_picture(rule: Rule | GraphRule, *, direction: str = "TB") -> Picture:
    """Return a picture of a rule: its pattern beside its replacement, as far as that does not depend on a match.

    Parameters
    ----------
    rule : Rule or GraphRule
        Any rule.
    direction : {"TB", "LR"}
        As for `graphrewrite.view.dispatch`.

    Examples
    --------
    >>> from graphrewrite.rules import drop_identity
    >>> [scene.title for scene in rule_picture(drop_identity).scenes]
    ['drop_identity: pattern', '⇒ replacement']
    """
    if isinstance(rule, GraphRule):
        return Picture(graph_sketch_of(rule), str(rule), direction=direction)
    return Picture(sketch_of(rule), text_of(rule), direction=direction)
