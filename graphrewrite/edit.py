"""Apply one match to a graph: checked first, then all at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from graphrewrite.errors import RewriteError
from graphrewrite.graph import Graph, Operand
from graphrewrite.replacement import Bound, Known, New, Part, Replay

__all__ = ["Edit", "apply", "closes_cycle", "move_slot", "remove", "rewire"]


@dataclass(frozen=True)
class Edit:
    """What one rewrite changed.

    Attributes
    ----------
    removed, added : tuple of str
        Names of nodes.
    moved : tuple of str
        Nodes that are still there and have other operands than before.
    released : tuple of str
        Nodes that are still there and have other readers than before.
    """

    removed: tuple[str, ...]
    added: tuple[str, ...]
    moved: tuple[str, ...]
    released: tuple[str, ...]


def apply(
    graph: Graph, roots: tuple[str, ...], matched: tuple[str, ...], replay: Replay, parts: tuple[Part, ...]
) -> Edit:
    """Replace the values of matched roots in a graph, in place.

    Everything that can be refused is refused before the first change.

    Parameters
    ----------
    graph : Graph
        The graph of the match; changed.
    roots : tuple of str
        Nodes whose values are replaced.
    matched : tuple of str
        All matched nodes.
    replay : Replay
        Holds the new nodes.
    parts : tuple of Part
        One value a root.

    Returns
    -------
    Edit

    Raises
    ------
    RewriteError
        If a value has another type than the root that it replaces.
    """
    for root, part in zip(roots, parts, strict=True):
        if part.type != graph.result_type(root):
            raise RewriteError(
                f"its value {graph.result_type(root)} would be replaced by {part.type}; a rewrite keeps types",
                node=root,
            )
    origin = _origin(graph, matched)
    # All roots are replaced at once: what reads them now is moved, not what comes to read them on the way.
    moves = [_moves(graph, root, 0) for root in roots]
    made: dict[int, Operand] = {}
    added: list[str] = []
    moved: dict[str, None] = {}
    released: dict[str, None] = {}

    def place(part: Part) -> Operand:
        if isinstance(part, Bound):
            return part.operand
        key = id(part.first if isinstance(part, New) else part)
        if key not in made:
            if isinstance(part, Known):
                value = graph.constant(part.value, type=part.type, origin=origin)
                made[key] = Operand(value.node)
            else:
                assert isinstance(part, New)
                operands = [place(p) for p in part.operands]
                released.update(dict.fromkeys(o.node for o in operands))
                made[key] = Operand(_add(graph, part, operands, origin))
            added.append(made[key].node)
        return Operand(made[key].node, part.result if isinstance(part, New) else 0)

    targets = [place(part) for part in parts]
    for root, target, readers in zip(roots, targets, moves, strict=True):
        for reader, slots in readers:
            _cut(graph, root, reader, slots)
            moved[reader] = None
        released[target.node] = None
    for target, readers in zip(targets, moves, strict=True):
        for reader, slots in readers:
            _join(graph, target, reader, slots)
    kept = set(added) | {t.node for t in targets}
    removed, neighbours = remove(graph, [n for n in matched if n not in kept])
    released.update(dict.fromkeys(neighbours))
    left = (tuple(n for n in nodes if n in graph) for nodes in (moved, released))
    return Edit(tuple(removed), tuple(added), *left)


def _origin(graph: Graph, matched: Iterable[str]) -> tuple[str, ...]:
    """Names of the imported nodes that the removed ones came from; an op that only changes levels carries none."""
    found: dict[str, None] = {}
    for node in matched:
        if graph.op(node).level != "bridge":
            found.update(dict.fromkeys(graph.origin(node)))
    return tuple(found)


def _add(graph: Graph, part: New, operands: list[Operand], origin: tuple[str, ...]) -> str:
    values = [graph.value(o.node, o.result) for o in operands]
    made = graph.add(part.op, values, part.attributes, origin=() if part.op.level == "bridge" else origin)
    name: str = (made[0] if isinstance(made, tuple) else made).node
    return name


def rewire(graph: Graph, node: str, target: Operand, result: int = 0) -> list[str]:
    """Let every reader of a node's result, but for the target itself, read another value instead, in place.

    Parameters
    ----------
    graph : Graph
        Changed.
    node : str
        Whose readers.
    target : Operand
        What they read from now on.
    result : int
        Which result of the node.

    Returns
    -------
    list of str
        The readers.
    """
    moves = [(reader, slots) for reader, slots in _moves(graph, node, result) if reader != target.node]
    for reader, slots in moves:
        _cut(graph, node, reader, slots)
        _join(graph, target, reader, slots)
    return [reader for reader, _ in moves]


def move_slot(graph: Graph, reader: str, slot: int, target: Operand) -> None:
    """Let one operand slot of a node read another value, in place.

    Parameters
    ----------
    graph : Graph
        Changed.
    reader : str
        Whose operand.
    slot : int
        Which.
    target : Operand
        What it reads from now on.
    """
    _cut(graph, graph.operands(reader)[slot].node, reader, (slot,))
    _join(graph, target, reader, (slot,))


def _moves(graph: Graph, node: str, result: int) -> list[tuple[str, tuple[int, ...]]]:
    """Who reads a result of a node, at which slots."""
    found = [(r, tuple(s for s, index in data["slots"] if index == result)) for r, data in graph.succ[node].items()]
    return [(reader, slots) for reader, slots in found if slots]


def _cut(graph: Graph, node: str, reader: str, slots: tuple[int, ...]) -> None:
    data = graph.succ[node][reader]
    data["slots"] = tuple(pair for pair in data["slots"] if pair[0] not in slots)
    if not data["slots"]:
        graph.remove_edge(node, reader)


def _join(graph: Graph, target: Operand, reader: str, slots: tuple[int, ...]) -> None:
    there = graph.succ[target.node].get(reader)
    kept = there["slots"] if there else ()
    graph.add_edge(target.node, reader, slots=(*kept, *((slot, target.result) for slot in slots)))


def closes_cycle(graph: Graph, roots: tuple[str, ...], parts: tuple[Part, ...]) -> bool:
    """Tell whether a replacement of several roots would read a value that depends on it.

    Parameters
    ----------
    graph : Graph
        The graph of the match.
    roots : tuple of str
        Nodes whose values are replaced.
    parts : tuple of Part
        One value a root.

    Returns
    -------
    bool
        Never for one root: what a match binds lies above its root.
    """
    if len(roots) < 2:
        return False
    below = []
    for root in roots:  # what depends on this root, by paths on which no other value is replaced
        seen: set[str] = set()
        work = list(graph.succ[root])
        while work:
            node = work.pop()
            if node not in seen:
                seen.add(node)
                work.extend(() if node in roots else graph.succ[node])
        below.append(seen)
    reads = [_leaves(part) for part in parts]
    needs = {i: {j for j, seen in enumerate(below) if reads[i] & seen} for i in range(len(roots))}
    for _ in roots:
        needs = {i: js.union(*(needs[j] for j in js)) for i, js in needs.items()}
    return any(i in js for i, js in needs.items())


def _leaves(part: Part) -> set[str]:
    """The nodes of the graph that a replacement reads."""
    if isinstance(part, Bound):
        return {part.node}
    return set().union(*map(_leaves, part.operands)) if isinstance(part, New) else set()


def remove(graph: Graph, nodes: Iterable[str]) -> tuple[list[str], list[str]]:
    """Remove those of some nodes that nothing reads any more, and the constants that only they read, in place.

    Parameters
    ----------
    graph : Graph
        Changed.
    nodes : iterable of str
        Candidates.

    Returns
    -------
    removed, neighbours : list of str
        What went, and whose reader went.
    """
    removed: dict[str, None] = {}
    neighbours: dict[str, None] = {}
    work = list(nodes)
    candidates = set(work)
    while work:
        node = work.pop()
        if node in removed or graph.succ[node]:
            continue
        sources = list(graph.pred[node])
        graph.remove_node(node)
        removed[node] = None
        for source in sources:
            neighbours[source] = None
            if source in candidates or graph.nodes[source].get("type") == "constant":
                work.append(source)
    return list(removed), [n for n in neighbours if n not in removed]
