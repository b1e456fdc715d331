"""Versions of ONNX's ops: which one a graph needs, and what an older one has not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from graphrewrite import Graph, Tensor
from graphrewrite.hierarchy.graph_ops import nested_graphs
from graphrewrite.lowering.exchange.entry import Entry

__all__ = ["lacking_types", "opset_needed"]

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
    every = list(nested_graphs(graph))
    results = {data.get("result", ()) for each in every for data in each._node.values()}
    elements = {str(t.element) for kinds in results for t in (kinds if isinstance(kinds, tuple) else (kinds,))}
    entries = [table.get(kind, ())[:1] for kind in {data["type"] for each in every for data in each._node.values()}]
    names = (*elements, *(entry.onnx for first in entries for entry in first))
    return max((_SINCE.get(name, 1) for name in names), default=1)


def lacking_types(graph: Graph, table: Mapping[str, tuple[Entry, ...]], opset: int) -> set[str]:
    """Return the types of nodes for which a table has no entry whose op is in a version of ONNX's ops."""
    found, by_type = set(), dict[str, list[Entry]]()
    for node, data in graph._node.items():
        kind = data["type"]
        if kind not in by_type:
            entries = [entry for entry in table.get(kind, ()) if _SINCE.get(entry.onnx, 1) <= opset]
            # Where one fits whatever the operands are, no node needs to be looked at.
            by_type[kind] = [] if any(entry.fits is None for entry in entries) else entries
            if not entries:
                found.add(kind)
        if by_type[kind] and kind not in found and not _is_fit(graph, node, by_type[kind]):
            found.add(kind)
    return found


def _is_fit(graph: Graph, node: str, entries: Iterable[Entry]) -> bool:
    types = [graph.result_type(*operand) for operand in graph.operands(node)]
    tensors = [kind for kind in types if isinstance(kind, Tensor)]
    attributes = graph.attributes(node)
    return any(each.fits is None or each.fits(attributes, tensors) is None for each in entries)
