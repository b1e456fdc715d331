"""Windows of TensorFlow Lite's convolutions and pools: images have their channels last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphrewrite import op
from graphrewrite.lowering.exchange.attribute_values import whole
from graphrewrite.lowering.exchange.entry import Named, Unfit, same_names
from graphrewrite.op.attribute_forms import same_pads
from graphrewrite.types import Dimension

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


def window(
    sizes: Sequence[Dimension],
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
    pads = same_pads(sizes, kernel, strides, dilations, upper=True) if padding == _SAME else (0, 0, 0, 0)
    found: dict[str, Any] = {"strides": strides, "pads": pads}
    return found if dilations == (1, 1) else {**found, "dilations": dilations}


def transposed_window(
    sizes: Sequence[Any], wanted: Sequence[Any], kernel: Sequence[int], strides: tuple[int, ...], *, padding: int
) -> dict[str, Any]:
    """Return the attributes of a transposed convolution that gives the wanted sizes."""
    if min(strides) < 1:
        raise Unfit(f"strides {strides} are at least 1")
    borders, more = [], []
    for n, m, k, s in zip(sizes, wanted, kernel, strides, strict=True):
        cut = (n - 1) * s + k - m
        expected = -(-m // s) if padding == _SAME else (m + s - k) // s
        if not isinstance(cut, int) or expected != n:
            raise Unfit(f"an image of {list(sizes)} does not become one of {list(wanted)} by strides of {strides}")
        before = max(cut, 0) // 2
        after = cut - before
        borders.append((before, max(after, 0)))
        more.append(max(-after, 0))
    pads = (*(before for before, _ in borders), *(after for _, after in borders))
    found: dict[str, Any] = {"strides": strides, "pads": pads}
    return {**found, "output_padding": tuple(more)} if any(more) else found
