"""Half floats in C: what is read becomes single precision, and what is written is rounded, half to even.

An f16 is stored as the 16 bits that it has, a bf16 as a float without its lower bits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from graphrewrite.lowering.c.arrays import Array
from graphrewrite.lowering.c.kernel import Unfit

__all__ = ["HALVES", "STEPWISE", "as_single", "in_halves", "rounded"]

HALVES = ("f16", "bf16")
"""Element types of half precision."""

_FAR = float(np.float16(-np.log(65504.0)))
_SHARE = "in_half(in_half(expf(-{steep})) + 1)"

STEPWISE: Mapping[str, str] = {
    "celu": "{0} > 0 ? {0} : {alpha} * in_half(expm1f(in_half({0} / {alpha})))",
    "elu": "{0} > 0 ? {0} : {alpha} * in_half(expm1f({0}))",
    "fma": "in_half({0} * {1}) + {2}",
    "hard_sigmoid": "limited_f(in_half(in_half({0} * {alpha}) + {beta}), 0, 1)",
    "hard_swish": "{0} <= -3 ? 0 : limited_f(in_half(in_half({0} / 6) + 0.5f), -1, 1) * {0}",
    "selu": "{gamma} * in_half({0} > 0 ? {0} : {alpha} * in_half(expm1f({0})))",
    "sigmoid": f"{{0}} <= {_FAR}f ? expf({{0}}) : 1 / {_SHARE}".replace("{steep}", "{0}"),
    "silu": f"{{steep}} <= {_FAR}f ? (in_half(expf({{steep}})) == 0 ? 0 : {{0}} * in_half(expf({{steep}}))) "
    f": {{0}} / {_SHARE}",
    "softsign": "isinf(in_half(fabsf({0}) + 1)) ? ({0} > 0) - ({0} < 0) : {0} / in_half(fabsf({0}) + 1)",
}
"""Ops of several steps, each of which rounds to an f16."""

_ROUNDED = {"f16": "half_of", "bf16": "bfloat_of"}
_ASSIGNED = re.compile(r"\s*([-+*/]?)= (.*);$")


def rounded(number: float) -> float:
    """Return the f16 nearest to a number.

    Examples
    --------
    >>> rounded(0.01)
    0.01000213623046875
    """
    return float(np.float16(number))


def as_single(array: Array) -> Array:
    """Return an array of half floats as a kernel sees it: its entries are read in single precision."""
    if array.dtype != np.float16:
        return array
    single = np.dtype(np.float32)
    return replace(array, dtype=single, value=None if array.value is None else array.value.astype(single))


def in_halves(lines: Sequence[str], elements: Mapping[str, str]) -> list[str]:
    """Return the lines of a step with conversions where they read or write arrays of half floats.

    Parameters
    ----------
    lines : sequence of str
        As for single precision.
    elements : mapping of str to str
        By the name of an array, ``f16`` or ``bf16``.

    Examples
    --------
    >>> in_halves(["y[k] += w[x[i]] * 2;"], {"y": "f16", "w": "f16"})
    ['y[k] = half_of(half_value(y[k]) + (half_value(w[x[i]]) * 2));']
    >>> in_halves(["y[0] = x[0] + 1;"], {"y": "bf16", "x": "bf16"})
    ['y[0] = bfloat_of(x[0] + 1);']
    """
    return [_converted(line, elements) for line in lines]


def _converted(line: str, elements: Mapping[str, str]) -> str:
    plain = line.lstrip()
    indent = line[: len(line) - len(plain)]
    written = re.match(r"(\w+)\[", plain)
    if written is None or written[1] not in elements:
        return indent + _read(plain, elements)
    end = _closing(plain, written.end())
    assigned = _ASSIGNED.match(plain[end:])
    if assigned is None:
        raise Unfit("it writes half floats in a way that has no conversion")
    target, sign, value = plain[: written.end()] + _read(plain[written.end() : end], elements), *assigned.groups()
    value = _read(value, elements)
    if sign:
        value = f"{_read(plain[:end], elements)} {sign} ({value})"
    return f"{indent}{target} = {_ROUNDED[elements[written[1]]]}({value});"


def _closing(text: str, start: int) -> int:
    """Return the place behind the bracket that closes one before a place."""
    depth = 1
    for at in range(start, len(text)):
        depth += (text[at] == "[") - (text[at] == "]")
        if not depth:
            return at + 1
    raise Unfit("it reads half floats in a way that has no conversion")


def _read(text: str, elements: Mapping[str, str]) -> str:
    """Return an expression with conversions where it reads entries."""
    found, at = [], 0
    for name in re.finditer(r"\b[A-Za-z_]\w*", text):
        if name.start() < at or name[0] not in elements:
            continue
        if text[name.end() : name.end() + 1] != "[":
            raise Unfit("it reads half floats by their place")
        end = _closing(text, name.end() + 1)
        inner = f"{name[0]}[{_read(text[name.end() + 1 : end - 1], elements)}]"
        found += [text[at : name.start()], f"half_value({inner})" if elements[name[0]] == "f16" else inner]
        at = end
    return "".join([*found, text[at:]])
