"""Let some nodes of a graph compute on values of another kind: inside they are converted, at the border ops convert."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from graphrewrite.conversion.conversion import Casting, Conversion, Permuting, is_open
from graphrewrite.dataflow import Operand
from graphrewrite.errors import GraphError, TypeMismatchError, did_you_mean
from graphrewrite.following import Following, followed
from graphrewrite.graph import Graph
from graphrewrite.graph_view.border import arranged, in_graph_order
from graphrewrite.infer import infer_node
from graphrewrite.types import Type
from graphrewrite.wiring import move_slot

if TYPE_CHECKING:
    from graphrewrite.graph_view import GraphView

__all__ = ["converted", "settle_view"]

_MARKS = ("backend", "implementation", "use_kernel")


def settle_view(view: GraphView, settings: dict[str, Any]) -> Graph:
    """Return the graph of a view with settings for all of it; see `graphrewrite.graph_view.GraphView.set`.

    Parameters
    ----------
    view : GraphView
        Its graph stays as it is.
    settings : dict
        Marks, and what is to be converted.

    Returns
    -------
    Graph
    """
    known = (*_MARKS, "element", "layout")
    for key in settings:
        if key not in known:
            raise GraphError(f"a view sets {', '.join(known)}, not {key!r}{did_you_mean(key, known)}")
    for mark in _MARKS:
        if not isinstance(settings.get(mark), str | None):
            raise GraphError(f"the {mark} of a view is a word, or None for none, not {settings[mark]!r}")
    made = view.graph.copy()
    members = [node for node in view if made.nodes[node].get("type") not in ("input", "output")]
    for mark in _MARKS:
        for node in members if mark in settings else ():
            made.nodes[node].pop(mark, None)
            if settings[mark] is not None:
                made.nodes[node][mark] = settings[mark]
    kinds: list[Conversion] = []
    if settings.get("element") is not None:
        kinds.append(Casting(settings["element"]))
    if settings.get("layout") is not None:
        kinds.append(Permuting(settings["layout"]))
    for kind in kinds:
        if not any(map(kind.is_about, _types(made, members))):
            raise TypeMismatchError(f"nothing in the view {view.name or ''!r} can have {kind}; its values are others")
        if not any(is_open(made, node) or made.nodes[node].get("type") == "constant" for node in members):
            raise TypeMismatchError(
                f"{kind} is set where ops compute, and {made.nodes[members[0]].get('type')} is a graph, which is to be "
                "inlined first, or not known",
                node=members[0],
            )
        border = view.inputs, view.outputs
        inserted, instead = converted(made, members, kind)
        members += [node for node in inserted if node not in members]
        if view.name in made.views:
            outputs = [instead.get(value, value) for value in border[1]]
            nodes = in_graph_order(made, {*members, *(n for n in view if n in made)})
            sides = zip(("inputs", "outputs"), arranged(made, nodes, border[0], outputs), strict=True)
            stored = {"nodes": nodes, **{side: tuple(map(tuple, values)) for side, values in sides}}
            made.graph["views"] = {**made.graph["views"], view.name: stored}
            view = made.view(view.name)
    return made


def _types(graph: Graph, nodes: Iterable[str]) -> Iterator[Type]:
    """Yield the types of the values that some nodes read and give."""
    for node in nodes:
        yield from (graph.result_type(o.node, o.result) for o in graph.operands(node))
        found = graph.nodes[node].get("result", ())
        yield from found if isinstance(found, tuple) else (found,)


def converted(graph: Graph, nodes: Iterable[str], kind: Conversion) -> tuple[list[str], dict[Operand, Operand]]:
    """Let nodes compute on values of another kind, in place; what the others read stays as it is.

    Parameters
    ----------
    graph : Graph
        Changed; if anything fails, half-way, so give a copy.
    nodes : iterable of str
        Those of them that can be converted are.
    kind : Conversion
        To what.

    Returns
    -------
    inserted : list of str
        New nodes.
    instead : dict
        What others read in the place of values that were converted.

    Raises
    ------
    TypeMismatchError
        If an op does not take the converted operands; names the node.
    """
    follower = followed(graph)
    if isinstance(follower, Following):
        follower.passing(graph)
    before = set(graph)
    work = _Region(graph, kind, nodes)
    work.convert()
    instead = work.restore()
    inserted = [node for node in graph if node not in before]
    if isinstance(follower, Following):
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
        self.types = {n: self._types(n) for n in graph}
        self.held: dict[tuple[Operand, Any], Operand] = {}
        self.changed: dict[Operand, Any] = {}

    def _types(self, node: str) -> tuple[Any, ...]:
        found = self.graph.nodes[node].get("result", ())
        return found if isinstance(found, tuple) else (found,)

    def convert(self) -> None:
        """Convert the constants among the nodes, if that is meant, and the others, operands first."""
        for node in self.constants:
            data = self.graph.nodes[node]
            (kind,) = self.types[node]
            form = self.kind.form_of_constant(kind)
            if form is not None:
                data["value"], data["result"] = self.kind.constant(data["value"], kind, form)
                data.pop("shared", None)  # it is not the module's any more
                self.changed[Operand(node)] = kind
        for node in self.order:
            op = self.graph.op(node)
            operands = self.graph.operands(node)
            given = [self.types[o.node][o.result] for o in operands]
            if not self.kind.concerns(op, given):
                self.inside.discard(node)  # it reads what it has read before, whatever becomes of that
                continue
            for slot, operand in enumerate(operands):
                if operand not in self.changed:
                    form = self.kind.form(op, given, slot)
                    if form is not None:
                        move_slot(self.graph, node, slot, self._converted(operand, form))
            self.graph.nodes[node].update(self.kind.attributes(op, self.graph.nodes[node]))
            self._infer(node)

    def _converted(self, value: Operand, form: Any) -> Operand:
        """Return where a value is in another form: a constant at once, all else behind ops."""
        found = self.held.get((value, form))
        if found is None:
            graph, kind = self.graph, self.types[value.node][value.result]
            data = graph.nodes[value.node]
            if data.get("type") == "constant":
                array, type_ = self.kind.constant(data["value"], kind, form)
                origin = graph.origin(value.node)
                made = graph.constant(array, type=type_, origin=origin)
                marks = {key: data[key] for key in ("backend",) if key in data}
                graph.nodes[made.node].update(marks)
            else:
                made = self.kind.forward(graph.value(*value), form)
            found = self.held[value, form] = Operand(made.node, made.result)
        return found

    def _infer(self, node: str) -> None:
        graph, before = self.graph, self.types[node]
        operands = graph.operands(node)
        given = tuple(graph.result_type(*operand) for operand in operands)
        try:
            found = infer_node(graph, node, graph.op(node), operands, given)
        except TypeMismatchError as error:
            reason = str(error).removeprefix(f"node {error.node!r}: ")
            raise TypeMismatchError(f"{self.kind} does not fit: {reason}", node=node) from None
        graph.nodes[node]["result"] = found if isinstance(graph.nodes[node].get("result"), tuple) else found[0]
        for result, (old, new) in enumerate(zip(before, found, strict=True)):
            if new is not old and new != old:
                self.changed[Operand(node, result)] = old

    def restore(self) -> dict[Operand, Operand]:
        """Let all who are outside read what they have read before."""
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
        for value, _ in self.held:  # constants that nobody reads in their old form
            if value.node in graph and graph.nodes[value.node].get("type") == "constant" and not graph.succ[value.node]:
                graph.remove_node(value.node)
        return instead
