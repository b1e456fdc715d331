"""Ops that move entries, and those that make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.attribute_values import (
    data_type,
    element,
    integers,
    number,
    numbers,
    scalar,
    size,
    sizes,
    truth,
    whole,
    word,
)
from graphrewrite.lowering.exchange.entry import Entry, same_names
from graphrewrite.lowering.exchange.onnx.external_data import array_of
from graphrewrite.lowering.exchange.symbols import Symbol
from graphrewrite.types import Dimension, Size, element_dtype, element_of

__all__ = ["MOVEMENT"]

_AXIS = {"axis": ("axis", whole)}
_AXES: dict[str, Any] = {"axes": ("axes", integers)}


def _reversed_axes(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    return {"perm": tuple(reversed(range(len(types[0].shape)))), **attributes}


def _resolved(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    """Write the sizes of the result where one of them is symbolic: what 0 and -1 stand for is said in one way."""
    if not (attributes.get("allow_zero") and 0 in attributes.get("shape", ())):  # else it says nothing
        attributes.pop("allow_zero", None)
        # A symbolic size that stays leaves -1 free for another.
        kept = zip(
            attributes.get("shape", ()), (*types[0].shape, *(-1 for _ in attributes.get("shape", ()))), strict=False
        )
        attributes = {**attributes, "shape": tuple(0 if isinstance(d, str) and d == own else d for d, own in kept)}
    (result,) = op.reshape.infer(types[0], **attributes)
    return {**attributes, "shape": result.shape} if any(isinstance(size, str) for size in result.shape) else attributes


def _kept_or_open(attributes: dict[str, Any], types: Sequence[Tensor]) -> dict[str, Any]:
    """Write 0 for a symbolic size that stays at its axis, and -1 for another one."""
    shape, own = attributes["shape"], types[0].shape
    if attributes.get("allow_zero"):
        return attributes
    kept = [0 if isinstance(d, str) and i < len(own) and own[i] == d else d for i, d in enumerate(shape)]
    others = [i for i, d in enumerate(kept) if isinstance(d, str)]
    if len(others) == 1 and -1 not in kept and 0 not in shape:
        kept[others[0]] = -1
    return {**attributes, "shape": tuple(kept)}


def _broadcast(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    """Write the sizes of the result where one of them is symbolic: 1 stands for the operand's."""
    (result,) = op.expand.infer(types[0], **attributes)
    return {**attributes, "shape": result.shape} if any(isinstance(size, str) for size in result.shape) else attributes


def _kept(attributes: dict[str, Any], types: Sequence[Tensor]) -> dict[str, Any]:
    """Write 1 for a symbolic size that the operand has."""
    shape = attributes["shape"]
    own: tuple[Dimension, ...] = ((1,) * len(shape) + types[0].shape)[-len(shape) :] if shape else ()
    kept = (1 if isinstance(d, str) and d == o else d for d, o in zip(shape, own, strict=True))
    return {**attributes, "shape": tuple(kept)}


