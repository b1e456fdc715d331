"""The error function in numpy: rational approximations after Cody, exact to the last digits of float64."""

from __future__ import annotations

import numpy as np

from graphrewrite.op.precision import narrowed

__all__ = ["error_function"]

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


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], y: np.ndarray) -> np.ndarray:
    above, below = (np.polyval(np.array(c), y) for c in coefficients)
    return np.asarray(above / below)


def _middle(y: np.ndarray) -> np.ndarray:
    return 1 - np.exp(-y * y) * _ratio(_MIDDLE, y)


def _large(y: np.ndarray) -> np.ndarray:
    inverse = 1 / (y * y)
    return 1 - np.exp(-y * y) / y * (_ONE_OVER_ROOT_PI - inverse * _ratio(_LARGE, inverse))


def error_function(x: np.ndarray) -> np.ndarray:
    """Return ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to ``x``.

    Examples
    --------
    >>> error_function(np.array([0.0, 0.5, -1.0, np.inf])).round(9).tolist()
    [0.0, 0.520499878, -0.842700793, 1.0]
    """
    flat = np.asarray(x, np.float64).reshape(-1)
    y = np.abs(flat)  # an odd function: the sign is copied at the end
    values = np.where(np.isnan(flat), flat, 1.0)
    small, middle, large = y <= _BORDERS[0], (y > _BORDERS[0]) & (y <= _BORDERS[1]), (y > _BORDERS[1]) & (y < _BEYOND)
    with np.errstate(under="ignore"):
        values[small] = y[small] * _ratio(_SMALL, y[small] ** 2)
    values[middle] = _middle(y[middle])
    values[large] = _large(y[large])
    return narrowed(np.copysign(values, flat).reshape(np.shape(x)), x)
