"""Ops that move entries and compute nothing; all of them work on mantissas as well."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.op.attribute_forms import PAD_FORMS
from graphrewrite.op.axes import common_layout
from graphrewrite.op.define import define_op
from graphrewrite.op.derived import FLATTENED
from graphrewrite.op.domain import ORDERED
from graphrewrite.op.sizes import advice, exceeds
from graphrewrite.op.tensor.along import axis_of
from graphrewrite.op.tensor.channels import concatenated, on_axes, reshaped
from graphrewrite.types import Dimension, FixedPoint, Tensor, as_size, product, size_min, symbols

__all__ = ["concat", "flatten", "identity", "pad", "reshape", "squeeze", "transpose", "unsqueeze"]


@define_op(infer=lambda x: x)
def identity(x: np.ndarray) -> np.ndarray:
    """The operand itself.

    Parameters
    ----------
    x
        Any shape.

    Examples
    --------
    >>> identity(np.array([1])).tolist()
    [1]
    """
    return x


def _has_the_rest(wanted: Sequence[Dimension], whole: Dimension) -> bool:
    """Tell whether one size is what the others leave, as -1 would be: N//3 beside 3, of N."""
    for i, size in enumerate(wanted):
        others = product([*wanted[:i], *wanted[i + 1 :]])
        if isinstance(size, str) and others != 0 and as_size(whole) // others == size:
            return True
    return False


def _infer_reshape(x: Tensor, *, shape: Sequence[Dimension], allow_zero: bool = False) -> Tensor:
    """Infer sizes as in ONNX: 0 copies the size of the same axis, one -1 takes the rest."""
    if list(shape).count(-1) > 1:
        raise TypeMismatchError(
            f"the shape {list(shape)} leaves several sizes open, of which only one can follow; "
            "0 keeps the size of an axis"
        )
    kept = range(0 if allow_zero else len(x.shape))
    wanted = [-1 if d == -1 else x.shape[i] if d == 0 and i in kept else as_size(d) for i, d in enumerate(shape)]
    whole, fixed = product(x.shape), product(d for d in wanted if d != -1)
    if surplus := [name for name in symbols(fixed) if name not in symbols(whole)]:
        raise TypeMismatchError(
            f"the shape {list(shape)} has the symbolic size {surplus[0]!r}, but {x} does not; "
            "where it is one of its sizes, give both the same name"
        )
    if -1 in wanted and fixed == 0:
        raise TypeMismatchError(f"-1 is undetermined in the shape {list(shape)}: beside it is a size of 0")
    rest = whole // fixed if -1 in wanted else 1
    # Where a symbolic number of entries may split evenly or not, evaluation tells.
    if (
        isinstance(rest, int)
        and rest * fixed != whole
        and not (_has_the_rest(wanted, whole) or _has_the_rest(x.shape, fixed))
    ):
        raise TypeMismatchError(f"{x} does not reshape to {list(shape)}: {whole} against {fixed} entries")
    return reshaped(x, [rest if d == -1 else d for d in wanted])


@define_op(infer=_infer_reshape)
def reshape(x: np.ndarray, *, shape: Sequence[Dimension], allow_zero: bool = False) -> np.ndarray:
    """The same entries in another shape, in C order; 0 keeps a size, -1 or a symbol takes what is left (ONNX Reshape).

    Parameters
    ----------
    x
        Any shape.
    shape
        Sizes of the result.
    allow_zero
        Whether 0 is a size; without it, only behind the axes that there are.

    Examples
    --------
    >>> reshape(np.arange(6).reshape(2, 3), shape=(0, 3, 1)).shape
    (2, 3, 1)
    """
    kept = range(0 if allow_zero else x.ndim)
    sizes = [-1 if isinstance(d, str) else x.shape[i] if d == 0 and i in kept else d for i, d in enumerate(shape)]
    if sizes.count(-1) > 1:
        raise EvaluationError(f"several sizes of {list(shape)} are open, of which only one can follow; give numbers")
    return np.reshape(x, sizes)


