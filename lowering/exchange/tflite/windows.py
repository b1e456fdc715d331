"""Windows of TensorFlow Lite's convolutions and pools: images have their channels last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphrewrite import op
from graphrewrite.lowering.exchange.attribute_values import whole
from graphrewrite.lowering.exchange.entry import Named, Unfit, same_names

__all__ = ["CONVOLUTION", "POOL", "channels_last", "channels_second", "transposed_window", "window"]

_STRIDES = same_names(whole, "padding", "stride_h", "stride_w")
CONVOLUTION: dict[str, Named] = {**_STRIDES, **same_names(whole, "dilation_h_factor", "dilation_w_factor")}
POOL: dict[str, Named] = {**_STRIDES, **same_names(whole, "filter_height", "filter_width")}

_SAME, _VALID = 0, 1


def channels_second(x: Any) -> Any:
    """Bring the last axis of an image to the second place."""
    return op.transpose(x, perm=(0, 3, 1, 2))


def channels_last(x: Any) -> Any:
    """Bring the second axis of an image to the last place."""
    return op.transpose(x, perm=(0, 2, 3, 1))


def _borders(needed: int) -> tuple[int, int]:
    """Return a border before and after an axis, the odd cell after it."""
    return max(needed, 0) // 2, max(needed, 0) - max(needed, 0) // 2


def _pads(borders: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    return (*(before for before, _ in borders), *(after for _, after in borders))


def window(
    sizes: Sequence[int],
    kernel: Sequence[int],
    *,
    padding: int = _SAME,
    stride_h: int,
    stride_w: int,
    dilation_h_factor: int = 1,
    dilation_w_factor: int = 1,
) -> dict[str, Any]:
    """Return the attributes of a window over an image of given height and width."""
    strides, dilations = (stride_h, stride_w), (dilation_h_factor, dilation_w_factor)
    if min(*strides, *dilations) < 1:
        raise Unfit(f"strides {strides} and dilations {dilations} are at least 1")
    if padding not in (_SAME, _VALID):
        raise Unfit(f"the padding is {padding}, and neither SAME (0) nor VALID (1)")
    borders = [(0, 0), (0, 0)]
    if padding == _SAME:
        reach = ((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True))
        borders = [_borders((-(-n // s) - 1) * s + k - n) for n, k, s in zip(sizes, reach, strides, strict=True)]
    found: dict[str, Any] = {"strides": strides, "pads": _pads(borders)}
    return found if dilations == (1, 1) else {**found, "dilations": dilations}


def transposed_window(
    sizes: Sequence[int], wanted: Sequence[int], kernel: Sequence[int], *, padding: int, stride_h: int, stride_w: int
) -> dict[str, Any]:
    """Return the attributes of a transposed convolution that gives the wanted height and width."""
    strides = (stride_h, stride_w)
    if min(strides) < 1:
        raise Unfit(f"strides {strides} are at least 1")
    borders, more = [], []
    for n, m, k, s in zip(sizes, wanted, kernel, strides, strict=True):
        reach = (n - 1) * s + k
        before = _borders(reach - m)[0]
        after = reach - m - before
        borders.append((before, max(after, 0)))
        more.append(max(-after, 0))
        expected = -(-m // s) if padding == _SAME else (m + s - k) // s
        if expected != n:
            raise Unfit(f"an image of {list(sizes)} does not become one of {list(wanted)} by strides of {strides}")
    found: dict[str, Any] = {"strides": strides, "pads": _pads(borders)}
    return {**found, "output_padding": tuple(more)} if any(more) else found
