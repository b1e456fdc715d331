"""Other sizes of axes: each entry a weighted sum of a few of the operand."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from graphrewrite.lowering.c.arrays import Array, Reference, literal
from graphrewrite.lowering.c.kernel import Kernel, Step, Unfit
from graphrewrite.lowering.c.loops import counted, nest
from graphrewrite.lowering.c.moves import moved
from graphrewrite.op.nn.interpolation import Sampling, taps
from graphrewrite.op.nn.resizing import resized_axes

__all__ = ["RESIZING"]


def _resize(step: Step) -> list[str]:
    x, y, given = step.operands[0], step.result, step.attributes
    if given["coordinate_transformation_mode"] == "tf_crop_and_resize":
        raise Unfit("it maps a part of its operand")
    if given["mode"] == "nearest":
        return moved(step)
    if x.dtype.kind != "f":
        raise Unfit(f"weighted sums of {x.dtype.name}")
    named = [axis % len(x.shape) for axis in (range(len(x.shape)) if given["axes"] is None else given["axes"])]
    sampling = Sampling(
        *(given[key] for key in ("coordinate_transformation_mode", "mode", "nearest_mode", "cubic_coeff_a")),
        *(given[key] for key in ("exclude_outside", "antialias")),
    )
    asked = resized_axes(x.shape, named, given["sizes"], given["scales"], given["keep_aspect_ratio_policy"])
    resized, loops = list[int](), list[int]()
    entries, weights = list[Array](), list[Array]()
    for axis, (scale, size) in enumerate(asked):
        if scale == 1 and size == x.shape[axis]:
            continue
        found = taps(sampling, x.shape[axis], int(size), scale, (0.0, 1.0))
        count = len(found.indices)
        # Of each entry of the result its taps, one behind the other.
        at = step.table(f"from{axis}", found.indices.T, np.int32)
        factor = step.table(f"weights{axis}", np.asarray(found.weights).T, x.dtype)
        resized.append(axis)
        for table, kept in ((at, entries), (factor, weights)):
            shape = tuple(int(size) if i == axis else 1 for i in range(len(y.shape)))
            kept.append(replace(table, shape=shape, strides=tuple(count * (i == axis) for i in range(len(y.shape)))))
        loops.append(count)
    rest = replace(
        x,
        shape=tuple(1 if axis in resized else size for axis, size in enumerate(x.shape)),
        strides=tuple(0 if axis in resized else stride for axis, stride in enumerate(x.strides)),
        value=None,
    )

    def body(to: Reference, entry: Reference, *tables: Reference) -> list[str]:
        for number, (axis, table) in enumerate(zip(resized, tables, strict=False)):
            own = table.plus(f"k{number}") if table.index else table
            entry = entry.plus(str(own) if x.strides[axis] == 1 else f"{own} * {x.strides[axis]}")
        factors = [each.plus(f"k{n}") if each.index else each for n, each in enumerate(tables[len(resized) :])]
        lines = [f"sum += {' * '.join(map(str, [entry, *factors]))};"]
        for number in reversed(range(len(loops))):
            lines = counted(f"k{number}", loops[number], lines)
        return [f"{y.type} sum = {literal(0, y.dtype)};", *lines, f"{to} = sum;"]

    if not prod(y.shape):
        return []
    return nest(y.shape, [y, rest, *entries, *weights], body)


RESIZING = {"resize": Kernel(_resize)}
"""Kernels of ops that interpolate."""