def _axis_to_flatten(axis: int, rank: int) -> int:
    """Return an axis counted from the front; ONNX allows from -rank to rank, which is after the last."""
    if not -rank <= axis <= rank:
        raise TypeMismatchError(f"axis {axis} is out of range for a tensor of {rank} axes; give {-rank} to {rank}")
    return axis + rank if axis < 0 else axis


def _infer_flatten(x: Tensor, *, axis: int = 1) -> Tensor:
    axis = _axis_to_flatten(axis, len(x.shape))
    return reshaped(x, (product(x.shape[:axis]), product(x.shape[axis:])))


@define_op(infer=_infer_flatten, derived=FLATTENED)
def flatten(x: np.ndarray, *, axis: int = 1) -> np.ndarray:
    """Two axes: those before ``axis`` and those from it on (ONNX specification, Flatten).

    Parameters
    ----------
    x
        Any shape.
    axis
        First axis that goes into the second one.

    Examples
    --------
    >>> flatten(np.zeros((2, 3, 4))).shape
    (2, 12)
    """
    axis = _axis_to_flatten(axis, x.ndim)
    return np.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def _infer_transpose(x: Tensor, *, perm: Sequence[int]) -> Tensor:
    if sorted(perm) != list(range(len(x.shape))):
        raise TypeMismatchError(f"perm {list(perm)} is not a permutation of the axes of {x}")
    return x.permuted(perm)


@define_op(infer=_infer_transpose)
def transpose(x: np.ndarray, *, perm: Sequence[int]) -> np.ndarray:
    """Axes in another order: axis i of the result is axis ``perm[i]`` of the operand.

    Parameters
    ----------
    x
        Any shape.
    perm
        All axes, in the order that they have in the result.

    Examples
    --------
    >>> transpose(np.zeros((2, 3, 4)), perm=(0, 2, 1)).shape
    (2, 4, 3)
    """
    return np.transpose(x, perm)


def _infer_squeeze(x: Tensor, *, axes: Sequence[int] | None = None) -> Tensor:
    rank = len(x.shape)
    if axes is None:
        if any(isinstance(d, str) for d in x.shape):
            raise TypeMismatchError(f"a symbolic size of {x} may be 1 at run time; give axes=…")
        axes = [i for i, d in enumerate(x.shape) if d == 1]
    gone = {a % rank for a in axes if -rank <= a < rank}
    if len(gone) != len(axes) or any(x.shape[a] != 1 for a in gone):
        wrong = [x.shape[a] for a in sorted(gone) if x.shape[a] != 1]
        raise TypeMismatchError(f"axes {list(axes)} of {x} are not all of size 1{advice(1, *wrong[:1])}")
    return on_axes(x, [i for i in range(rank) if i not in gone])


@define_op(infer=_infer_squeeze)
def squeeze(x: np.ndarray, *, axes: Sequence[int] | None = None) -> np.ndarray:
    """Without the given axes of size 1; without all of that size if none are given.

    Parameters
    ----------
    x
        Any shape.
    axes
        The axes; all of size 1 if not given.

    Examples
    --------
    >>> squeeze(np.zeros((2, 1, 3)), axes=(1,)).shape
    (2, 3)
    """
    return np.squeeze(x, None if axes is None else tuple(axes))


def _infer_unsqueeze(x: Tensor, *, axes: Sequence[int]) -> Tensor:
    rank = len(x.shape) + len(axes)
    new = {a % rank for a in axes if -rank <= a < rank}
    if len(new) != len(axes):
        raise TypeMismatchError(f"axes {list(axes)} are not {len(axes)} axes of a result with {rank}")
    rest = iter(range(len(x.shape)))
    return on_axes(x, [None if i in new else next(rest) for i in range(rank)])


@define_op(infer=_infer_unsqueeze)
def unsqueeze(x: np.ndarray, *, axes: Sequence[int]) -> np.ndarray:
    """With axes of size 1 inserted, numbered as in the result.

    Parameters
    ----------
    x
        Any shape.
    axes
        Where the new axes are in the result.

    Examples
    --------
    >>> unsqueeze(np.zeros((2, 3)), axes=(1,)).shape
    (2, 1, 3)
    """
    return np.expand_dims(x, tuple(axes))


