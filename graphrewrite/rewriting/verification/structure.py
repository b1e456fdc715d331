"""Checks of names, ops, edges, attributes, inputs and outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from graphrewrite.errors import DataError, GraphRewriteError, TypeMismatchError
from graphrewrite.graph.cycles import holds_state, order_of, shown
from graphrewrite.graph.effects import unordered
from graphrewrite.op.attribute_check import STORABLE
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import (
    RESERVED_ANNOTATIONS,
    STRUCTURAL,
    annotations_in,
    attributes_in,
    is_other_name,
)
from graphrewrite.rewriting.verification.checks import check
from graphrewrite.rewriting.verification.reading import (
    advice_for,
    kind_of,
    known_op,
    operands_or_fault,
    slots_of,
)

__all__ = [
    "annotations_are_data",
    "annotations_are_names",
    "attributes_fit",
    "cycles_pass_state",
    "effects_are_ordered",
    "names_are_unique",
    "nodes_have_types",
    "operands_fit",
    "ops_are_known",
    "outputs_are_reached",
    "ports_are_numbered",
    "slots_are_numbered",
]

_SEQUENCES = (tuple, list)


@check(whole=True)
def names_are_unique(graph: Any) -> Iterator[tuple[Any, str]]:
    """Node names are non-empty strings; a name that prints like another one is a duplicate."""
    # Dictionary keys are unique; only a name that is no string can print like another one.
    plain = [node for node in graph if isinstance(node, str) and node]
    if len(plain) == len(graph):
        return
    printed = Counter(map(str, graph))
    for node in graph:
        if isinstance(node, str) and node:
            continue
        if printed[str(node)] > 1:
            message = f"there is another node whose name prints as {str(node)!r}; rename one of them"
        else:
            message = f"node names are non-empty strings, got {node!r}; give it another with graph.renamed"
        yield node, message


@check
def nodes_have_types(graph: Any, node: Any) -> str | None:
    """Every node has a type: the name of its op."""
    kind = graph._node[node].get("type")
    if isinstance(kind, str) and kind:
        return None
    wrong = "is missing" if kind is None else f"is {kind!r}"
    return f"its type {wrong}; write the name of its op as its `type`"


@check
def ops_are_known(graph: Any, node: Any) -> str | None:
    """The op that a type names is in the library, or among those that the graph was given."""
    if known_op(graph, node) is not None or (kind := kind_of(graph, node)) is None:
        return None
    return f"{advice_for(kind, tuple(graph.ops))} or replace the node by a rule"


@check
def slots_are_numbered(graph: Any, node: Any) -> str | None:
    """The operands of a node are numbered 0, 1, … on its edges, each number once."""
    operands = operands_or_fault(graph, node)
    if isinstance(operands, str):
        return f"the slots of its operands are missing or collide: {operands}; number them 0, 1, … on the edges"
    return None


@check
def operands_fit(graph: Any, node: Any) -> str | list[str] | None:
    """A node has the operands that its op asks for: no fewer and no more."""
    operands, op = operands_or_fault(graph, node), known_op(graph, node)
    if op is None or isinstance(operands, str):
        return None
    if op.name == "output":
        return None if len(operands) == 1 else f"an output has one operand, this has {len(operands)}"
    if op.name == "constant":
        return [
            f"is a constant and {o.node!r} writes to it; make a node of its own of what it computes" for o in operands
        ]
    try:
        op.check(len(operands), {}, complete=False)
    except TypeMismatchError as error:
        return str(error)
    return None


@check
def attributes_fit(graph: Any, node: Any) -> list[str] | None:
    """A node has all attributes of its op that have no default; each has the type that the op declares."""
    op = known_op(graph, node)
    if op is None:
        return None
    attributes = attributes_in(graph._node[node], op)
    fault = _attribute_fault(op, attributes, complete=True)
    if fault is None:
        return None
    # That is the first one; each attribute alone shows whether there are others.
    others = [_attribute_fault(op, {key: value}, complete=False) for key, value in attributes.items()]
    return list(dict.fromkeys([fault, *filter(None, others)]))


def _attribute_fault(op: Op, attributes: dict[str, Any], *, complete: bool) -> str | None:
    """Return the first fault of some attributes of a node, or of all of them."""
    try:
        op.check(op.required, attributes, complete=complete)
        attributes.pop("index", None)  # ports_are_numbered says more of it
        for key, value in op.as_attributes(attributes).items():
            given = attributes.get(key)
            if isinstance(given, str) and given != value:
                return f"{op.name}.{key}: {given!r} is written {value!r} in a graph; assign it through graph.node(…)"
            if key in op.forms and isinstance(given, int | str):
                return f"{op.name}.{key}: a node has an entry for each position; write them out"
    except TypeMismatchError as error:
        return str(error)
    return None


@check
def annotations_are_data(graph: Any, node: Any) -> list[str] | None:
    """The annotations of a node are data that can be stored, and none has another name of an attribute."""
    data = graph._node[node]
    if len(data) < 4 and STRUCTURAL.issuperset(data):  # fast path: most nodes have none
        return None
    messages = []
    op = known_op(graph, node)
    for key, value in annotations_in(data, op).items():
        if op is not None and is_other_name(key, op):
            messages.append(
                f"{key!r} is an annotation here, and another name of the attribute {op.canonical_name(key)!r}; "
                f"assign graph.node({node!r}).{key}, or rename the annotation"
            )
        try:
            STORABLE.store(value, str(key))
        except DataError as error:
            messages.append(str(error))
        except RecursionError:
            messages.append(f"{key}: is nested too deeply, or contains itself; give it a copy")
    return messages


@check
def annotations_are_names(graph: Any, node: Any) -> list[str]:
    """The reserved annotations of a node are names; its origin is a tuple of names."""
    data, messages = graph._node[node], []
    if not RESERVED_ANNOTATIONS.isdisjoint(data):
        for key in sorted(RESERVED_ANNOTATIONS & data.keys()):
            if not isinstance(data[key], str) or not data[key]:
                said = f"its {key} must be a non-empty string, got {data[key]!r}"
                messages.append(f"{said}; write a name, or remove the key")
    origin = data.get("origin", ())
    if not isinstance(origin, _SEQUENCES) or (origin and not all(isinstance(name, str) for name in origin)):
        messages.append(
            f"its origin must be a tuple of node names, got {origin!r}; write the names that it was made from"
        )
    return messages


@check(whole=True)
def cycles_pass_state(graph: Any) -> Iterator[tuple[Any, str]]:
    """A cycle is legal where it passes an op of the stream level that holds state, and nowhere else."""
    for cycle in order_of(graph).cycles:
        if len(cycle) == 2:
            yield cycle[0], f"reads itself: is on a cycle {shown(cycle)}; remove that edge"
        else:
            yield cycle[0], f"is on a cycle {shown(cycle)}; break it or put a register on it"
    # A state may depend on itself by an operand, but no node comes after itself.
    for node, readers in graph._succ.items():
        if node in readers and not slots_of(readers[node]) and holds_state(graph, node):
            yield node, "runs after itself; remove that edge"


@check(whole=True)
def views_have_nodes(graph: Any) -> Iterator[str]:
    """The views of a graph name nodes of it."""
    for view, data in graph.graph.get("views", {}).items():
        for node in (*data["nodes"], *(node for node, _ in (*data["inputs"], *data["outputs"]))):
            if node not in graph:
                yield (
                    f"its view {view!r} has a node {node!r} that the graph has not; rename nodes with graph.renamed, "
                    "or store the view again"
                )
                break


@check(whole=True)
def effects_are_ordered(graph: Any) -> Iterator[tuple[Any, str]]:
    """The nodes with effects are in one order, which edges say."""
    for source, node in unordered(graph):
        yield (
            node,
            (
                f"has an effect, as {source!r} has, and nothing says which comes first; write "
                f'add_control({source!r}, {node!r}, kind="effect"), or the other way round'
            ),
        )


# ---------------------------------------------------------------------- inputs and outputs


@check(whole=True)
def ports_are_numbered(graph: Any) -> Iterator[tuple[Any, str]]:
    """Inputs and outputs are numbered 0, 1, …, each number once."""
    for kind, ports in _ports(graph).items():
        taken: dict[Any, Any] = {}  # index to node
        for node in ports:
            index = graph._node[node].get("index")
            remedy = f"the positions of its inputs or outputs are 0 to {len(ports) - 1}, each once"
            if type(index) is not int or not 0 <= index < len(ports):
                wrong = "has no position" if index is None else f"is number {index!r}"
                yield node, f"{wrong} among the graph's {kind}s; {remedy}"
            elif index in taken:
                yield node, f"is number {index} among the graph's {kind}s, as {taken[index]!r} is; {remedy}"
            else:
                taken[index] = node


@check(whole=True)
def outputs_are_reached(graph: Any) -> Iterator[tuple[Any, str]]:
    """Every output depends on an input, a constant or a state."""
    outputs = _ports(graph)["output"]
    if not outputs:
        return
    reached = {node for node in graph if _is_source(graph, node)}
    work = list(reached)
    while work:
        for reader, edge in graph._succ[work.pop()].items():
            if reader not in reached and _is_read(graph, reader, edge):
                reached.add(reader)
                work.append(reader)
    for node in outputs:
        if node not in reached and operands_or_fault(graph, node):
            yield node, "is unreachable: no input, constant or state leads to this output; connect what it reads"


def _ports(graph: Any) -> dict[str, list[Any]]:
    """Return the inputs and the outputs, in the order of the graph's dictionary."""
    ports: dict[str, list[Any]] = {"input": [], "output": []}
    for node, data in graph._node.items():
        kind = data.get("type")
        if isinstance(kind, str) and kind in ports:
            ports[kind].append(node)
    return ports


def _is_read(graph: Any, reader: Any, edge: Any) -> bool:
    """Tell whether an edge into a node is an operand; in a malformed graph, whether it looks like one."""
    return bool(edge["slots"] if isinstance(operands_or_fault(graph, reader), tuple) else slots_of(edge))


def _is_source(graph: Any, node: Any) -> bool:
    """Tell whether the value of a node does not come from operands: it has none, or a state."""
    for edge in graph._pred[node].values():
        if _is_read(graph, node, edge):
            return holds_state(graph, node)
    op = known_op(graph, node)
    try:
        # An unknown op may need no operand; another check reports it.
        return op is None or not op.required
    except GraphRewriteError:  # a graph op whose graph is missing, which another check reports
        return True
