"""Activations made of exponential functions: element-wise functions of one operand, computed without overflow."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from graphrewrite.errors import TypeMismatchError, did_you_mean
from graphrewrite.op.blockwise import entrywise
from graphrewrite.op.define import define_op
from graphrewrite.op.derived import ACTIVATED
from graphrewrite.op.domain import FLOATS
from graphrewrite.op.nn.activation import mended
from graphrewrite.op.tensor.error_function import error_function, half_complement
from graphrewrite.types import Tensor

__all__ = ["celu", "elu", "gelu", "mish", "selu", "silu", "softplus", "softsign"]

_SELU_ALPHA = 1.67326319217681884765625
_SELU_GAMMA = 1.05070102214813232421875


_FAR = 15.0
"""Below its negative, a gelu is 0 in float32."""


def _same(x: Tensor, **_: object) -> Tensor:
    return x


def _below_zero(x: np.ndarray, alpha: float, scale: float = 1.0) -> np.ndarray:
    """Return ``alpha * (exp(x / scale) - 1)`` where x is negative, and x elsewhere."""
    kind = x.dtype.type
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # both branches are computed for every entry
        return np.where(x > 0, x, kind(alpha) * np.expm1(np.minimum(x, kind(0)) / kind(scale)))


@define_op(infer=_same, elements=FLOATS, derived=ACTIVATED)
def elu(x: np.ndarray, *, alpha: float = 1.0) -> np.ndarray:
    """Exponential linear unit, ``x if x > 0 else alpha * (exp(x) - 1)`` (Clevert et al. 2016; ONNX Elu).

    Parameters
    ----------
    x
        Any shape.
    alpha
        Result far below zero, negated.

    Examples
    --------
    >>> elu(np.array([-1000.0, 3.0]), alpha=2.0).tolist()
    [-2.0, 3.0]
    """
    return _below_zero(x, alpha)


@define_op(infer=_same, elements=FLOATS)
def selu(x: np.ndarray, *, alpha: float = _SELU_ALPHA, gamma: float = _SELU_GAMMA) -> np.ndarray:
    """Scaled exponential linear unit, ``gamma * elu(x, alpha)`` (Klambauer et al. 2017; ONNX Selu).

    Parameters
    ----------
    x
        Any shape.
    alpha
        That of `elu`.
    gamma
        Slope above zero.

    Examples
    --------
    >>> selu(np.array([-1000.0, 3.0]), alpha=2.0, gamma=3.0).tolist()
    [-6.0, 9.0]
    """
    with np.errstate(over="ignore"):
        return x.dtype.type(gamma) * _below_zero(x, alpha)


def _infer_celu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    if alpha == 0:
        raise TypeMismatchError("alpha must not be 0; op.relu(x) is the limit")
    return x


@define_op(infer=_infer_celu, elements=FLOATS, derived=ACTIVATED)
def celu(x: np.ndarray, *, alpha: float = 1.0) -> np.ndarray:
    """Continuously differentiable elu, ``max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)`` (Barron 2017; ONNX Celu).

    Parameters
    ----------
    x
        Any shape.
    alpha
        Result far below zero, negated; not zero.

    Examples
    --------
    >>> celu(np.array([-1000.0, 3.0]), alpha=2.0).tolist()
    [-2.0, 3.0]
    """
    kind = x.dtype.type
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        curve = kind(alpha) * np.expm1(x / kind(alpha))
        return np.maximum(x, kind(0)) + np.minimum(curve, kind(0))


def _infer_gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    if approximate not in ("none", "tanh"):
        raise TypeMismatchError(
            f"the approximation is 'none' or 'tanh', got {approximate!r}"
            f"{did_you_mean(str(approximate), ('none', 'tanh'))}"
        )
    return x


@define_op(infer=_infer_gelu, elements=FLOATS)
def gelu(x: np.ndarray, *, approximate: str = "none") -> np.ndarray:
    """Gaussian error linear unit, ``x * (1 + erf(x / sqrt(2))) / 2`` (Hendrycks and Gimpel 2016; ONNX Gelu).

    Parameters
    ----------
    x
        Any shape.
    approximate
        "none", or "tanh" for ``x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2``.

    Examples
    --------
    >>> gelu(np.array([-1.0, 0.0, 1.0])).round(6).tolist()
    [-0.158655, 0.0, 0.841345]
    >>> gelu(np.array([-1.0, 0.0, 1.0]), approximate="tanh").round(6).tolist()
    [-0.158808, 0.0, 0.841192]
    """
    if approximate == "tanh":
        return entrywise(_gelu_by_tanh, x, dtype=_wide(x))
    return entrywise(_gelu if x.dtype == np.float64 else _single_gelu, x, dtype=np.float64)


def _gelu(x: np.ndarray) -> np.ndarray:
    share = error_function(x * math.sqrt(0.5))
    share += 1
    share *= 0.5
    return _part(x, share)


def _single_gelu(x: np.ndarray) -> np.ndarray:
    # The positive part less |x| / 2 * erfc(|x| / sqrt(2)): nothing cancels far below zero, as 1 + erf does.
    y = np.abs(x)
    if not np.maximum.reduce(y, axis=None, initial=0) < _FAR:  # or NaN
        np.minimum(y, _FAR, out=y)
    less = half_complement(y)
    less *= y
    np.maximum(x, 0, out=y)
    y -= less
    return y


def _gelu_by_tanh(x: np.ndarray) -> np.ndarray:
    # (1 + tanh(y)) / 2 is 1 / (1 + exp(-2 * y)), which does not cancel far below zero.
    y = x * x
    y *= -2 * math.sqrt(2 / math.pi) * 0.044715
    y -= 2 * math.sqrt(2 / math.pi)
    y *= x
    np.exp(y, out=y)
    y += 1
    np.divide(x, y, out=y)
    if not np.minimum.reduce(x, axis=None, initial=0) > -np.inf:
        y[x == -np.inf] = 0
    return y


def _part(x: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return a product that is 0 where the second factor is, though the first be infinite; overwrite the factor."""
    nothing = share == 0
    share *= x
    if nothing.any():
        share[nothing] = 0
    return share


