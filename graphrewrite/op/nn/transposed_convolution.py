"""Transposed convolutions: the gradients of convolutions, used for making images larger."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.attribute_forms import CONVOLUTION_FORMS, Borders, Entries
from graphrewrite.op.cost import entries
from graphrewrite.op.define import define_op
from graphrewrite.op.derived import TRANSPOSED_CONVOLUTION
from graphrewrite.op.domain import NUMBERS, one_element
from graphrewrite.op.nn.convolution import check_ranks, per_axis
from graphrewrite.op.sizes import exceeds, is_uneven
from graphrewrite.op.tensor.linear_algebra import check_bias
from graphrewrite.types import Dimension, Size, Tensor, as_size, size_max

__all__ = ["conv_transpose", "transposed_pads", "transposed_sizes"]


T = TypeVar("T")


def _per_axis(
    rank: int, strides: Sequence[int], pads: Sequence[T], dilations: Sequence[int], output_padding: Sequence[int]
) -> tuple[tuple[int, ...], tuple[T | int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return strides, pads, dilations and output paddings; defaults fit any number of axes."""
    extra = (0,) * rank if len(output_padding) == 2 and not any(output_padding) else tuple(output_padding)
    return per_axis(strides, rank, 1), per_axis(pads, 2 * rank, 0), per_axis(dilations, rank, 1), extra


def _uncropped(size: int | Size, kernel: int | Size, stride: int, dilation: int, extra: int) -> int | Size:
    """Return the size of a result before pads are cut off."""
    return stride * (size - 1) + extra + dilation * (kernel - 1) + 1


@overload
def transposed_sizes(
    sizes: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int] = ...,
    pads: Sequence[int] = ...,
    dilations: Sequence[int] = ...,
    output_padding: Sequence[int] = ...,
) -> tuple[int, ...]: ...
@overload
def transposed_sizes(
    sizes: Sequence[Dimension],
    kernel: Sequence[Dimension],
    strides: Sequence[int] = ...,
    pads: Sequence[Dimension] = ...,
    dilations: Sequence[int] = ...,
    output_padding: Sequence[int] = ...,
) -> tuple[int | Size, ...]: ...
def transposed_sizes(
    sizes: Sequence[Dimension],
    kernel: Sequence[Dimension],
    strides: Sequence[int] = (1, 1),
    pads: Sequence[Dimension] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1),
    output_padding: Sequence[int] = (0, 0),
) -> tuple[Any, ...]:
    """Return the output sizes: ``stride*(size - 1) + output_padding + dilation*(kernel - 1) + 1 - pads``.

    Examples
    --------
    >>> transposed_sizes((3, 3), (3, 3), (2, 2), (1, 1, 1, 1), output_padding=(1, 1))
    (6, 6)
    >>> transposed_sizes(("H", "W"), (3, 3), (2, 2), (1, 1, 1, 1), output_padding=(1, 1))
    ('2*H', '2*W')
    """
    rank = len(sizes)
    strides, borders, dilations, extra = _per_axis(rank, strides, pads, dilations, output_padding)
    if not (len(kernel) == len(strides) == len(dilations) == len(extra) == rank and len(borders) == 2 * rank):
        raise TypeMismatchError(
            f"{rank} spatial axes need {rank} kernel sizes, strides, dilations, output paddings and {2 * rank} pads, "
            f"got {len(kernel)}, {len(strides)}, {len(dilations)}, {len(extra)} and {len(borders)}"
        )
    if any(exceeds(1, size) for size in (*kernel, *dilations, *strides)) or min(extra, default=0) < 0:
        raise TypeMismatchError(
            f"kernel {list(kernel)}, strides {list(strides)} and dilations {list(dilations)} must be positive, "
            f"output_padding {list(extra)} not negative"
        )
    result: list[int | Size] = []
    for axis, d in enumerate(sizes):
        size = d if isinstance(d, int) else as_size(d)
        whole = _uncropped(size, as_size(kernel[axis]), strides[axis], dilations[axis], extra[axis])
        result.append(whole - as_size(borders[axis]) - as_size(borders[rank + axis]))
        if exceeds(1, size) or exceeds(1, result[-1]):
            raise TypeMismatchError(f"pads {list(borders)} leave nothing of an axis of {size} that becomes {whole}")
    return tuple(result)


