"""Encodings of a design's ports: what the host's parts do to the numbers beside the hardware, as plain arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphrewrite import FixedPoint, Graph, Tensor
from graphrewrite.hdl.port_encoding import Encoding
from graphrewrite.lowering.host_chain import ARITHMETIC, MOVING, UNARY, HostChain, source_of, variable_operands
from graphrewrite.lowering.host_partition import Partition, partition

__all__ = ["port_encodings"]

_NUMBERS = frozenset({"bool", "f32", "f64", *(f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64))})
_EXACT = 53  # bits of a mantissa that are exact in the host's floats


def port_encodings(network: Graph | Partition) -> dict[str, Encoding]:
    """Return what the integers at each port of the hardware stand for.

    The host's arithmetic beside a port is described as far as it is data movement, products, sums and roundings with
    constants; ops beyond are named. Each description has been compared with the host's own ops, on numbers over the
    port's range, bit for bit.

    Parameters
    ----------
    network : Graph or Partition
        What `to_integer` gives, or its `partition`.

    Returns
    -------
    dict of str to Encoding
        By input and output of the core. A port of more than 53 bits has none.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N,3]
    ... half = constant(value=0.5) : f32[]
    ... s = div(x, half)
    ... f = to_fixed(s, element=s8f0)
    ... r = relu(f)
    ... z = from_fixed(r, fraction=4)
    ... y = output(z)''')
    >>> encodings = port_encodings(g)
    >>> encodings["x"].scale, encodings["y"].scale, encodings["x"].encode([[0.25, 0.75, -999]]).tolist()
    ((0.5,), (0.0625,), [[0, 2, -128]])
    """
    parts = network if isinstance(network, Partition) else partition(network)
    found: dict[str, Encoding | None] = {}
    for name, end in zip(parts.core.inputs, parts.before.outputs, strict=True):
        found[name] = _of_input(parts, name, end)
    for name, start in zip(parts.core.outputs, parts.after.inputs, strict=True):
        found[name] = _of_output(parts, name, start)
    return {name: encoding for name, encoding in found.items() if encoding is not None}


def _of_input(parts: Partition, name: str, end: str) -> Encoding | None:
    graph, kind = parts.before, _tensor(parts.core, name)
    if kind is None or len(kind.shape) < 2:
        return None
    chain = [graph.operands(end)[0].node]  # the node `to_fixed`
    while (links := _links_above(graph, chain[0])) and _tensor(graph, source_of(graph, links)):
        chain = [*links, *chain]
    for first in range(len(chain)):
        nodes = chain[first:]
        operands = [o for o in graph.operands(nodes[0]) if graph.nodes[o.node]["type"] != "constant"]
        # The first result of an op, which is what a node's name stands for here.
        if len(operands) != 1 or operands[0].result or _tensor(graph, operands[0].node) is None:
            continue
        source = operands[0].node
        above = [] if graph.nodes[source]["type"] == "input" else [*graph.upstream(source), source]
        inputs = [n for n in graph.inputs if n == source or n in above]
        encoding = HostChain(graph, nodes, source).encoding(
            kind,
            " and ".join(inputs) if inputs else source,
            _kinds(graph, above),
            is_input=True,
            signs=_signs(parts, name),
        )
        if encoding is not None:
            return encoding
    return None


def _of_output(parts: Partition, name: str, start: str) -> Encoding | None:
    graph, kind = parts.after, _tensor(parts.after, start)
    if kind is None or len(kind.shape) < 2:
        return None
    chain = [start]
    while len(readers := graph.readers(chain[-1])) == 1 and _continues(graph, chain[-1], readers[0].node):
        chain.append(readers[0].node)
    for last in range(len(chain), 0, -1):
        end = chain[last - 1]
        if last > 1 and _tensor(graph, end) is None:
            continue
        below = [n for n in graph.in_order() if n in graph.downstream(end)]
        direct = [parts.outputs[graph.outputs.index(r.node)] for r in graph.readers(end) if r.node in graph.outputs]
        served = [o for o, n in zip(parts.outputs, graph.outputs, strict=True) if n in below]
        encoding = HostChain(graph, chain[1:last], start).encoding(
            kind,
            (direct or [" and ".join(served)])[0],
            _kinds(graph, below),
            is_input=False,
            meaning=_meaning(parts, name),
        )
        if encoding is not None:
            return encoding
    return None


def _tensor(graph: Graph, node: str) -> Tensor | None:
    """The type of a node, where numpy holds its numbers as they are, and its sizes are known but for the batch."""
    kind = graph.result_type(node)
    if not isinstance(kind, Tensor) or not kind.shape or isinstance(kind.shape[0], int):
        return None
    if not all(isinstance(d, int) for d in kind.shape[1:]):
        return None
    if isinstance(kind.element, FixedPoint):
        return kind if kind.element.width <= _EXACT else None
    return kind if kind.element in _NUMBERS else None


def _kinds(graph: Graph, nodes: Sequence[str]) -> tuple[str, ...]:
    plain = ("input", "output", "constant")
    chosen = [n for n in graph.in_order() if n in nodes]
    return tuple(dict.fromkeys(kind for n in chosen if (kind := graph.nodes[n]["type"]) not in plain))


def _signs(parts: Partition, name: str) -> bool:
    """Tell whether the core reads bits as -1 and 1."""
    readers = [parts.core.nodes[r.node] for r in parts.core.readers(name)]
    return all(d["type"] == "rescale" and (d["multiplier"], d.get("addend")) == (2, -1) for d in readers)


def _meaning(parts: Partition, name: str) -> str:
    """What the core computes last, where that has a name of its own."""
    core = parts.core
    node = core.operands(name)[0].node
    while core.nodes[node]["type"] in MOVING:
        node = core.operands(node)[0].node
    if core.nodes[node]["type"] == "arg_max":
        scores = core.result_type(core.operands(node)[0].node)
        axis = core.attributes(node).get("axis", 1)
        many = f" of {scores.shape[axis]} scores" if isinstance(scores, Tensor) else ""
        return f"the class: the place of the greatest{many}"
    return "probabilities" if core.nodes[node]["type"] == "integer_softmax" else ""


def _links_above(graph: Graph, node: str) -> list[str]:
    """The nodes that compute a node's operand, if they are part of a port's arithmetic: one, or the two of a sign."""
    operands = [o for o in graph.operands(node) if graph.nodes[o.node]["type"] != "constant"]
    if len(operands) != 1 or operands[0].result:
        return []
    above = operands[0].node
    if graph.nodes[above]["type"] == "where":
        return _sign(graph, above)
    return [above] if _is_plain(graph, above) else []


def _sign(graph: Graph, node: str) -> list[str]:
    """The nodes of ``where(x >= 0, 1, 0)``."""
    test, *ends = (o.node for o in graph.operands(node))
    numbers = [graph.nodes[n].get("value") for n in ends]
    if graph.nodes[test]["type"] != "greater_or_equal" or any(v is None or v.size != 1 for v in numbers):
        return []
    left, right = (o.node for o in graph.operands(test))
    limit = graph.nodes[right].get("value")
    if (
        limit is None
        or graph.nodes[left]["type"] == "constant"
        or np.any(limit)
        or [v.item() for v in numbers] != [1, 0]
    ):
        return []
    return [test, node]


def _is_plain(graph: Graph, node: str) -> bool:
    """Tell whether an op moves numbers, or computes each with constants by arithmetic that IEEE 754 defines."""
    kind, variable = graph.nodes[node]["type"], variable_operands(graph, node)
    if len(variable) != 1:
        return False
    if kind in ARITHMETIC and graph.result_type(node).element not in ("f32", "f64"):
        return False
    if kind in ("div", "sub"):
        return graph.operands(node)[0].node == variable[0]
    return kind in (*MOVING, *ARITHMETIC, *UNARY, "cast", "from_fixed", "quantize_linear", "dequantize_linear")


def _continues(graph: Graph, node: str, reader: str) -> bool:
    return (
        _is_plain(graph, reader) and variable_operands(graph, reader) == [node] and _tensor(graph, reader) is not None
    )