def _infer_concat(*xs: Tensor, axis: int) -> Tensor:
    first, at = xs[0], axis_of(xs[0], axis)
    for x in xs:
        if [*x.shape[:at], *x.shape[at + 1 :]] != [*first.shape[:at], *first.shape[at + 1 :]]:
            pairs = zip(first.shape, x.shape, strict=False)
            unequal = next((pair for i, pair in enumerate(pairs) if i != at and pair[0] != pair[1]), ())
            raise TypeMismatchError(f"{first} and {x} differ in more than the size of axis {axis}{advice(*unequal)}")
    shape = (*first.shape[:at], sum(x.shape[at] for x in xs), *first.shape[at + 1 :])
    return Tensor(concatenated([x.element for x in xs], at), shape, common_layout(xs, len(shape)))


@define_op(infer=_infer_concat)
def concat(*xs: np.ndarray, axis: int) -> np.ndarray:
    """Concatenation of the operands along an axis.

    Parameters
    ----------
    *xs
        Operands of one rank, whose other sizes are equal.
    axis
        The axis.

    Examples
    --------
    >>> concat(np.zeros((1, 2)), np.ones((1, 1)), axis=1).tolist()
    [[0.0, 0.0, 1.0]]
    """
    return np.concatenate(xs, axis=axis)


_MODES = ("constant", "reflect", "edge", "wrap")


def _infer_pad(x: Tensor, *, pads: Sequence[Dimension], fill: float = 0.0, mode: str = "constant") -> Tensor:
    rank = len(x.shape)
    if len(pads) != 2 * rank:
        raise TypeMismatchError(f"{x} needs {2 * rank} pads, all begins and then all ends, got {len(pads)}")
    if isinstance(x.element, FixedPoint) and not x.element.minimum <= fill <= x.element.maximum:
        raise TypeMismatchError(f"the border {fill} is not a mantissa of {x.element}")
    if mode not in _MODES:
        raise TypeMismatchError(f"unknown border mode {mode!r}; known are {', '.join(_MODES)}")
    sizes: list[Dimension] = []
    for d, low, high in zip(x.shape, map(as_size, pads[:rank]), map(as_size, pads[rank:]), strict=True):
        sizes.append(d + low + high)
        left = d + size_min(low, 0) + size_min(high, 0)
        if exceeds(0, left):
            raise TypeMismatchError(f"pads of {low} and {high} crop more than there is of {x}: {d} entries")
        if mode != "constant" and (exceeds(low, 0) or exceeds(high, 0)) and exceeds(1, left):
            raise TypeMismatchError(f"nothing of {x} is left to repeat in the border")
    return Tensor(x.element, tuple(sizes), x.layout)


@define_op(infer=_infer_pad, elements=ORDERED | {"bool"}, forms=PAD_FORMS)
def pad(
    x: np.ndarray, *, pads: Sequence[Dimension], fill: bool | int | float = 0.0, mode: str = "constant"
) -> np.ndarray:
    """A border of one value: all begins, then all ends; a negative pad crops (ONNX specification, Pad).

    Parameters
    ----------
    x
        Any shape.
    pads
        Border of all axes: all begins, then all ends; negative ones crop.
    fill
        The value.
    mode
        "constant", or entries of the operand: mirrored at the outermost ones ("reflect"), these alone ("edge"), or
        those of the other end ("wrap").

    Examples
    --------
    >>> pad(np.array([[1.0]]), pads=(0, 1, 0, 0)).tolist()
    [[0.0, 1.0]]
    """
    widths = [int(width) for width in pads]
    if not any(widths):
        return x
    begins, ends = widths[: x.ndim], widths[x.ndim :]
    first, last = [max(-b, 0) for b in begins], [n - max(-e, 0) for e, n in zip(ends, x.shape, strict=True)]
    if any(b > e for b, e in zip(first, last, strict=True)):
        raise EvaluationError(f"the pads {list(pads)} crop more than there is of {list(x.shape)}; give smaller ones")
    cropped = x[tuple(map(slice, first, last))]
    added = [(max(b, 0), max(e, 0)) for b, e in zip(begins, ends, strict=True)]
    if mode != "constant":
        return np.pad(cropped, added, mode)  # type: ignore[call-overload]  # one of numpy's words
    return np.pad(cropped, added, constant_values=fill)
