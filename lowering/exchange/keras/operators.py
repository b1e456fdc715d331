"""Ops of Keras 3 that stand among layers: of users, and those by which it computes masks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.keras.activations import ACTIVATIONS, FUNCTIONS
from graphrewrite.lowering.exchange.keras.layer import Layer, Row
from graphrewrite.lowering.exchange.keras.movement import repeated
from graphrewrite.lowering.exchange.strided_slices import LAST, strided_slice
from graphrewrite.lowering.exchange.tflite.movement import places_from_front
from graphrewrite.types import as_element, element_dtype

__all__ = ["OPERATORS", "is_operator", "is_operator_known"]


def is_operator(stored: Mapping[str, Any]) -> bool:
    """Tell whether something among the layers is an op, which has no weights and no place in the file."""
    if stored.get("module") is not None:
        return ".ops." in f".{stored['module']}."
    calls = stored.get("inbound_nodes") or [None]  # files in HDF5 do not say the module; what Keras 3 calls is here
    is_call = isinstance(calls[0], Mapping) and "trainable" not in stored.get("config", {})
    return is_call and stored.get("class_name") in OPERATORS


def is_operator_known(stored: Mapping[str, Any]) -> bool:
    """Tell whether it is an op of the table."""
    return is_operator(stored) and stored.get("class_name") in OPERATORS


def _kind(x: Any) -> str:
    return str(x.type.element)


def _pair(x: Any, y: Any) -> list[Any]:
    """Return two operands of one element type; a number takes that of the other, unless it has a part."""
    kinds = [_kind(each) for each in (x, y) if isinstance(each, Value)]
    floats = [kind for kind in kinds if kind[0] in "fb" and kind != "bool"]
    if not floats and any(isinstance(each, float | np.floating) for each in (x, y)):
        floats = ["f32"]
    whole = [kind for kind in kinds if kind != "bool"] or kinds
    wanted = set(floats or whole)
    if len(wanted) != 1:
        raise Unfit(f"operands of {' and '.join(sorted(set(kinds)))} are not supported; cast one of them")
    (kind,) = wanted
    if kind == "bool" and not all(isinstance(each, Value | bool) for each in (x, y)):
        kind = "i32"
    return [
        op.cast(each, element=kind)
        if isinstance(each, Value) and _kind(each) != kind
        else each
        if isinstance(each, Value)
        else np.asarray(each, element_dtype(kind))
        for each in (x, y)
    ]


def _binary(compute: Callable[..., Any]) -> Row:
    return lambda layer, x, y: compute(*_pair(x, y))


def _unary(compute: Callable[..., Any]) -> Row:
    return lambda layer, x: compute(x)


def _axes(layer: Layer, x: Value) -> tuple[int, ...]:
    axis = layer.get("axis")
    listed = range(len(x.type.shape)) if axis is None else axis if isinstance(axis, list | tuple) else (axis,)
    return tuple(int(each) for each in listed)


def _reduced(compute: Callable[..., Any]) -> Row:
    def reduce(layer: Layer, x: Value) -> Any:
        if layer.get("initial") is not None:
            raise Unfit("initial= is not supported")
        return compute(x, axes=_axes(layer, x), keep_dims=bool(layer.get("keepdims", False)))

    return reduce


def _some(x: Value, *, every: bool, **along: Any) -> Any:
    """Tell whether any of the entries is true, or each."""
    number = op.cast(op.logical_not(op.equal(x, np.zeros((), element_dtype(x.type.element)))), element="i32")
    found = (op.reduce_min if every else op.reduce_max)(number, **along)
    return op.greater(found, np.int32(0))


def _filled(number: int) -> Row:
    def fill(layer: Layer, x: Value) -> Any:
        kind = as_element(layer.get("dtype", str(element_dtype(x.type.element))))
        return layer.filled(x.type.shape, number, str(kind))

    return fill


def _item(layer: Layer, x: Value, index: Any) -> Any:
    """Numbers, slices, the ellipsis and new axes, as in numpy."""
    listed = list(index) if isinstance(index, list | tuple) else [index]
    begin, end, steps = ([usual] * len(listed) for usual in (0, 0, 1))
    masks = dict.fromkeys(("begin", "end", "ellipsis", "new_axis", "shrink_axis"), 0)
    for place, each in enumerate(listed):
        if each is None:
            masks["new_axis"] |= 1 << place
        elif isinstance(each, Mapping) and each.get("class_name") == "__slice__":
            given = [each["config"].get(key) for key in ("start", "stop", "step")]
            masks["begin"] |= (given[0] is None) << place
            masks["end"] |= (given[1] is None) << place
            for own, bounds in zip(given, (begin, end, steps), strict=True):
                bounds[place] = bounds[place] if own is None else int(own)
        elif isinstance(each, Mapping) and each.get("class_name") == "__ellipsis__":
            masks["ellipsis"] |= 1 << place
        elif isinstance(each, int) and not isinstance(each, bool):
            masks["shrink_axis"] |= 1 << place
            begin[place] = each
        else:
            raise Unfit(f"an index {each!r} is not supported; there are numbers, slices, ... and None")
    return strided_slice(x, x.type.shape, begin, end, steps, masks)


def _where(layer: Layer, condition: Value, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        raise Unfit("the positions of true entries depend on their values, which is not supported")
    return op.where(condition, *_pair(x, y))


def _split(layer: Layer, x: Value) -> Any:
    axis, given = int(layer.get("axis", 0)), layer.get("indices_or_sections")
    size = x.type.shape[axis]
    if isinstance(given, int):
        return op.split(x, axis=axis, sizes=(size // given,) * given)
    return op.split(x, axis=axis, sizes=tuple(b - a for a, b in pairwise([0, *given, size])))


def _cumulated(compute: Callable[..., Any]) -> Row:
    def cumulate(layer: Layer, x: Value) -> Any:
        if layer.get("axis") is None:
            raise Unfit("it runs through all entries, which is not supported; name an axis")
        return compute(x, axis=int(layer.get("axis")))

    return cumulate


def _clipped(layer: Layer, x: Value) -> Any:
    return op.clip(x, low=float(layer.get("x_min")), high=float(layer.get("x_max")))


def _transposed(layer: Layer, x: Value) -> Any:
    return op.transpose(x, perm=tuple(layer.get("axes", range(len(x.type.shape))[::-1])))


def _place_of(find: Callable[..., Any]) -> Row:
    def place(layer: Layer, x: Value) -> Any:
        if layer.get("axis") is None:
            raise Unfit("it runs through all entries, which is not supported; name an axis")
        found = find(x, axis=int(layer.get("axis")), keep_dims=bool(layer.get("keepdims", False)))
        return op.cast(found, element="i32")

    return place


def _norm(layer: Layer, x: Value) -> Any:
    order, axes = layer.get("ord"), _axes(layer, x)
    if order not in (None, 2, "euclidean") or (order is not None and len(axes) > 1):  # of a matrix they are others
        raise Unfit(
            f"the norm ord={order!r} along {list(axes)} is not supported; there is the Euclidean one of vectors"
        )
    return op.reduce_l2(x, axes=axes, keep_dims=bool(layer.get("keepdims", False)))


def _padded(layer: Layer, x: Value, **given: Any) -> Any:
    widths = layer.get("pad_width")
    if layer.get("mode", "constant") != "constant":
        raise Unfit(f"the mode {layer.get('mode')!r} is not supported; there is 'constant'")
    pairs = np.broadcast_to(np.asarray(widths, int), (len(x.type.shape), 2))
    fill = given.get("constant_values") or 0
    return op.pad(x, pads=(*pairs[:, 0].tolist(), *pairs[:, 1].tolist()), fill=fill)


def _repeated(layer: Layer, x: Value) -> Any:
    count, axis = layer.get("repeats"), layer.get("axis")
    if not isinstance(count, int) or axis is None:
        raise Unfit("repeats= and axis= must be numbers")
    return repeated(x, int(axis) % len(x.type.shape), count)


def _rolled(layer: Layer, x: Value) -> Any:
    shift, axis = layer.get("shift"), layer.get("axis")
    size = x.type.shape[axis] if isinstance(axis, int) else None
    if not isinstance(shift, int) or not isinstance(size, int):
        raise Unfit("shift= and axis= must be numbers, and the size of the axis known")
    cut = -shift % size if size else 0
    first, rest = (op.slice(x, starts=(a,), ends=(b,), axes=(axis,)) for a, b in ((cut, size), (0, cut)))
    return op.concat(first, rest, axis=axis) if cut else x


def _taken(layer: Layer, x: Value, indices: Any) -> Any:
    if layer.get("axis") is None:
        raise Unfit("it takes from all entries, which is not supported; name an axis")
    places = indices if isinstance(indices, Value) else np.asarray(indices, np.int64)
    return op.gather(x, places, axis=int(layer.get("axis")))


def _variance(layer: Layer, x: Value) -> Any:
    axes, keep = _axes(layer, x), bool(layer.get("keepdims", False))
    distance = op.sub(x, op.reduce_mean(x, axes=axes, keep_dims=True))
    return op.reduce_mean(op.mul(distance, distance), axes=axes, keep_dims=keep)


def _turned_round(layer: Layer, x: Value) -> Any:
    axes = _axes(layer, x)
    back = (-1,) * len(axes)
    return op.slice(x, starts=back, ends=(-LAST,) * len(axes), axes=axes, steps=back)


def _with_axes(layer: Layer, x: Value) -> Any:
    """Swap two axes, or move one."""
    order = list(range(len(x.type.shape)))
    names = ("axis1", "axis2") if layer.kind == "Swapaxes" else ("source", "destination")
    first, second = (int(layer.get(name)) % len(order) for name in names)
    if layer.kind == "Swapaxes":
        order[first], order[second] = order[second], order[first]
    else:
        order.insert(second, order.pop(first))
    return op.transpose(x, perm=tuple(order))


def _one_hot(layer: Layer, x: Value) -> Any:
    kind, count = as_element(layer.get("dtype", "float32")), int(layer.get("num_classes"))
    values = np.array([0, 1], element_dtype(kind))
    return op.one_hot(places_from_front(x, count), values, depth=count, axis=int(layer.get("axis", -1)))


def _top(layer: Layer, x: Value) -> Any:
    values, places = op.top_k(x, k=int(layer.get("k")), axis=-1)
    return values, op.cast(places, element="i32")


def _sorted(layer: Layer, x: Value) -> Any:
    axis = int(layer.get("axis", -1))
    size = x.type.shape[axis]
    if not isinstance(size, int):
        raise Unfit(f"the axis {axis} that is sorted has the open size {size}; give the shape of the input")
    return op.top_k(x, k=size, axis=axis, largest=False)[0]


def _floor_divided(x: Any, y: Any) -> Any:
    divided = next(each for each in (x, y) if isinstance(each, Value))
    return op.floor(op.div(x, y)) if _kind(divided)[0] in "fb" else op.div(op.sub(x, op.mod(x, y)), y)


_COMPARISONS: Mapping[str, Callable[..., Any]] = {
    "Equal": op.equal,
    "Greater": op.greater,
    "GreaterEqual": op.greater_or_equal,
    "Less": op.less,
    "LessEqual": op.less_or_equal,
    "NotEqual": lambda x, y: op.logical_not(op.equal(x, y)),
}
_ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    **dict.fromkeys(("Divide", "TrueDivide"), op.div),
    "Add": op.add,
    "FloorDivide": _floor_divided,
    "Maximum": op.maximum,
    "Minimum": op.minimum,
    "Mod": op.mod,
    "Multiply": op.mul,
    "Power": op.pow,
    "Subtract": op.sub,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **dict.fromkeys(("Absolute", "Abs"), op.abs),
    **{name.title(): op_of for name, op_of in FUNCTIONS.items() if "_" not in name and name != "linear"},
    "Arctan": op.atan,
    "Ceil": op.ceil,
    "Cos": op.cos,
    "Erf": op.erf,
    "Exp": op.exp,
    "Expm1": lambda x: op.sub(op.exp(x), np.ones((), element_dtype(x.type.element))),
    "Floor": op.floor,
    "Isfinite": lambda x: op.logical_not(op.logical_or(op.is_inf(x), op.is_nan(x))),
    "Log": op.log,
    "Log1p": lambda x: op.log(op.add(x, np.ones((), element_dtype(x.type.element)))),
    "LogicalNot": op.logical_not,
    "Negative": op.neg,
    "Reciprocal": op.reciprocal,
    "Rsqrt": lambda x: op.reciprocal(op.sqrt(x)),
    "Sign": op.sign,
    "Sin": op.sin,
    "Sqrt": op.sqrt,
    "Square": lambda x: op.mul(x, x),
}
OPERATORS: Mapping[str, Row] = {
    **{name: _binary(compute) for name, compute in {**_COMPARISONS, **_ARITHMETIC}.items()},
    **{name: _unary(compute) for name, compute in _FUNCTIONS.items()},
    "All": _reduced(partial(_some, every=True)),
    "Any": _reduced(partial(_some, every=False)),
    "Argmax": _place_of(op.arg_max),
    "Argmin": _place_of(op.arg_min),
    "Cast": lambda layer, x: op.cast(x, element=as_element(layer.get("dtype"))),
    "Clip": _clipped,
    "Concatenate": lambda layer, *xs: op.concat(*xs, axis=int(layer.get("axis", 0))),
    "Celu": lambda layer, x: op.celu(x, alpha=float(layer.get("alpha", 1.0))),
    "ConvertToTensor": lambda layer, x: op.cast(x, element=as_element(layer.get("dtype") or _kind(x))),
    "Cumprod": _cumulated(op.cum_prod),
    "Cumsum": _cumulated(op.cum_sum),
    "Einsum": lambda layer, *xs: op.einsum(*xs, equation=str(layer.get("subscripts"))),
    "Elu": lambda layer, x: op.elu(x, alpha=float(layer.get("alpha", 1.0))),
    "ExpandDims": lambda layer, x: op.unsqueeze(x, axes=_axes(layer, x)),
    "Gelu": lambda layer, x: op.gelu(x, approximate="tanh" if layer.get("approximate", True) else "none"),
    "Flip": _turned_round,
    "GetItem": _item,
    "LeakyRelu": lambda layer, x: op.leaky_relu(x, alpha=float(layer.get("negative_slope", 0.2))),
    "LogicalAnd": lambda layer, x, y: op.logical_and(x, y),
    "LogicalOr": lambda layer, x, y: op.logical_or(x, y),
    "LogSoftmax": lambda layer, x: op.log_softmax(x, axis=int(layer.get("axis", -1))),
    "Logsumexp": _reduced(op.reduce_log_sum_exp),
    "Matmul": lambda layer, x, y: op.matmul(x, y),
    "Max": _reduced(op.reduce_max),
    "Mean": _reduced(op.reduce_mean),
    "Min": _reduced(op.reduce_min),
    **dict.fromkeys(("Moveaxis", "Swapaxes"), _with_axes),
    "Norm": _norm,
    "OneHot": _one_hot,
    "OnesLike": _filled(1),
    "Pad": _padded,
    "Prod": _reduced(op.reduce_prod),
    "Reshape": lambda layer, x: op.reshape(x, shape=tuple(layer.get("newshape"))),
    "Repeat": _repeated,
    "Roll": _rolled,
    "Softmax": ACTIVATIONS["Softmax"],
    "Sort": _sorted,
    "Split": _split,
    "Squeeze": lambda layer, x: op.squeeze(x, axes=_axes(layer, x)),
    "Stack": lambda layer, *xs: op.concat(
        *(op.unsqueeze(x, axes=(int(layer.get("axis", 0)),)) for x in xs), axis=int(layer.get("axis", 0))
    ),
    "Sum": _reduced(op.reduce_sum),
    "Std": lambda layer, x: op.sqrt(_variance(layer, x)),
    "Take": _taken,
    "Tile": lambda layer, x: op.tile(x, repeats=tuple(layer.get("repeats"))),
    "TopK": _top,
    "Transpose": _transposed,
    "Tril": lambda layer, x: op.trilu(x, k=int(layer.get("k", 0)), upper=False),
    "Triu": lambda layer, x: op.trilu(x, k=int(layer.get("k", 0)), upper=True),
    "Var": _variance,
    "Where": _where,
    "ZerosLike": _filled(0),
}
"""What each op means."""
