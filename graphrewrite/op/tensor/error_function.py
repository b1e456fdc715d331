"""The error function in numpy: rational approximations, exact to the last digits of the operand's dtype."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphrewrite.op.blockwise import entrywise

__all__ = ["error_function", "half_complement"]

# Coefficients of the near-minimax rational approximations of W. J. Cody, "Rational Chebyshev Approximations for the
# Error Function", Mathematics of Computation 23 (1969), in the form of the author's CALERF (netlib, specfun). Highest
# power first.
_SMALL = (
    (
        1.85777706184603153e-1,
        3.16112374387056560e0,
        1.13864154151050156e2,
        3.77485237685302021e2,
        3.20937758913846947e3,
    ),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)
_MIDDLE = (
    (
        2.15311535474403846e-8,
        5.64188496988670089e-1,
        8.88314979438837594e0,
        6.61191906371416295e1,
        2.98635138197400131e2,
        8.81952221241769090e2,
        1.71204761263407058e3,
        2.05107837782607147e3,
        1.23033935479799725e3,
    ),
    (
        1.0,
        1.57449261107098347e1,
        1.17693950891312499e2,
        5.37181101862009858e2,
        1.62138957456669019e3,
        3.29079923573345963e3,
        4.36261909014324716e3,
        3.43936767414372164e3,
        1.23033935480374942e3,
    ),
)
_LARGE = (
    (
        1.63153871373020978e-2,
        3.05326634961232344e-1,
        3.60344899949804439e-1,
        1.25781726111229246e-1,
        1.60837851487422766e-2,
        6.58749161529837803e-4,
    ),
    (
        1.0,
        2.56852019228982242e0,
        1.87295284992346725e0,
        5.27905102951428412e-1,
        6.05183413124413191e-2,
        2.33520497626869185e-3,
    ),
)
_ONE_OVER_ROOT_PI = 5.6418958354775628695e-1
_BORDERS = (0.46875, 4.0)
_BEYOND = 6.0
"""From this number on the error function is 1 in float64."""


# Near-minimax rational approximations of relative error below 6e-9, a tenth of the last digit of float32: of
# erf(x) / x in x**2 up to 3.95**2, from where on it is 1, and of exp(x**2 / 2) * erfc(x / sqrt(2)) / 2 up to 14. Fitted
# by reweighted least squares (Lawson 1961) on 3000 Chebyshev nodes. Highest power first.
_SINGLE = (
    (
        -2.0683819096355775e-4,
        7.401922083207588e-2,
        6.028400386228461,
        6.130449215748009e1,
        8.657230264619772e2,
        2.9535791762690064e3,
        1.7998489420158836e4,
    ),
    (1.0, 2.080077705096687e1, 2.4633865288041258e2, 1.8169638255960301e3, 7.934457907890134e3, 1.5950745911327562e4),
)
_SINGLE_BEYOND = 3.95
_HALF_COMPLEMENT = (
    (0.39894718846425505, 3.946543393441023, 17.824800311200623, 42.692456293362915, 48.78541056628218),
    (1.0, 9.893171302398576, 45.66512106753054, 117.10659021000289, 163.23520313368053, 97.57082058331486),
)


def _horner(coefficients: Sequence[float], x: np.ndarray) -> np.ndarray:
    first, second, *others = coefficients
    if first == 1:
        y = x + second
    else:
        y = x * first
        y += second
    for each in others:
        y *= x
        y += each
    return y


def _ratio(coefficients: tuple[Sequence[float], Sequence[float]], x: np.ndarray) -> np.ndarray:
    y = _horner(coefficients[0], x)
    y /= _horner(coefficients[1], x)
    return y


def _middle(y: np.ndarray) -> np.ndarray:
    return 1 - np.exp(-y * y) * _ratio(_MIDDLE, y)


def _large(y: np.ndarray) -> np.ndarray:
    inverse = 1 / (y * y)
    return 1 - np.exp(-y * y) / y * (_ONE_OVER_ROOT_PI - inverse * _ratio(_LARGE, inverse))


def _double(x: np.ndarray) -> np.ndarray:
    y = np.abs(x)  # an odd function: the sign is copied at the end
    values = np.where(np.isnan(x), x, 1.0)
    small, middle, large = y <= _BORDERS[0], (y > _BORDERS[0]) & (y <= _BORDERS[1]), (y > _BORDERS[1]) & (y < _BEYOND)
    values[small] = y[small] * _ratio(_SMALL, y[small] ** 2)
    values[middle] = _middle(y[middle])
    values[large] = _large(y[large])
    return np.copysign(values, x)


def _single(x: np.ndarray) -> np.ndarray:
    y = np.clip(x, -_SINGLE_BEYOND, _SINGLE_BEYOND)
    y *= _ratio(_SINGLE, np.square(y))
    return y


def half_complement(x: np.ndarray) -> np.ndarray:
    """Return half of ``1 - erf(x / sqrt(2))`` of float64 numbers from 0 to 15, to the precision of float32.

    Examples
    --------
    >>> half_complement(np.array([0.0, 1.0, 2.0])).round(7).tolist()
    [0.5, 0.1586553, 0.0227501]
    """
    y = np.square(x)
    y *= -0.5
    np.exp(y, out=y)
    y *= _ratio(_HALF_COMPLEMENT, x)
    return y


def error_function(x: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
    """Return ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to ``x``, perhaps in place of it.

    Examples
    --------
    >>> error_function(np.array([0.0, 0.5, -1.0, np.inf])).round(9).tolist()
    [0.0, 0.520499878, -0.842700793, 1.0]
    """
    return entrywise(_double if x.dtype == np.float64 else _single, x, dtype=np.float64, out=out)
