"""Whole-graph clean-up in linear time: dead, independent, empty and equal nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from graphrewrite import Graph, pass_
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.formats.text import format_exactly
from graphrewrite.graph import Operand
from graphrewrite.graph.dataflow import PREDICATE, is_ordered, predicate_in
from graphrewrite.graph.rewiring import all_buffers, inherit, is_buffer, remove, rewire
from graphrewrite.graph.type_inference import declared_types
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.hierarchy.graph_sizes import replace_sizes
from graphrewrite.op import LIBRARY, constant, expand, find_op, identity
from graphrewrite.op.cost import entries
from graphrewrite.op.reserved_keys import annotations_in, attributes_in, marks_in
from graphrewrite.types import (
    Dimension,
    EdgeType,
    Tensor,
    Type,
    element_dtype,
    element_kind,
    handed_over,
    pairs_of,
    sizes_in,
    solved,
)

__all__ = ["eliminate_dead_nodes", "eliminate_empty_nodes", "eliminate_independent_nodes", "merge_equal_nodes"]

_GLANCE = 8
"""So many entries of constants are compared before all of them."""


_BY_ORDER = ("maximum", "minimum")
"""Of 0 and -0 they take the one that comes last."""


@pass_
def eliminate_dead_nodes(graph: Graph) -> list[str]:
    """Remove the nodes from which no output can be reached; inputs stay, for they are the graph's interface."""
    if _is_read(graph):
        return []  # as most graphs
    dead = sorted(graph.dead_nodes() - set(graph.inputs))
    graph.remove_nodes_from(dead)
    return dead


def _is_read(graph: Graph) -> bool:
    """Tell whether all nodes are read but inputs and outputs, and none is on a cycle: then a way leads to an output."""
    nodes = graph._node
    if any(nodes[name].get("type") not in ("input", "output") for name, readers in graph._succ.items() if not readers):
        return False
    # Cycles pass through state.
    ops = [find_op(kind, graph.ops) for kind in {data.get("type") for data in nodes.values()}]
    return all(op is not None and not isinstance(op, GraphOp) and not op.stateful for op in ops)


@pass_
def eliminate_independent_nodes(graph: Graph) -> list[str]:
    """Compute the nodes that no input reaches, and that have no state, once and for all: each result that is read.

    They are there before all others: what came before one of them comes before what came after it, and no more is said
    of their order.
    """
    constants = {node for node, data in graph._node.items() if data.get("type") == "constant"}
    has_order = _has_order(graph)
    freed = [node for node in constants if _drop_order(graph, node)] if has_order else []
    if not any(_is_computable(graph, node) for node in _readers_of_only(graph, constants, has_order)):
        return freed  # as most networks: the first node to compute would read constants alone
    independent = graph.independent_nodes() - set(graph.outputs)
    # Folding stops at state: what a counter feeds is independent, and changes from cycle to cycle.
    fixed: set[str] = set()
    buffers: dict[str, bool | None] = {}
    order = list(graph.in_order())
    for node in order:
        if node not in independent or not _is_computable(graph, node):
            continue
        op = graph.op(node)
        read = [operand.node for operand in graph.operands(node)]
        if all(each in fixed for each in read):
            fixed.add(node)
            is_constant = op.name == "constant"
            buffers[node] = is_buffer(graph, node) if is_constant else all_buffers(buffers[each] for each in read)
    for node in reversed(order):  # a constant holds a tensor, and no value of a type of one's own
        is_object = node in fixed and any(isinstance(kind, EdgeType) for kind in _result_types(graph, node))
        if is_object and any(reader not in fixed for reader in graph.successors(node)):
            fixed.remove(node)
    for node in [n for n in order if n in fixed and len(_result_types(graph, n)) != 1]:
        order += (alone := _results_alone(graph, node))
        fixed.update(alone)
        buffers |= dict.fromkeys(alone, buffers[node])
    folded = [n for n in order if n in fixed and graph.nodes[n]["type"] != "constant"]
    rim = [n for n in folded if any(reader not in fixed for reader in graph.successors(n))]
    values = evaluate_nodes(graph, {}, rim)
    # A size that only the data decides is known with the data, and replaced wherever it stands.
    kinds = {node: graph.result_type(node) for node in rim}
    unknown = {name for kind in kinds.values() for name in kind.unknowns}
    found = [pair for n in rim if kinds[n].unknowns for pair in zip(kinds[n].shape, values[n].shape, strict=True)]
    replace_sizes(graph, solved(found, unknown))
    # A function of somebody else's may keep what it returns. Copies would leave holes as large as all weights.
    is_ours = all(graph.op(node) is LIBRARY.get(graph.nodes[node]["type"]) for node in folded)
    for node, origin in _origins(graph, rim, folded).items():
        array = handed_over(values[node]) if is_ours and values[node].base is None else values[node]
        value = graph.constant(array, type=graph.result_type(node), origin=origin)
        inherit(graph, value.node, node)
        if buffers[node]:
            graph.nodes[value.node].setdefault("trainable", False)
        rewire(graph, node, Operand(value.node))
    for node in folded:
        _drop_order(graph, node)
    removed, _ = remove(graph, folded)
    return [*freed, *removed]


