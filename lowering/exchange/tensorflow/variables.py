"""Variables of a saved model become constants.

Nodes that restore them, or else the objects that a function has captured, say which tensor of the checkpoint is whose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.tensorflow.checkpoint import Checkpoint
from graphrewrite.lowering.exchange.tensorflow.node import Node

__all__ = ["with_variables"]

_VARIABLES = ("VarHandleOp", "Variable", "VariableV2")
_ASSIGNS = ("Assign", "AssignVariableOp")
_PASSES = ("Cast", "Identity", "Reshape")


def with_variables(nodes: Sequence[Node], folder: Path, captured: Mapping[str, tuple[int, str]]) -> tuple[Node, ...]:
    """Return nodes in which variables are constants, read from the checkpoint in a folder.

    Parameters
    ----------
    nodes : sequence of Node
        The nodes of a saved model.
    folder : Path
        Where the checkpoint is.
    captured : mapping of str to (int, str)
        Of variables that functions have captured, which object of the model they are, and its full name.

    Raises
    ------
    ModelError
        If the checkpoint is missing, damaged, or lacks a tensor.
    """
    every = {node.name: node for node in nodes}
    keys = {}
    for node in nodes:
        if node.op in _ASSIGNS and len(node.inputs) > 1:
            key = _restored(every, node.inputs[1])
            if key is not None:
                keys[_origin(every, node.inputs[0][0])] = key
    variables = {node.name: _shared(node) for node in nodes if node.op in _VARIABLES}
    shared = {variables[name]: key for name, key in keys.items() if name in variables}
    stored = {name: shared[same] for name, same in variables.items() if same in shared}
    unknown = {name: captured[name] for name in variables if name not in stored and name in captured}
    if not (stored or unknown):
        return tuple(nodes)
    checkpoint = Checkpoint.read(folder / "variables")
    objects = checkpoint.objects() if unknown else []
    for name, (place, full_name) in unknown.items():
        if place < len(objects) and full_name in objects[place]:
            stored[name] = objects[place][full_name]
    return tuple(
        Node(node.name, "Const", (), held=checkpoint.tensor(stored[node.name])) if node.name in stored else node
        for node in nodes
    )


def _shared(node: Node) -> tuple[str, str]:
    """Return what tells a variable from others: handles with one name are of one variable."""
    name = node.attributes.get("shared_name") or node.name
    return str(node.attributes.get("container") or ""), str(name)


def _origin(nodes: Mapping[str, Node], name: str) -> str:
    """Return the node whose value a node passes on."""
    while name in nodes and nodes[name].op in _PASSES:
        name = nodes[name].inputs[0][0]
    return name


def _restored(nodes: Mapping[str, Node], source: tuple[str, int]) -> str | None:
    """Return the name of the tensor in the checkpoint that a source is; None if it is none."""
    while source[0] in nodes and nodes[source[0]].op in _PASSES:
        source = nodes[source[0]].inputs[0]
    node = nodes.get(source[0])
    if node is None or node.op != "RestoreV2":
        return None
    names = nodes[_origin(nodes, node.inputs[1][0])].message["value"].tensor.string_val
    if source[1] >= len(names):
        raise ModelError(f"node {node.name!r} restores {len(names)} tensors, and tensor {source[1]} is read")
    return bytes(names[source[1]]).decode("utf-8")
