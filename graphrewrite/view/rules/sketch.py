"""A rule as a picture: its pattern, and its replacement as far as it does not depend on a match."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from graphrewrite.rewriting.digraph_rules import GraphRule
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.view.colour import PAPER
from graphrewrite.view.picture import Picture
from graphrewrite.view.rules.conditions import conditions_of, declines_of
from graphrewrite.view.rules.graph_sketch import graph_sketch_of
from graphrewrite.view.rules.outline import outline, with_words
from graphrewrite.view.rules.standin import replacement_of
from graphrewrite.view.scene import Box, Scene
from graphrewrite.view.source import source_of

__all__ = ["pattern_scene", "rule_picture", "sketch_of", "text_of"]


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


def pattern_scene(rule: Rule, *, marks: Mapping[int, str] | None = None) -> Scene:
    """Return the pattern of a rule."""
    pattern = rule.pattern
    terms = (*pattern.roots, *pattern.forbidden)
    return outline(f"{rule.name}: pattern", pattern, terms, "replaced", marks=marks)


def sketch_of(rule: Rule, *, words: bool = True) -> tuple[Scene, ...]:
    """Return the pattern of a rule and its replacement, to be drawn side by side.

    Examples
    --------
    >>> from graphrewrite import op, rule
    >>> @rule
    ... def fuse_mul_add(x, c, d):
    ...     "x·c + d is one fused multiply-add."
    ...     yield op.add(op.mul(x, c), d)
    ...     return op.fma(x, c, d)
    >>> before, after = sketch_of(fuse_mul_add)
    >>> [box.kind or box.name for box in before.boxes]
    ['x', 'c', 'mul', 'd', 'add', 'replaced']
    >>> [box.kind or box.name for box in after.boxes]
    ['x', 'c', 'd', 'fma', 'replacement']
    """
    pattern = rule.pattern
    before = pattern_scene(rule)
    if not words:
        before = replace(before, title="pattern")
    before = with_words(before, "declines", declines_of(rule.function) if words else ())
    replacement = replacement_of(rule)
    if replacement is None:
        return before, Scene("⇒ replacement", (Box("", "", PAPER, code=source_of(rule.function, below="yield")),), ())
    title = "⇒ replacement" + (" (sketch)" if replacement.guessed else "")
    return before, outline(title, pattern, replacement.terms, "replacement")


def text_of(rule: Rule) -> str:
    """Return a rule as text: its pattern, and below it its requirements and reasons to decline.

    Examples
    --------
    >>> from graphrewrite import decline, op, rule
    >>> @rule
    ... def drop_multiply_by_one(x):
    ...     "One times x is x."
    ...     product = op.mul(x, 1)
    ...     yield product
    ...     return x if x.type == product.type else decline("the one broadcasts x")
    >>> print(text_of(drop_multiply_by_one))
    drop_multiply_by_one: mul(x, 1)
      declines: the one broadcasts x
    """
    return "\n".join([str(rule), *(f"  {condition}" for condition in conditions_of(rule))])
