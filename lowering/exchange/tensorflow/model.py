"""Read a graph of TensorFlow: its nodes, with functions written in place of their calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from graphrewrite.errors import MissingDependencyError, did_you_mean
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.rulesets.definitions import attribute_value
from graphrewrite.lowering.exchange.rulesets.messages import new_message, read_message

__all__ = ["Node", "array_of", "element_of_type", "read_nodes"]

_ELEMENTS = {
    "DT_FLOAT": "f32",
    "DT_DOUBLE": "f64",
    "DT_HALF": "f16",
    "DT_BFLOAT16": "bf16",
    "DT_INT8": "i8",
    "DT_INT16": "i16",
    "DT_INT32": "i32",
    "DT_INT64": "i64",
    "DT_UINT8": "u8",
    "DT_UINT16": "u16",
    "DT_UINT32": "u32",
    "DT_UINT64": "u64",
    "DT_BOOL": "bool",
}
_DTYPES = {
    "bf16": "<u2",
    "bool": "?",
    **{name: f"<{name[0]}{int(name[1:]) // 8}" for name in _ELEMENTS.values() if name[1:].isdigit()},
}
_FIELDS = ("half_val", "float_val", "double_val", "int_val", "int64_val", "bool_val", "uint32_val", "uint64_val")
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_MOST_NODES = 1_000_000
_MOST_FILLED = 1 << 26
"""Most entries of a tensor that is written by fewer numbers: a short file cannot make a huge array."""
_DEEPEST = 64
"""Most functions that call each other."""


@dataclass(frozen=True)
class Node:
    """A node of a graph.

    Attributes
    ----------
    name, op : str
        Its name, and the name of its op.
    inputs : tuple of (str, int)
        The nodes that it reads, each with the index of a result.
    message : object
        Its attributes as they are stored.
    """

    name: str
    op: str
    inputs: tuple[tuple[str, int], ...]
    message: Mapping[str, Any] = field(repr=False, default_factory=dict)

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """Attributes by name: numbers, texts, names of types, shapes, and tuples of these."""
        return {key: attribute_value(value) for key, value in self.message.items()}


def element_of_type(name: Any) -> str:
    """Return the element type for TensorFlow's name of one.

    Examples
    --------
    >>> element_of_type("DT_FLOAT")
    'f32'
    """
    if name not in _ELEMENTS:
        raise ModelError(f"numbers of type {name} are not supported; there are {', '.join(_ELEMENTS)}")
    return _ELEMENTS[name]


def array_of(tensor: Any) -> tuple[np.ndarray, str]:
    """Return the array of a tensor that a node holds, and its element type."""
    words = tensor.DESCRIPTOR.fields_by_name["dtype"].enum_type.values_by_number
    element = element_of_type(words[tensor.dtype].name)
    shape = tuple(dim.size for dim in tensor.tensor_shape.dim)
    dtype = np.dtype(_DTYPES[element])
    count = int(np.prod(shape, dtype=object))
    if tensor.tensor_content:
        if len(tensor.tensor_content) != count * dtype.itemsize:
            raise ModelError(f"a tensor {list(shape)} of {element} has {len(tensor.tensor_content)} bytes")
        return np.frombuffer(tensor.tensor_content, dtype).reshape(shape), element
    listed = next((getattr(tensor, name) for name in _FIELDS if len(getattr(tensor, name))), ())
    if count < 0 or count > max(len(listed), _MOST_FILLED) or len(listed) > max(count, 1):
        raise ModelError(f"a tensor of shape {list(shape)} has {len(listed)} numbers")
    if element in ("f16", "bf16"):  # the bits of each number
        values = np.array(listed, np.uint16).view("<f2" if element == "f16" else "<u2")
    else:
        values = np.array(listed, dtype)
    # The last number that is written stands for all that follow.
    filled = np.zeros(count, values.dtype) if not len(values) else np.resize(values[-1:], count)
    filled[: len(values)] = values[:count]
    return filled.reshape(shape), element


def read_nodes(model: str | Path | bytes) -> tuple[Node, ...]:
    """Return the nodes of a frozen graph, each after those that it reads.

    Raises
    ------
    ModelError
        If the file is missing or damaged, nodes are missing or go round in a circle, or functions call themselves.
    """
    message, name = _message(model), "the model" if isinstance(model, bytes) else repr(Path(model).name)
    if not message.node:
        raise ModelError(f"{name} is no graph of TensorFlow: it has no nodes")
    functions = {each.signature.name: each for each in message.library.function}
    inlined = _Inlined(functions)
    inlined.add(message.node)
    return _sorted(inlined.nodes)


def _message(model: str | Path | bytes) -> Any:
    try:
        from google.protobuf.message import DecodeError
    except ImportError:
        raise MissingDependencyError.of_extra("models of TensorFlow", "onnx") from None
    message = new_message("GraphDef")
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
        raise ModelError(f"{name} is no frozen graph of TensorFlow, or a truncated one; freeze it again") from None
    return message


class _Inlined:
    """Nodes of a graph, in which those of functions stand in place of the calls."""

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self.functions = functions
        self.nodes: dict[str, Node] = {}
        self.results: dict[str, list[tuple[str, int]]] = {}
        """What stands for the results of a call."""

    def add(self, nodes: Iterable[Any]) -> None:
        """Add the nodes of the graph."""
        for each in nodes:
            self.node(each, each.name, [_source(text) for text in each.input if text[:1] != "^"], 0)
        for name, node in list(self.nodes.items()):
            self.nodes[name] = Node(name, node.op, tuple(map(self.final, node.inputs)), node.message)

    def final(self, source: tuple[str, int]) -> tuple[str, int]:
        """Return what a source stands for, through calls of functions."""
        for _ in range(_DEEPEST):
            if source[0] not in self.results:
                return source
            results = self.results[source[0]]
            if source[1] >= len(results):
                raise ModelError(f"the call {source[0]!r} has {len(results)} results, and result {source[1]} is read")
            source = results[source[1]]
        raise ModelError(f"functions call each other more than {_DEEPEST} times at {source[0]!r}")

    def node(self, message: Any, name: str, inputs: list[tuple[str, int]], depth: int) -> None:
        if name in self.nodes or name in self.results:
            raise ModelError(f"two nodes have the name {name!r}; freeze the graph again")
        if len(self.nodes) >= _MOST_NODES:
            raise ModelError(f"the graph has more than {_MOST_NODES} nodes")
        attributes = {each.key: each.value for each in message.attr}
        called = attributes["f"].func.name if message.op in _CALLS and "f" in attributes else message.op
        if called in self.functions:
            self.call(self.functions[called], name, inputs, depth + 1)
        else:
            self.nodes[name] = Node(name, message.op, tuple(inputs), attributes)

    def call(self, function: Any, name: str, inputs: list[tuple[str, int]], depth: int) -> None:
        """Write the nodes of a function in place of a call."""
        if depth > _DEEPEST:
            raise ModelError(f"the call {name!r} is of a function that calls itself, or of too many in a row")
        parameters = [arg.name for arg in function.signature.input_arg]
        if len(parameters) != len(inputs):
            raise ModelError(f"the call {name!r} passes {len(inputs)} values, and its function takes {len(parameters)}")
        given: dict[str, tuple[str, int]] = dict(zip(parameters, inputs, strict=True))

        def source(text: str) -> tuple[str, int]:
            """Return what a text in a function denotes: ``parameter``, or ``node:result:index``."""
            head, *rest = text.split(":")
            if head in given and not rest:
                return given[head]
            place = self.offsets(bodies.get(head), rest[0] if len(rest) > 1 else "")
            return f"{name}/{head}", place + int(rest[-1] if rest and rest[-1].isdigit() else 0)

        bodies = {each.name: each for each in function.node_def}
        for each in function.node_def:
            self.node(each, f"{name}/{each.name}", [source(text) for text in each.input if text[:1] != "^"], depth)
        results = {pair.key: pair.value for pair in function.ret}
        self.results[name] = [source(results.get(arg.name, arg.name)) for arg in function.signature.output_arg]

    def offsets(self, message: Any, result: str) -> int:
        """Return the index of a named result of a node."""
        if message is None:
            return 0
        attributes = {each.key: each.value for each in message.attr}
        called = attributes["f"].func.name if message.op in _CALLS and "f" in attributes else message.op
        if called in self.functions and message.op not in _CALLS:
            names = [arg.name for arg in self.functions[called].signature.output_arg]
        else:
            names = _RESULTS.get(message.op, [])
        return names.index(result) if result in names else 0


_NORM = ["y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"]
_RESULTS = {
    "FusedBatchNorm": _NORM,
    "FusedBatchNormV2": _NORM,
    "FusedBatchNormV3": _NORM,
    "TopKV2": ["values", "indices"],
    "Unique": ["y", "idx"],
    "NonMaxSuppressionV4": ["selected_indices", "valid_outputs"],
}
"""Names of the results of ops that have several."""


def _source(text: str) -> tuple[str, int]:
    name, _, index = text.partition(":")
    return name, int(index) if index.isdigit() else 0


def _sorted(nodes: Mapping[str, Node]) -> tuple[Node, ...]:
    """Return nodes after those that they read."""
    done: dict[str, bool] = {}
    found: list[Node] = []
    for start in nodes:
        pending = [start]
        while pending:
            name = pending[-1]
            if done.get(name):
                pending.pop()
                continue
            if name in done:
                done[name] = True
                found.append(nodes[name])
                pending.pop()
                continue
            done[name] = False
            for source, _ in nodes[name].inputs:
                if source not in nodes:
                    raise ModelError(f"node {name!r} reads {source!r}, which is not there{did_you_mean(source, nodes)}")
                if done.get(source) is False and source in pending:
                    raise ModelError(
                        f"nodes go round in a circle at {name!r}; loops of TensorFlow 1 are not supported: freeze the "
                        "graph with while_loop v2, or unrolled"
                    )
                if source not in done:
                    pending.append(source)
    return tuple(found)
