"""Functions of fixed-point numbers in words of 16 or 32 bits (gemmlowp, fixedpoint.h)."""

from __future__ import annotations

import numpy as np

from graphrewrite.op.quantised.multipliers import rounded_shift

__all__ = ["exponential", "logistic", "tangent", "twice_reciprocal"]

_POWERS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
"""``exp(-2**k)`` for k from -2 to 4, with 31 bits right of the binary point."""
_EIGHTH, _THIRD = 1895147668, 715827883
"""``exp(-1/8)`` and 1/3, with 31 bits right of the point."""
_NEWTON = (1515870810, -1010580540)
"""48/17 and -32/17, with 29 bits right of the point."""


def _high(a: np.ndarray | int, b: np.ndarray | int, bits: int) -> np.ndarray:
    """Return a product without its lower bits, rounded half up: numbers have so many bits right of the point."""
    product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
    return np.asarray((product + (1 << (bits - 1))) >> bits)


def _constant(value: int, bits: int) -> int:
    """Return a constant of 31 bits with fewer."""
    return int(rounded_shift(np.array(value), 31 - bits))


def exponential(a: np.ndarray, integer_bits: int, bits: int = 31) -> np.ndarray:
    """Return ``exp(a)`` with so many bits right of the point, of numbers up to 0 with some left of it.

    The argument is split into a multiple of 1/4, whose bits select factors, and a rest, of which a series is summed.

    Examples
    --------
    >>> (exponential(np.array([0, -(1 << 26)]), 5) / 2**31).round(5).tolist()
    [1.0, 0.36788]
    """
    fraction_bits = bits - integer_bits
    quarter = 1 << (fraction_bits - 2)
    rest = (a & (quarter - 1)) - quarter
    x = (rest << integer_bits) + (1 << (bits - 3))
    square = _high(x, x, bits)
    cube, fourth = _high(square, x, bits), _high(square, square, bits)
    series = rounded_shift(_high(rounded_shift(fourth, 2) + cube, _constant(_THIRD, bits), bits) + square, 1)
    eighth = _constant(_EIGHTH, bits)
    result = eighth + _high(eighth, x + series, bits)
    for k, power in enumerate(_POWERS, start=-2):
        if k < integer_bits:
            chosen = (rest - a) >> (fraction_bits + k) & 1 == 1
            result = np.where(chosen, _high(result, _constant(power, bits), bits), result)
    if integer_bits > 5:
        result = np.where(a < -(1 << (bits + 5 - integer_bits)), 0, result)
    return np.where(a == 0, (1 << bits) - 1, result)


def twice_reciprocal(a: np.ndarray, bits: int = 31) -> np.ndarray:
    """Return ``2 / (1 + a)`` with two bits less right of the point, of numbers from 0 to 1: three steps of Newton.

    Examples
    --------
    >>> (twice_reciprocal(np.array([0, (1 << 31) - 1])) / 2**29).round(6).tolist()
    [2.0, 1.0]
    """
    half, most = (a + (1 << bits)) >> 1, 1 << bits
    start, slope = (_constant(value, bits) for value in _NEWTON)
    x = start + _high(half, slope, bits)
    for _ in range(3):
        x = x + np.clip(4 * _high(x, (1 << (bits - 2)) - _high(half, x, bits), bits), -most, most - 1)
    return np.asarray(x)


def logistic(a: np.ndarray) -> np.ndarray:
    """Return the logistic function with 15 bits right of the point, of numbers of 16 bits with 12.

    Examples
    --------
    >>> (logistic(np.array([-4096, 0, 4096])) / 2**15).round(3).tolist()
    [0.269, 0.5, 0.731]
    """
    positive = np.minimum(2 * twice_reciprocal(exponential(-np.abs(a), 3, 15), 15), 32767)
    return np.where(a == 0, 1 << 14, np.where(a > 0, positive, 32767 - positive))


def tangent(a: np.ndarray, integer_bits: int) -> np.ndarray:
    """Return the hyperbolic tangent with 15 bits right of the point, of numbers of 16 bits with some left of it.

    Examples
    --------
    >>> (tangent(np.array([-4096, 0, 4096]), 3) / 2**15).round(3).tolist()
    [-0.762, 0.0, 0.762]
    """
    size = 4 * (twice_reciprocal(exponential(-np.abs(a), integer_bits + 1, 15), 15) - (1 << 13))
    return np.sign(a) * np.minimum(size, 32767)