def _parts(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    """Equal sizes for all outputs, the last one perhaps smaller (ONNX specification, Split)."""
    count = attributes.pop("count", None)
    if "sizes" in attributes:
        return attributes
    size = types[0].shape[attributes.get("axis", 0)]
    if not isinstance(size, int) or not count:
        raise ValueError(f"the size {size!r} cannot be split into {count} parts; give the sizes of the parts")
    each = -(-size // count)
    return {**attributes, "sizes": tuple(min(each, max(size - i * each, 0)) for i in range(count))}


def _axes_of_one(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    """All axes of size 1 where a node names none; a symbolic size is not 1."""
    return {"axes": tuple(axis for axis, size in enumerate(types[0].shape) if size == 1), **attributes}


def _pads(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    """Pads for all axes, where a node has them for some (ONNX specification, Pad, since opset 18)."""
    axes, rank = attributes.pop("axes", None), len(types[0].shape)
    if axes is None:
        return attributes
    every = [0] * (2 * rank)
    for index, axis in enumerate(axes):
        every[axis % rank] = attributes["pads"][index]
        every[axis % rank + rank] = attributes["pads"][index + len(axes)]
    return {**attributes, "pads": tuple(every)}


def _constant(attributes: dict[str, Any], _: list[Tensor]) -> dict[str, Any]:
    """The one entry of a tensor, or a float zero."""
    value = attributes.pop("value", None)
    if value is None:
        return {**attributes, "value": 0.0, "element": "f32"}
    return {**attributes, **value}


def _tensor_entry(tensor: Any) -> dict[str, Any]:
    return {"value": scalar(array_of(tensor)), "element": element(tensor.data_type)}


def _as_tensor(attributes: dict[str, Any], _: Sequence[Tensor]) -> dict[str, Any]:
    import onnx

    kind = data_type(attributes.pop("element"))
    return {**attributes, "value": onnx.helper.make_tensor("value", kind, [1], [attributes["value"]])}


def _entry(value: Any) -> Any:
    """The one entry of an array, which keeps its dtype, or a size."""
    entry: Any = np.asarray(value).reshape(())[()]
    return entry.whole if isinstance(entry, Symbol) else entry


def _typed_range(attributes: dict[str, Any], _: object) -> dict[str, Any]:
    # ONNX has no attribute for the type: the operands tell it, and sizes are integers unless another one is a float.
    kinds = [element_of(value.dtype) for value in attributes.values() if not isinstance(value, Size)]
    numbers = {name: value if isinstance(value, Size) else value.item() for name, value in attributes.items()}
    return {**numbers, "element": next(iter(kinds), "i64")}


def _range_in_type(attributes: dict[str, Any], _: object) -> dict[str, Any]:
    dtype = element_dtype(attributes["element"])
    numbers = {name: attributes[name] for name in ("start", "limit", "delta")}
    typed = {name: value if isinstance(value, str) else dtype.type(value) for name, value in numbers.items()}
    return {**typed, "element": attributes["element"]}


def _same_kind(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    return {"element": types[0].element, **attributes}


_RESIZE: dict[str, Any] = {
    **same_names(word, "mode", "coordinate_transformation_mode", "nearest_mode", "keep_aspect_ratio_policy"),
    **same_names(number, "cubic_coeff_a", "extrapolation_value"),
    **same_names(truth, "exclude_outside", "antialias"),
    **same_names(integers, "axes"),
}


def _scales(attributes: dict[str, Any], types: Sequence[Tensor]) -> dict[str, Any]:
    """Write scales instead of sizes of which one is symbolic and stays, where they say the same."""
    own, wanted = types[0].shape, attributes.get("sizes")
    if wanted is None or len(wanted) != len(own) or attributes.get("axes") is not None:
        return attributes
    if not any(isinstance(size, str) for size in wanted) or attributes.get("keep_aspect_ratio_policy") != "stretch":
        return attributes
    scales = [_scale(*pair) for pair in zip(own, wanted, strict=True)]
    return attributes if None in scales else {**attributes, "sizes": None, "scales": tuple(scales)}


def _scale(own: Dimension, wanted: Dimension) -> float | None:
    """Return the scale from one size to another if a float holds it, else None."""
    if own == wanted:
        return 1.0
    if isinstance(own, str) or isinstance(wanted, str) or not own:
        return None
    scale = wanted / own
    return scale if scale == float(np.float32(scale)) and scale * own == wanted else None


def _optional_numbers(value: Any) -> tuple[float, ...] | None:
    return numbers(value) if np.size(value) else None


def _optional_sizes(value: Any) -> tuple[int | str, ...] | None:
    return sizes(value) if np.size(value) else None


MOVEMENT: tuple[Entry, ...] = (
    Entry("Compress", op.compress, _AXIS),
    Entry("Concat", op.concat, _AXIS),
    Entry(
        "ConstantOfShape",
        op.constant_of_shape,
        {"value": ("value", _tensor_entry, lambda value: value)},
        {0: ("shape", sizes)},
        complete=_constant,
        shown=_as_tensor,
    ),
    Entry("DepthToSpace", op.depth_to_space, {"blocksize": ("block_size", whole), "mode": ("mode", word)}),
    Entry("EyeLike", op.eye_like, {"dtype": ("element", element, data_type), "k": ("k", whole)}, complete=_same_kind),
    Entry("Expand", op.expand, constants={1: ("shape", sizes)}, complete=_broadcast, shown=_kept),
    Entry("Flatten", op.flatten, _AXIS),
    Entry("Gather", op.gather, _AXIS),
    Entry("GatherElements", op.gather_elements, _AXIS),
    Entry("GatherND", op.gather_nd, {"batch_dims": ("batch_dims", whole)}),
    Entry("NonZero", op.nonzero),
    Entry("OneHot", op.one_hot, _AXIS, {1: ("depth", size)}, operands=(0, 2)),
    Entry(
        "Pad",
        op.pad,
        {"mode": ("mode", word)},
        {1: ("pads", sizes), 2: ("fill", scalar), 3: ("axes", integers)},
        complete=_pads,
    ),
    Entry(
        "Range",
        op.range,
        constants={0: ("start", _entry), 1: ("limit", _entry), 2: ("delta", _entry)},
        complete=_typed_range,
        shown=_range_in_type,
    ),
    Entry(
        "Reshape",
        op.reshape,
        {"allowzero": ("allow_zero", truth)},
        {1: ("shape", sizes)},
        complete=_resolved,
        shown=_kept_or_open,
    ),
    Entry(
        "Resize",
        op.resize,
        _RESIZE,
        {1: ("roi", _optional_numbers), 2: ("scales", _optional_numbers), 3: ("sizes", _optional_sizes)},
        shown=_scales,
    ),
    Entry("ReverseSequence", op.reverse_sequence, same_names(whole, "batch_axis", "time_axis")),
    Entry("ScatterElements", op.scatter_elements, {**_AXIS, "reduction": ("reduction", word)}),
    Entry("ScatterND", op.scatter_nd, {"reduction": ("reduction", word)}),
    Entry("Shape", op.shape, {"start": ("start", whole), "end": ("end", whole)}),
    Entry("Size", op.size),
    Entry(
        "Slice",
        op.slice,
        constants={1: ("starts", sizes), 2: ("ends", sizes), 3: ("axes", integers), 4: ("steps", integers)},
    ),
    Entry("SpaceToDepth", op.space_to_depth, {"blocksize": ("block_size", whole), "mode": ("mode", word)}),
    Entry(
        "Split",
        op.split,
        {**_AXIS, "num_outputs": ("count", whole)},
        {1: ("sizes", sizes)},
        complete=_parts,
        counted="count",
    ),
    Entry("Squeeze", op.squeeze, _AXES, {1: ("axes", integers)}, complete=_axes_of_one),
    Entry("TensorScatter", op.tensor_scatter, {**_AXIS, "mode": ("mode", word)}),
    Entry("Tile", op.tile, constants={1: ("repeats", sizes)}),
    Entry("Transpose", op.transpose, {"perm": ("perm", integers)}, complete=_reversed_axes),
    Entry("Trilu", op.trilu, {"upper": ("upper", truth)}, {1: ("k", size)}),
    Entry("Unique", op.unique, {**_AXIS, "sorted": ("sorted", truth)}),
    Entry("Unsqueeze", op.unsqueeze, _AXES, {1: ("axes", integers)}),
)
