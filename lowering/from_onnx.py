"""Import a trained network from an ONNX file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite import Graph, GraphRewriteError, Tensor
from graphrewrite.errors import MissingDependencyError, did_you_mean
from graphrewrite.graph import Value
from graphrewrite.lowering.batch import free_batch
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.onnx_table import TABLE, Entry
from graphrewrite.lowering.unknown import Unknown, is_known, kind_of, without_conversion
from graphrewrite.types import element_of

if TYPE_CHECKING:
    import onnx

__all__ = ["from_onnx"]

_OPSET = 17


def from_onnx(
    model: str | Path | bytes | onnx.ModelProto,
    *,
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    batch: str | None = "N",
    entries: Iterable[Entry] = (),
) -> Graph:
    """Return the graph of an ONNX model.

    Parameters
    ----------
    model : path, bytes or ModelProto
        A model of any opset; it is converted on load.
    shapes : mapping of str to sequence of int or str, optional
        Shapes for inputs whose shape the model leaves open.
    batch : str or None
        The name of the first dimension of every input, where the model works for any batch; None keeps it as it is.
    entries : iterable of Entry
        What ops of your own mean, or what others should mean instead of what they do: they come before the library's.

    Returns
    -------
    Graph
        Level ``nn``; each node's origin is the name of the ONNX node. An op that is not known becomes a generic node;
        where neither the model nor onnx's shape inference tells the type of its result, that of its first operand is
        assumed.

    Raises
    ------
    ModelError
        If the file is missing, corrupt or contradicts itself, or an input's shape is open.
    UnsupportedOpsError
        If a node holds what none here can hold: another graph, for one.

    Examples
    --------
    >>> from graphrewrite.models import path
    >>> graph = from_onnx(path("classes"))
    >>> graph.inputs, len(graph.outputs)
    (('input',), 1)
    """
    try:
        table = {**TABLE, **{entry.onnx: entry for entry in entries}}
        graph = _Importer(_load(model), shapes or {}, table).run()
    except GraphRewriteError:
        raise
    except Exception as error:  # a corrupt file breaks any assumption of onnx, protobuf and numpy
        told = (str(error) or type(error).__name__).splitlines()[0][:120]
        name = repr(str(model)) if isinstance(model, str | Path) else "the model"
        raise ModelError(f"{name} is corrupt ({told}); export it again") from error
    return graph if batch is None else free_batch(graph, batch)


def _load(model: Any) -> onnx.ModelProto:
    try:
        import onnx
        from google.protobuf.message import DecodeError
    except ImportError:
        raise MissingDependencyError(
            "reading ONNX files needs the package onnx: pip install 'graphrewrite[onnx]'"
        ) from None
    if isinstance(model, onnx.ModelProto):
        proto, name = model, "the model"
    else:
        name = "the model" if isinstance(model, bytes) else f"{str(model)!r}"
        try:
            proto = onnx.load_model_from_string(model) if isinstance(model, bytes) else onnx.load(str(model))
        except FileNotFoundError:
            near = (
                did_you_mean(Path(model).name, [p.name for p in Path(model).parent.glob("*.onnx")])
                if not isinstance(model, bytes)
                else ""
            )
            raise ModelError(f"there is no file {name}{near or '; check its path'}") from None
        except IsADirectoryError:
            raise ModelError(f"{name} is a folder; name an .onnx file") from None
        except (DecodeError, ValueError, OSError, onnx.checker.ValidationError) as error:
            raise ModelError(
                f"{name} is no ONNX model, or a truncated one ({str(error).splitlines()[0][:120]}); export it again"
            ) from None
    if not proto.graph.node or not proto.graph.output:
        raise ModelError(
            f"{name} holds no network: it has {len(proto.graph.node)} nodes and {len(proto.graph.output)} "
            "outputs; is it an ONNX file?"
        )
    if any(isinstance(text, bytes) for text in _texts(proto.graph)):
        raise ModelError(f"{name} is corrupt: it has names that are no text; export it again")
    try:
        onnx.checker.check_model(proto)
    except onnx.checker.ValidationError as error:
        # onnx refuses what it has no schema of, which is no fault of the model.
        if all(onnx.defs.has(n.op_type, n.domain) for n in proto.graph.node):
            raise ModelError(f"{name} is not a valid ONNX model: {str(error).splitlines()[0][:200]}") from None
    versions = [o.version for o in proto.opset_import if o.domain in ("", "ai.onnx")]
    if versions and versions[0] != _OPSET:
        try:
            proto = onnx.version_converter.convert_version(proto, _OPSET)
        except Exception as error:  # the converter raises whatever its C++ side throws
            if without_conversion(proto, versions[0]):
                return proto
            raise ModelError(
                f"{name} of opset {versions[0]} cannot be converted to opset {_OPSET}: "
                f"{str(error).splitlines()[0][:200]}; export it with opset {_OPSET}"
            ) from None
    return proto


def _texts(graph: onnx.GraphProto) -> Iterator[str | bytes]:
    """Every name in a model; protobuf gives bytes where one is no UTF-8."""
    yield graph.name
    yield from (tensor.name for tensor in graph.initializer)
    for value in (*graph.input, *graph.output, *graph.value_info):
        yield value.name
        yield from (dimension.dim_param for dimension in value.type.tensor_type.shape.dim)
    for node in graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)


def _open_size(name: str) -> str:
    """The name of an open batch; one that is an expression, such as ``2*batch``, says no more than any other."""
    return name if name.isidentifier() else "N"


class _Importer:
    def __init__(
        self, proto: onnx.ModelProto, shapes: Mapping[str, Sequence[int | str]], table: Mapping[str, Entry]
    ) -> None:
        import onnx

        self.onnx, self.proto, self.shapes, self.table = onnx, proto, shapes, table
        self.graph = Graph(proto.graph.name or "model")
        self.values: dict[str, Value] = {}
        self.unknown = Unknown(proto, table)
        self.reserved = {i.name for i in proto.graph.input} | {o.name for o in proto.graph.output}

    def run(self) -> Graph:
        for tensor in self.proto.graph.initializer:
            self.constant(tensor.name, self.onnx.numpy_helper.to_array(tensor))
        for given in self.proto.graph.input:
            if given.name not in self.values:
                self.values[given.name] = self.graph.input(given.name, self.input_type(given))
        for name in self.shapes:
            if name not in self.graph.inputs:
                raise ModelError(
                    f"there is no input {name!r} to give a shape{did_you_mean(name, self.graph.inputs)}; inputs "
                    f"are {', '.join(self.graph.inputs)}"
                )
        for node in self.proto.graph.node:
            self.node(node)
        for wanted in self.proto.graph.output:
            name = wanted.name if wanted.name not in self.graph else self.graph.fresh(wanted.name)
            self.graph.output(name, self.value(wanted.name, "the output"))
        return self.graph

    def constant(self, name: str, array: np.ndarray) -> None:
        if array.dtype == object or array.dtype.kind not in "fiub":
            raise ModelError(f"the constant {name!r} has the type {array.dtype}, which no op here takes")
        self.values[name] = self.graph.constant(array, name=self.free(name), origin=(name,))

    def free(self, name: str) -> str:
        return (
            name if name and name not in self.graph and name not in self.reserved else self.graph.fresh(name or "node")
        )

    def input_type(self, given: Any) -> Tensor:
        element = element_of(self.onnx.helper.tensor_dtype_to_np_dtype(given.type.tensor_type.elem_type))
        dims = given.type.tensor_type.shape.dim
        shape: list[int | str] = [
            d.dim_value if d.HasField("dim_value") else _open_size(d.dim_param) if i == 0 else d.dim_param or "?"
            for i, d in enumerate(dims)
        ]
        if given.name in self.shapes:
            shape = list(self.shapes[given.name])
        open_sizes = [str(d) for d in shape[1:] if isinstance(d, str) or d < 1]
        if open_sizes or not shape:
            raise ModelError(
                f"the input {given.name!r} has the shape {shape}, whose sizes {', '.join(open_sizes) or 'all'} "
                "are open; "
                f"export the model with fixed sizes, or give them as from_onnx(..., shapes={{{given.name!r}: [...]}})"
            )
        return Tensor(element, tuple(shape))

    def value(self, name: str, reader: str) -> Value:
        if name not in self.values:
            raise ModelError(
                f"{reader} reads {name!r}, which nothing in the model gives{did_you_mean(name, self.values)}"
            )
        return self.values[name]

    def node(self, node: Any) -> None:
        label = node.name or node.output[0]
        given = {a.name: self.onnx.helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type == "Constant":
            self.constant(node.output[0], self.constant_array(label, given))
            return
        inputs = [self.value(name, f"node {label!r}") if name else None for name in node.input]
        if not is_known(node, self.table):
            self.values.update(self.unknown.add(self.graph, node, inputs, self.free(label)))
            return
        entry = self.table[kind_of(node)]
        for name in given:
            if name not in (*entry.attributes, *entry.required, *entry.ignored):
                known = (*entry.attributes, *entry.required)
                raise ModelError(
                    f"node {label!r} ({node.op_type}): its attribute {name!r} has no meaning here"
                    f"{did_you_mean(name, known)}; an entry of your own can give it one, or name it in ignored"
                )
        for name, allowed in entry.required.items():
            if name in given and given[name] not in allowed:
                raise ModelError(
                    f"node {label!r} ({node.op_type}): {name}={given[name]!r} is not supported, only "
                    f"{' or '.join(map(repr, allowed))}"
                )
        try:
            attributes, operands = self.arguments(entry, given, inputs)
            made = self.graph.add(entry.op, operands, attributes, name=self.free(label), origin=(label,))
        except GraphRewriteError as error:
            if self.unknown.is_assumed(node):  # it may be right, and the assumed type of its operand wrong
                self.values.update(self.unknown.add(self.graph, node, inputs, self.free(label)))
                return
            raise ModelError(f"node {label!r} ({node.op_type}): {error}") from error
        results = made if isinstance(made, tuple) else (made,)
        self.values.update({name: value for name, value in zip(node.output, results, strict=False) if name})

    def constant_array(self, label: str, given: dict[str, Any]) -> np.ndarray:
        if "value" in given:
            return np.asarray(self.onnx.numpy_helper.to_array(given["value"]))
        for key, dtype in (
            ("value_float", np.float32),
            ("value_floats", np.float32),
            ("value_int", np.int64),
            ("value_ints", np.int64),
        ):
            if key in given:
                return np.asarray(given[key], dtype)
        raise ModelError(f"node {label!r} (Constant): only numbers are supported, not {', '.join(given)}")

    def arguments(
        self, entry: Entry, given: dict[str, Any], inputs: list[Value | None]
    ) -> tuple[dict[str, Any], list[Value]]:
        attributes: dict[str, Any] = {}
        for name, (ours, convert) in entry.attributes.items():
            if name in given:
                attributes[ours] = convert(given[name])
        for index, (ours, convert) in entry.constants.items():
            value = inputs[index] if index < len(inputs) else None
            if value is not None:
                data = self.graph.nodes[value.node]
                if data["type"] != "constant":
                    raise ModelError(f"its input {index} ({ours}) must be a constant, and {value.node!r} is computed")
                attributes[ours] = convert(data["value"])
        operands = [x for i, x in enumerate(inputs) if x is not None and i not in entry.constants]
        if entry.op.required > len(operands):
            raise ModelError(f"it has {len(operands)} operands and needs {entry.op.required}")
        if entry.complete is not None:
            attributes = entry.complete(attributes, [x.type for x in operands if isinstance(x.type, Tensor)])
        if entry.onnx == "Dropout":  # in inference its ratio and mode mean nothing
            operands = operands[:1]
        return attributes, operands
