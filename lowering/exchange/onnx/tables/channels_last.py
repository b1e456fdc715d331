"""Layers of QONNX whose images have their channels last (QONNX, ``qonnx.custom_op.channels_last``)."""

from __future__ import annotations

from typing import Any

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.attribute_values import integers, number
from graphrewrite.lowering.exchange.entry import Entry, same_names
from graphrewrite.lowering.exchange.onnx.window_attributes import CONVOLUTION

__all__ = ["CHANNELS_LAST"]

_DOMAIN = "qonnx.custom_op.channels_last"


def _first(x: Any) -> Any:
    """Bring the last axis to the second place."""
    rank = len(x.type.shape)
    return op.transpose(x, perm=(0, rank - 1, *range(1, rank - 1)))


def _last(x: Any) -> Any:
    """Bring the second axis to the last place."""
    return op.transpose(x, perm=(0, *range(2, len(x.type.shape)), 1))


def _conv(x: Any, w: Any, b: Any = None, **attributes: Any) -> Any:
    return _last(op.conv(_first(x), _first(w), b, **attributes))


def _max_pool(x: Any, **attributes: Any) -> Any:
    return _last(op.max_pool(_first(x), **attributes))


def _batch_norm(x: Any, *parameters: Any, **attributes: Any) -> Any:
    return _last(op.batch_norm(_first(x), *parameters, **attributes))


def _filled(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    rank = len(types[0].shape) - 2
    return {"strides": (1,) * rank, "pads": (0,) * (2 * rank), **attributes}


_CONV = {name: named for name, named in CONVOLUTION.items() if name != "auto_pad"}
_POOL: dict[str, Any] = {"kernel_shape": ("kernel", integers), **same_names(integers, "strides", "pads")}

CHANNELS_LAST: tuple[Entry, ...] = (
    Entry(
        f"{_DOMAIN}.BatchNormalization",
        _batch_norm,
        {"epsilon": ("epsilon", number)},
        required={"training_mode": (0,)},
        ignored=("momentum",),
    ),
    Entry(f"{_DOMAIN}.Conv", _conv, _CONV, complete=_filled, ignored=("kernel_shape",)),
    Entry(f"{_DOMAIN}.MaxPool", _max_pool, _POOL, required={"ceil_mode": (0,)}, complete=_filled),
)
