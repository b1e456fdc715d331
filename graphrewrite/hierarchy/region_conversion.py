"""Conversion of a region: its nodes compute in another representation, ops at its border convert values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from graphrewrite.errors import GraphError, TypeMismatchError, did_you_mean
from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import Operand
from graphrewrite.graph.rewiring import move_slot
from graphrewrite.graph.type_inference import infer_node
from graphrewrite.graph.unknown_sizes import first_free_number, local_names, numbered
from graphrewrite.hierarchy.border import arranged, in_graph_order
from graphrewrite.hierarchy.conversion import Casting, Conversion, Permuting, is_open
from graphrewrite.hierarchy.region_tracking import RegionTracking, tracking_regions
from graphrewrite.types import Type

if TYPE_CHECKING:
    from graphrewrite.hierarchy.region import GraphView

__all__ = ["MARKS", "converted", "mark", "settle_view"]

MARKS = ("backend", "implementation", "use_kernel")
"""Annotations that say what computes a node."""


def settle_view(view: GraphView, settings: dict[str, Any]) -> Graph:
    """Apply settings to a copy of a view's graph; see `graphrewrite.hierarchy.region.GraphView.set`."""
    names = (*MARKS, "element", "layout")
    for name in settings:
        if name not in names:
            raise GraphError(f"settings are {', '.join(names)}, got {name!r}{did_you_mean(name, names)}")
    graph = view.graph.copy()
    members = [node for node in view if graph.nodes[node].get("type") not in ("input", "output")]
    kinds: list[Conversion] = []
    if settings.get("element") is not None:
        kinds.append(Casting(settings["element"]))
    if settings.get("layout") is not None:
        kinds.append(Permuting(settings["layout"]))
    for kind in kinds:
        if not any(map(kind.is_about, _types(graph, members))):
            region = "graph" if view.name is None else f"view {view.name!r}"
            raise TypeMismatchError(f"no value in the {region} can have {kind}")
        if not any(is_open(graph, node) or graph.nodes[node].get("type") == "constant" for node in members):
            raise TypeMismatchError(
                f"{kind} cannot be set: {graph.nodes[members[0]].get('type')} is an unknown op, or a graph to be "
                "inlined first",
                node=members[0],
            )
        # The view's own order of inputs and outputs survives, with converted values in place of the old ones.
        border = view.input_operands, view.output_operands
        inserted, instead = converted(graph, members, kind)
        members += [node for node in inserted if node not in members]
        if view.name in graph.views:
            outputs = [instead.get(value, value) for value in border[1]]
            nodes = in_graph_order(graph, {*members, *(n for n in view if n in graph)})
            sides = zip(("inputs", "outputs"), arranged(graph, nodes, border[0], outputs), strict=True)
            stored = {"nodes": nodes, **{side: tuple(map(tuple, values)) for side, values in sides}}
            graph.graph["views"] = {**graph.graph["views"], view.name: stored}
            view = graph.view(view.name)
    marks = {key: settings[key] for key in MARKS if key in settings}
    mark(graph, [node for node in members if node in graph], marks)
    return graph


def mark(graph: Graph, nodes: Iterable[str], marks: Mapping[str, Any]) -> None:
    r"""Annotate nodes in place with what computes them; None removes an annotation.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> mark(g, ["r"], {"backend": "gpu"})
    >>> g.annotations("r")
    {'backend': 'gpu'}
    """
    for key, value in marks.items():
        if not isinstance(value, str | None):
            raise GraphError(f"the {key} is a string or None, got {value!r}")
    for node in nodes:
        for key, value in marks.items():
            graph.nodes[node].pop(key, None)
            if value is not None:
                graph.nodes[node][key] = value


def _types(graph: Graph, nodes: Iterable[str]) -> Iterator[Type]:
    """Yield the types of the operands and results of nodes."""
    for node in nodes:
        yield from (graph.result_type(o.node, o.result) for o in graph.operands(node))
        yield from _results(graph, node)


def _results(graph: Graph, node: str) -> tuple[Any, ...]:
    result = graph.nodes[node].get("result", ())
    return result if isinstance(result, tuple) else (result,)


