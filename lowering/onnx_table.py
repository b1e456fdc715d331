"""The import table: one entry an ONNX op, saying what it is in ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphrewrite import Tensor, op
from graphrewrite.op.op import Op

__all__ = ["TABLE", "Entry"]

Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class Entry:
    """How one ONNX op maps to one of ours.

    Attributes
    ----------
    onnx : str
        ONNX op type; of another domain than ONNX's own, with the domain in front: ``"com.acme.Swirl"``.
    op : Op
        Our op.
    attributes : mapping
        ONNX attribute name to our name and a conversion.
    constants : mapping
        Index of an ONNX input that must be constant, to our attribute's name and a conversion.
    required : mapping
        ONNX attribute name to the only values of it that our op means.
    complete : callable, optional
        Fills attributes that follow from the operand types (a stride of one for each axis).
    ignored : tuple of str
        ONNX attributes that say nothing our op has to know. Any other one that is not named here is refused.
    """

    onnx: str
    op: Op
    attributes: Mapping[str, tuple[str, Convert]] = field(default_factory=dict)
    constants: Mapping[int, tuple[str, Convert]] = field(default_factory=dict)
    required: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    complete: Callable[[dict[str, Any], list[Tensor]], dict[str, Any]] | None = None
    ignored: tuple[str, ...] = ()


def _integers(value: Any) -> tuple[int, ...]:
    return tuple(int(v) for v in np.atleast_1d(value))


def _scalar(value: Any) -> float:
    return float(np.asarray(value).reshape(()))


def _windows(
    kernel_of: Callable[[dict[str, Any], list[Tensor]], tuple[int, ...]],
) -> Callable[[dict[str, Any], list[Tensor]], dict[str, Any]]:
    """Fill strides, pads and dilations for each axis; resolve auto_pad (ONNX specification, Conv)."""

    def complete(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
        kernel = kernel_of(attributes, types)
        rank = len(kernel)
        mode = attributes.pop("auto_pad", "NOTSET")
        dilations = attributes.get("dilations", (1,) * rank)
        filled = {"strides": (1,) * rank, "pads": (0,) * (2 * rank), **attributes}
        if mode.startswith("SAME"):
            begins, ends = [], []
            for size, k, s, d in zip(types[0].shape[2:], kernel, filled["strides"], dilations, strict=True):
                total = max((-(-int(size) // s) - 1) * s + d * (k - 1) + 1 - int(size), 0)
                begins.append(total // 2 if mode == "SAME_UPPER" else total - total // 2)
                ends.append(total - begins[-1])
            filled["pads"] = (*begins, *ends)
        return filled

    return complete


def _conv_kernel(_: dict[str, Any], types: list[Tensor]) -> tuple[int, ...]:
    return tuple(int(d) for d in types[1].shape[2:])


def _conv(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    return {"dilations": (1,) * (len(types[0].shape) - 2), **_windows(_conv_kernel)(attributes, types)}


_WINDOW = {
    "kernel_shape": ("kernel", _integers),
    "strides": ("strides", _integers),
    "pads": ("pads", _integers),
    "auto_pad": ("auto_pad", lambda v: v.decode()),
}
_POOL = _windows(lambda attributes, _: attributes["kernel"])
_NOT_DILATED = ([1], [1, 1], [1, 1, 1])
_AXIS = {"axis": ("axis", int)}


def _last_axis(attributes: dict[str, Any], _: list[Tensor]) -> dict[str, Any]:
    return {"axis": -1, **attributes}


def _reversed_axes(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    return {"perm": tuple(reversed(range(len(types[0].shape)))), **attributes}


def _first_axis(attributes: dict[str, Any], _: list[Tensor]) -> dict[str, Any]:
    return {"axis": 0, **attributes}


TABLE: dict[str, Entry] = {
    entry.onnx: entry
    for entry in (
        Entry("Abs", op.abs),
        Entry("Add", op.add),
        Entry(
            "ArgMax",
            op.arg_max,
            {**_AXIS, "keepdims": ("keep_dims", bool)},
            required={"select_last_index": (0,)},
            complete=_first_axis,
        ),
        Entry(
            "AveragePool",
            op.average_pool,
            {**_WINDOW, "count_include_pad": ("count_include_pad", bool)},
            required={"ceil_mode": (0,), "dilations": _NOT_DILATED},
            complete=_POOL,
        ),
        Entry(
            "BatchNormalization",
            op.batch_norm,
            {"epsilon": ("epsilon", float)},
            required={"training_mode": (0,)},
            ignored=("momentum",),  # which training alone reads
        ),
        Entry("Clip", op.clip, constants={1: ("low", _scalar), 2: ("high", _scalar)}),
        Entry("Concat", op.concat, _AXIS),
        Entry(
            "Conv",
            op.conv,
            {
                **{k: v for k, v in _WINDOW.items() if k != "kernel_shape"},
                "dilations": ("dilations", _integers),
                "group": ("groups", int),
            },
            complete=_conv,
            ignored=("kernel_shape",),  # which the weights have
        ),
        Entry("Div", op.div),
        Entry("Dropout", op.identity, ignored=("seed", "ratio")),  # in inference it does nothing
        Entry("Exp", op.exp),
        Entry("Flatten", op.flatten, _AXIS),
        Entry(
            "Gemm",
            op.gemm,
            {
                "alpha": ("alpha", float),
                "beta": ("beta", float),
                "transA": ("trans_a", bool),
                "transB": ("trans_b", bool),
            },
        ),
        Entry("GlobalAveragePool", op.global_average_pool),
        Entry("Identity", op.identity),
        Entry("LeakyRelu", op.leaky_relu, {"alpha": ("alpha", float)}),
        Entry("Log", op.log),
        Entry("MatMul", op.matmul),
        Entry(
            "MaxPool",
            op.max_pool,
            _WINDOW,
            required={"ceil_mode": (0,), "storage_order": (0,), "dilations": _NOT_DILATED},
            complete=_POOL,
        ),
        Entry("Mul", op.mul),
        Entry("Neg", op.neg),
        Entry(
            "Pad", op.pad, constants={1: ("pads", _integers), 2: ("fill", _scalar)}, required={"mode": (b"constant",)}
        ),
        Entry("Pow", op.pow),
        Entry("Relu", op.relu),
        Entry("Reshape", op.reshape, constants={1: ("shape", _integers)}, required={"allowzero": (0,)}),
        Entry("Sigmoid", op.sigmoid),
        Entry("Softmax", op.softmax, _AXIS, complete=_last_axis),
        Entry("Sqrt", op.sqrt),
        Entry("Squeeze", op.squeeze, constants={1: ("axes", _integers)}),
        Entry("Sub", op.sub),
        Entry("Tanh", op.tanh),
        Entry("Transpose", op.transpose, {"perm": ("perm", _integers)}, complete=_reversed_axes),
        Entry("Unsqueeze", op.unsqueeze, constants={1: ("axes", _integers)}),
    )
}
"""Every ONNX op that can be imported, by name (opset 13 to 17; older models are converted on load)."""
