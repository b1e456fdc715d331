"""Fake quantisation: floats of few values, and counts of thresholds."""

from __future__ import annotations

import numpy as np

from graphrewrite.lowering.c.arrays import Array, Reference, literal
from graphrewrite.lowering.c.elementwise import mapped
from graphrewrite.lowering.c.kernel import Kernel, Step, Unfit
from graphrewrite.lowering.c.loops import counted, nest

__all__ = ["QONNX"]

_ROUNDED = {
    "ROUND": "rint@(v1)",
    "HALF_EVEN": "rint@(v1)",
    "CEIL": "ceil@(v1)",
    "FLOOR": "floor@(v1)",
    "UP": "copysign@(ceil@(fabs@(v1)), v1)",
    "DOWN": "trunc@(v1)",
    "HALF_UP": "copysign@(floor@(fabs@(v1) + {half}), v1)",
    "HALF_DOWN": "copysign@(ceil@(fabs@(v1) - {half}), v1)",
}
"""Expressions by the names of QONNX; a ``@`` is the suffix of functions of the type."""


def _quant(step: Step) -> list[str]:
    x, scale, zero, bits = step.operands
    signed, narrow, kind = step.attributes["signed"], step.attributes["narrow"], x.type
    if bits.value is None:
        raise Unfit("its bit width is not constant")
    whole = np.exp2(bits.value.astype(np.float64))
    low = -whole / 2 + narrow if signed else np.zeros_like(whole)
    high = whole / 2 - 1 if signed else whole - 1 - narrow
    ends = (step.table("low", low, x.dtype), step.table("high", high, x.dtype))
    is_bipolar = bits.value == 1
    if signed and is_bipolar.any() and not is_bipolar.all():
        raise Unfit("some of its bit widths are 1, and others are not")
    rounded = _ROUNDED[step.attributes["rounding_mode"].upper()].replace("{half}", literal(0.5, x.dtype))
    rounded = rounded.replace("@", "f" if kind == "float" else "")

    def body(y: Reference, own: Reference, *parameters: Reference) -> list[str]:
        factor, offset, least, most = parameters
        nearest = [f"const {kind} v1 = v0 < {least} ? {least} : v0 > {most} ? {most} : v0;"]
        if signed and is_bipolar.all():
            nearest, result = [], "(v0 >= 0 ? 1 : -1)"
        else:
            result = rounded
        return [
            f"const {kind} v0 = {own} / ({kind}){factor} + ({kind}){offset};",
            *nearest,
            f"{y} = ({result} - ({kind}){offset}) * ({kind}){factor};",
        ]

    return nest(step.result.shape, [step.result, x, scale, zero, *ends], body)


def _multi_threshold(step: Step) -> list[str]:
    x, given = step.operands
    if given.value is None:
        raise Unfit("its thresholds are not constant")
    rows, rank = np.sort(given.value, axis=1), len(x.shape)
    if not rows.shape[1]:
        raise Unfit("there are no thresholds")
    # Of a single number there would be no table.
    table = step.table("thresholds", rows if rows.size > 1 else np.append(rows, np.nan)[None], given.dtype)
    axis = rank - 1 if step.attributes["data_layout"][-1] == "C" else 1
    shape, strides = [1] * rank, [0] * rank
    if len(rows) > 1:
        shape[axis], strides[axis] = len(rows), rows.shape[1]
    by_channel = Array(table.name, table.dtype, tuple(shape), tuple(strides))
    factor, addend = (literal(step.attributes[name], x.dtype) for name in ("out_scale", "out_bias"))

    def body(y: Reference, own: Reference, row: Reference) -> list[str]:
        reached = counted("k", rows.shape[1], [f"reached += {own} >= {row.plus('k')};"])
        return ["int32_t reached = 0;", *reached, f"{y} = ({x.type})reached * ({factor}) + ({addend});"]

    return nest(x.shape, [step.result, x, by_channel], body)


QONNX = {
    "bipolar_quant": Kernel(lambda step: mapped(step, "{0} >= 0 ? ({T}){1} : -({T}){1}")),
    "multi_threshold": Kernel(_multi_threshold),
    "quant": Kernel(_quant),
}
"""Kernels of fake quantisation."""
