"""Read a model of TensorFlow from a frozen graph or a saved model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from graphrewrite.errors import MissingDependencyError, did_you_mean
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.rulesets.messages import new_message, read_message
from graphrewrite.lowering.exchange.tensorflow.functions import Functions, called_function, source_of
from graphrewrite.lowering.exchange.tensorflow.node import Node
from graphrewrite.lowering.exchange.tensorflow.variables import with_variables

__all__ = ["StoredModel", "read_model"]


@dataclass(frozen=True)
class StoredModel:
    """A model as it is stored.

    Attributes
    ----------
    nodes : tuple of Node
        Its nodes, each after those that it reads; variables are constants.
    calls : mapping of str to list of (str, int)
        What stands for the results of a call of a function.
    functions : Functions
        The bodies of its control flow.
    outputs : mapping of str to (str, int)
        The results that it names, as nodes with the index of a result; empty where it names none.
    versions : mapping of str to int
        Of the graph: ``producer``, and ``min_consumer``, the least version that can read it.
    producer : str
        The version of TensorFlow that saved it, where it says so.
    """

    nodes: tuple[Node, ...]
    calls: Mapping[str, list[tuple[str, int]]]
    functions: Functions
    outputs: Mapping[str, tuple[str, int]]
    versions: Mapping[str, int] = field(default_factory=dict)
    producer: str = ""


def read_model(model: str | Path | bytes, signature: str | None = None) -> StoredModel:
    """Read a frozen graph, or the folder of a saved model, one of whose signatures becomes a graph.

    Raises
    ------
    ModelError
        If the file is missing or damaged, nodes are missing or go round in a circle, or functions call themselves.
    """
    if not isinstance(model, bytes):
        path = Path(model)
        if path.is_dir() or path.stem == "saved_model":
            return _saved(path if path.is_dir() else path.parent, signature)
    name = "the model" if isinstance(model, bytes) else repr(Path(model).name)
    if signature is not None:
        raise ModelError(f"{name} is a frozen graph, which has no signatures; name its outputs: outputs=['node']")
    message = _message("GraphDef", model, "frozen graph")
    if not message.node:
        raise ModelError(f"{name} is no graph of TensorFlow: it has no nodes")
    functions = Functions(message.library.function)
    nodes, calls = functions.without_calls(message.node)
    return StoredModel(nodes, calls, functions, {}, _versions(message))


def _saved(folder: Path, signature: str | None) -> StoredModel:
    path = next((folder / name for name in ("saved_model.pb", "saved_model.pbtxt") if (folder / name).exists()), None)
    if path is None:
        raise ModelError(f"{folder.name!r} is no saved model of TensorFlow: it has no file 'saved_model.pb'")
    stored = _message("SavedModel", path, "saved model")
    if not stored.meta_graphs:
        raise ModelError(f"{folder.name!r} is no saved model of TensorFlow: it has no graph")
    served = [each for each in stored.meta_graphs if "serve" in each.meta_info_def.tags]
    graph = (served or stored.meta_graphs)[0]
    chosen = _signature({each.key: each.value for each in graph.signature_def}, signature, folder.name)
    functions = Functions(graph.graph_def.library.function)
    written, calls = functions.without_calls(graph.graph_def.node)
    nodes = with_variables(written, folder / "variables", _captured(graph))
    inputs = {source_of(each.value.name)[0]: each for each in chosen.inputs}
    outputs = {each.key: source_of(each.value.name) for each in chosen.outputs}
    known = {node.name for node in nodes} | calls.keys()
    for name in (*inputs, *(name for name, _ in outputs.values())):
        if name not in known:
            raise ModelError(f"the signature names {name!r}, which is not there{did_you_mean(name, known)}")
    # A file keeps them in no order; results of one call are in that of their indices.
    ordered = sorted(outputs.items(), key=lambda each: (each[1], each[0]))
    ends = {label: calls[name][at] if at < len(calls.get(name, ())) else (name, at) for label, (name, at) in ordered}
    nodes, renamed = _with_inputs(nodes, inputs)
    outputs_by_label = {label: (renamed.get(n, n), at) for label, (n, at) in ends.items()}
    version = graph.meta_info_def.tensorflow_version
    producer = f"tensorflow {version}" if version else ""
    return StoredModel(nodes, calls, functions, outputs_by_label, _versions(graph.graph_def), producer)


def _captured(graph: Any) -> dict[str, tuple[int, str]]:
    """Return the objects that functions have captured, which calls pass after their arguments: place and full name."""
    objects = graph.object_graph_def.nodes
    bound = {each.key: each.value.bound_inputs for each in graph.object_graph_def.concrete_functions}
    found = {}
    for node in graph.graph_def.node:
        places = bound.get(called_function(node), ())
        reads = [source_of(text)[0] for text in node.input if text[:1] != "^"]
        for name, place in zip(reads[len(reads) - len(places) :], places, strict=False):
            if 0 <= place < len(objects) and objects[place].variable.name:
                found[name] = (place, str(objects[place].variable.name))
    return found


def _versions(graph: Any) -> dict[str, int]:
    return {"producer": graph.versions.producer, "min_consumer": graph.versions.min_consumer}


def _signature(signatures: Mapping[str, Any], wanted: str | None, name: str) -> Any:
    """Return the signature that is wanted, the default one, or the only one."""
    known = {key: each for key, each in signatures.items() if each.outputs and not key.startswith("__")}
    if wanted is None:
        wanted = "serving_default" if "serving_default" in known else next(iter(known), None)
        if wanted is None:
            raise ModelError(f"{name!r} has no signature; save it with one: signatures=…, or as a frozen graph")
    if wanted not in known:
        near = did_you_mean(wanted, known) or f"; there are {', '.join(map(repr, known)) or 'none'}"
        raise ModelError(f"{name!r} has no signature {wanted!r}{near}")
    return known[wanted]


def _with_inputs(nodes: tuple[Node, ...], inputs: Mapping[str, Any]) -> tuple[tuple[Node, ...], dict[str, str]]:
    """Return nodes in which the inputs of a signature are inputs with its names, and these by those before."""
    taken = {node.name for node in nodes}
    names = {name: each.key if each.key not in taken else name for name, each in inputs.items()}
    found = []
    for node in nodes:
        reads = tuple((names.get(source, source), index) for source, index in node.inputs)
        if node.name in names:
            kind = inputs[node.name].value
            entries = {"dtype": new_message("AttrValue"), "shape": new_message("AttrValue")}
            entries["dtype"].type = kind.dtype
            entries["shape"].shape.CopyFrom(kind.tensor_shape)
            found.append(Node(names[node.name], "Placeholder", (), entries))
        else:
            found.append(replace(node, inputs=reads))
    return tuple(found), names


def _message(kind: str, model: str | Path | bytes, what: str) -> Any:
    try:
        from google.protobuf.message import DecodeError
    except ImportError:
        raise MissingDependencyError.of_extra("models of TensorFlow", "onnx") from None
    message = new_message(kind)
    if not isinstance(model, bytes):
        path = Path(model)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            near = did_you_mean(path.name, [p.name for p in path.parent.glob("*.pb")])
            raise ModelError(f"there is no file {str(model)!r}{near}") from None
        except OSError as error:
            raise ModelError(f"{path.name!r} cannot be read: {error.strerror}") from None
        if path.suffix.lower() == ".pbtxt":
            try:
                return read_message(content.decode("utf-8"), message, path.name)
            except UnicodeDecodeError:
                raise ModelError(f"{path.name!r} is no text, as its name says") from None
    else:
        content = model
    try:
        message.MergeFromString(content)
    except (DecodeError, ValueError):
        name = "the model" if isinstance(model, bytes) else repr(Path(model).name)
        raise ModelError(f"{name} is no {what} of TensorFlow, or a truncated one; write it again") from None
    return message
