"""Firing: one step of a rewrite as facts: whether it matters to an output, and at which attributes it was taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from graphrewrite.graph import Graph, Operand
from graphrewrite.graph.edit import Edit, difference
from graphrewrite.op import find_op
from graphrewrite.op.body import Body
from graphrewrite.rewriting.rule.bytecode import codes_of
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.types import Stream, Tensor

__all__ = ["Firing", "facts_of", "firing_between", "firing_of", "numbers_in_words"]


@dataclass(frozen=True)
class Firing:
    """One step of a rule, or one run of a pass or function that changed something.

    Attributes
    ----------
    member : str
        The rule, pass or function.
    is_alive : bool
        Whether what it changed reaches an output.
    is_empty : bool
        Whether that has no entries on the way, so that no number can tell.
    is_clearing : bool
        Whether it is the work of what cleans up: nodes went that no output depends on, and nothing else changed.
    matched, made : mapping of str to set
        Values of each attribute of the nodes that it found, and of those that it made: ``"conv.groups"`` to ``{1}``.
    operands : mapping of str to bool
        Whether each optional operand of the pattern was there.
    elements, ranks : frozenset
        Of the results of the nodes that it found.
    constants : mapping of str to frozenset
        What kinds of numbers were in the constants that each variable bound, in words.
    alike : mapping of str to bool
        Whether two variables bound one value: ``"x and y"`` to False.
    """

    member: str
    is_alive: bool = True
    matched: Mapping[str, frozenset[Any]] = field(default_factory=dict)
    made: Mapping[str, frozenset[Any]] = field(default_factory=dict)
    operands: Mapping[str, bool] = field(default_factory=dict)
    elements: frozenset[str] = frozenset()
    ranks: frozenset[int] = frozenset()
    is_clearing: bool = False
    constants: Mapping[str, frozenset[str]] = field(default_factory=dict)
    is_empty: bool = False
    alike: Mapping[str, bool] = field(default_factory=dict)


def firing_of(graph: Any, member: Any, change: Any) -> Firing:
    """Return the facts of a step of a rule, given the graph just after it."""
    if not isinstance(graph, Graph):
        return Firing(member.name)
    edit: Edit = change.edit
    gone = {entry[0]: entry[1] for entry in edit.lost if len(entry) != 3}
    operands: dict[str, bool] = {}
    constants: dict[str, frozenset[str]] = {}
    alike: dict[str, bool] = {}
    names: Iterable[str] = gone
    if isinstance(member, Rule):
        match = change.match
        names = match.nodes
        bound = list(zip(member.pattern.variables, match.values, strict=True))
        operands = {variable.name: value is not None for variable, value in bound if variable.optional}
        for variable, value in bound:
            node = value.node if isinstance(value, Operand) else None
            data = gone[node] if node in gone else graph._node.get(node, {})
            if data.get("type") == "constant":
                constants[variable.name] = frozenset(numbers_in_words(data["value"]))
        values = [(variable.name, value) for variable, value in bound if isinstance(value, Operand)]
        alike = {f"{x} and {y}": one == other for (x, one), (y, other) in combinations(values, 2)}
    found = [gone[name] if name in gone else graph._node.get(name, {}) for name in names]
    return _firing(graph, member.name, found, edit, operands, constants, alike, may_clear=_may_leave_nothing(member))


def _may_leave_nothing(member: Any) -> bool:
    """Tell whether a rule may remove what nobody reads, by ``rule.nothing``."""
    function = getattr(member, "function", None)
    return function is not None and any("nothing" in code.co_names for code in codes_of(function.__code__))


def firing_between(before: Any, after: Any, name: str) -> Firing:
    """Return the facts of a pass or function that makes one graph of another."""
    if not (isinstance(before, Graph) and isinstance(after, Graph)):
        return Firing(name)
    edit = difference(before, after)
    found = [before._node[node] for node in (*edit.removed, *(node for node, _ in edit.changed))]
    return _firing(after, name, found, edit, {}, {}, {})


def _firing(
    graph: Graph,
    name: str,
    found: list[dict[str, Any]],
    edit: Edit,
    operands: Mapping[str, bool],
    constants: Mapping[str, frozenset[str]],
    alike: Mapping[str, bool],
    *,
    may_clear: bool = True,
) -> Firing:
    touched = _touched(edit)
    kinds = [kind for data in found for kind in _types(data) if isinstance(kind, Tensor | Stream)]
    is_alive = _reaches_output(graph, touched)
    is_empty = (
        is_alive
        and any(0 in kind.shape for kind in kinds)
        and not _reaches_output(graph, _changed_entries(graph, edit), entries=True)
    )
    return Firing(
        name,
        is_alive,
        facts_of(graph, found),
        facts_of(graph, (data for _, data in (*edit.added, *edit.changed))),
        operands,
        frozenset(str(kind.element) for kind in kinds),
        frozenset(len(kind.shape) for kind in kinds),
        may_clear and not (touched or edit.added),
        constants,
        is_empty,
        alike,
    )


def _types(data: Mapping[str, Any]) -> tuple[Any, ...]:
    result = data.get("result", ())
    return result if isinstance(result, tuple) else (result,)


def _touched(edit: Edit) -> set[Any]:
    """Return the nodes that read something else than before, or are something else."""
    readers = {reader for _, reader, _ in edit.linked} | {reader for _, reader in edit.unlinked}
    return readers | {node for node, _ in edit.changed}


def _changed_entries(graph: Graph, edit: Edit) -> set[Any]:
    """Return the nodes that read, or are, something else than before, of which there are entries."""
    readers = {reader for source, reader, _ in edit.linked if _has_entries(graph, source)}
    return readers | {node for node, _ in edit.changed if _has_entries(graph, node)}


def _has_entries(graph: Graph, node: Any) -> bool:
    """Tell whether some result of a node has entries, or may have."""
    return any(0 not in getattr(kind, "shape", ()) for kind in _types(graph._node.get(node, {})))


def _reaches_output(graph: Graph, nodes: set[Any], *, entries: bool = False) -> bool:
    """Tell whether an output, or a node with an effect, depends on some nodes.

    Parameters
    ----------
    entries : bool
        Whether only values with entries count on the way.
    """
    seen, work = set(nodes), [node for node in nodes if node in graph._node]
    effects = graph.has_effects
    while work:
        node = work.pop()
        data = graph._node[node]
        if data.get("type") == "output":
            return True
        if effects and (op := find_op(data["type"], graph.ops)) is not None and op.has_effects(data):
            return True
        if entries and not _has_entries(graph, node):
            continue
        fresh = graph._succ[node].keys() - seen
        seen |= fresh
        work += fresh
    return False


# ---------------------------------------------------------------------- attributes


def facts_of(graph: Graph, nodes: Iterable[Mapping[str, Any]]) -> dict[str, frozenset[Any]]:
    r"""Return the values of all attributes of some nodes, defaults included, by op and attribute.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\nc = clip(x, low=0.5)\ny = output(c)")
    >>> facts_of(g, [g.nodes["c"]])
    {'clip.low': frozenset({0.5}), 'clip.high': frozenset({None})}
    """
    facts: dict[str, frozenset[Any]] = {}
    for data in nodes:
        for name, value in _attributes(graph, data):
            facts[name] = facts.get(name, frozenset()) | {value}
    return facts


def _attributes(graph: Graph, data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    kind = data.get("type")
    op = find_op(kind, graph.ops) if isinstance(kind, str) else None
    if op is None or not op.attributes:
        return
    for name, default in op.attributes.items():
        value = data.get(name, default)
        if not isinstance(value, np.ndarray | Body | type):  # a weight, a graph, or a required one that is not there
            yield f"{kind}.{name}", _plain(value)


def numbers_in_words(array: Any) -> Iterator[str]:
    """Yield what kinds of numbers an array holds, in words.

    Examples
    --------
    >>> list(numbers_in_words(np.array([0.0, -1.5, np.nan])))
    ['several', 'zero', 'negative', 'NaN']
    >>> list(numbers_in_words(np.array(3)))
    ['one number']
    """
    flat = np.asarray(array).ravel()
    if not flat.size:
        yield "empty"
        return
    is_same = flat.dtype.kind not in "OV" and bool(np.all(flat == flat[0]))
    yield "one number" if flat.size == 1 else "all equal" if is_same else "several"
    if flat.dtype.kind not in "iuf":
        return
    for word, found in (
        ("zero", flat == 0),
        ("negative", flat < 0),
        ("infinite", np.isinf(flat)),
        ("NaN", flat != flat),
    ):
        if found.any():
            yield word


def _plain(value: Any) -> Any:
    """Return a value that can be counted: the same for one number as for that number on each axis."""
    if isinstance(value, list | tuple):
        entries = tuple(map(_plain, value))
        return entries[0] if entries and entries.count(entries[0]) == len(entries) else entries
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value == value else "nan"
    return str(value)
