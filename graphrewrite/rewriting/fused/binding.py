"""A fused rule, from its source to a function on the dictionaries of one graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph
from graphrewrite.rewriting.fused.editing import EditWriter
from graphrewrite.rewriting.fused.matching import NotPlainError, slot
from graphrewrite.rewriting.pattern import Pattern
from graphrewrite.rewriting.rule.template import Hole, Template
from graphrewrite.runtime.generated_code import compile_function

__all__ = ["Step", "Surroundings", "fuse"]

_REMEMBERED = 4096
"""So many combinations of types a fused rule tells by their identity."""

Step = Callable[[str], Any]
"""From a node to None, where nothing matches; to what the general path returns; to a record, or True."""


@dataclass(frozen=True)
class Surroundings:
    """The parts of the engine that a fused rule needs.

    Attributes
    ----------
    general : callable
        The general path: tries the rule at a node, and applies it with all that follows.
    later, pending : callable, dict
        Of `graphrewrite.graph.provenance.Provenance`.
    push : callable
        Queues a node, near another one.
    roots : frozenset of str
        Types of new nodes to queue.
    above : callable, optional
        Queues what new readers of a value may have enabled.
    is_awaited : callable
        Whether anything is to be queued above a new node of some type.
    released : callable, optional
        Queues what a value that lost a reader may have enabled.
    mode : {"bare", "journal", "full"}
        As for `graphrewrite.rewriting.fused.editing.EditWriter.write`.
    note : callable, optional
        Takes what a step tells in mode "journal".
    """

    general: Callable[[str], Any]
    later: Callable[..., None]
    pending: dict[str, Any]
    push: Callable[[str, str], None]
    roots: frozenset[str]
    above: Callable[..., None] | None
    is_awaited: Callable[[str], bool]
    released: Callable[..., None] | None
    mode: str
    note: Callable[[tuple[Any, ...]], None] | None


def fuse(pattern: Pattern, template: Template) -> Callable[[Any, Graph, Surroundings], Step] | None:
    """Return what makes a function for a graph that matches and replaces at once; None where that is not possible."""
    if len(pattern.roots) != 1:
        return None
    codes: dict[str, tuple[CodeType, dict[str, Any]]] = {}

    def code(mode: str) -> tuple[CodeType, dict[str, Any]]:
        if mode not in codes:
            writer = EditWriter(pattern, template)
            codes[mode] = compile_function(writer.write(mode), str(pattern)), writer.known
        return codes[mode]

    try:
        code("bare")
    except NotPlainError:
        return None
    (value,) = template.values

    def bind(rule: Any, graph: Graph, around: Surroundings) -> Step:
        source, known = code(around.mode)
        types: dict[tuple[int, ...], tuple[Any, ...]] = {}
        scope: dict[str, Any] = {
            "rule": rule,
            "note": around.note,
            "node": graph._node,
            "pred": graph._pred,
            "succ": graph._succ,
            "attributes": graph.attributes,
            "fresh": graph._fresh,
            "general": around.general,
            "join": _joiner(graph),
            "types": types,
            "typed": _typer(graph, template, types),
            "pending": around.pending,
            "later": around.later,
            "push": around.push,
            "roots": around.roots,
            "above": around.above,
            "wakes": around.above is not None and (isinstance(value, Hole) or around.is_awaited(value.op.name)),
            "released": around.released,
            "drops": around.released is not None,
            **known,
        }
        exec(source, scope)
        step: Step = scope["step"]
        return step

    return bind


def _typer(graph: Graph, template: Template, cache: dict[tuple[int, ...], tuple[Any, ...]]) -> Callable[..., Any]:
    """Return what finds the types of new nodes; None where they do not fit, which the general path complains about."""
    (value,) = template.values
    read = [v for v in [*(v for new in template.nodes for v in new.operands), value] if isinstance(v, Hole)]
    positions = list(dict.fromkeys(v.place for v in read))

    def key(value: Any) -> int:
        return value.place if isinstance(value, Hole) else id(value)

    def typed(kinds: tuple[Any, ...], wanted: Any, attributes: tuple[Any, ...] | None = None) -> Any:
        if any(kind is None or isinstance(kind, tuple) for kind in (*kinds, wanted)):
            return None
        at: dict[int, Any] = dict(zip(positions, kinds, strict=True))
        new_types = []
        try:
            for i, new in enumerate(template.nodes):
                own = new.attributes if attributes is None else attributes[i]
                (at[id(new)],) = new.op.result_types(tuple(at[key(v)] for v in new.operands), own)
                new_types.append(at[id(new)])
                if at[id(new)].unknowns:  # which may have to get numbers
                    return None
        except GraphRewriteError:
            return None
        if at[key(value)] != wanted:
            return None
        for new in template.nodes:
            graph.adopt(new.op)
        entry = (*new_types, kinds, wanted)  # which are kept alive, and so are their identities
        if attributes is None:
            if len(cache) >= _REMEMBERED:
                cache.clear()
            cache[(*map(id, kinds), id(wanted))] = entry
        return entry

    return typed


def _joiner(graph: Graph) -> Callable[..., None]:
    """Return what links a new node that reads a value at several slots."""
    succ = graph._succ

    def join(sources: dict[str, Any], name: str, operands: tuple[str, ...]) -> None:
        slots: dict[str, tuple[tuple[int, int], ...]] = {}
        for index, source in enumerate(operands):
            slots[source] = (*slots.get(source, ()), *slot(index))
        for source, its in slots.items():
            sources[source] = succ[source][name] = {"slots": its}

    return join