def transposed_pads(
    sizes: Sequence[Dimension],
    kernel: Sequence[int],
    wanted: Sequence[Dimension],
    *,
    strides: Sequence[int] = (1, 1),
    dilations: Sequence[int] = (1, 1),
    output_padding: Sequence[int] = (0, 0),
    upper: bool = False,
) -> tuple[int | Size, ...]:
    """Return the pads with which a transposed convolution gives the wanted sizes (ONNX specification, ConvTranspose).

    Parameters
    ----------
    sizes, kernel, wanted, strides, dilations, output_padding : sequence of int
        One entry a spatial axis. ``SAME_UPPER`` and ``SAME_LOWER`` want ``sizes * strides``.
    upper : bool
        Whether the larger half of an odd number lies at the end, as ``SAME_UPPER`` says, instead of at the beginning.

    Returns
    -------
    tuple of int
        All begins, then all ends. What is too small however little is cropped has a negative pad at its end.

    Examples
    --------
    >>> transposed_pads((3,), (4,), (6,), strides=(2,), output_padding=(0,))
    (1, 1)
    >>> transposed_pads((3,), (3,), (6,), strides=(2,), output_padding=(0,), upper=True)
    (0, 1)
    """
    rank = len(sizes)
    strides, _, dilations, extra = _per_axis(rank, strides, (), dilations, output_padding)
    begins, ends = [], []
    for size, k, stride, dilation, more, target in zip(sizes, kernel, strides, dilations, extra, wanted, strict=True):
        total = _uncropped(as_size(size), k, stride, dilation, more) - as_size(target)
        cropped = size_max(total, 0)
        begins.append(cropped // 2 if upper else (cropped + 1) // 2)
        ends.append(total - begins[-1])
    return (*begins, *ends)


def _infer(x: Tensor, w: Tensor, b: Tensor | None = None, *, groups: int, **windows: Any) -> Tensor:
    one_element(x, w, b)
    check_ranks(x, w, groups)
    channels, inner = x.shape[1], w.shape[1]
    if w.shape[0] != channels or is_uneven(channels, groups):
        raise TypeMismatchError(
            f"{channels} channels in {groups} groups need weights [{channels},O/{groups},…], got {w}"
        )
    check_bias(b, inner * groups)
    return Tensor(x.element, (x.shape[0], inner * groups, *transposed_sizes(x.shape[2:], w.shape[2:], **windows)))


def _cost(types: Sequence[Any], result: Any, attributes: Mapping[str, Any]) -> int:
    return entries(types[0].shape) * entries(types[1].shape[1:])


def _same_pads(
    sizes: Sequence[Dimension], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], **others: Any
) -> tuple[Any, ...]:
    wanted = [as_size(size) * stride for size, stride in zip(sizes, strides, strict=True)]
    return transposed_pads(sizes, kernel, wanted, strides=strides, dilations=dilations, **others)


_FORMS = {**CONVOLUTION_FORMS, "output_padding": Entries(), "pads": Borders(weights=1, same=_same_pads)}


@define_op(
    infer=_infer, elements=NUMBERS, axes="NC*, IO*, O -> NC*", derived=TRANSPOSED_CONVOLUTION, forms=_FORMS, cost=_cost
)
def conv_transpose(
    x: np.ndarray,
    w: np.ndarray,
    b: np.ndarray | None = None,
    *,
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1),
    groups: int = 1,
    output_padding: Sequence[int] = (0, 0),
) -> np.ndarray:
    """Transposed convolution over the axes after batch and channels (ONNX specification, ConvTranspose).

    ``y[n,o,i*s+u-p] = b[o] + sum_{c,u} x[n,c,i] * w[c,o,u]``: each number adds its weights to a window of the result.

    Parameters
    ----------
    x
        Input [N, C, …].
    w
        Weights [C, O/groups, …].
    b
        Bias [O].
    strides
        Step of the windows along each axis.
    pads
        Positions that are cropped: all begins, then all ends; negative ones add zeros.
    dilations
        Distance of a window's entries along each axis.
    groups
        Number of groups of channels, each convolved by itself.
    output_padding
        Positions that are added at the end of each axis.

    Examples
    --------
    >>> conv_transpose(np.array([[[1.0, 2.0]]]), np.array([[[1.0, 10.0, 100.0]]])).tolist()
    [[[1.0, 12.0, 120.0, 200.0]]]
    """
    rank, sizes = x.ndim - 2, x.shape[2:]
    kernel, inner = w.shape[2:], w.shape[1]
    wanted = transposed_sizes(sizes, kernel, strides, pads, dilations, output_padding)
    strides, pads, dilations, _ = _per_axis(rank, strides, pads, dilations, output_padding)
    # A negative pad crops nothing: zeros are added there instead.
    before = [max(-p, 0) for p in pads[:rank]]
    whole = [a + p + n + max(q, 0) for a, p, n, q in zip(before, pads[:rank], wanted, pads[rank:], strict=True)]
    y = np.zeros((x.shape[0], inner * groups, *whole), x.dtype)
    channels = x.shape[1] // groups
    rows = np.moveaxis(x, 1, -1).reshape(-1, x.shape[1])
    for g in range(groups):
        group = slice(g * channels, (g + 1) * channels)
        columns = np.matmul(rows[:, group], w[group].reshape(channels, -1))
        parts = np.moveaxis(columns.reshape(x.shape[0], *sizes, inner, *kernel), 1 + rank, 1)
        result = y[:, g * inner : (g + 1) * inner]
        for tap in itertools.product(*map(range, kernel)):
            window = tuple(
                slice(a + t * d, a + t * d + s * (n - 1) + 1, s)
                for a, t, d, s, n in zip(before, tap, dilations, strides, sizes, strict=True)
            )
            result[(slice(None), slice(None), *window)] += parts[(..., *tap)]
    kept = tuple(slice(a + p, a + p + n) for a, p, n in zip(before, pads[:rank], wanted, strict=True))
    y = y[(slice(None), slice(None), *kept)]
    return np.ascontiguousarray(y) if b is None else y + b.reshape(-1, *[1] * rank)
