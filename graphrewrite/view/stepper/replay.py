"""A trace replayed edit by edit: the content of each step's frame, before layout."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from graphrewrite.graph import Graph
from graphrewrite.graph.edit import reapply_edit
from graphrewrite.rewriting.traces import Step, Trace
from graphrewrite.view.plain import plain
from graphrewrite.view.stepper.content import Frame, Link, Numbers, Shape
from graphrewrite.view.stepper.drawn import Drawn, Node, concerned
from graphrewrite.view.stepper.words import bindings_of, difference_of

__all__ = ["frames_of", "region"]

RADIUS = 2
MOST = 40
"""Boxes of a frame that shows a part of a graph."""
WHOLE = 60
"""Nodes of a graph that is shown whole, as long as all steps together have no more than `ALL` boxes."""
ALL = 12_000
_LINKS = 160
"""Arrows of a frame."""
_SIDE = 12
"""At most so many neighbours on each side of a node are visited."""


def frames_of(trace: Trace, chosen: Collection[int], rules: Numbers, numbers: Numbers) -> Iterator[Frame]:
    """Yield the frames of some steps of a trace, without layout."""
    # Two copies a step apart: drawings of nodes that a step does not change are shared between them and over steps.
    old: Any = trace.before.copy()  # a graph of any class
    new: Any = trace.before.copy()
    if isinstance(old, Graph) and isinstance(trace.graph, Graph):
        # Ops of nodes that rules added decide about their colours, too.
        old.ops = new.ops = {**trace.graph.ops, **old.ops}
    numbers.update((node, i) for i, node in enumerate(old))
    drawn = Drawn(old)
    last = max(chosen, default=-1)
    size = max(len(trace.before), len(trace.graph))
    most = WHOLE if size <= WHOLE and size * len(chosen) <= ALL else MOST
    for index, step in enumerate(trace.steps[: last + 1]):
        reapply_edit(new, step.edit)
        moved = concerned(step.edit, old, new)
        after = Drawn(new, drawn, moved)
        if index in chosen:
            yield _Framing(step, drawn, after, moved, numbers, most).frame(index + 1, rules(step.rule))
        reapply_edit(old, step.edit)
        drawn.follow(after)


class _Framing:
    """One step between two graphs."""

    def __init__(
        self, step: Step, before: Drawn, after: Drawn, moved: Collection[Any], numbers: Numbers, most: int
    ) -> None:
        edit = step.edit
        self.step, self.before, self.after, self.numbers = step, before, after, numbers
        self.old, self.new = before.graph, after.graph
        self.matched = [n for n in (step.match.nodes if step.match is not None else ()) if n in self.old]
        self.ringed = set(self.matched)
        gone = set(edit.removed)
        self.removed = list(dict.fromkeys([*(n for n in edit.matched if n in gone), *edit.removed]))
        self.added = [name for name, _ in edit.added]
        self.changed = [name for name, _ in edit.changed]
        ends = [end for a, b, *_ in (*edit.linked, *edit.unlinked) for end in (b, a)]
        # The region grows from the nodes of the step; ends of its edges are in the first layer around them.
        core = dict.fromkeys([*self.matched, *self.removed, *self.added, *self.changed])
        # Constants are drawn within their readers.
        held = [r for n in core for g in (self.old, self.new) if _is_constant(g, n) for r in g.succ[n]]
        near = [*held, *ends]
        sides = (before, after)
        radius = WHOLE if most == WHOLE else RADIUS
        self.region = region(core, sides, near=near, radius=radius, most=most)
        if most == WHOLE:  # a small graph is shown as a whole, nodes that nothing connects included
            rest = dict.fromkeys(node for graph in (self.old, self.new) for node in graph)
            self.region = region([*self.region, *rest], sides, radius=0, most=most)
        # Nodes that stay, and may read something else or have other attributes.
        self.kept = sorted((n for n in moved if n in self.old and n in self.new), key=numbers.__call__)

    def frame(self, number: int, card: int) -> Frame:
        """Return the frame."""
        order = sorted(self.region, key=self.numbers.__call__)
        position = {node: i for i, node in enumerate(order)}
        links = self._links(position)
        # Nodes of the step that the region has no space for, before and after.
        left_out = [
            sum(1 for n in nodes if n not in position and n in side.graph and side[n] is not None)
            for nodes, side in (
                (dict.fromkeys([*self.matched, *self.removed]), self.before),
                (self.added, self.after),
            )
        ]
        step = self.step
        roots = step.match.roots if step.match is not None else ()
        return Frame(
            number=number,
            card=card,
            place=plain(", ".join(map(str, roots)), 120),
            seconds=step.seconds,
            nodes_before=len(self.old),
            nodes_after=len(self.new),
            matched=self._numbered(self.matched),
            removed=self._numbered(self.removed),
            added=self._numbered(self.added),
            changed=self._numbered(self.changed),
            bindings=bindings_of(step.match, self.numbers),
            diff=difference_of(self.old, self.new, self.removed, self.added, self.kept, self.numbers),
            shapes=tuple(self._shape(node, position) for node in order),
            links=tuple(links[:_LINKS]),
            left_out=(left_out[0], left_out[1]),
        )

    def _numbered(self, nodes: Iterable[Any]) -> tuple[int, ...]:
        return tuple(map(self.numbers, nodes))

    def _shape(self, node: Any, position: dict[Any, int]) -> Shape:
        before = self.before[node] if node in self.old else None
        after = self.after[node] if node in self.new else None
        is_matched, is_gone = node in self.ringed, node not in self.new
        return Shape(
            self.numbers(node),
            None if before is None else before.box,
            None if after is None else after.box,
            mark_before="removed" if is_gone else "matched" if is_matched else "",
            mark_after="added" if node not in self.old else "",
            is_matched=is_matched,
            hidden_before=_hidden(self.before, node, before, position),
            hidden_after=_hidden(self.after, node, after, position),
        )

    def _links(self, position: dict[Any, int]) -> list[Link]:
        sides = [dict(_inlets(side, position)) for side in (self.before, self.after)]
        links = []
        for key in dict.fromkeys([*sides[0], *sides[1]]):
            labels = [side.get(key) for side in sides]
            state = "kept" if None not in labels else "added" if labels[0] is None else "removed"
            source, destination, result, port, is_order = key
            links.append(Link(source, destination, result, port, state, labels[0] or "", labels[1] or "", is_order))
        # Changes come first: of too many links, only the first are drawn.
        return sorted(links, key=lambda link: link.state == "kept")


_Key = tuple[int, int, int, int | None, bool]


def _inlets(side: Drawn, position: dict[Any, int]) -> Iterator[tuple[_Key, str]]:
    for node, at in position.items():
        drawn = side[node] if node in side.graph else None
        if drawn is None:
            continue
        for source, arrow in drawn.inlets:
            if source in position:
                yield (position[source], at, arrow.result, arrow.port, arrow.mark == "order"), arrow.label


def _hidden(side: Drawn, node: Any, drawn: Node | None, position: dict[Any, int]) -> tuple[int, int]:
    if drawn is None:
        return (0, 0)
    above = {source for source, _ in drawn.inlets if source not in position}
    readers = side.graph.succ[node]
    # Whichever is smaller is walked: a value may have thousands of readers.
    few = readers if len(readers) < len(position) else position
    return len(above), len(readers) - sum(1 for n in few if n in readers and n in position)


def _is_constant(graph: Any, node: Any) -> bool:
    return node in graph and graph.nodes[node].get("type") == "constant"


def region(
    core: Iterable[Any], sides: Iterable[Drawn], *, near: Iterable[Any] = (), radius: int, most: int
) -> dict[Any, None]:
    r"""Return the nodes of a frame, nearest first.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = exp(a)\nc = abs(b)\ny = output(c)")
    >>> list(region(["b"], [Drawn(g)], radius=1, most=10))
    ['b', 'a', 'c']
    """
    sides = tuple(sides)

    def visible(nodes: Iterable[Any]) -> dict[Any, None]:
        return dict.fromkeys(n for n in nodes if any(n in side.graph and side[n] is not None for side in sides))

    found = dict.fromkeys(list(visible(core))[:most])
    layer, first = list(found), visible(near)
    for _ in range(radius):  # breadth-first, `near` together with the first neighbours
        around = {node: None for node in first if node not in found}
        first = {}
        for node in layer:
            for side in sides:
                if node in side.graph:
                    around.update(dict.fromkeys(n for n in side.neighbours(node, _SIDE) if n not in found))
        layer = list(around)[: most - len(found)]
        found.update(dict.fromkeys(layer))
    return found