@define_op(infer=_same, elements=FLOATS)
def softplus(x: np.ndarray) -> np.ndarray:
    """Smooth rectifier ``log(exp(x) + 1)`` (Glorot et al. 2011; ONNX Softplus).

    Parameters
    ----------
    x
        Any shape.

    Examples
    --------
    >>> softplus(np.array([-1000.0, 0.0, 1000.0])).round(6).tolist()
    [0.0, 0.693147, 1000.0]
    """
    return entrywise(_softplus, x, dtype=_wide(x))


def _wide(x: np.ndarray) -> np.dtype:
    """Return the dtype to compute in: single precision for half."""
    return np.result_type(x.dtype, np.float32)


def _softplus(x: np.ndarray) -> np.ndarray:
    y = np.exp(x)
    np.log1p(y, out=y)
    limit = math.log(np.finfo(x.dtype).max)
    if not np.maximum.reduce(x, axis=None, initial=0) < limit:  # or NaN
        np.copyto(y, x, where=x >= limit)
    return y


@define_op(infer=_same, elements=FLOATS)
def softsign(x: np.ndarray) -> np.ndarray:
    """Smooth sign ``x / (1 + abs(x))`` (Bergstra et al. 2009; ONNX Softsign).

    Parameters
    ----------
    x
        Any shape.

    Examples
    --------
    >>> softsign(np.array([-1.0, 3.0, np.inf])).tolist()
    [-0.5, 0.75, 1.0]
    """
    return entrywise(_softsign, x)


def _softsign(x: np.ndarray) -> np.ndarray:
    y = np.abs(x)
    y += 1
    endless = np.isinf(y)
    np.divide(x, y, out=y)
    if endless.any():
        y[endless] = np.sign(x[endless])
    return y


@define_op(infer=_same, elements=FLOATS)
def silu(x: np.ndarray, *, alpha: float = 1.0) -> np.ndarray:
    """Sigmoid linear unit, ``x * sigmoid(alpha * x)`` (Ramachandran et al. 2017; ONNX specification, Swish).

    Parameters
    ----------
    x
        Any shape.
    alpha
        Factor inside of the sigmoid.

    Examples
    --------
    >>> silu(np.array([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.0, 1000.0]
    """
    return entrywise(partial(_silu, alpha=alpha), x)


def _silu(x: np.ndarray, *, alpha: float) -> np.ndarray:
    steep = x if alpha == 1 else x * x.dtype.type(alpha)
    y = np.negative(steep)
    np.exp(y, out=y)
    y += 1
    np.divide(x, y, out=y)
    return mended(y, steep, lambda far: _part(x[far], np.exp(steep[far])))


@define_op(infer=_same, elements=FLOATS)
def mish(x: np.ndarray) -> np.ndarray:
    """Self-regularised activation ``x * tanh(softplus(x))`` (Misra 2019; ONNX Mish).

    Parameters
    ----------
    x
        Any shape.

    Examples
    --------
    >>> mish(np.array([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.0, 1000.0]
    """
    return entrywise(_mish, x, dtype=_wide(x))


def _mish(x: np.ndarray) -> np.ndarray:
    # The tangent of the logarithm is y / (y + 2) for y = exp(x) * (exp(x) + 2).
    y = np.exp(np.minimum(x, 40))  # from there on it is 1, and x times it x
    y *= y + 2
    return _part(x, np.divide(y, y + 2, out=y))
