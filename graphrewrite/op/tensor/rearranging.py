"""Ops that rearrange entries: between channels and positions, in time, above and below the diagonal."""

from __future__ import annotations

import numpy as np

from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.derived import DIAGONAL
from graphrewrite.op.domain import ANY, ORDERED
from graphrewrite.op.sizes import is_uneven
from graphrewrite.op.tensor.along import axis_of
from graphrewrite.op.tensor.cutting import check_indices, check_whole_channels
from graphrewrite.types import Dimension, Size, Tensor

__all__ = ["channel_shuffle", "depth_to_space", "reverse_sequence", "space_to_depth", "trilu"]

_ORDERS = {"DCR": ((1, 2), (0, 3, 4, 1, 5, 2)), "CRD": ((2, 3), (0, 1, 4, 2, 5, 3))}
"""By mode, the two axes of a block's positions among the split channels, and the order that moves them after the rows
and columns."""
_BACK = {"DCR": (0, 3, 5, 1, 2, 4), "CRD": (0, 1, 3, 5, 2, 4)}
"""By mode, the order that moves them before the channels, or after them."""


def _image(x: Tensor, block_size: int) -> tuple[int | Size, ...]:
    if len(x.shape) != 4:
        raise TypeMismatchError(f"expected the four axes [N,C,H,W], got {x}")
    if block_size < 1:
        raise TypeMismatchError(f"block_size is at least 1, got {block_size}")
    check_whole_channels(x, (1, 2, 3))
    return x.shape


def _check_order(mode: str) -> None:
    if mode not in _ORDERS:
        raise TypeMismatchError(f"unknown order of channels {mode!r}; known are {', '.join(_ORDERS)}")