_MANY = 1 << 28
"""So many entries are not computed once and for all of a few: a repetition is kept rather than what is repeated."""


def _is_huge(graph: Graph, node: str) -> bool:
    """Tell whether the results of a node have many entries, and far more than its operands."""
    count = _count(_result_types(graph, node))
    return count > _MANY and count > 2 * _count(graph.result_type(*operand) for operand in graph.operands(node))


def _count(kinds: Iterable[Type]) -> int:
    return sum(entries(kind.shape) for kind in kinds if isinstance(kind, Tensor))


def _has_order(graph: Graph) -> bool:
    """Tell whether any edge has more than operands, as an order has."""
    edges = chain.from_iterable(map(dict.values, graph._succ.values()))
    return any(keys != ("slots",) for keys in set(map(tuple, edges)))


def _readers_of_only(graph: Graph, constants: set[str], has_order: bool) -> Iterator[str]:
    """Yield the nodes that are neither constants nor inputs nor outputs, and are computed of constants alone."""
    for node, sources in graph._pred.items():
        if not constants.issuperset(sources) and not (has_order and _reads_only(graph, node, constants)):
            continue
        if node not in constants and graph._node[node].get("type") not in ("input", "output"):
            yield node


def _reads_only(graph: Graph, node: str, constants: set[str]) -> bool:
    """Tell whether all operands of a node are constants, whatever its predicate is."""
    edges = graph._pred[node].items()
    return all(source in constants or not (data.get("slots") or predicate_in(data) is None) for source, data in edges)


def _is_computable(graph: Graph, node: str) -> bool:
    """Tell whether a node is computed once and for all: without state, effects, sizes of inputs, or a huge result."""
    op, data = graph.op(node), graph._node[node]
    if any(any(sizes_in(data[key])) for key in op.sized & data.keys()):
        return False
    attributes = attributes_in(data, op)
    return not (op.has_state(attributes) or op.has_effects(attributes) or _is_huge(graph, node))


def _drop_order(graph: Graph, node: str) -> bool:
    """Let what comes before a node come before what comes after it instead; tell whether there was such an order."""
    if not is_ordered(graph, node):
        return False
    sides = (graph.in_edges(node, data=True), graph.out_edges(node, data=True))
    before, after = ([(*edge, d) for *edge, d in side if d.get("kind", PREDICATE) != PREDICATE] for side in sides)
    for source, _, data in before:
        for _, destination, _ in after:
            graph.add_control(source, destination, data["kind"])
    for source, destination, data in (*before, *after):
        if data.get("slots"):
            del data["kind"]
        else:
            graph.remove_edge(source, destination)
    return True


