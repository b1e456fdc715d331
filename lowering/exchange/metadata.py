"""Documentation and metadata of a model and of its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphrewrite import Graph

if TYPE_CHECKING:
    import onnx

__all__ = ["keep_metadata", "write_metadata"]


def keep_metadata(proto: onnx.ModelProto, graph: Graph, copies: str) -> None:
    """Store documentation and metadata of a model as the graph's attribute ``origin``.

    It has ``doc`` and ``metadata`` of the model, and under ``nodes`` those of each node by the name that origins keep
    through rewrites. Empty entries are omitted, as are doc strings equal to ``copies``.
    """
    nodes = {}
    kept = {name for node in graph for name in graph.origin(node)}
    for node in proto.graph.node:
        if (node.name or next(iter(node.output), "")) not in kept:
            continue  # it computed a size, say, and is gone
        record = {} if node.doc_string == copies else _record_of(node)
        if record:
            nodes[node.name or node.output[0]] = record
    record = _record_of(proto)
    if proto.graph.doc_string:
        record.setdefault("doc", proto.graph.doc_string)
    if nodes:
        record["nodes"] = dict(sorted(nodes.items()))
    if record:
        graph.graph["origin"] = record


def _record_of(proto: Any) -> dict[str, Any]:
    record: dict[str, Any] = {"doc": proto.doc_string} if proto.doc_string else {}
    metadata = {entry.key: entry.value for entry in getattr(proto, "metadata_props", ())}
    return {**record, "metadata": metadata} if metadata else record


def write_metadata(graph: Graph, proto: onnx.ModelProto) -> None:
    """Write the metadata that `keep_metadata` stored into a model."""
    record = graph.graph.get("origin")
    if not isinstance(record, dict):
        return
    _write(record, proto)
    records = record.get("nodes", {})
    for node in proto.graph.node:
        origin = graph.origin(node.name) if node.name in graph else ()
        if len(origin) == 1 and origin[0] in records:
            _write(records[origin[0]], node)


def _write(record: dict[str, Any], proto: Any) -> None:
    if record.get("doc"):
        proto.doc_string = str(record["doc"])
    for key, value in record.get("metadata", {}).items():
        proto.metadata_props.add(key=str(key), value=str(value))
