"""From a match and its replacement to an edit: all checks come before the first change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphrewrite.errors import RewriteError
from graphrewrite.graph import Graph, Operand
from graphrewrite.graph.dataflow import (
    EFFECT,
    PREDICATE,
    only_orders_effects,
    predicate_edge,
    predicate_in,
    without_predicate,
)
from graphrewrite.graph.edit import Edit, is_unchanged
from graphrewrite.graph.effects import has_effects
from graphrewrite.graph.rewiring import all_buffers, is_buffer
from graphrewrite.graph.storage import own
from graphrewrite.graph.unknown_sizes import first_free_number
from graphrewrite.hierarchy.bound_sizes import with_data_sizes
from graphrewrite.op import find_op
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import STRUCTURAL, annotations_in, inherited
from graphrewrite.rewriting.engine.effect_order import order_effects, touches_effects
from graphrewrite.rewriting.engine.parts import closes_cycle
from graphrewrite.rewriting.match import Root
from graphrewrite.rewriting.rule.outcome import NOTHING, Declined
from graphrewrite.rewriting.rule.replacement import Bound, Known, Made, New, Part, new_parts
from graphrewrite.types import Dimension, Type, pairs_of, solved, symbols, with_sizes

__all__ = ["plan"]


@dataclass
class _Plan:
    """An edit in the making: new nodes, and slots of edges, new and moved, until `finish` makes edges of them."""

    graph: Graph
    fresh: Callable[[str], str]
    matched: Sequence[str]
    copies: frozenset[str]
    edit: Edit = field(default_factory=Edit)
    edges: dict[tuple[str, str], Sequence[tuple[int, int]]] = field(default_factory=dict)
    new_names: dict[int, str] = field(default_factory=dict)
    moved: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    ordered: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    predicates: dict[str, Operand] = field(default_factory=dict)
    sizes: Mapping[str, Dimension] = field(default_factory=dict)
    heirs: dict[int, list[str]] = field(default_factory=dict)
    bequeathed: set[int] = field(default_factory=set)

    def add_parts(self, parts: Sequence[Any]) -> list[Operand]:
        """Add the new nodes of the parts of a replacement, operands first; return the value of each part."""
        for part in new_parts(parts):
            if isinstance(part, Known):
                name = self.fresh("constant")
                data: dict[str, Any] = {"type": "constant", "value": part.value, "result": part.type, "origin": ()}
                data.update(self.annotations_of(part))
                if part.stated is None and self.reads_buffers():
                    data.setdefault("trainable", False)
                self.add(name, data, ())
            else:
                name = self.fresh(part.op.stem)
                data = with_data_sizes(new_data(part), part.op, self.sizes) if self.sizes else new_data(part)
                data.update(self.annotations_of(part))
                self.add(name, data, [self.value_of(p) for p in part.operands])
                self.graph.adopt(part.op)
            self.new_names[id(part)] = name
        return [self.value_of(part) for part in parts]

    def reads_buffers(self) -> bool:
        """Tell whether all constants that a rule has read are not trained: what it computes of them is not either."""
        read = dict.fromkeys(operand.node for node in self.matched for operand in self.graph.operands(node))
        constants = [node for node in read if self.graph._node[node].get("type") == "constant"]
        return bool(all_buffers(is_buffer(self.graph, node) for node in constants))

    def annotations_of(self, part: Made) -> dict[Any, Any]:
        """Return the annotations of a new node: those that the rule states, or of the root that it replaces."""
        if part.stated is not None:
            return own(dict(part.stated))
        found: dict[Any, Any] = {}
        if not self.heirs and part.like is None:
            return found
        if id(part) not in self.bequeathed:
            # The last one wins: the node that it is like, else its first root.
            for node in [*self.heirs.get(id(part), ()), *(() if part.like is None else (part.like.node,))]:
                if not STRUCTURAL.issuperset(self.graph._node[node]):
                    found.update(inherited(self.graph._node[node], self.op_of(node), part.op))
        return own(found) if found else found

    def bequeath(self, root: str, part: Made) -> None:
        """Let a new node take the annotations of a root; what only changes levels passes them on to what it reads."""
        sources, heir = [root], part
        while is_bridge(self.op_of(sources[0])):
            below = [o.node for o in self.graph.operands(sources[0])[:1] if o.node in self.matched]
            if not below:
                break
            sources = below + sources
        while isinstance(heir, New) and is_bridge(heir.op) and heir.stated is None:
            below_it = heir.operands[0].first if isinstance(heir.operands[0], New) else heir.operands[0]
            if not isinstance(below_it, Made):
                break
            self.bequeathed.add(id(heir))
            sources += [] if heir.like is None else [heir.like.node]
            heir = below_it
        self.heirs.setdefault(id(heir), []).extend(sources)

    def op_of(self, node: str) -> Op | None:
        """Return the op of a node of the graph; None if it is unknown."""
        return find_op(self.graph._node[node].get("type"), self.graph.ops)

    def value_of(self, part: Part) -> Operand:
        """Return the value of a part that was in the graph or has been added."""
        if isinstance(part, Bound):
            return Operand(self.copy(part.node), part.operand.result) if part.node in self.copies else part.operand
        if isinstance(part, New):
            return Operand(self.new_names[id(part.first)], part.result)
        return Operand(self.new_names[id(part)])

    def copy(self, node: str) -> str:
        """Return the copy of a matched node that keeps its other readers."""
        key = -1 - self.matched.index(node)
        if key not in self.new_names:
            operands = [
                Operand(self.copy(o.node), o.result) if o.node in self.copies else o for o in self.graph.operands(node)
            ]
            data = own(self.graph._node[node])
            name = self.new_names[key] = self.fresh(self.graph.op(node).stem)
            self.add(name, data, operands)
            if (predicate := self.graph.predicate(node)) is not None:
                self.predicates[name] = predicate
        return self.new_names[key]

    def add(self, name: str, data: dict[str, Any], operands: Iterable[Operand]) -> None:
        """Add a node that reads some operands."""
        self.edit.added.append((name, data))
        for slot, (source, result) in enumerate(operands):
            self.edges[source, name] = (*self.edges.get((source, name), ()), (slot, result))

    def inherit(self, moves: Sequence[tuple[str, int | None, Part]]) -> None:
        """Give new nodes the predicate of the root that they serve; none where they serve several that differ."""
        predicates = [self.graph.predicate(root) for root, _, _ in moves]
        if predicates.count(None) == len(predicates):
            return
        served: dict[str, set[Operand | None]] = {}
        for (_, _, part), predicate in zip(moves, predicates, strict=True):
            for new in new_parts([part]):
                if isinstance(new, New):
                    served.setdefault(self.new_names[id(new)], set()).add(predicate)
        for name, found in served.items():
            (predicate, *others) = found
            if predicate is not None and not others:
                self.predicates[name] = predicate

    def move(self, root: str, result: int | None, target: Operand) -> None:
        """Let the readers of a root read its replacement."""
        for name, predicate in self.predicates.items():
            if predicate.node == root and result in (None, predicate.result):
                self.predicates[name] = target
        # Slot by slot: a reader may read several results of the root, of which only one is replaced.
        for reader, data in self.graph._succ[root].items():
            if (read_as := predicate_in(data)) is not None:
                if result in (None, read_as):
                    self.predicates[reader] = target
                else:
                    self.predicates.setdefault(reader, Operand(root, read_as))
                self.edges.setdefault((root, reader), data["slots"])
                data = without_predicate(data)
            elif data.get("kind") == EFFECT:  # which has an order of its own
                data = {key: value for key, value in data.items() if key != "kind"}
            kept: list[tuple[int, int]] = []
            moved: list[tuple[int, int]] = []
            for slot, read in self.edges.get((root, reader), data["slots"]):
                (moved if result is None or read == result else kept).append((slot, read))
            if not moved:
                if "kind" in data and result is None:  # a control edge: the replacement comes first instead
                    self.edges[root, reader] = ()
                    self.ordered.append((target.node, reader, data))
                continue
            self.edges[root, reader] = tuple(kept)
            self.moved.setdefault((target.node, reader), data)
            own = self.edges.get((target.node, reader))
            if own is None:
                edge = self.graph._succ.get(target.node, {}).get(reader)
                own = edge["slots"] if edge is not None else ()
            if not isinstance(own, list):  # one reader may read thousands of roots
                own = self.edges[target.node, reader] = list(own)
            own.extend((slot, target.result) for slot, _ in moved)

    def finish(self) -> Edit:
        """Remove the nodes that nothing reads any more, and make edges of the slots."""
        edit, nodes, succ, pred = self.edit, self.graph._node, self.graph._succ, self.graph._pred
        gone: set[str] = set()
        candidates = set(self.matched)
        read = {source for (source, reader), slots in self.edges.items() if slots and reader not in candidates}
        read |= {node for node, _, _ in self.ordered}
        if self.predicates:
            read |= {source for source, _ in self.predicates.values()}
        # What only matched nodes would read goes with them.
        inside = [(source, reader) for (source, reader), slots in self.edges.items() if slots and reader in candidates]
        # From the roots down: a matched node, or a constant, goes when its last reader has gone.
        work = list(reversed(self.matched))
        while work:
            node = work.pop()
            if node in gone or node in read or any(s == node and r not in gone for s, r in inside):
                continue
            for reader, data in succ[node].items():
                if not (reader in gone or self.edges.get((node, reader)) == () or only_orders_effects(data)):
                    break
            else:
                gone.add(node)
                below = [*pred[node], *(s for s, reader in inside if reader == node and s in nodes)]
                work += [s for s in below if s in candidates or nodes[s].get("type") == "constant"]
        # Matched nodes are removed from the root to the leaves, then the constants that only they read, by name.
        left = gone - candidates
        edit.removed = [n for n in reversed(self.matched) if n in gone] + (sorted(left) if left else [])
        for node, (source, _) in self.predicates.items():
            edge = succ.get(source, {}).get(node)
            self.edges.setdefault((source, node), edge["slots"] if edge is not None else ())
        for (source, destination), slots in self.edges.items():
            if destination in gone:
                continue
            predicate = self.predicates.get(destination)
            if slots or (predicate is not None and predicate.node == source):
                # Further data of an edge moves with its reader.
                edge = succ.get(source, {}).get(destination) or self.moved.get((source, destination)) or {}
                if predicate is not None:
                    edge = without_predicate(edge)
                    if predicate.node == source:
                        edge |= predicate_edge(predicate.result)
                edit.linked.append((source, destination, {**edge, "slots": tuple(slots)}))
            elif source not in gone:
                edit.unlinked.append((source, destination))
        edit.linked += [
            (source, destination, data)
            for source, destination, data in self.ordered
            if destination not in gone
            and not self.edges.get((source, destination))
            and destination not in succ.get(source, ())
        ]
        return edit

    def resize(self, refined: Mapping[str, Dimension]) -> None:
        """Put sizes that have become known in place of unknown ones, wherever they stand."""
        removed, changed = set(self.edit.removed), dict(self.edit.changed)
        for node, data in self.graph._node.items() if refined else ():
            new = with_data_sizes(changed.get(node, data), find_op(data.get("type"), self.graph.ops), refined)
            if node not in removed and not is_unchanged(data, new):
                changed[node] = new
        self.edit.changed = list(changed.items())

    def loses_order(self) -> Declined | None:
        """Decline an edit that removes, or passes by, a node with a control edge from a node that stays.

        What has read the node would come before its time. A constant is the same at any time.
        """
        gone = set(self.edit.removed)
        read = {source for (source, reader), slots in self.edges.items() if slots and reader not in gone}
        for node in self.matched:
            if node in read or self.graph._node[node].get("type") == "constant":
                continue
            for source, data in self.graph._pred[node].items():
                if data.get("kind", EFFECT) not in (EFFECT, PREDICATE) and not data["slots"] and source not in gone:
                    return Declined(
                        f"would {'disappear' if node in gone else 'be passed by'}, but it comes after {source!r}; "
                        "move that control edge first",
                        node,
                    )
        return None


def is_bridge(op: Op | None) -> bool:
    """Tell whether an op only changes between levels."""
    return op is not None and op.level == "bridge"


def new_data(part: New) -> dict[str, Any]:
    """Return the data of a new node; defaults of attributes are not stored."""
    data: dict[str, Any] = {"type": part.op.name}
    if part.attributes:
        data.update(part.op.stored(part.attributes))
    data["result"] = part.types[0] if len(part.types) == 1 else part.types
    data["origin"] = ()
    return data


def plan(
    graph: Graph,
    matched: Sequence[str],
    roots: Sequence[Root],
    parts: Sequence[Any],
    *,
    fresh: Callable[[str], str],
    shared: str = "refuse",
) -> Edit | Declined:
    """Plan the replacement of matched roots; nothing is changed.

    Each root has one part, or `NOTHING`. ``shared`` decides about a matched node with readers outside of the match.
    """
    # Checks before anything is planned: types stay, no value is lost that somebody reads, no cycle appears.
    replaced = [(root, part) for root, part in zip(roots, parts, strict=True) if part is not NOTHING]
    wanted = [graph.result_type(node, result or 0) for (node, result), _ in replaced]
    sizes: dict[str, Dimension] = {}
    refined: dict[str, Dimension] = {}
    if any(part.type is not kind and part.type != kind for (_, part), kind in zip(replaced, wanted, strict=True)):
        sizes, refined = _agreed_sizes(graph, wanted, [part.type for _, part in replaced])
        for ((node, _), part), kind in zip(replaced, wanted, strict=True):
            if with_sizes(with_sizes(part.type, sizes), refined) != with_sizes(kind, refined):
                raise RewriteError(
                    f"its value {kind} would be replaced by {part.type}; a rewrite keeps types (let the rule decline)",
                    node=node,
                )
    inside = frozenset(matched)
    for (node, _), part in zip(roots, parts, strict=True):
        outside = {r: data for r, data in graph._succ[node].items() if r not in inside} if part is NOTHING else {}
        if others := [r for r, data in outside.items() if not only_orders_effects(data)]:
            return Declined(f"it would be replaced by nothing, but {others[0]!r} reads it", node)
    if len(replaced) > 1 and closes_cycle(graph, inside, [r for r, _ in replaced], [p for _, p in replaced]):
        return Declined("its replacement would read a value that depends on it")
    moves = [(n, r, p) for (n, r), p in replaced if not (isinstance(p, Bound) and p.operand == (n, r or 0))]
    effects: list[New] = next((part.replay.effects for _, part in replaced), [])
    if not moves and not effects and len(replaced) == len(roots):
        return Declined("its replacement is what is there already")
    # Inner nodes with readers outside stay for these; with "duplicate", the replacement reads copies of them.
    copies: frozenset[str] = frozenset()
    if shared == "duplicate":
        tops = {node for node, _ in roots}
        inner = [n for n in matched if n not in tops]
        copies = frozenset(n for n in inner if any(r not in inside for r in graph._succ[n]))
    if twice := [n for n in copies if has_effects(graph, n)]:
        return Declined("has an effect, which a duplicate would repeat", min(twice, key=matched.index))
    work = _Plan(graph, fresh, matched, copies, sizes={**sizes, **refined})
    work.edit.matched = tuple(matched)
    is_bare = all(STRUCTURAL.issuperset(graph._node[node]) for node in matched)  # most nodes have no annotations
    for node, _, part in () if is_bare else reversed(moves):
        if isinstance(part, Made):
            work.bequeath(node, part.first if isinstance(part, New) else part)
    targets = work.add_parts([*(part for _, _, part in moves), *effects])
    work.inherit(moves)
    for (node, result, _), target in zip(moves, targets, strict=False):  # effects are not read by anyone
        work.move(node, result, target)
    edit = work.finish()
    work.resize(refined)
    if not is_bare and not edit.added:
        gone = set(edit.removed).intersection(matched)
        if any(annotations_in(graph._node[node], work.op_of(node)) for node in gone):
            edit.heirs = tuple(dict.fromkeys(t.node for t in targets if t.node not in edit.removed))
    if edit.is_empty:
        return Declined("its replacement would change nothing")
    if effects or touches_effects(graph, edit):
        declined = order_effects(graph, edit, [work.new_names[id(part)] for part in effects])
        if declined is not None:
            return declined
    return work.loses_order() or edit


def _agreed_sizes(
    graph: Graph, wanted: Sequence[Type], given: Sequence[Type]
) -> tuple[dict[str, Dimension], dict[str, Dimension]]:
    """Return what unknown sizes of a replacement are, and what unknown ones of the replaced values turn out to be."""
    first = first_free_number(graph)
    new = [name for kind in given for name in kind.unknowns if int(name[1:]) >= first]
    sizes = solved(pairs_of(given, wanted), new)
    fixed = {name for node in graph.inputs for name in graph.result_type(node).unknowns}
    open_ = [name for kind in wanted for name in kind.unknowns if name not in fixed]
    refined = solved(pairs_of(wanted, [with_sizes(kind, sizes) for kind in given]), open_)
    return sizes, {name: size for name, size in refined.items() if not set(symbols(size)) & refined.keys()}