def _origins(graph: Graph, rim: list[str], folded: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the origins of the constants that replace a rim: each node below it belongs to the first that needs it."""
    left = set(folded) - set(rim)
    origins: dict[str, tuple[str, ...]] = {}
    for node in rim:
        found = dict.fromkeys(graph.origin(node))
        work = [node]
        while work:
            for source, _ in graph.operands(work.pop()):
                if source in left:
                    left.remove(source)
                    work.append(source)
                    found.update(dict.fromkeys(graph.origin(source)))
        origins[node] = tuple(found)
    return origins


def _result_types(graph: Graph, node: str) -> tuple[Type, ...]:
    return tuple(graph.result_type(node, i) for i in range(graph.op(node).number_of_results(graph.attributes(node))))


def _results_alone(graph: Graph, node: str) -> list[str]:
    """Let each result of a node that is read be the only one of a node of its own; return these."""
    added = []
    for index in range(len(_result_types(graph, node))):
        if any(graph.operands(reader).count(Operand(node, index)) for reader in graph.successors(node)):
            alone = identity(graph.value(node, index)).node
            inherit(graph, alone, node)
            graph.nodes[alone]["origin"] = graph.origin(node)
            rewire(graph, node, Operand(alone), index)
            added.append(alone)
    return added


@pass_
def eliminate_empty_nodes(graph: Graph) -> list[str]:
    """Let what has no entries be an input of its type, or a constant: nothing it is computed of counts, nor when."""
    empty = {}
    for node, data in graph._node.items():
        kind = data.get("result")
        if kind.__class__ is Tensor and 0 not in kind.shape:
            continue  # as almost all
        if kinds := _types_without_entries(data):
            empty[node] = kinds
    if not empty:
        return []
    inputs: dict[Tensor, str] = {}
    for name in graph.inputs:
        if name in empty:
            inputs.setdefault(empty.pop(name)[0], name)
    done = []
    for node in [node for node in graph.in_order() if node in empty and _counts_for_nothing(graph, node)]:
        read = {result for _, _, result in graph.readers(node)}
        for result, kind in empty[node].items():
            source = inputs.get(kind) or _constant_without_entries(graph, node, kind) if result in read else None
            if source is not None:
                rewire(graph, node, Operand(source), result)
                done.append(node)
    return done


def _types_without_entries(data: dict[str, Any]) -> dict[int, Tensor]:
    """Return the types of those results of a node that have no entries, by their places."""
    kinds = data.get("result")
    listed = kinds if isinstance(kinds, tuple) else (kinds,)
    return {i: kind for i, kind in enumerate(listed) if isinstance(kind, Tensor) and 0 in kind.shape}


def _counts_for_nothing(graph: Graph, node: str) -> bool:
    """Tell whether a node does nothing else than to compute its results."""
    op, attributes = graph.op(node), graph.attributes(node)
    return not (op.has_state(attributes) or op.has_effects(attributes))


def _constant_without_entries(graph: Graph, node: str, kind: Tensor) -> str | None:
    """Add a constant in place of a node, or a number that is repeated not at all; None where the node is that."""
    op, dtype, origin = graph.op(node), element_dtype(kind.element), graph.origin(node)
    is_known = all(isinstance(size, int) for size in kind.shape)
    is_repeated = op is expand and graph.op(graph.operands(node)[0].node) is constant
    if kind.unknowns or op is constant or (not is_known and (is_repeated or kind.layout is not None)):
        return None
    if is_known:
        new = graph.constant(np.zeros(kind.shape, dtype), type=kind, origin=origin)
    else:
        zero = graph.constant(np.zeros((), dtype), type=Tensor(kind.element, ()), origin=origin)
        new = graph.add(expand, [zero], {"shape": kind.shape}, origin=origin)
    inherit(graph, new.node, node)
    return str(new.node)


@pass_
def merge_equal_nodes(graph: Graph) -> list[str]:
    """Let one node serve for all with the same op, operands, predicate and attributes; state is never shared.

    Operands may come in another order where that changes no bit of the result, NaN's aside.
    It keeps its annotations, and takes those of the others that it does not have. Of constants, those that are
    ``trainable=False`` are apart.
    """
    alike: dict[object, str | None] = {}  # the first of those that are alike at a glance, until another one comes
    firsts: dict[object, str] = {}
    origins: dict[str, dict[str, None]] = {}
    merged: list[str] = []
    if not _has_equal(graph):
        return []
    for node in graph.in_order():
        glance = _glance(graph, node)
        other = alike.setdefault(glance, node)
        if other == node:
            continue  # as most nodes
        if other is not None:
            firsts[_identity(graph, other)] = other
            alike[glance] = None
        first = firsts.setdefault(_identity(graph, node), node)
        if first == node:
            continue
        op, data = graph.op(node), graph.nodes[node]
        for index in range(op.number_of_results(graph.attributes(node))):
            rewire(graph, node, Operand(first, index), index)
        annotations = annotations_in(data, op)
        for annotation, its in annotations.items():
            graph.nodes[first].setdefault(annotation, its)
        if annotations or op.name != "constant":
            origins.setdefault(first, dict.fromkeys(graph.origin(first))).update(dict.fromkeys(graph.origin(node)))
        renamed = _renamed_sizes(graph, node, first)
        graph.remove_node(node)
        replace_sizes(graph, renamed)
        merged.append(node)
    for node, origin in origins.items():
        graph.nodes[node]["origin"] = tuple(origin)
    return merged


def _has_equal(graph: Graph) -> bool:
    """Tell whether there are two equal nodes, by a look at those that read one value, and at like constants."""
    nodes, firsts = graph._node, dict[object, str]()
    alike: dict[str, None] = {}  # those that another one may equal
    for name, sources in graph._pred.items():
        if not sources:
            kind = nodes[name].get("type")
            first = firsts.setdefault(_head(nodes[name]["value"]) if kind == "constant" else kind, name)
            if first is not name:
                alike[first] = alike[name] = None
    for readers in graph._succ.values():
        if len(readers) > 1 and len({nodes[reader].get("type") for reader in readers}) < len(readers):
            alike.update(dict.fromkeys(readers))
    glances: dict[object, list[str]] = {}
    for name in alike:
        glances.setdefault(_glance(graph, name), []).append(name)
    same = [[_identity(graph, name) for name in names] for names in glances.values() if len(names) > 1]
    return any(len(set(each)) < len(each) for each in same)


def _head(value: Any) -> object:
    """Return what costs least to compare of a constant, and is equal for equal ones."""
    array = value if value.__class__ is np.ndarray else np.asarray(value)
    first = None if array.dtype.hasobject or not array.size else array.item(0)
    return array.nbytes, first if first == first else None  # NaN is not equal to itself


def _renamed_sizes(graph: Graph, node: str, first: str) -> dict[str, Dimension]:
    """Return the unknown sizes of a node that are the same as others of an equal one, and these."""
    kinds, own = declared_types(graph, node), declared_types(graph, first)
    if kinds is None or own is None or kinds == own:
        return {}
    return solved(pairs_of(kinds, own), {name for kind in kinds for name in kind.unknowns})


def _glance(graph: Graph, node: str) -> object:
    """Return what costs little to compare, and is equal for equal nodes."""
    data = graph._node[node]
    kind = data.get("type")
    if kind != "constant":
        return node if kind in ("input", "output") else (kind, frozenset(graph._pred[node]))
    value = np.asarray(data["value"])
    return value.dtype.str, value.shape, value.flat[:_GLANCE].tobytes()


def _operands(graph: Graph, node: str) -> tuple[Operand, ...]:
    """Return the operands of a node, sorted where their order changes no bit of a result."""
    operands, op = tuple(graph.operands(node)), graph.op(node)
    if not op.commutative or (op.name in _BY_ORDER and element_kind(graph.result_type(node).element) == "float"):
        return operands
    return tuple(sorted(operands))


def _identity(graph: Graph, node: str) -> object:
    """Return what is equal for equal nodes, and for no others."""
    op, data = graph.op(node), graph.nodes[node]
    attributes = attributes_in(data, op)
    if op.name in ("input", "output") or op.has_state(attributes) or is_ordered(graph, node):
        return node
    held: Any = None
    if op.name == "constant":
        # A weight changes in training, and a buffer of the same numbers does not.
        held = (data.get("result"), data.get("trainable", True))
        if (value := np.asarray(attributes["value"])).dtype != object:  # numbers by their bytes, which cost less
            held = (*held, attributes.pop("value") is None or value.tobytes())
    # Marks count: two nodes that run on different backends are two.
    told = tuple([(k, format_exactly(v)) for k, v in sorted({**attributes, **marks_in(data, op)}.items())])
    return op.name, _operands(graph, node), graph.predicate(node), told, held
