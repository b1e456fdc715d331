"""What a model says of itself and of its nodes beside what they compute: documentation and metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphrewrite import Graph

if TYPE_CHECKING:
    import onnx

__all__ = ["keep_said", "write_said"]


def keep_said(proto: onnx.ModelProto, graph: Graph, copies: str) -> None:
    """Keep documentation and metadata of a model as the graph's attribute ``origin``.

    It has ``doc`` and ``metadata`` of the model, and under ``nodes`` those of each node by the name that the origins of
    our nodes have, however the graph is rewritten. What the model does not say is not there.

    Parameters
    ----------
    proto : onnx.ModelProto
        The model.
    graph : Graph
        Gets the attribute, if there is anything to keep.
    copies : str
        A documentation that says nothing of a node.
    """
    nodes = {}
    for node in proto.graph.node:
        found = {} if node.doc_string == copies else _said(node)
        if found:
            nodes[node.name or node.output[0]] = found
    said = _said(proto)
    if proto.graph.doc_string:
        said.setdefault("doc", proto.graph.doc_string)
    if nodes:
        said["nodes"] = nodes
    if said:
        graph.graph["origin"] = said


def _said(proto: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"doc": proto.doc_string} if proto.doc_string else {}
    metadata = {entry.key: entry.value for entry in getattr(proto, "metadata_props", ())}
    return {**found, "metadata": metadata} if metadata else found


def write_said(graph: Graph, proto: onnx.ModelProto) -> None:
    """Write what `keep_said` has kept into a model.

    Parameters
    ----------
    graph : Graph
        What the model was made of; a node that stands for one of the original model has its documentation.
    proto : onnx.ModelProto
        Changed.
    """
    said = graph.graph.get("origin")
    if not isinstance(said, dict):
        return
    _write(said, proto)
    of_nodes = said.get("nodes", {})
    for node in proto.graph.node:
        origin = graph.origin(node.name) if node.name in graph else ()
        if len(origin) == 1 and origin[0] in of_nodes:
            _write(of_nodes[origin[0]], node)


def _write(said: dict[str, Any], proto: Any) -> None:
    if said.get("doc"):
        proto.doc_string = str(said["doc"])
    for key, value in said.get("metadata", {}).items():
        proto.metadata_props.add(key=str(key), value=str(value))
