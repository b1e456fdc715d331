"""Levels, from networks to hardware: a transformation stays on its own, a lowering goes to a more specific one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graphrewrite.errors import did_you_mean
from graphrewrite.graph import Graph
from graphrewrite.graph.edit import Edit
from graphrewrite.hierarchy.graph_ops import nested_once
from graphrewrite.op import find_op
from graphrewrite.op.dialect import level_named
from graphrewrite.op.levels import LEVELS, Level
from graphrewrite.op.op import Op
from graphrewrite.rewriting.pattern import PatternNode
from graphrewrite.rewriting.rule.tracing import Definition
from graphrewrite.types import FixedPoint, Stream, Tensor

__all__ = ["KINDS", "NodeKinds", "keeps_levels", "level_of", "unlike", "wrong_kind", "wrong_levels"]

KINDS = ("transformation", "lowering")
"""Kinds of rules and passes."""


def level_of(op: Op | None, result: Any = None) -> Level | None:
    """Return the level of a node: that of its op, or of its type where that is more specific.

    Inputs and outputs, constants, bridges between levels and generic ops have no level of their own: None.

    Examples
    --------
    >>> from graphrewrite import FixedPoint, Tensor, op
    >>> nodes = [(op.relu, None), (op.relu, Tensor(FixedPoint(True, 8), ("N",))), (op.to_fixed, None)]
    >>> [level and level.name for level in (level_of(*node) for node in nodes)]
    ['nn', 'integer', None]
    """
    level = None if op is None else level_named(op.level, op.dialect)
    if level is None or level.dialect:
        return level
    if result.__class__ is Tensor:  # the most common case, asked at each step of rewriting
        return LEVELS[1] if level is LEVELS[0] and isinstance(result.element, FixedPoint) else level
    types = result if isinstance(result, tuple) else (result,)
    by_type = (2 if isinstance(t, Stream) else int(isinstance(getattr(t, "element", None), FixedPoint)) for t in types)
    return LEVELS[max(level.index, *by_type, 0)]


def unlike(kind: str, before: Iterable[Level | None], after: Mapping[str, Level | None]) -> str | None:
    """Return the reason why a change of levels is not allowed in a transformation, or a lowering; None if it is.

    Levels are those of the removed nodes, and those of the new nodes by the name of the op. Of levels of which neither
    is known to be more specific, a lowering may go from one to the other.

    Examples
    --------
    >>> nn, integer, *_ = LEVELS
    >>> unlike("transformation", [nn, None], {"requantise": integer})
    "is a transformation and makes 'requantise' of the level integer out of nn; declare it with kind='lowering'"
    """
    old = {level for level in before if level is not None}
    for name, new in after.items() if old else ():
        if new is None or new in old:
            continue
        # A transformation makes nothing more specific than before, a lowering nothing less specific.
        if kind == "transformation":
            is_allowed, remedy = any(new.stands_above(each) for each in old), "declare it with kind='lowering'"
        else:
            is_allowed = not all(new.stands_above(each) for each in old)
            remedy = "a lowering goes to a more specific level"
        if not is_allowed:
            bound = ", ".join(sorted(map(str, old)))
            return f"is a {kind} and makes {name!r} of the level {new} out of {bound}; {remedy}"
    return None


def wrong_levels(kind: str, graph: Graph, edit: Edit) -> str | None:
    """Return the reason why a planned edit is not allowed in a transformation, or a lowering; None if it is."""
    if not edit.added:
        return None
    before = [_level(graph, graph._node[name]) for name in edit.matched]
    return unlike(kind, before, {str(data["type"]): _level(graph, data) for _, data in edit.added})


def keeps_levels(kind: str, graph: Graph, matched: Iterable[str], new: Iterable[Any]) -> bool:
    """Tell whether the new parts of a replacement are allowed in a transformation, or a lowering."""
    before = [_level(graph, graph._node[name]) for name in matched]
    after = {part.op.name: level_of(part.op, getattr(part, "types", part.type)) for part in new}
    return unlike(kind, before, after) is None


def _level(graph: Graph, data: dict[str, Any]) -> Level | None:
    """Return the level of a node by its data, which need not be in the graph yet."""
    return level_of(find_op(data.get("type", ""), graph.ops), data.get("result"))


class NodeKinds:
    """Of what op each node of a graph is, and of what type its result, as that was before a pass.

    Attributes
    ----------
    types : set of str
        The names of the ops.
    """

    def __init__(self, graph: Any) -> None:
        self.kinds = _kinds_in(graph)
        self.types = {name for name, _ in self.kinds}
        self.ops = dict(getattr(graph, "ops", {}))  # which a plain digraph has not

    def wrong_after(self, kind: str, graph: Graph) -> str | None:
        """Return the reason why what a pass has made of the graph is no transformation, or no lowering."""
        before = _levels_of(self.kinds, self.ops)
        after = _levels_of(_kinds_in(graph), graph.ops)
        new = {name: level for (name, result), level in after.items() if (name, result) not in before}
        return unlike(kind, before.values(), new)


def _kinds_in(graph: Any) -> list[tuple[str, Any]]:
    return [(data.get("type", ""), data.get("result")) for data in graph._node.values()]


def _levels_of(kinds: Iterable[tuple[str, Any]], ops: Mapping[str, Op]) -> dict[tuple[str, Any], Level | None]:
    """Return the level of each kind of node, where some ops come before those of the library."""
    with nested_once():
        return {(name, result): level_of(find_op(name, ops), result) for name, result in set(kinds)}


def wrong_kind(kind: str, definition: Definition) -> str | None:
    """Return the reason why a rule is not of its kind, as far as its source tells; None if it may be."""
    if kind not in KINDS:
        return f"kind is 'transformation' or 'lowering', not {kind!r}{did_you_mean(kind, KINDS)}"
    terms = [term for term in definition.pattern.terms if isinstance(term, PatternNode)]
    if definition.template is None or kind == "lowering" or not all(term.ops for term in terms):
        return None
    before = [level_of(op) for term in terms for op in term.ops]
    return unlike(kind, before, {node.op.name: level_of(node.op) for node in definition.template.nodes})
