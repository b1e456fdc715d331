"""Printing of programs: what is declared, then instructions over regions, with the place where each is free again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from graphrewrite.errors import GraphError
from graphrewrite.formats.text.graph_printer import Bodies
from graphrewrite.formats.text.line_printer import written_attributes
from graphrewrite.formats.text.literal_printer import PEOPLE, WHOLE, Form, quote, write
from graphrewrite.graph import Graph, Operand
from graphrewrite.graph.arguments import as_graph
from graphrewrite.graph.regions import Location, Regions, writes_of
from graphrewrite.memory.plan import MemoryPlan, Room, plan_memory
from graphrewrite.op import find_op
from graphrewrite.op.memory.destination import attributes_of_into
from graphrewrite.op.reserved_keys import annotations_in, attributes_in
from graphrewrite.types import Type, stores

__all__ = ["to_program"]


def to_program(
    graph: Graph, order: Iterable[str] | None = None, *, plan: MemoryPlan | None = None, whole: bool = False
) -> str:
    """Return the text of a program over memory.

    Parameters
    ----------
    graph : Graph
        Of the level ``memory``, with sizes that are numbers.
    order : iterable of str, optional
        Its nodes in an order, as for `plan_memory`.
    plan : MemoryPlan, optional
        Where regions lie, which is printed, too; its order is that of the instructions. Without, places are printed of
        nodes that have their own (``at``).
    whole : bool
        Whether to print large constants in full, so that `parse_program` restores an equal program.

    Raises
    ------
    GraphError
        If a node computes without a region; `graphrewrite.lowering.lower_to_memory` gives it one.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[4]
    ... a = alloc(element="f32", shape=[4]) : f32[4]
    ... r = into(a, x, of="relu")
    ... b = alloc(element="f32", shape=[2]) : f32[2]
    ... v = view(r, shape=[2], offset=1)
    ... n = into(b, v, of="clip", attributes={"high": 6.0})
    ... y = output(n)''')
    >>> print(to_program(g))
    program g
    declare {
      @in x : f32[4]
      @out y : f32[2]
    }
    program {
      a = alloc : f32[4]
      r: relu @out a, @in x
      v = view @in a, offset=1 : f32[2]
      n: clip @out y, @in v, high=6.0
      dealloc @out a
    }
    """
    graph = as_graph(graph, "that is a program")
    placed = plan is not None
    found = plan_memory(graph, order, search=False) if plan is None else plan
    bodies = Bodies([graph], ())
    form = replace(WHOLE if whole else PEOPLE, body=bodies.text)
    plans = dict(_plans_of(graph, found, bodies))
    lines = [*_Printer(graph, found, form, placed=placed).lines()]
    for name, body in sorted(bodies.by_name.items()):
        lines += ["", *_Printer(body, plans[name], form, placed=placed, name=name).lines()]
    return "\n".join(lines)


def _plans_of(graph: Graph, plan: MemoryPlan, bodies: Bodies) -> Iterator[tuple[str, MemoryPlan]]:
    """Yield the names and plans of the programs that a program runs, at any depth."""
    for node, key, body in graph.bodies():
        own = plan.nested[node][key]
        yield bodies.names[id(body)], own
        yield from _plans_of(body, own, bodies)


class _Printer:
    """The lines of one program."""

    def __init__(self, graph: Graph, plan: MemoryPlan, form: Form, *, placed: bool, name: str | None = None) -> None:
        self.graph, self.plan, self.form, self.placed = graph, plan, form, placed
        self.name = graph.name if name is None else name
        self.regions = Regions(graph)
        for node in graph:
            op = graph.op(node)
            if op.level not in ("memory", "structure") and graph.nodes[node].get("result") not in (None, ()):
                raise GraphError(
                    f"{op.name} computes without a region; lower the graph with graphrewrite.lowering.lower_to_memory",
                    node=node,
                )
        self.shared = {graph.nodes[each].get("region"): each for each in graph.outputs}
        self.seen: set[str] = set()
        self.views: dict[tuple[Location, Type], str] = {}

    def lines(self) -> Iterator[str]:
        graph = self.graph
        yield f"program {quote(self.name)}" if self.name else "program"
        yield "declare {"
        yield from self._declared()
        for name in self.regions.order:
            if graph.nodes[name]["type"] == "constant":
                data = graph.nodes[name]
                value, kind = data["value"], data["result"]
                is_said = stores(kind.element, value.dtype) and value.shape == tuple(kind.shape)
                yield f"  @const {quote(name)} : {kind} = {self.form.array(value, not is_said)}"
        yield "}"
        yield "program {"
        free = self.plan.last_uses()
        for node in self.plan.order:
            for line in (*self._named_before(node), self._instruction(node)):
                yield f"  {line}"
            for region in free.get(node, ()):
                yield f"  dealloc @out {quote(region)}"
        yield "}"

    def _declared(self) -> Iterator[str]:
        """Yield the lines of inputs and outputs, each in its order, where a variable is both."""
        graph = self.graph
        outputs = iter(graph.outputs)
        for name in graph.inputs:
            if (after := self.shared.get(name)) is None:
                yield f"  @in {quote(name)} : {graph.result_type(name)}"
                continue
            yield from self._outputs_before(after, outputs)
            yield f"  @inout {quote(name)} -> {quote(after)} : {graph.result_type(name)}{self._first(name)}"
        yield from self._outputs_before(None, outputs)

    def _outputs_before(self, after: str | None, outputs: Iterator[str]) -> Iterator[str]:
        for name in outputs:
            if name == after:
                return
            if self.graph.nodes[name].get("region") is None:
                yield f"  @out {quote(name)} : {self.graph.result_type(*self.graph.operands(name)[0])}"

    def _first(self, name: str) -> str:
        """Return the text of what a variable is before the first run, if it says so."""
        data = self.graph.nodes[name]
        return f" = {write(data.get('initial', 0), self.form)}" if {"initial", "next"} & data.keys() else ""

    def name_of(self, value: Operand) -> str:
        """Return the name of the memory in which a value lies: of its region, or of the first view of that part."""
        where, kind = self.regions.locations[value], self.graph.result_type(*value)
        root = where.root.node
        if where == self.regions.locations[where.root] and kind == self.graph.result_type(root):
            return self._name_of_root(root)
        return quote(self.views.setdefault((where, kind), self._namer(value).node))

    def _name_of_root(self, root: str) -> str:
        output = self.plan.outputs.get(root)
        if output is None or self.graph.nodes[root]["type"] != "alloc" or self._is_named_otherwise(root, output):
            return quote(root)
        return quote(output)

    def _namer(self, value: Operand) -> Operand:
        """Return the region or view that a value is a version of."""
        graph = self.graph
        while writes_of(graph, value.node):
            value = graph.operands(value.node)[value.result]
        return value

    def _is_named_otherwise(self, region: str, output: str) -> bool:
        """Tell whether an output has another shape than the region in which it lies, which is then a view of it."""
        return self.graph.result_type(region) != self.graph.result_type(*self.graph.operands(output)[0])

    def _named_before(self, node: str) -> Iterator[str]:
        """Yield the lines of the regions and views that an instruction is the first to use."""
        needed = [*self.graph.operands(node)]
        if (predicate := self.graph.predicate(node)) is not None:
            needed.append(predicate)
        for value in needed:
            yield from self._defined(value)

    def _defined(self, value: Operand) -> Iterator[str]:
        """Yield the lines that name the memory of a value, if none has yet."""
        graph, name = self.graph, self.name_of(value)
        where, kind = self.regions.locations[value], graph.result_type(*value)
        root = where.root.node
        yield from self._root(root)
        if name == self._name_of_root(root) or name in self.seen:
            return
        self.seen.add(name)
        output = self.plan.outputs.get(root)
        shown = quote(output) if output and graph.nodes[root]["type"] == "alloc" else quote(root)
        offset = f", offset={where.offset}" if where.offset else ""
        yield f"{name} = view @in {shown}{offset}{self._braces(self._namer(value).node)} : {kind}"

    def _root(self, root: str) -> Iterator[str]:
        """Yield the line that allocates a region, or names that of an output in another shape."""
        data, braces = self.graph.nodes[root], self._braces(root)
        if data["type"] != "alloc" or root in self.seen:
            return
        self.seen.add(root)
        if root not in self.plan.outputs:
            yield f"{quote(root)} = alloc{self._place(root, self.plan.rooms)}{braces} : {data['result']}"
        elif self._is_named_otherwise(root, output := self.plan.outputs[root]):
            yield f"{quote(root)} = view @in {quote(output)}{braces} : {data['result']}"

    def _instruction(self, node: str) -> str:
        graph, data = self.graph, self.graph.nodes[node]
        operands, outs = graph.operands(node), writes_of(graph, node)
        kind = data["of"] if data["type"] == "into" else data["type"]
        op = find_op(kind, graph.ops)
        given: dict[str, Any] = attributes_in(data, graph.op(node))
        if data["type"] == "into":
            given = attributes_of_into(**{key: each for key, each in given.items() if key not in ("of", "outs")})
        marks = ["@out"] * outs + ["@in"] * (len(operands) - outs)
        if kind == "insert":
            marks[0] = "@inout"
        parts = [f"{mark} {self.name_of(each)}" for mark, each in zip(marks, operands, strict=True)]
        parts += written_attributes(given, self.form, () if op is None else op.attributes)
        if (predicate := graph.predicate(node)) is not None:
            parts.append(f"@if {self.name_of(predicate)}")
        at = self._place(node, self.plan.workspaces)
        return f"{quote(node)}: {quote(kind)}{at} {', '.join(parts)}{self._braces(node)}"

    def _place(self, node: str, rooms: Mapping[str, Room]) -> str:
        """Return the text of where a region or a workspace lies: by the plan, or by what the node itself says."""
        room = rooms.get(node) if self.placed else None
        place = self.graph.nodes[node].get("at") if room is None else room.offset
        return "" if place is None else f" at {place}"

    def _braces(self, node: str) -> str:
        data = self.graph.nodes[node]
        annotations = annotations_in(data, self.graph.op(node))
        annotations.pop("at", None)
        return f" {{{', '.join(written_attributes(annotations, self.form))}}}" if annotations else ""
