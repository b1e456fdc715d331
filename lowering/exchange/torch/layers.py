"""Ops of PyTorch that are layers: convolutions, norms, pools, sizes of images, attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.torch.call import Call, Row, batched, cast, each_axis

__all__ = ["LAYERS"]


def _convolved(
    value: Value, weight: Value, bias: Value | None, x: Call, *, transposed: bool = False, fill: Any = 0
) -> Any:
    axes = len(weight.type.shape) - 2
    strides, dilations = each_axis(x["stride"], axes), each_axis(x["dilation"], axes)
    padding = x["padding"]
    kernel = weight.type.shape[2:]
    if padding == "valid":
        padding = 0
    if padding == "same":
        needed = [d * (k - 1) for d, k in zip(dilations, kernel, strict=True)]
        pads = (*(n // 2 for n in needed), *(n - n // 2 for n in needed))
    else:
        pads = each_axis(padding, axes) * 2
    rest = () if bias is None else (bias,)
    attributes: dict[str, Any] = {"strides": strides, "pads": pads, "dilations": dilations, "groups": x["groups"]}
    if transposed:
        attributes["output_padding"] = each_axis(x["output_padding"], axes)
    function = op.conv_transpose if transposed else op.conv
    return batched(lambda image: function(image, weight, *rest, **attributes), value, axes)


def _conv(x: Call) -> Any:
    return _convolved(x[0], x["weight"], x["bias"], x, transposed=bool(x.get("transposed", False)))


def _conv_transpose(x: Call) -> Any:
    return _convolved(x[0], x["weight"], x["bias"], x, transposed=True)


def _channels(x: Call) -> Any:
    return x.shape_of(x[0])[1]


def _affine(x: Call, size: Any) -> tuple[Value, Value]:
    """Return gain and shift; 1 and 0 where the module has none."""
    if not isinstance(size, int):
        raise Unfit(f"it has no weights, and the number of channels is open: {size}")
    gain, shift = x["weight"], x["bias"]
    element = x.element
    return (
        x.constant(np.ones(size), element) if gain is None else gain,
        x.constant(np.zeros(size), element) if shift is None else shift,
    )


def _batch_norm(x: Call) -> Any:
    gain, shift = _affine(x, _channels(x))
    mean, var, epsilon = x.get("running_mean"), x.get("running_var"), float(x["eps"])
    if x.get("training", False):
        found = _of_batch(x, gain, shift)
        return found[0] if len(x.results) == 1 else found
    if mean is None:
        raise Unfit("it has no statistics, and takes none of the batch")
    return x.first(op.batch_norm(x[0], gain, shift, mean, var, epsilon=epsilon))


def _of_batch(x: Call, gain: Value, shift: Value) -> tuple[Any, ...]:
    """Normalise by the statistics of the batch; the running ones of PyTorch take the unbiased variance."""
    value = x[0]
    shape = value.type.shape
    axes, more = (0, *range(2, len(shape))), (1,) * (len(shape) - 2)
    mean = op.reduce_mean(value, axes=axes)
    difference = op.sub(value, mean)
    var = op.reduce_mean(op.mul(difference, difference), axes=axes)
    scale = op.reciprocal(op.sqrt(op.add(var, x.value(float(x["eps"])))))
    wide = [op.reshape(each, shape=(shape[1], *more)) for each in (gain, shift)]
    normalised = op.add(op.mul(op.mul(difference, scale), wide[0]), wide[1])
    saved = (op.reshape(mean, shape=(shape[1],)), op.reshape(scale, shape=(shape[1],)))
    if len(x.results) < 5:
        return (normalised, *saved)
    count = 1
    for axis in axes:
        count = count * shape[axis]
    if not isinstance(count, int):
        raise Unfit(f"its running variance is of {count} entries, an open number; give a fixed batch")
    rate = float(x["momentum"])
    factor = count / (count - 1) if count > 1 else math.nan  # as PyTorch has it
    unbiased = op.mul(op.reshape(var, shape=(shape[1],)), x.value(factor))
    pairs = ((x["running_mean"], saved[0]), (x["running_var"], unbiased))
    running = [op.add(op.mul(old, x.value(1 - rate)), op.mul(new, x.value(rate))) for old, new in pairs]
    return (normalised, *saved, *running)


def _layer_norm(x: Call) -> Any:
    sizes = x["normalized_shape"]
    axis = len(x.shape_of(x[0])) - len(sizes)
    gain, shift, epsilon = x["weight"], x["bias"], float(x["eps"])
    gain = x.constant(np.ones(sizes)) if gain is None else gain
    rest = () if shift is None else (shift,)
    found = op.layer_norm(x[0], gain, *rest, axis=axis, epsilon=epsilon)
    return x.first(found)


def _rms_norm(x: Call) -> Any:
    sizes = x["normalized_shape"]
    epsilon = x["eps"]
    epsilon = float(np.finfo(np.float64 if x.element == "f64" else np.float32).eps) if epsilon is None else epsilon
    gain = x["weight"]
    gain = x.constant(np.ones(sizes)) if gain is None else gain
    return op.rms_norm(x[0], gain, axis=len(x.shape_of(x[0])) - len(sizes), epsilon=float(epsilon))


def _group_norm(x: Call) -> Any:
    gain, shift = _affine(x, _channels(x))
    groups = x["num_groups"] if "num_groups" in x.arguments else x["group"]
    found = op.group_norm(x[0], gain, shift, groups=groups, epsilon=float(x["eps"]))
    return x.first(found)


def _instance_norm(x: Call) -> Any:
    if not x["use_input_stats"]:
        return _batch_norm(x)
    gain, shift = _affine(x, _channels(x))
    return op.instance_norm(x[0], gain, shift, epsilon=float(x["eps"]))


def _attention(x: Call) -> Any:
    query, key, value, mask = x["query"], x["key"], x["value"], x["attn_mask"]
    if x["dropout_p"]:
        raise Unfit("it drops scores at random; import the model for inference: model.eval()")
    shape = query.type.shape
    if mask is not None:
        mask = mask if mask.type.element == "bool" else cast(mask, query.type.element)
        each = (shape[-2], key.type.shape[-2])
        if mask.type.shape[-2:] != each:  # one row for all queries, say
            mask = op.expand(mask, shape=(*mask.type.shape[:-2], *each))
    # Ours takes [N, heads, T, size].
    lead = len(shape) - 2
    batches = [each.type.shape[:lead] for each in (query, key, value)]
    if lead == 2 and batches[0][0] == batches[1][0] == batches[2][0]:
        q, k, v = query, key, value
    elif batches[0] == batches[1] == batches[2]:
        q, k, v = (op.reshape(each, shape=_four(each.type.shape)) for each in (query, key, value))
        if mask is not None and len(mask.type.shape) > 2:
            mask = op.expand(mask, shape=(*shape[:-2], *mask.type.shape[-2:]))
            mask = op.reshape(mask, shape=_four(mask.type.shape))
    else:
        raise Unfit(f"queries {query.type}, keys {key.type} and values {value.type} have different batches")
    rest = () if mask is None else (mask,)
    scale = x["scale"]
    found = op.attention(q, k, v, *rest, scale=None if scale is None else float(scale), is_causal=bool(x["is_causal"]))
    found = found if found.type.shape == x.shape else op.reshape(found, shape=x.shape)
    return x.first(found)


def _four(shape: Sequence[Any]) -> tuple[Any, ...]:
    """Return a shape with four axes: all but the last three are one."""
    shape, batch = (1,) * (3 - len(shape)) + tuple(shape), 1
    for size in shape[:-3]:
        batch = batch * size
    return (batch, *shape[-3:])


def _nll_loss(x: Call) -> Any:
    reduction: Any = ("none", "mean", "sum")[x["reduction"]]
    rest = () if x["weight"] is None else (x["weight"],)
    return op.nll_loss(x[0], x["target"], *rest, reduction=reduction, ignore_index=x["ignore_index"])


def _weight_norm(x: Call) -> Any:
    """Weights of a given norm along all axes but one."""
    axes = tuple(axis for axis in range(len(x.shape)) if axis != x["dim"])
    return op.mul(x["v"], op.div(x["g"], op.reduce_l2(x["v"], axes=axes))), None


LAYERS: dict[str, Row] = {
    **dict.fromkeys(("aten.conv1d", "aten.conv2d", "aten.conv3d", "aten.convolution"), _conv),
    **dict.fromkeys(("aten.conv_transpose1d", "aten.conv_transpose2d", "aten.conv_transpose3d"), _conv_transpose),
    **dict.fromkeys(
        (
            *("aten.batch_norm", "aten._native_batch_norm_legit_no_training", "aten.native_batch_norm"),
            *("aten._native_batch_norm_legit", "aten._native_batch_norm_legit_functional"),
        ),
        _batch_norm,
    ),
    **dict.fromkeys(("aten.layer_norm", "aten.native_layer_norm"), _layer_norm),
    **dict.fromkeys(("aten.group_norm", "aten.native_group_norm"), _group_norm),
    "aten.instance_norm": _instance_norm,
    "aten.rms_norm": _rms_norm,
    "aten._scaled_dot_product_flash_attention_for_cpu": _attention,
    "aten._weight_norm_interface": _weight_norm,
    "aten.nll_loss": _nll_loss,
    "aten.nll_loss_nd": _nll_loss,
    "aten.scaled_dot_product_attention": _attention,
}
"""What each op means."""
