"""Printing of programs: what is declared, then instructions over regions, with the place where each is free again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from graphrewrite.errors import GraphError
from graphrewrite.formats.text.line_printer import written_attributes
from graphrewrite.formats.text.literal_printer import PEOPLE, WHOLE, Form, quote
from graphrewrite.graph import Graph, Operand
from graphrewrite.graph.arguments import as_graph
from graphrewrite.graph.regions import Regions, writes_of
from graphrewrite.memory.plan import MemoryPlan, plan_memory
from graphrewrite.op import find_op
from graphrewrite.op.reserved_keys import annotations_in, attributes_in
from graphrewrite.types import stores

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
        Where regions lie, which is printed, too; its order is that of the instructions.
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
    return "\n".join(_Printer(graph, found, WHOLE if whole else PEOPLE, placed=placed).lines())


class _Printer:
    """The lines of one program."""

    def __init__(self, graph: Graph, plan: MemoryPlan, form: Form, *, placed: bool) -> None:
        self.graph, self.plan, self.form, self.placed = graph, plan, form, placed
        self.regions = Regions(graph)
        self.shared = {graph.nodes[each].get("region"): each for each in graph.outputs}
        self.seen: set[str] = set()

    def lines(self) -> Iterator[str]:
        graph = self.graph
        yield f"program {quote(graph.name)}" if graph.name else "program"
        yield "declare {"
        for name in graph.inputs:
            after = self.shared.get(name)
            kind = graph.result_type(name)
            yield f"  @inout {quote(name)} -> {quote(after)} : {kind}" if after else f"  @in {quote(name)} : {kind}"
        for name in graph.outputs:
            if graph.nodes[name].get("region") is None:
                yield f"  @out {quote(name)} : {graph.result_type(*graph.operands(name)[0])}"
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

    def name_of(self, value: Operand) -> str:
        """Return the name of the memory in which a value lies: of its region, or of a view of it."""
        graph = self.graph
        while graph.nodes[value.node]["type"] not in ("input", "constant", "alloc", "view"):
            if not writes_of(graph, value.node):
                kind = graph.nodes[value.node]["type"]
                raise GraphError(
                    f"{kind} computes without a region; lower the graph with graphrewrite.lowering.lower_to_memory",
                    node=value.node,
                )
            value = graph.operands(value.node)[value.result]
        output = self.plan.outputs.get(value.node)
        if output is None or graph.nodes[value.node]["type"] != "alloc" or self._is_named_otherwise(value.node, output):
            return quote(value.node)
        return quote(output)

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
        graph = self.graph
        while graph.nodes[value.node]["type"] not in ("input", "constant", "alloc", "view"):
            if not writes_of(graph, value.node):
                return
            value = graph.operands(value.node)[value.result]
        node, data = value.node, graph.nodes[value.node]
        if node in self.seen or data["type"] in ("input", "constant"):
            return
        self.seen.add(node)
        braces = self._braces(node)
        if data["type"] == "view":
            (source,) = graph.operands(node)
            yield from self._defined(source)
            offset = f", offset={data['offset']}" if data.get("offset", 0) else ""
            yield f"{quote(node)} = view @in {self.name_of(source)}{offset}{braces} : {data['result']}"
        elif node not in self.plan.outputs:
            at = f" at {self.plan.rooms[node].offset}" if self.placed else ""
            yield f"{quote(node)} = alloc{at}{braces} : {data['result']}"
        elif self._is_named_otherwise(node, output := self.plan.outputs[node]):
            yield f"{quote(node)} = view @in {quote(output)}{braces} : {data['result']}"

    def _instruction(self, node: str) -> str:
        graph, data = self.graph, self.graph.nodes[node]
        operands, outs = graph.operands(node), writes_of(graph, node)
        kind = data["of"] if data["type"] == "into" else data["type"]
        op = find_op(kind, graph.ops)
        given: Mapping[str, Any] = data.get("attributes") or {}
        if data["type"] != "into":
            given = attributes_in(data, graph.op(node))
        marks = ["@out"] * outs + ["@in"] * (len(operands) - outs)
        if kind == "insert":
            marks[0] = "@inout"
        parts = [f"{mark} {self.name_of(each)}" for mark, each in zip(marks, operands, strict=True)]
        parts += written_attributes(given, self.form, () if op is None else op.attributes)
        if (predicate := graph.predicate(node)) is not None:
            parts.append(f"@if {self.name_of(predicate)}")
        return f"{quote(node)}: {quote(kind)} {', '.join(parts)}{self._braces(node)}"

    def _braces(self, node: str) -> str:
        data = self.graph.nodes[node]
        annotations = annotations_in(data, self.graph.op(node))
        annotations.pop("at", None)
        return f" {{{', '.join(written_attributes(annotations, self.form))}}}" if annotations else ""