def converted(graph: Graph, nodes: Iterable[str], kind: Conversion) -> tuple[list[str], dict[Operand, Operand]]:
    """Convert nodes to another representation, in place; the operands of all other nodes keep their values and types.

    Parameters
    ----------
    graph : Graph
        Changed in place, also if the conversion fails half-way.
    nodes : iterable of str
        Nodes that cannot be converted are skipped.
    kind : Conversion
        The conversion.

    Returns
    -------
    inserted : list of str
        New nodes.
    instead : dict
        Converted values, each with the value that the other nodes read in its place.

    Raises
    ------
    TypeMismatchError
        If an op does not support the converted operands.
    """
    follower = tracking_regions(graph)
    if isinstance(follower, RegionTracking):
        follower.passing(graph)
    before = set(graph)
    work = _Region(graph, kind, nodes)
    work.convert()
    instead = work.restore()
    inserted = [node for node in graph if node not in before]
    if isinstance(follower, RegionTracking):
        follower.passed(graph, "converted", [])
        follower.settle()
    return inserted, instead


class _Region:
    def __init__(self, graph: Graph, kind: Conversion, nodes: Iterable[str]) -> None:
        self.graph, self.kind = graph, kind
        order = in_graph_order(graph, nodes)
        self.order = [n for n in order if kind.takes(graph, n)]
        self.constants = [n for n in order if graph.nodes[n].get("type") == "constant"]
        self.inside = set(self.order)
        self.types = {n: _results(graph, n) for n in graph}  # before the conversion
        self.held: dict[tuple[Operand, Any], Operand] = {}
        self.changed: dict[Operand, Any] = {}

    def convert(self) -> None:
        """Convert the constants among the nodes, if the conversion does that, and the other nodes, operands first."""
        for node in self.constants:
            data = self.graph.nodes[node]
            (kind,) = self.types[node]
            form = self.kind.form_of_constant(kind)
            if form is not None:
                data["value"], data["result"] = self.kind.constant(data["value"], kind, form)
                data.pop("shared", None)  # it differs from the module's constant now
                self.changed[Operand(node)] = kind
        for node in self.order:
            op = self.graph.op(node)
            operands = self.graph.operands(node)
            types = [self.types[o.node][o.result] for o in operands]
            if not self.kind.concerns(op, types):
                self.inside.discard(node)  # its operands are converted back by `restore`
                continue
            for slot, operand in enumerate(operands):
                if operand not in self.changed:
                    form = self.kind.form(op, types, slot)
                    if form is not None:
                        move_slot(self.graph, node, slot, self._converted(operand, form))
            self.graph.nodes[node].update(self.kind.attributes(op, self.graph.nodes[node]))
            self._infer(node)

    def _converted(self, value: Operand, form: Any) -> Operand:
        """Return a value in another form: a new constant, or the result of conversion ops."""
        converted = self.held.get((value, form))
        if converted is None:
            graph, kind = self.graph, self.types[value.node][value.result]
            data = graph.nodes[value.node]
            if data.get("type") == "constant":
                array, type_ = self.kind.constant(data["value"], kind, form)
                new = graph.constant(array, type=type_, origin=graph.origin(value.node))
                if "backend" in data:
                    graph.nodes[new.node]["backend"] = data["backend"]
            else:
                new = self.kind.forward(graph.value(*value), form)
            converted = self.held[value, form] = Operand(new.node, new.result)
        return converted

    def _infer(self, node: str) -> None:
        graph, before = self.graph, self.types[node]
        operands = graph.operands(node)
        types = tuple(graph.result_type(*operand) for operand in operands)
        try:
            inferred = infer_node(graph, node, graph.op(node), operands, types)
        except TypeMismatchError as error:
            reason = str(error).removeprefix(f"node {error.node!r}: ")
            raise TypeMismatchError(f"{self.kind} is not supported: {reason}", node=node) from None
        if local_names(inferred):
            inferred = numbered(inferred, first_free_number(graph))
        graph.nodes[node]["result"] = inferred if isinstance(graph.nodes[node].get("result"), tuple) else inferred[0]
        for result, (old, new) in enumerate(zip(before, inferred, strict=True)):
            if new is not old and new != old:
                self.changed[Operand(node, result)] = old

    def restore(self) -> dict[Operand, Operand]:
        """Convert values back for all readers outside."""
        instead: dict[Operand, Operand] = {}
        graph = self.graph
        new = {o.node for o in self.held.values()}
        for value, kind in self.changed.items():
            readers = [r for r in graph.readers(value.node) if r.result == value.result]
            outside = [r for r in readers if r.node not in self.inside and r.node not in new]
            if not outside:
                continue
            back = self.kind.backward(graph.value(*value), kind)
            instead[value] = Operand(back.node, back.result)
            for reader in outside:
                move_slot(graph, reader.node, reader.slot, instead[value])
        for value, _ in self.held:  # constants that are read only in their new form
            if value.node in graph and graph.nodes[value.node].get("type") == "constant" and not graph.succ[value.node]:
                graph.remove_node(value.node)
        return instead
