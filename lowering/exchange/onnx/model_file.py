"""Read an ONNX file: check it, inline its functions, convert old opsets."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Container, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite.errors import MissingDependencyError, did_you_mean
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.foreign_files import first_bytes, foreign_file
from graphrewrite.lowering.exchange.onnx.external_data import LARGE, ExternalData, inner_tensors, is_external
from graphrewrite.lowering.exchange.onnx.functions import MAIN, all_nodes, inlined, with_definitions

if TYPE_CHECKING:
    import onnx

__all__ = ["load_model", "without_weights"]

_READ = range(13, 29)
"""Opsets of the import table; older models are converted to `_CONVERTED`."""
_CONVERTED = 17
_BROADCAST = 7
"""First opset in which operands broadcast as in numpy."""
_MOST_PARSED = 2**31 - 1
"""Bytes of the longest message of protobuf."""


def load_model(model: Any, table: Container[str]) -> tuple[onnx.ModelProto, dict[str, tuple[np.ndarray, int]]]:
    """Return a valid model of an opset that the table covers; and its large constants by name, with ONNX's type each.

    The model keeps no functions but the library's own; its large constants are inputs of it.
    """
    # The order matters: functions are inlined in their own opset, and only then are all nodes converted to another.
    whole, name = _parsed(model)
    proto, tensors = without_weights(whole)
    files = ExternalData(Path(model) if isinstance(model, str | os.PathLike) else None)
    parts = [(part, list(all_nodes(nodes))) for part, nodes in _parts(proto)]
    for tensor in chain(proto.graph.initializer, *(inner_tensors(nodes) for _, nodes in parts)):
        if is_external(tensor):
            files.fill(tensor)
    weights = {name: (files.array(tensor), tensor.data_type) for name, tensor in tensors.items()}
    del whole, tensors  # the message holds what the arrays do
    _import_domains(parts)
    _check(proto, name)
    if proto.functions:
        proto = inlined(proto, name)
    version = _version(proto)
    if version is not None and version >= _READ.stop:
        raise ModelError(
            f"{name} is of opset {version}, and those up to {_READ[-1]} are known here; export it with "
            f"opset {_READ[-1]}"
        )
    if version is not None and version < _READ.start:
        proto = _converted(proto, name, version)
    return with_definitions(proto, table), weights


def _check_kind(model: Any) -> None:
    """Raise if something is no model, and say how a part of one is read."""
    if not isinstance(model, bytes | str | os.PathLike):
        kind = type(model).__name__
        remedies = {
            "NodeProto": "; read a single node with interpret_onnx(node)",
            "GraphProto": "; make it one: onnx.helper.make_model(graph)",
        }
        raise ModelError(f"a model is a path, bytes or a ModelProto, not {kind}{remedies.get(kind, '')}")


def _parsed(model: Any) -> tuple[onnx.ModelProto, str]:
    try:
        import onnx
        from google.protobuf.message import DecodeError
    except ImportError:
        raise MissingDependencyError.of_extra("ONNX files", "onnx") from None
    if isinstance(model, onnx.ModelProto):
        return model, "the model"
    _check_kind(model)
    name = "the model" if isinstance(model, bytes) else repr(str(model))
    try:
        if isinstance(model, bytes):
            return onnx.load_model_from_string(model), name
        _check_file(Path(model), name)
        # By its ending onnx takes a binary file for text.
        binary = "protobuf" if first_bytes(Path(model)).startswith(b"\x08") else None
        return onnx.load(str(model), format=binary, load_external_data=False), name
    except FileNotFoundError:
        near = did_you_mean(Path(model).name, [p.name for p in Path(model).parent.glob("*.onnx")])
        raise ModelError(f"there is no file {name}{near or '; check its path'}") from None
    except (DecodeError, ValueError, OSError) as error:
        what = None if isinstance(model, bytes) else foreign_file(Path(model), first_bytes(Path(model)), ())
        if what is not None:
            raise ModelError(f"{name} {what}") from None
        raise ModelError(
            f"{name} is not an ONNX model, or a truncated one ({_first(error)[:120]}); export it again"
        ) from None


def _check_file(file: Path, name: str) -> None:
    """Raise if a path is not that of a file that can be a model."""
    status = file.stat()
    if stat.S_ISDIR(status.st_mode):
        raise ModelError(f"{name} is a folder; name an .onnx file")
    if not stat.S_ISREG(status.st_mode):
        raise ModelError(f"{name} is no regular file; name an .onnx file")
    if status.st_size > _MOST_PARSED:
        raise ModelError(
            f"{name} has {status.st_size:,} bytes, and an ONNX file at most {_MOST_PARSED:,}; larger models keep their "
            "weights in another file: onnx.save(..., save_as_external_data=True) writes one"
        )


def without_weights(proto: onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, onnx.TensorProto]]:
    """Return a copy of a model whose large constants are inputs, and these constants by name."""
    import onnx

    light = onnx.ModelProto()
    _copy(proto, light, but="graph")
    _copy(proto.graph, light.graph, but="initializer")
    inputs = {info.name for info in proto.graph.input}
    weights: dict[str, onnx.TensorProto] = {}
    for tensor in proto.graph.initializer:
        # The size of what it says it holds; ByteSize would encode all that it holds.
        if math.prod(tensor.dims) <= LARGE and tensor.ByteSize() <= LARGE:
            light.graph.initializer.append(tensor)
            continue
        if tensor.name in weights:
            raise ModelError(f"two constants have the name {tensor.name!r}; export the model again")
        weights[tensor.name] = tensor
        if tensor.name not in inputs:
            info = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
            info.metadata_props.extend(tensor.metadata_props)
            light.graph.input.append(info)
    return light, weights


def _copy(source: Any, target: Any, but: str) -> None:
    """Copy the fields of a message, except one."""
    for field, value in source.ListFields():
        if field.name == but:
            continue
        if field.is_repeated:
            getattr(target, field.name).extend(value)
        elif field.message_type is not None:
            getattr(target, field.name).CopyFrom(value)
        else:
            setattr(target, field.name, value)


def _first(error: BaseException) -> str:
    return " ".join((str(error) or type(error).__name__).split())[:200]


def _check(proto: onnx.ModelProto, name: str) -> None:
    import onnx

    if not proto.graph.node and not proto.graph.output:
        raise ModelError(
            f"{name} has no network: it has {len(proto.graph.node)} nodes and {len(proto.graph.output)} "
            "outputs; is it an ONNX file?"
        )
    if bytes in set(map(type, _texts(proto.graph))):
        raise ModelError(f"{name} is corrupt: some of its names are not text; export it again")
    try:
        onnx.checker.check_model(_with_shapes(proto))
    except onnx.checker.ValidationError as error:
        # onnx refuses what it has no schema of, and functions of another opset, which are no faults of the model.
        own = {(f.domain, f.name) for f in proto.functions}
        known = all(onnx.defs.has(n.op_type, n.domain) or (n.domain, n.op_type) in own for n in proto.graph.node)
        if known and len({_version(part) for part in (proto, *proto.functions)}) == 1:
            raise ModelError(f"{name} is not a valid ONNX model: {_first(error)}") from None


def _with_shapes(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model whose inputs and outputs all have shapes, some wrong: onnx's checker wants one, and reads none."""
    values = (*proto.graph.input, *proto.graph.output)
    if all(value.type.tensor_type.HasField("shape") for value in values):
        return proto
    shaped = type(proto)()
    shaped.CopyFrom(proto)
    for value in (*shaped.graph.input, *shaped.graph.output):
        kind = value.type
        if kind.WhichOneof("value") in (None, "tensor_type") and not kind.tensor_type.HasField("shape"):
            kind.tensor_type.elem_type = kind.tensor_type.elem_type or 1
            kind.tensor_type.shape.SetInParent()
    return shaped


