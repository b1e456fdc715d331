"""Random numbers: what a model leaves to chance is drawn with a seed, so that it is the same each time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.attribute_values import data_type, element, number, scalar
from graphrewrite.lowering.exchange.entry import Entry, Unfit, same_names
from graphrewrite.op.op import Op

__all__ = ["RANDOM"]

_EXACT = 1 << 24
"""ONNX's seeds are float32, which has all whole numbers below this one."""


def _seed(value: Any) -> int:
    """A whole seed as it is, any other one by its bits."""
    given = np.float32(scalar(value))
    return int(given) if given == int(given) and 0 <= given < _EXACT else int(given.view(np.uint32))


def _seeded(kind: Op) -> Callable[..., Any]:
    def build(x: Any, **attributes: Any) -> Any:
        # Without a seed of its own each node of a graph has another one.
        return kind(x, **{"seed": len(x.graph), **attributes})

    return build


def _shown(attributes: dict[str, Any], _: Sequence[Tensor]) -> dict[str, Any]:
    seed = attributes.get("seed", 0)
    if seed >= _EXACT:
        raise Unfit(f"ONNX has no seed {seed}, only whole numbers below {_EXACT}")
    return {**attributes, "seed": float(seed)}


_DRAWN: dict[str, Any] = {"dtype": ("element", element, data_type), "seed": ("seed", _seed, float)}
_KINDS: tuple[tuple[str, Op, dict[str, Any]], ...] = (
    ("RandomUniformLike", op.rand_like, {**_DRAWN, **same_names(number, "low", "high")}),
    ("RandomNormalLike", op.randn_like, {**_DRAWN, **same_names(number, "mean", "scale")}),
)
RANDOM: tuple[Entry, ...] = tuple(
    entry
    for name, kind, attributes in _KINDS
    for entry in (Entry(name, _seeded(kind), attributes), Entry(name, kind, attributes, shown=_shown))
)
