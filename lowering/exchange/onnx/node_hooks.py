"""Models and nodes of ONNX as hooks see them, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.attribute_values import plain
from graphrewrite.lowering.exchange.hooks import ModelInfo, ModelNode
from graphrewrite.lowering.exchange.onnx.functions import all_nodes
from graphrewrite.lowering.exchange.onnx.generic_nodes import kind_of

__all__ = ["hooked_node", "info_of_onnx", "node_of_hook"]


def info_of_onnx(proto: Any) -> ModelInfo:
    """Return what hooks are told of a model."""
    ops = {node.name or next(filter(None, node.output), ""): kind_of(node) for node in all_nodes(proto.graph.node)}
    versions = {"" if each.domain == "ai.onnx" else each.domain: each.version for each in proto.opset_import}
    return ModelInfo("onnx", f"{proto.producer_name} {proto.producer_version}".strip(), versions, ops)


def hooked_node(
    node: Any, attributes: Mapping[str, Any], inputs: Sequence[Any], name: str, model: ModelInfo
) -> ModelNode:
    """Return a node as hooks see it."""
    seen = {key: plain(value) for key, value in attributes.items()}
    return ModelNode(kind_of(node), name, tuple(inputs), seen, sum(map(bool, node.output)), model)


def node_of_hook(node: Any, changed: ModelNode) -> Any:
    """Return a node of ONNX with the op and the attributes that a hook gave it, and as many inputs."""
    import onnx

    domain, _, kind = changed.op.rpartition(".")
    other = onnx.NodeProto()
    other.CopyFrom(node)
    other.op_type, other.domain = kind, domain
    del other.attribute[:]
    del other.input[:]
    other.input.extend("" if each is None else f"input_{i}" for i, each in enumerate(changed.inputs))
    for name, value in changed.attributes.items():
        try:
            other.attribute.append(onnx.helper.make_attribute(name, value))
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"node {changed.name!r} ({changed.op}): a hook gave it the attribute {name!r}, which is none of ONNX: "
                f"{error}"
            ) from None
    return other
