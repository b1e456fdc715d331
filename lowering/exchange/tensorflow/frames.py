"""Loops and branches as TensorFlow 1 and freezing write them, nodes among others, become ``While`` and ``If``.

A loop is a frame: ``Enter`` brings values in, ``Merge`` takes them or those of ``NextIteration``, ``Switch`` sends them
to the body or, by ``Exit``, out. A branch is what stands between the two sides of a ``Switch`` and a ``Merge``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.rulesets.messages import new_message
from graphrewrite.lowering.exchange.tensorflow.node import Node

__all__ = ["FunctionBody", "structured"]

Source = tuple[str, int]

_ENTERS = ("Enter", "RefEnter")
_EXITS = ("Exit", "RefExit")
_MERGES = ("Merge", "RefMerge")
_NEXTS = ("NextIteration", "RefNextIteration")
_SWITCHES = ("Switch", "RefSwitch")
_REMEDY = "freeze the graph with lower_control_flow=False, or save the model as a saved model"


@dataclass(frozen=True)
class FunctionBody:
    """A function as nodes.

    Attributes
    ----------
    parameters : tuple of str
        Names that nodes read for the values that are passed.
    nodes : tuple of Node
        Its nodes.
    results : tuple of (str, int)
        What it returns.
    """

    parameters: tuple[str, ...]
    nodes: tuple[Node, ...]
    results: tuple[Source, ...]


def structured(
    nodes: Mapping[str, Node], bodies: dict[str, FunctionBody]
) -> tuple[dict[str, Node], dict[Source, Source]]:
    """Return nodes without frames, and what stands for results that are gone; add the functions of loops and branches.

    Raises
    ------
    ModelError
        If a loop or branch has no form that TensorFlow writes.
    """
    graph = _Frames(dict(nodes), bodies)
    while frames := graph.frames():
        frame, inside = min(frames.items(), key=lambda each: (len(each[1]), each[0]))
        graph.loop(frame, inside)
    while (merge := graph.first_merge()) is not None:
        graph.branches(merge)
    graph.remove(graph.downstream(node.name for node in graph.nodes.values() if node.op in _SWITCHES))
    return graph.nodes, graph.replaced


class _Frames:
    def __init__(self, nodes: dict[str, Node], bodies: dict[str, FunctionBody]) -> None:
        self.nodes, self.bodies = nodes, bodies
        self.replaced: dict[Source, Source] = {}

    def frames(self) -> dict[str, set[str]]:
        """Return the nodes that depend on what enters a frame, up to its exits, for each that has no other inside."""
        entering: dict[str, list[str]] = {}
        for node in self.nodes.values():
            if node.op in _ENTERS:
                entering.setdefault(str(node.attributes.get("frame_name")), []).append(node.name)
        found = {}
        for frame, names in entering.items():
            inside = self.downstream(names)
            if not any(self.nodes[name].op in _ENTERS and name not in names for name in inside):
                found[frame] = inside
        if entering and not found:
            raise ModelError(f"the loops {sorted(entering)[:3]} stand inside of each other; {_REMEDY}")
        return found

    def loop(self, frame: str, inside: set[str]) -> None:
        """Write a frame as a While."""
        members = [node for node in self.nodes.values() if node.name in inside]
        conditions = [node for node in members if node.op == "LoopCond"]
        merges = [node for node in members if node.op in _MERGES and self.is_of_loop(node)]
        starts = [next(each for each in node.inputs if self.op(each) not in _NEXTS) for node in merges]
        if len(conditions) != 1 or not all(self.op(each) in _ENTERS for each in starts):
            raise ModelError(f"the loop {frame!r} has no form that TensorFlow writes; {_REMEDY}")
        nexts = [next(each for each in node.inputs if self.op(each) in _NEXTS) for node in merges]
        entered = {source for source, _ in starts}
        fixed = [node for node in members if node.op in _ENTERS and node.name not in entered]
        place = {node.name: at for at, node in enumerate((*merges, *fixed))}
        switches = {
            node.name: place[node.inputs[0][0]]
            for node in members
            if node.op in _SWITCHES and node.inputs[1][0] == conditions[0].name and node.inputs[0][0] in place
        }
        parameters = tuple(f"{frame}/{at}" for at in range(len(place)))
        given = {(name, 0): (parameters[at], 0) for name, at in place.items()}
        given |= {(name, 1): (parameters[at], 0) for name, at in switches.items()}
        ends = [
            *(self.passed(self.nodes[source].inputs[0]) for source, _ in nexts),
            *((each.name, 0) for each in fixed),
        ]
        outer = [self.nodes[name].inputs[0] for name in (*(source for source, _ in starts), *(e.name for e in fixed))]
        attributes = {
            "cond": self.function(f"{frame}/cond", parameters, given, conditions[0].inputs[:1]),
            "body": self.function(f"{frame}/body", parameters, given, ends),
        }
        name = self.fresh(frame)
        exits = {
            (node.name, 0): (name, switches[node.inputs[0][0]])
            for node in members
            if node.op in _EXITS and node.inputs[0][0] in switches
        }
        self.put(Node(name, "While", tuple(outer), attributes), exits, inside)

    def first_merge(self) -> Node | None:
        """Return a merge of two branches on which no other one depends before its switches."""
        merges = [node for node in self.nodes.values() if node.op in _MERGES]
        switches = self.switches() if merges else {}
        for node in merges:
            upstream, _ = self.upstream(node.inputs, switches)
            if not any(self.nodes[name].op in _MERGES for name in upstream):
                return node
        if merges:
            raise ModelError(f"the branches at {merges[0].name!r} go round in a circle; {_REMEDY}")
        return None

    def branches(self, merge: Node) -> None:
        """Write what a merge chooses from as an If."""
        switches = self.switches()
        read = [self.upstream([source], switches)[1] for source in merge.inputs]
        # A branch that reads nothing waits for its side of the condition.
        sides = [
            found or self.upstream([source], switches, waiting=True)[1]
            for source, found in zip(merge.inputs, read, strict=True)
        ]
        conditions = {self.nodes[name].inputs[1] for side in sides for name, _ in side}
        taken = [{at for _, at in side} for side in sides]
        if len(conditions) != 1 or len(sides) != 2 or any(len(each) > 1 for each in taken) or taken[0] & taken[1]:
            raise ModelError(f"the branches at {merge.name!r} are chosen by {len(conditions)} conditions; {_REMEDY}")
        is_first_true = 1 in taken[0] or 0 in taken[1]
        chosen = list(dict.fromkeys(name for side in read for name, _ in side))
        parameters = tuple(f"{merge.name}/{at}" for at in range(len(chosen)))
        given = {(name, at): (each, 0) for name, each in zip(chosen, parameters, strict=True) for at in (0, 1)}
        ends = {"then_branch": merge.inputs[not is_first_true], "else_branch": merge.inputs[is_first_true]}
        attributes = {
            key: self.function(f"{merge.name}/{key}", parameters, given, [source]) for key, source in ends.items()
        }
        name = self.fresh(merge.name)
        operands = (*conditions, *(self.nodes[switch].inputs[0] for switch in chosen))
        self.put(Node(name, "If", operands, attributes), {(merge.name, 0): (name, 0)}, {merge.name})

    # ------------------------------------------------------------------ parts

    def downstream(self, names: Iterable[str]) -> set[str]:
        """Return nodes and those that depend on them, up to the exits of frames."""
        inside = set(names)
        pending = list(inside)
        readers: dict[str, list[str]] = {}
        for node in self.nodes.values() if pending else ():
            for source, _ in node.inputs:
                readers.setdefault(source, []).append(node.name)
        while pending:
            name = pending.pop()
            if self.nodes[name].op not in _EXITS:
                new = [reader for reader in readers.get(name, ()) if reader not in inside]
                inside.update(new)
                pending += new
        return inside

    def remove(self, names: set[str]) -> None:
        self.nodes = {name: node for name, node in self.nodes.items() if name not in names}

    def op(self, source: Source) -> str:
        return self.nodes[source[0]].op if source[0] in self.nodes else ""

    def passed(self, source: Source) -> Source:
        """Return the value that nodes pass on."""
        seen = set[Source]()
        while self.op(source) == "Identity" and source not in seen:
            seen.add(source)
            source = self.nodes[source[0]].inputs[0]
        return source

    def is_of_loop(self, merge: Node) -> bool:
        return len(merge.inputs) == 2 and sum(self.op(each) in _NEXTS for each in merge.inputs) == 1

    def switches(self) -> dict[Source, Source]:
        names = [node.name for node in self.nodes.values() if node.op in _SWITCHES]
        return {(name, at): (name, at) for name in names for at in (0, 1)}

    def upstream(
        self, ends: Iterable[Source], given: Mapping[Source, Source], *, waiting: bool = False
    ) -> tuple[list[str], list[Source]]:
        """Return the nodes on which results depend, up to what is given, and what of that they read, or wait for."""
        pending, found, read = list(ends), dict[str, None](), dict[Source, None]()
        while pending:
            source = pending.pop()
            if source in given:
                read[source] = None
            elif source[0] in self.nodes and source[0] not in found:
                found[source[0]] = None
                pending += self.nodes[source[0]].inputs
                pending += [(name, 0) for name in self.nodes[source[0]].after] if waiting else []
        return list(found), list(read)

    def function(
        self, name: str, parameters: tuple[str, ...], given: Mapping[Source, Source], ends: Iterable[Source]
    ) -> object:
        """Add a function of the nodes between what is given and results; return the attribute that names it."""
        names, _ = self.upstream(ends, given)
        inside = {each: _reading(self.nodes[each], given) for each in names}
        nodes, replaced = structured(inside, self.bodies)
        ends = [given.get(each, each) for each in ends]
        name = self.fresh(name)
        self.bodies[name] = FunctionBody(
            parameters, tuple(nodes.values()), tuple(replaced.get(each, each) for each in ends)
        )
        attribute = new_message("AttrValue")
        attribute.func.name = name
        return attribute

    def fresh(self, name: str) -> str:
        while name in self.nodes or name in self.bodies:
            name += "_"
        return name

    def put(self, node: Node, results: Mapping[Source, Source], gone: set[str]) -> None:
        """Put a node in place of others."""
        self.replaced = {old: results.get(new, new) for old, new in self.replaced.items()} | dict(results)
        before = [source for each in gone for source, _ in self.nodes[each].inputs]
        self.remove(gone)
        self.nodes = {each.name: _reading(each, results) for each in (*self.nodes.values(), node)}
        # What only the nodes read that are gone stands in the functions now.
        counts = Counter(source for each in self.nodes.values() for source, _ in each.inputs)
        unread = set[str]()
        while before:
            name = before.pop()
            if name in self.nodes and name not in unread and not counts[name]:
                unread.add(name)
                counts.subtract(source for source, _ in self.nodes[name].inputs)
                before += [source for source, _ in self.nodes[name].inputs]
        self.remove(unread)


def _reading(node: Node, replaced: Mapping[Source, Source]) -> Node:
    """Return a node that reads what stands for results that are gone."""
    reads = tuple(replaced.get(source, source) for source in node.inputs)
    return node if reads == node.inputs else replace(node, inputs=reads)
