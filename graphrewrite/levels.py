"""Levels, from networks to hardware: a transformation stays on its own, a lowering goes to a more specific one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graphrewrite.definition import Definition
from graphrewrite.edit import Edit
from graphrewrite.errors import did_you_mean
from graphrewrite.graph import Graph
from graphrewrite.op import find_op
from graphrewrite.op.op import Op
from graphrewrite.pattern import PatternNode
from graphrewrite.types import FixedPoint, Stream

__all__ = ["KINDS", "LEVELS", "level_of", "levels_in", "new_levels", "unlike", "wrong_kind", "wrong_levels"]

LEVELS = ("nn", "integer", "stream")
"""From the least specific level to the most specific one."""

KINDS = ("transformation", "lowering")
"""What a rule or a pass can be."""


def level_of(op: Op | None, result: Any = None) -> int | None:
    """Return how specific a node is: by its op, or by the type of its result where that is more specific.

    Parameters
    ----------
    op : Op or None
        Its op, if it is known.
    result : Tensor, Stream or tuple of them, optional
        The type of its result.

    Returns
    -------
    int or None
        Index into `LEVELS`; None for what has no level of its own: inputs and outputs, constants, bridges between
        levels, generic ops.

    Examples
    --------
    >>> from graphrewrite import FixedPoint, Tensor, op
    >>> level_of(op.relu), level_of(op.relu, Tensor(FixedPoint(True, 8), ("N",))), level_of(op.to_fixed)
    (0, 1, None)
    """
    if op is None or op.level not in LEVELS:
        return None
    types = result if isinstance(result, tuple) else (result,)
    by_type = (2 if isinstance(t, Stream) else int(isinstance(getattr(t, "element", None), FixedPoint)) for t in types)
    return max(LEVELS.index(op.level), *by_type, 0)


def unlike(kind: str, before: Iterable[int | None], after: Mapping[str, int | None]) -> str | None:
    """Say why a change of levels is none of a transformation, or of a lowering.

    Parameters
    ----------
    kind : {"transformation", "lowering"}
        What the change should be.
    before : iterable of int or None
        Levels of what goes.
    after : mapping of str to int or None
        Levels of what comes, by the name of the op.

    Returns
    -------
    str or None

    Examples
    --------
    >>> unlike("transformation", [0, None], {"requantise": 1})
    "is a transformation and makes 'requantise' of the level integer out of nn; declare it with kind='lowering'"
    """
    old = [level for level in before if level is not None]
    new = {name: level for name, level in after.items() if level is not None}
    if not old or not new:
        return None
    if kind == "transformation":
        name = max(new, key=new.__getitem__)
        if new[name] > max(old):
            return (
                f"is a transformation and makes {name!r} of the level {LEVELS[new[name]]} out of {LEVELS[max(old)]}; "
                "declare it with kind='lowering'"
            )
        return None
    name = min(new, key=new.__getitem__)
    if new[name] < min(old):
        return (
            f"is a lowering and makes {name!r} of the level {LEVELS[new[name]]} out of {LEVELS[min(old)]}; a lowering "
            "goes to a more specific level"
        )
    return None


def wrong_levels(kind: str, graph: Graph, edit: Edit) -> str | None:
    """Say why an edit is none of a transformation, or of a lowering.

    Parameters
    ----------
    kind : {"transformation", "lowering"}
        What it should be.
    graph : Graph
        Before the edit.
    edit : Edit
        What is planned.

    Returns
    -------
    str or None
    """
    if not edit.added:
        return None
    ops, nodes = graph.ops, graph._node

    def level(data: dict[str, Any]) -> int | None:
        name = data.get("type", "")
        return level_of(find_op(name, ops), data.get("result"))

    before = [level(nodes[name]) for name in edit.matched]
    return unlike(kind, before, {str(data["type"]): level(data) for _, data in edit.added})


def levels_in(graph: Graph) -> dict[tuple[str, Any], int | None]:
    """Return the level of each kind of node in a graph: of each op with each type of its result."""
    kinds = {(data.get("type", ""), data.get("result")) for data in graph._node.values()}
    return {(name, result): level_of(find_op(name, graph.ops), result) for name, result in kinds}


def new_levels(
    before: Mapping[tuple[str, Any], int | None], after: Mapping[tuple[str, Any], int | None]
) -> dict[str, int | None]:
    """Return the levels of the kinds of nodes that were not there before, by the name of the op."""
    return {name: level for (name, result), level in after.items() if (name, result) not in before}


def wrong_kind(kind: str, definition: Definition) -> str | None:
    """Say why a rule is none of its kind, as far as its text tells: what it replaces, and what it makes.

    Parameters
    ----------
    kind : str
        What it is declared to be.
    definition : Definition
        What its function says.

    Returns
    -------
    str or None
    """
    if kind not in KINDS:
        return f"kind is 'transformation' or 'lowering', not {kind!r}{did_you_mean(kind, KINDS)}"
    terms = [term for term in definition.pattern.made if isinstance(term, PatternNode)]
    if definition.template is None or kind == "lowering" or not all(term.ops for term in terms):
        return None
    before = [level_of(op) for term in terms for op in term.ops]
    return unlike(kind, before, {node.op.name: level_of(node.op) for node in definition.template.nodes})
