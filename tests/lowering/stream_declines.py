"""For rules between integers and streams graphs in which their pattern is, and that they must leave as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphrewrite import FixedPoint, Rule, Tensor, op
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.components.popcount import popcount
from graphrewrite.hdl.components.requantise import requantise
from graphrewrite.hdl.components.threshold import threshold
from graphrewrite.hdl.components.window import window
from graphrewrite.lowering.integer.arithmetic import (
    lower_difference,
    lower_from_constant,
    lower_product,
    lower_with_constant,
    quantise_border,
    scale_sums,
)
from graphrewrite.lowering.shift_add.unrolling import unroll_as_adders
from graphrewrite.lowering.streaming.bridge import leave
from graphrewrite.lowering.streaming.channelwise import (
    map_add,
    map_arg_max,
    map_clip,
    map_doubling,
    map_relu,
    map_requantise,
)
from graphrewrite.lowering.streaming.constant_sources import map_from_constant, map_with_constant
from graphrewrite.lowering.streaming.layers import map_conv, map_linear, map_max_pool
from graphrewrite.lowering.streaming.movement import (
    map_concat,
    map_concat_with_itself,
    map_pad,
    map_reshape,
    map_selection,
    map_transpose,
    pair_concat,
)
from graphrewrite.lowering.streaming.multiplier_free import (
    count_agreements,
    count_signs,
    count_signs_in_windows,
    recognise_signs_in_windows,
)
from graphrewrite.lowering.streaming.scaling import (
    map_add_constant,
    map_interpolate,
    map_lookup,
    map_mul,
    map_mul_constant,
    map_rescale,
    map_square,
    map_sub,
    map_sub_constant,
    map_threshold,
)
from tests.rules.declines.parts import Case

__all__ = ["DECLINES"]

Body = Callable[..., Any]
S4, S8, U8 = FixedPoint(True, 4), FixedPoint(True, 8), FixedPoint(False, 8)
LINE, IMAGE, WIDE = "stream s8f0[4,5]", "stream s8f0[4,5,5]", "stream s49f0[4,5]"
"""Of the last one a lane does not hold a number."""


def after(body: Body, *types: str) -> tuple[Case, ...]:
    """One case for each stream that an op reads."""
    return tuple((lambda x: body(leave(x)), kind) for kind in types)


def both(body: Body, *types: tuple[str, str]) -> tuple[Case, ...]:
    return tuple((lambda x, y: body(leave(x), leave(y)), *kinds) for kinds in types)


def integers(x: Any, *values: Any, width: int = 8) -> Any:
    """A node, whose numbers have a format."""
    array = np.array(values[0] if len(values) == 1 else values)
    element = FixedPoint(True, width)
    return x.graph.constant(array.astype(element.dtype), type=Tensor(element, array.shape))


def rescaled(x: Any, **attributes: Any) -> Any:
    return op.rescale(x, **{"multiplier": 3, "addend": 0, "shift": 1, "element": S8, **attributes})


def dense(x: Any, weight: int) -> Any:
    weights = integers(x, np.full((2, 4), weight), width=40)
    return op.integer_linear(x, weights, integers(x, [0, 0]), element=FixedPoint(True, 48))


def conv(x: Any, *kernel: int, weight: int = 1) -> Any:
    weights = integers(x, np.full((2, 4, *kernel), weight), width=40)
    return op.integer_conv(
        x, weights, integers(x, np.zeros(2)), strides=(1,) * len(kernel), pads=(0,) * 2 * len(kernel),
        dilations=(1,) * len(kernel), element=FixedPoint(True, 48),
    )  # fmt: skip


def pooled(x: Any, *kernel: int, pads: tuple[int, ...] | None = None, **more: Any) -> Any:
    return op.max_pool(x, kernel=kernel, pads=pads or (0,) * 2 * len(kernel), **more)


def lines(x: Any, **attributes: Any) -> Any:
    given = {"base": (0, 0), "slope": (0, 0), "rest": 7, "shift": 0, "low": -128, "element": S8}
    return op.integer_interpolate(x, **{**given, **attributes})


def table(x: Any, size: int = 4) -> Any:
    return op.lookup(x, integers(x, np.arange(size) % 7), low=0)


STREAMS: dict[Rule, tuple[Case, ...]] = {
    map_reshape: (
        *after(lambda x: op.reshape(x, shape=("N", 20)), WIDE),
        *after(lambda x: op.reshape(x, shape=(-1, 10)), LINE),
        *after(lambda x: op.reshape(x, shape=(4, -1)), LINE),
        *after(lambda x: op.reshape(x, shape=(-1,)), "stream s8f0[1,1]"),
    ),
    map_transpose: (
        *after(lambda x: op.transpose(x, perm=(0, 2, 1)), LINE, "stream s49f0[1,5]"),
        *after(lambda x: op.transpose(x, perm=(1, 0, 2)), "stream s8f0[1,5]"),
    ),
    map_selection: (
        *after(op.identity, WIDE),
        *after(lambda x: op.flatten(x, axis=0), LINE),
        *after(lambda x: op.squeeze(x, axes=(1,)), "stream s8f0[1]"),
        *after(lambda x: op.slice(x, starts=(-1,), ends=(-(2**31),), axes=(0,), steps=(-1,)), LINE),
        *after(lambda x: op.tile(x, repeats=(2, 1, 1)), LINE),
        *after(lambda x: op.slice(x, starts=(0,), ends=(1,), axes=(0,)), LINE),
        *after(lambda x: op.slice(x, starts=(2,), ends=(2,), axes=(1,)), LINE),
        *after(lambda x: op.slice(x, starts=(-1,), ends=(-(2**31),), axes=(2,), steps=(-1,)), LINE),
    ),
    map_pad: (
        *after(lambda x: op.pad(x, pads=(0, 0, 1, 0, 0, 1)), WIDE),
        *after(lambda x: op.pad(x, pads=(0, 0, 1, 0, 0, 1), mode="reflect"), LINE),
        *after(lambda x: op.pad(x, pads=(0, 1, 1, 0, 0, 1)), LINE),
        *after(lambda x: op.pad(x, pads=(0, 0, 1, 0, 1, 1)), LINE),
        *after(lambda x: op.pad(x, pads=(1, 0, 1, 0, 0, 1)), LINE),
        *after(lambda x: op.pad(x, pads=(0, 0, 1, 0, 0, -1)), LINE),
        *after(lambda x: op.pad(x, pads=(0, 0, 1, 0, 0, 0, 0, 0, 0, 1)), "stream s8f0[4,2,2,2]"),
        *after(lambda x: op.pad(x, pads=(0, 0, 0, 0)), "stream s8f0[4]"),
        *after(lambda x: op.pad(x, pads=(0, 0, 1, 0, 0, 1), fill=0.5), LINE),
    ),
    pair_concat: both(lambda x, y: op.concat(x, y, axis=1), (LINE, LINE)),
    map_concat: (
        *both(lambda x, y: op.concat(x, y, axis=0), (LINE, LINE)),
        *both(lambda x, y: op.concat(x, y, axis=1), (WIDE, WIDE)),
    ),
    map_concat_with_itself: tuple(
        (lambda x, axis=axis: op.concat(v := leave(x), v, axis=axis), kind)
        for axis, kind in ((0, LINE), (-3, LINE), (1, WIDE))
    ),
    map_requantise: (
        *after(lambda x: op.requantise(x, shift=1, element=S8), WIDE),
        *after(lambda x: op.requantise(x, shift=-30, element=FixedPoint(True, 32)), LINE),
        *after(lambda x: op.requantise(x, shift=1, element=S8, low=3, high=2), LINE),
        *after(lambda x: op.requantise(x, shift=61, element=S8), LINE),
        *after(lambda x: op.requantise(x, shift=(0, 61, 0, 0), element=S8), LINE),
        *after(lambda x: op.requantise(x, shift=(0, -53, 0, 0), element=S8), LINE),
        *after(lambda x: op.requantise(x, shift=-53, element=S8), LINE),
    ),
    map_relu: after(op.relu, WIDE),
    map_clip: (
        *after(lambda x: op.clip(x, low=0), WIDE),
        *after(lambda x: op.clip(x, low=3, high=2), LINE),
    ),
    map_add: (
        *both(lambda x, y: op.integer_add(x, y, element=S8), (WIDE, LINE), (LINE, WIDE), (LINE, "stream s8f0[1,5]")),
        *both(lambda x, y: op.integer_add(x, y, element=FixedPoint(True, 49)), (LINE, LINE)),
        *both(
            lambda x, y: op.integer_add(x, y, element=S8),
            ("stream s48f0[4,5]", "stream s48f0[4,5]"),
        ),
    ),
    map_doubling: (
        (lambda x: op.integer_add(v := leave(x), v, element=S8), WIDE),
        (lambda x: op.integer_add(v := leave(x), v, element=S8), "stream s48f0[4,5]"),
        (lambda x: op.integer_add(v := leave(x), v, element=FixedPoint(True, 49)), LINE),
    ),
    map_arg_max: (
        *after(lambda x: op.arg_max(x, axis=1), WIDE),
        *after(lambda x: op.arg_max(x, axis=2), LINE),
        *after(lambda x: op.arg_max(x, axis=-1), LINE),
        *after(lambda x: op.arg_max(x, axis=1, keep_dims=False), LINE),
        *after(lambda x: op.arg_max(x, axis=1, select_last_index=True), LINE),
    ),
    map_rescale: (
        *after(rescaled, WIDE),
        *after(lambda x: rescaled(x, element=FixedPoint(True, 49)), LINE),
        *after(lambda x: rescaled(x, saturate=False), LINE),
        *after(lambda x: rescaled(x, multiplier=3 << 28), "stream s20f0[4,5]"),
        *after(lambda x: rescaled(x, addend=1 << 47), LINE),
        *after(lambda x: rescaled(x, multiplier=(1 << 29) + 1), LINE),
        *after(lambda x: rescaled(x, shift=61), LINE),
        *after(lambda x: rescaled(x, offset=-1 << 47, element=FixedPoint(True, 48)), LINE),
        *after(lambda x: rescaled(x, multiplier=1 << 13, shift=0), "stream s48f0[4,5]"),
        *after(lambda x: rescaled(x, low=3, high=2), LINE),
    ),
    map_threshold: (
        *after(lambda x: op.integer_threshold(x, integers(x, [[1, 2]])), WIDE),
        *after(lambda x: op.integer_threshold(x, integers(x, np.ones((1, 0)))), LINE),
    ),
    map_lookup: (
        *after(table, WIDE),
        *after(lambda x: table(x, 2**13), "stream s20f0[4,5]"),
    ),
    map_interpolate: (
        *after(lambda x: lines(x, rest=48, low=-(2**48)), WIDE),
        *after(lambda x: lines(x, base=(0, 1 << 47), shift=41), LINE),
        *after(lambda x: lines(x, slope=(0, 1 << 29), shift=30), LINE),
        *after(lambda x: lines(x, shift=48), LINE),
        *after(lambda x: lines(x, base=(0,), slope=(0,), rest=8), LINE),
        *after(lambda x: lines(x, base=(0,) * 256, slope=(0,) * 256, rest=0), LINE),
    ),
    map_mul: both(
        lambda x, y: op.integer_mul(x, y, element=FixedPoint(True, 57)), (WIDE, LINE), (LINE, WIDE), (LINE, LINE)
    )
    + both(lambda x, y: op.integer_mul(x, y, element=FixedPoint(True, 16)), (LINE, "stream s8f0[1,5]")),
    map_square: ((lambda x: op.integer_mul(v := leave(x), v, element=FixedPoint(True, 50)), "stream s25f0[4,5]"),),
    map_mul_constant: (
        *after(lambda x: op.integer_mul(x, integers(x, 3), element=FixedPoint(True, 57)), WIDE, LINE),
        *after(lambda x: op.integer_mul(x, integers(x, [1, 2, 3, 4, 5]), element=FixedPoint(True, 16)), LINE),
        *after(
            lambda x: op.integer_mul(x, integers(x, [[1], [2], [3], [4]]), element=FixedPoint(True, 16)),
            "stream s8f0[1,5]",
        ),
        *after(lambda x: op.integer_mul(x, integers(x, 1 << 29, width=31), element=FixedPoint(True, 39)), LINE),
    ),
    map_add_constant: (
        *after(lambda x: op.integer_add(x, integers(x, 3), element=S8), WIDE),
        *after(lambda x: op.integer_add(x, integers(x, [1, 2, 3, 4, 5]), element=S8), LINE),
        *after(lambda x: op.integer_add(x, integers(x, 1), shifts=(0, 47), element=S8), LINE),
        *after(lambda x: op.integer_add(x, integers(x, 1), shifts=(0, 49), element=S8), LINE),
        *after(lambda x: op.integer_add(x, integers(x, 1), shifts=(30, 0), element=S8), LINE),
    ),
    map_sub_constant: (
        *after(lambda x: op.integer_sub(x, integers(x, 3), element=FixedPoint(True, 50)), WIDE),
        *after(lambda x: op.integer_sub(x, integers(x, [1, 2, 3, 4, 5]), element=FixedPoint(True, 9)), LINE),
        *after(lambda x: op.integer_sub(x, integers(x, 1), shifts=(30, 0), element=FixedPoint(True, 39)), LINE),
    ),
    map_sub: (
        *both(lambda x, y: op.integer_sub(x, y, element=FixedPoint(True, 50)), (WIDE, LINE), (LINE, WIDE)),
        *both(lambda x, y: op.integer_sub(x, y, element=FixedPoint(True, 9)), (LINE, "stream s8f0[1,5]")),
    ),
    map_with_constant: (
        *after(lambda x: op.integer_add(x, integers(x, [1, 2, 3, 4, 5]), element=S8), WIDE),
        *after(lambda x: op.integer_add(x, integers(x, [[1], [2], [3], [4]]), element=S8), "stream s8f0[1,5]"),
    ),
    map_from_constant: (
        *after(lambda x: op.integer_sub(integers(x, [1, 2, 3, 4, 5]), x, element=FixedPoint(True, 50)), WIDE),
        *after(
            lambda x: op.integer_sub(integers(x, [1, 2, 3, 4, 5]), x, element=FixedPoint(True, 9)), "stream s8f0[4,1]"
        ),
    ),
    map_linear: (
        *after(lambda x: dense(x, 1), "stream s49f0[4]"),
        *after(lambda x: dense(x, 1 << 30), "stream s8f0[4]"),
    ),
    map_conv: (
        *after(lambda x: conv(x, 2), WIDE),
        *after(lambda x: conv(x, 1, 1, 1), "stream s8f0[4,2,2,2]"),
        *after(lambda x: conv(x, 2, weight=1 << 30), "stream s8f0[4,5]"),
    ),
    map_max_pool: (
        *after(lambda x: pooled(x, 2), WIDE),
        *after(lambda x: pooled(x, 1, 1, 1), "stream s8f0[4,2,2,2]"),
    ),
}


def product(x: Any, weights: Any, **attributes: Any) -> Any:
    return matvec(x, weights=weights, bias=[0] * len(weights), **{"element": S8, **attributes})


def counted(x: Any, coding: str = "ternary") -> Any:
    return popcount(x, weights=[[1, -1]], bias=[0], element=S8, coding=coding)


TERNARY = FixedPoint(True, 2)


def signs_of(x: Any, **attributes: Any) -> Any:
    return threshold(x, **{"levels": [[0]], "element": TERNARY, "step": 2, "offset": -1, **attributes})


COMPONENTS: dict[Rule, tuple[Case, ...]] = {
    count_agreements: (
        (lambda x: product(x, [[1, 2]]), "stream u1f0[2]"),
        (lambda x: product(x, [[1, -2]]), "stream u1f0[2]"),
        (lambda x: product(x, [[1, 1]], element=FixedPoint(True, 32)), "stream u1f0[2]"),
        (lambda x: product(x, [[1, 1]]), "stream s2f0[2]"),
        (lambda x: product(x, [[1, 1]]), "stream u2f0[2]"),
        (lambda x: product(requantise(x, shift=0, element=TERNARY, low=-2), [[1, 1]]), "stream s8f0[2]"),
    ),
    count_signs: (
        (lambda x: counted(signs_of(x, levels=[[0, 5]], step=1)), "stream s8f0[2]"),
        (lambda x: counted(signs_of(x, step=1)), "stream s8f0[2]"),
        (lambda x: counted(signs_of(x, step=1, offset=0)), "stream s8f0[2]"),
    ),
    count_signs_in_windows: (
        (
            lambda x: popcount(
                window(signs_of(x), kernel=(2,), pads=(0, 1)),
                weights=[[1, -1]],
                bias=[0],
                element=S8,
                coding="ternary",
            ),
            "stream s8f0[1,4]",
        ),
    ),
    recognise_signs_in_windows: (
        # Signs that fall are counted negated, and a border of ones would be, too.
        (
            lambda x: counted(
                window(
                    requantise(
                        threshold(x, levels=[[1]], element=S8, step=-4, offset=2), shift=0, element=TERNARY, low=-1
                    ),
                    kernel=(2,),
                    pads=(1, 0),
                    fill=1,
                )
            ),
            "stream s8f0[1,4]",
        ),
    ),
    unroll_as_adders: (
        (lambda x: product(x, [[1, 1], [1, -1]], groups=1, element=FixedPoint(True, 12)), "stream s8f0[2] 1 lanes"),
        (lambda x: product(x, [[1], [1]], groups=2, element=FixedPoint(True, 12)), "stream s8f0[2]"),
        (lambda x: product(x, [[1, 1]] * 2, lanes=1, element=FixedPoint(True, 12)), "stream s8f0[2]"),
        (lambda x: product(x, [[1, 1, 1, 1]], over="frame", element=FixedPoint(True, 12)), "stream s8f0[2,2]"),
    ),
}


def real(x: Any) -> Any:
    return op.from_fixed(x, fraction=x.type.element.fraction)


def rounded(x: Any, **attributes: Any) -> Any:
    return op.quantise(x, **{"element": S8, **attributes})


def by_channel(x: Any) -> Any:
    return op.quantise(x, element=S8, fractions=(0, 1), axis=1)


def depthwise(x: Any, rows: Any, *, shift: int = 1, bias: Any = (0, 0)) -> Any:
    w = np.array(rows)
    w = w.reshape(len(w), -1, w.shape[-1])
    groups = x.type.shape[1] // w.shape[1]
    layer = op.integer_conv(
        x, integers(x, w, width=40), integers(x, list(bias)), groups=groups, strides=(1,), pads=(0, 0), dilations=(1,),
        element=FixedPoint(True, 40),
    )  # fmt: skip
    return op.requantise(layer, shift=shift, element=S8)


VALUES = "s8f2[N,2]"
INTEGERS: dict[Rule, tuple[Case, ...]] = {
    lower_difference: (
        (lambda x, y: by_channel(op.sub(real(x), real(y))), VALUES, VALUES),
        (lambda x, y: rounded(op.sub(real(x), real(y))), VALUES, "s8f42[N,2]"),
        (lambda x, y: rounded(op.sub(real(x), real(y))), "s8f42[N,2]", VALUES),
    ),
    lower_product: (
        (lambda x, y: by_channel(op.mul(real(x), real(y))), VALUES, VALUES),
        (lambda x, y: rounded(op.mul(real(x), real(y))), "s24f2[N,2]", "s25f2[N,2]"),
    ),
    lower_with_constant: (
        (lambda x: by_channel(op.add(real(x), np.float32(0.5))), VALUES),
        (lambda x: rounded(op.mul(real(x), np.float32(np.inf))), VALUES),
        (lambda x: rounded(op.mul(real(x), np.float32([[1, 2.0**-40]]))), VALUES),
        (lambda x: rounded(op.mul(real(x), np.float32(1000001))), "s40f0[N,2]"),
        (lambda x: rounded(op.add(real(x), np.float32(2.0**-45))), VALUES),
    ),
    lower_from_constant: (
        (lambda x: by_channel(op.sub(np.float32(0.5), real(x))), VALUES),
        (lambda x: rounded(op.sub(np.float32(np.nan), real(x))), VALUES),
    ),
    quantise_border: (
        (lambda x: op.quantise(op.pad(x, pads=(0, 0, 1, 0, 0, 1)), element=S8, fractions=(0, 1), axis=1), "f32[N,2,3]"),
    ),
    scale_sums: (
        (lambda x: depthwise(x, [[[1, 1], [1, 1]]], bias=(0,)), "s8f0[N,2,4]"),
        (lambda x: depthwise(x, [[3, 3], [2, 2]], shift=-1), "s8f0[N,2,4]"),
        (lambda x: depthwise(x, [[3, 2], [2, 2]]), "s8f0[N,2,4]"),
        (lambda x: depthwise(x, [[1, 1], [1, 1]]), "s8f0[N,2,4]"),
        (lambda x: depthwise(x, [[3], [2]]), "s8f0[N,2,4]"),
        (lambda x: depthwise(x, [[100, 100], [2, 2]]), "s40f0[N,2,4]"),
        (lambda x: depthwise(x, [[1 << 33] * 2] * 2), "s3f0[N,2,4]"),
        (lambda x: depthwise(x, [[3, 3], [2, 2]], shift=63), "s8f0[N,2,4]"),
        (lambda x: depthwise(x, [[3, 3], [2, 2]]), "s8f0[N,2,2] NLC"),
    ),
}

DECLINES: dict[Rule, tuple[Case, ...]] = {**STREAMS, **COMPONENTS, **INTEGERS}
