"""Activations of PyTorch."""

from __future__ import annotations

from typing import Any

from graphrewrite import op
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.torch.call import Call, Row

__all__ = ["ACTIVATIONS"]


def _softmax(function: Any) -> Row:
    def compute(x: Call) -> Any:
        value = x.value(x[0])
        return (
            function(value, axis=x.axis("dim")) if value.type.shape else x.value(0.0 if "log" in function.name else 1.0)
        )

    return compute


def _gelu(x: Call) -> Any:
    return op.gelu(x[0], approximate=x["approximate"])


def _elu(x: Call) -> Any:
    if x["input_scale"] != 1:
        raise Unfit(f"input_scale={x['input_scale']} is not supported")
    value, scale = op.elu(x[0], alpha=float(x["alpha"])), x["scale"]
    return value if scale == 1 else op.mul(value, x.value(scale))


def _softplus(x: Call) -> Any:
    """Above a threshold PyTorch takes the operand itself, which softplus is there to the last bit of 32."""
    beta, limit = x["beta"], x["threshold"]
    value = x[0]
    scaled = value if beta == 1 else op.mul(value, x.value(beta))
    found = op.softplus(scaled)
    found = found if beta == 1 else op.div(found, x.value(beta))
    return found if limit >= 20 else op.where(op.greater(scaled, x.value(limit)), value, found)


def _prelu(x: Call) -> Any:
    rank, slope = len(x[0].type.shape), x[1]
    if rank > 2 and slope.type.shape not in ((), (1,)):  # one a channel, which is axis 1
        slope = op.reshape(slope, shape=(*slope.type.shape, *[1] * (rank - 2)))
    return op.prelu(x[0], slope)


def _glu(x: Call) -> Any:
    axis = x.axis("dim")
    half = x[0].type.shape[axis] // 2
    first, second = op.split(x[0], axis=axis, sizes=(half, half))
    return op.mul(first, op.sigmoid(second))


def _threshold(x: Call) -> Any:
    return op.where(op.greater(x[0], x.value(x["threshold"])), x[0], x.value(x["value"]))


def _hard_shrink(x: Call) -> Any:
    limit = x.value(float(x["lambd"]))
    return op.where(op.less_or_equal(op.abs(x[0]), limit), x.value(0.0), x[0])


def _soft_shrink(x: Call) -> Any:
    limit = x.value(float(x["lambd"]))
    return op.mul(op.sign(x[0]), op.relu(op.sub(op.abs(x[0]), limit)))


def _random_slope(x: Call) -> Any:
    """Without training, the slope is in the middle of those that are drawn; no noise is used."""
    x.need("training", False)
    slope = (float(x["lower"]) + float(x["upper"])) / 2
    return op.leaky_relu(x[0], alpha=slope), x["noise"]


def _dropout(x: Call) -> Any:
    if x["train"] and x["p"]:
        raise Unfit("it drops entries at random, in training mode; import the model for inference: model.eval()")
    return x.first(x[0])


ACTIVATIONS: dict[str, Row] = {
    **dict.fromkeys(("aten.dropout", "aten.native_dropout", "aten.feature_dropout", "aten.alpha_dropout"), _dropout),
    **dict.fromkeys(("aten.softmax", "aten._softmax"), _softmax(op.softmax)),
    **dict.fromkeys(("aten.log_softmax", "aten._log_softmax"), _softmax(op.log_softmax)),
    "aten.celu": lambda x: op.celu(x[0], alpha=float(x["alpha"])),
    "aten.elu": _elu,
    "aten.gelu": _gelu,
    "aten.glu": _glu,
    "aten.hardshrink": _hard_shrink,
    "aten.hardtanh": lambda x: op.clip(x[0], low=float(x["min_val"]), high=float(x["max_val"])),
    "aten.rrelu_with_noise_functional": _random_slope,
    "aten.leaky_relu": lambda x: op.leaky_relu(x[0], alpha=float(x["negative_slope"])),
    "aten.prelu": _prelu,
    "aten.softplus": _softplus,
    "aten.softshrink": _soft_shrink,
    "aten.threshold": _threshold,
}
"""What each op means."""
