"""Versions of ONNX's ops: which one a graph needs, and what an older one has not."""

from __future__ import annotations

from collections.abc import Mapping

from graphrewrite import Graph, Tensor
from graphrewrite.hierarchy.graph_ops import nested_graphs
from graphrewrite.lowering.exchange.entry import Entry

__all__ = ["is_writable", "opset_needed"]

_SINCE = {
    "Attention": 23,
    "f4e2m1": 23,
    "f8e8m0": 24,
    "i2": 25,
    "u2": 25,
    "BitCast": 26,
    "LinearAttention": 27,
    "RMSNormalization": 23,
    "RotaryEmbedding": 23,
    "Swish": 24,
    "TensorScatter": 24,
}
"""First opset of each op or element type newer than `to_onnx`'s default opset."""


def opset_needed(graph: Graph, table: Mapping[str, tuple[Entry, ...]]) -> int:
    """Return the first version of ONNX's ops that has the ops and the element types of a graph."""
    versions = [1]
    for _, data in (node for each in nested_graphs(graph) for node in each.nodes(data=True)):
        kinds = data.get("result", ())
        versions += [_SINCE.get(str(k.element), 1) for k in (kinds if isinstance(kinds, tuple) else (kinds,))]
        entries = table.get(data["type"], ())
        versions += [_SINCE.get(entry.onnx, 1) for entry in entries[:1]]
    return max(versions)


def is_writable(graph: Graph, node: str, table: Mapping[str, tuple[Entry, ...]], opset: int) -> bool:
    """Tell whether an entry is for a node, and its op in a version of ONNX's ops."""
    entries = [entry for entry in table.get(graph.nodes[node]["type"], ()) if _SINCE.get(entry.onnx, 1) <= opset]
    types = [graph.result_type(*operand) for operand in graph.operands(node)]
    tensors = [kind for kind in types if isinstance(kind, Tensor)]
    return any(each.fits is None or each.fits(graph.attributes(node), tensors) is None for each in entries)