def _infer_depth_to_space(x: Tensor, *, block_size: int, mode: str = "DCR") -> Tensor:
    n, c, h, w = _image(x, block_size)
    _check_order(mode)
    if is_uneven(c, block_size**2):
        raise TypeMismatchError(
            f"{c} channels of {x} do not split into blocks of {block_size} by {block_size} positions"
        )
    return Tensor(x.element, (n, c // block_size**2, h * block_size, w * block_size))


@define_op(infer=_infer_depth_to_space, elements=ANY, axes="NC* -> NC*")
def depth_to_space(x: np.ndarray, *, block_size: int, mode: str = "DCR") -> np.ndarray:
    """Channels become blocks of positions (ONNX specification, DepthToSpace).

    Parameters
    ----------
    x
        Input [N, C, H, W].
    block_size
        Height and width of a block.
    mode
        Channels are those of a block's positions, each with all channels of the result ("DCR"), or those of the result,
        each with all positions of a block ("CRD").

    Examples
    --------
    >>> depth_to_space(np.arange(4).reshape(1, 4, 1, 1), block_size=2).tolist()
    [[[[0, 1], [2, 3]]]]
    """
    n, c, h, w = x.shape
    b = block_size
    at, order = _ORDERS[mode]
    split = [c // b**2] * 3
    split[at[0] - 1] = split[at[1] - 1] = b
    return np.reshape(np.transpose(x.reshape(n, *split, h, w), order), (n, c // b**2, h * b, w * b))


def _infer_space_to_depth(x: Tensor, *, block_size: int, mode: str = "DCR") -> Tensor:
    n, c, h, w = _image(x, block_size)
    _check_order(mode)
    if is_uneven(h, block_size) or is_uneven(w, block_size):
        raise TypeMismatchError(f"{h} by {w} positions of {x} do not split into blocks of {block_size} by {block_size}")
    return Tensor(x.element, (n, c * block_size**2, h // block_size, w // block_size))


@define_op(infer=_infer_space_to_depth, elements=ANY, axes="NC* -> NC*")
def space_to_depth(x: np.ndarray, *, block_size: int, mode: str = "DCR") -> np.ndarray:
    """Blocks of positions become channels, in an order of `depth_to_space`: "DCR" or "CRD" (ONNX, SpaceToDepth).

    Parameters
    ----------
    x
        Input [N, C, H, W].
    block_size
        Height and width of a block.
    mode
        Order of the channels in the result, as in `depth_to_space`: "DCR" or "CRD".

    Examples
    --------
    >>> space_to_depth(np.arange(4).reshape(1, 1, 2, 2), block_size=2).ravel().tolist()
    [0, 1, 2, 3]
    """
    n, c, h, w = x.shape
    b = block_size
    blocks = x.reshape(n, c, h // b, b, w // b, b)
    return np.reshape(np.transpose(blocks, _BACK[mode]), (n, c * b * b, h // b, w // b))


def _infer_channel_shuffle(x: Tensor, *, groups: int) -> Tensor:
    if len(x.shape) < 2:
        raise TypeMismatchError(f"{x} has no batch followed by channels")
    if groups < 1 or is_uneven(x.shape[1], groups):
        raise TypeMismatchError(f"{x.shape[1]} channels of {x} do not split into {groups} groups")
    check_whole_channels(x, [1])
    return x


@define_op(infer=_infer_channel_shuffle, elements=ANY, axes="NC* -> NC*")
def channel_shuffle(x: np.ndarray, *, groups: int) -> np.ndarray:
    """One channel of each group after the other (Zhang et al. 2018, ShuffleNet).

    Channel ``g·(C/groups) + i`` of [N, C, …] goes to ``i·groups + g``.

    Parameters
    ----------
    x
        Input [N, C, …].
    groups
        Number of groups.

    Examples
    --------
    >>> channel_shuffle(np.arange(6).reshape(1, 6), groups=2).tolist()
    [[0, 3, 1, 4, 2, 5]]
    """
    n, c, *positions = x.shape
    grouped = x.reshape(n, groups, c // groups, *positions)
    return np.reshape(np.swapaxes(grouped, 1, 2), x.shape)


def _infer_reverse_sequence(x: Tensor, sequence_lens: Tensor, *, batch_axis: int = 1, time_axis: int = 0) -> Tensor:
    check_indices(sequence_lens, "lengths of sequences")
    batch, time = (axis_of(x, axis) for axis in (batch_axis, time_axis))
    if batch == time:
        raise TypeMismatchError(f"axis {batch_axis} of {x} cannot be both batch_axis and time_axis")
    if sequence_lens.shape != (x.shape[batch],):
        raise TypeMismatchError(f"{x.shape[batch]} sequences of {x} need one length each, got {sequence_lens}")
    check_whole_channels(x, [time])
    return x


@define_op(infer=_infer_reverse_sequence)
def reverse_sequence(
    x: np.ndarray, sequence_lens: np.ndarray, *, batch_axis: int = 1, time_axis: int = 0
) -> np.ndarray:
    """The first entries of each sequence backwards, as many as its length (ONNX specification, ReverseSequence).

    Parameters
    ----------
    x
        Sequences, of rank 2 at least.
    sequence_lens
        Length of each sequence [N]; entries after it stay.
    batch_axis
        The axis of the N sequences.
    time_axis
        The axis of their entries.

    Examples
    --------
    >>> reverse_sequence(np.array([[1, 2], [3, 4]]), np.array([2, 1])).tolist()
    [[3, 2], [1, 4]]
    """
    sequences = np.moveaxis(x, (batch_axis, time_axis), (0, 1))
    size = sequences.shape[1]
    lengths = np.asarray(sequence_lens)
    wrong = (lengths < 0) | (lengths > size)
    if wrong.any():
        raise EvaluationError(f"a length of {lengths[wrong][0]} exceeds sequences of {size} entries; give 0 to {size}")
    time, until = np.arange(size)[None], lengths.astype(np.int64)[:, None]
    sources = np.where(time < until, until - 1 - time, time)
    result = sequences[np.arange(len(sequences))[:, None], sources]
    return np.moveaxis(result, (0, 1), (batch_axis, time_axis))


def _infer_trilu(x: Tensor, *, k: int = 0, upper: bool = True) -> Tensor:
    if len(x.shape) < 2:
        raise TypeMismatchError(f"{x} is not a matrix, and so has no diagonal")
    return x


@define_op(infer=_infer_trilu, elements=ORDERED | {"bool"}, derived=DIAGONAL)
def trilu(x: np.ndarray, *, k: Dimension = 0, upper: bool = True) -> np.ndarray:
    """The entries on and above a diagonal, or on and below it; zeros elsewhere (ONNX specification, Trilu).

    Parameters
    ----------
    x
        Matrices [..., M, N].
    k
        How far the diagonal lies to the right of the main one.
    upper
        Whether the entries above it stay, not those below.

    Examples
    --------
    >>> trilu(np.ones((2, 2)), upper=False).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return np.triu(x, int(k)) if upper else np.tril(x, int(k))
