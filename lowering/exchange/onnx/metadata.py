"""Documentation and metadata of a model and of its nodes; annotations and predicates of ours among them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from graphrewrite import Graph
from graphrewrite.errors import GraphRewriteError
from graphrewrite.formats.json.decode import Decoder
from graphrewrite.formats.json.encode import encode
from graphrewrite.formats.json.path import JsonPath, key_of, name_of
from graphrewrite.graph.validation import check_annotations
from graphrewrite.lowering.errors import ModelError
from graphrewrite.op.reserved_keys import is_attribute

if TYPE_CHECKING:
    import onnx

__all__ = [
    "keep_annotations",
    "keep_metadata",
    "left_out_of",
    "predicate_of",
    "write_annotations",
    "write_left_out",
    "write_metadata",
    "write_predicate",
]

_OURS = "graphrewrite."
"""Before the name of an annotation; its value is JSON, as in our files."""

_PREDICATE = "graphrewrite:predicate"
"""Key of a node's predicate; its value is a name in the model."""

_LEFT_OUT = "graphrewrite:left_out"
"""Key of the constants that are left out of a node and that others read too; their names by the number of the input."""


def keep_metadata(proto: onnx.ModelProto, graph: Graph, copies: str) -> None:
    """Store documentation and metadata of a model as the graph's attribute ``origin``.

    It has ``doc`` and ``metadata`` of the model, and under ``nodes`` those of each node by the name that origins keep
    through rewrites. Empty entries are omitted, as are doc strings equal to ``copies``.
    """
    nodes = {}
    for node in proto.graph.node:
        if (record := _record_of(node)) and node.doc_string != copies:
            nodes[node.name or next(iter(node.output), "")] = record
    if nodes:
        kept = {name for node in graph for name in graph.origin(node)}
        nodes = {name: record for name, record in nodes.items() if name in kept}  # others computed a size, say
    record = _record_of(proto)
    if proto.graph.doc_string:
        record.setdefault("doc", proto.graph.doc_string)
    if nodes:
        record["nodes"] = dict(sorted(nodes.items()))
    if record:
        graph.graph["origin"] = record


def _record_of(proto: Any) -> dict[str, Any]:
    record: dict[str, Any] = {"doc": proto.doc_string} if proto.doc_string else {}
    entries = getattr(proto, "metadata_props", ())
    if not entries:
        return record
    metadata = {entry.key: entry.value for entry in entries if not entry.key.startswith((_OURS, _PREDICATE, _LEFT_OUT))}
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


def write_annotations(graph: Graph, node: str, proto: Any) -> None:
    """Write the annotations of a node into what it is in a model."""
    for key, value in graph.annotations(node).items():
        path = JsonPath() / "nodes" / node / key
        proto.metadata_props.add(key=_OURS + key_of(key, path), value=json.dumps(encode(value, path)))


def write_predicate(proto: onnx.NodeProto, value: str) -> None:
    """Write which value of a model is the predicate of a node."""
    proto.metadata_props.add(key=_PREDICATE, value=value)


def predicate_of(proto: onnx.NodeProto) -> str | None:
    """Return the name of the value that is the predicate of a node, if it has one."""
    entries = getattr(proto, "metadata_props", ())
    return next((entry.value for entry in entries if entry.key == _PREDICATE), None)


def write_left_out(proto: onnx.NodeProto, names: Mapping[int, str]) -> None:
    """Write which constants of several readers are left out of a node, by the number of the input."""
    if names:
        proto.metadata_props.add(key=_LEFT_OUT, value=json.dumps({str(at): names[at] for at in sorted(names)}))


def left_out_of(proto: onnx.NodeProto) -> dict[int, str]:
    """Return the names that `write_left_out` has written, none of what cannot be read."""
    for entry in getattr(proto, "metadata_props", ()):
        if entry.key == _LEFT_OUT:
            with suppress(ValueError, AttributeError, RecursionError):
                return {int(at): str(name) for at, name in json.loads(entry.value).items()}
    return {}


def keep_annotations(graph: Graph, node: str, proto: Any) -> None:
    """Give a node the annotations that `write_annotations` has written, but for names that are attributes here."""
    for entry in getattr(proto, "metadata_props", ()):
        if not entry.key.startswith(_OURS):
            continue
        op = graph.op(node)
        path = JsonPath() / "nodes" / node / entry.key
        try:
            key = name_of(entry.key.removeprefix(_OURS), path)
            value = Decoder().decode(json.loads(entry.value), path)
            if not is_attribute(key, op):
                check_annotations({key: value}, op)
                graph.nodes[node][key] = value
        except (GraphRewriteError, ValueError, RecursionError) as error:
            raise ModelError(f"node {node!r}: its metadata {entry.key!r} is no annotation: {error}") from error