def _parts(proto: onnx.ModelProto) -> Iterator[tuple[Any, Any]]:
    """Yield a model and its functions, each with its nodes."""
    yield proto, proto.graph.node
    for function in proto.functions:
        yield function, function.node


def _import_domains(parts: Iterable[tuple[Any, Iterable[Any]]]) -> None:
    """Import the domains that nodes are of and the model forgot, as exporters of QONNX and FINN did."""
    from onnx import defs

    for part, nodes in parts:
        imported = {entry.domain for entry in part.opset_import}
        used = dict.fromkeys([node.domain for node in nodes])
        if forgotten := [domain for domain in used if domain not in imported]:
            known = {schema.domain for schema in defs.get_all_schemas()}
            for domain in forgotten:
                if domain not in known:
                    part.opset_import.add(domain=domain, version=1)


def _texts(graph: onnx.GraphProto) -> list[str | bytes]:
    """Return every name in a model; protobuf gives bytes where one is not UTF-8."""
    texts = [graph.name, *(tensor.name for tensor in graph.initializer)]
    for value in (*graph.input, *graph.output, *graph.value_info):
        texts.append(value.name)
        texts += [dimension.dim_param for dimension in value.type.tensor_type.shape.dim]
    for node in graph.node:
        texts += (node.name, node.op_type, node.domain)
        texts += node.input
        texts += node.output
        texts += [attribute.name for attribute in node.attribute]
    return texts


def _version(proto: onnx.ModelProto | onnx.FunctionProto) -> int | None:
    versions = [o.version for o in proto.opset_import if o.domain in MAIN]
    return versions[0] if versions else None


def _converted(proto: onnx.ModelProto, name: str, version: int) -> onnx.ModelProto:
    import onnx

    try:
        if version < _BROADCAST and any(node.op_type == "PRelu" for node in proto.graph.node):
            proto = _with_slopes_by_channel(proto)
        return onnx.version_converter.convert_version(proto, _CONVERTED)
    except Exception as error:  # the converter raises whatever its C++ side throws
        raise ModelError(
            f"{name} of opset {version} cannot be converted to opset {_CONVERTED}: {_first(error)}; export it with "
            f"opset {_CONVERTED}"
        ) from None


def _with_slopes_by_channel(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Append position axes to the slopes of PRelu: before opset 7 they were one a channel."""
    import onnx

    typed = onnx.shape_inference.infer_shapes(proto)
    values = (*typed.graph.value_info, *typed.graph.input)
    ranks = {value.name: len(value.type.tensor_type.shape.dim) for value in values}
    slopes = {n.input[1]: ranks.get(n.input[0], 0) for n in proto.graph.node if n.op_type == "PRelu"}
    changed = onnx.ModelProto()
    changed.CopyFrom(proto)
    for tensor in changed.graph.initializer:
        if len(tensor.dims) == 1 and tensor.dims[0] > 1:
            tensor.dims.extend([1] * (slopes.get(tensor.name, 0) - 2))
    for value in changed.graph.input:
        shape = value.type.tensor_type.shape
        if value.name in slopes and len(shape.dim) == 1 and shape.dim[0].dim_value > 1:
            for _ in range(slopes[value.name] - 2):
                shape.dim.add().dim_value = 1
    return changed
