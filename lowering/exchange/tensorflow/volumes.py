"""Ops of TensorFlow on volumes: images with a depth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.tensorflow.importer import Operands, Row
from graphrewrite.lowering.exchange.tflite.windows import transposed_window
from graphrewrite.op.attribute_forms import same_pads
from graphrewrite.types import Dimension

__all__ = ["VOLUMES", "transposed_volume"]

_PADDINGS = ("SAME", "VALID")


def _axes(x: Operands) -> tuple[int, int, int]:
    form = x.get("data_format", "NDHWC")
    if form not in ("NDHWC", "NCDHW"):
        raise Unfit(f"the data format {form!r} is not supported; there are NDHWC and NCDHW")
    return (1, 2, 3) if form == "NDHWC" else (2, 3, 4)


def _each(x: Operands, name: str) -> tuple[int, ...]:
    """Return the entries of an attribute for depth, height and width."""
    given = x.get(name) or (1,) * 5
    return tuple(given[axis] for axis in _axes(x))


def _window(x: Operands, kernel: Sequence[int]) -> dict[str, Any]:
    strides, dilations = _each(x, "strides"), _each(x, "dilations")
    if min(*strides, *dilations) < 1:
        raise Unfit(f"strides {strides} and dilations {dilations} are at least 1")
    pads: tuple[int, ...] = (0,) * 6
    if x.get("padding") == "SAME":
        sizes = [x[0].type.shape[axis] for axis in _axes(x)]
        if any(stride > 1 and not isinstance(n, int) for n, stride in zip(sizes, strides, strict=True)):
            raise Unfit(f"depth, height and width must be numbers where strides are above 1, and it reads {x[0].type}")
        pads = tuple(same_pads(sizes, kernel, strides, dilations, upper=True))
    found: dict[str, Any] = {"strides": strides, "pads": pads}
    return found if dilations == (1, 1, 1) else {**found, "dilations": dilations}


def _laid_out(x: Operands, compute: Callable[[Value], Value], volume: Value) -> Any:
    """Compute with channels second, whatever the order of the file is."""
    if _axes(x)[0] == 2:
        return compute(volume)
    return op.transpose(compute(op.transpose(volume, perm=(0, 4, 1, 2, 3))), perm=(0, 2, 3, 4, 1))


def _conv(x: Operands) -> Any:
    """Weights are [D, H, W, channels of a group, outputs]."""
    sizes = (*x[1].type.shape, x[0].type.shape[4 if _axes(x)[0] == 1 else 1])
    if not all(isinstance(size, int) and size for size in sizes) or sizes[-1] % sizes[-3]:
        raise Unfit(f"weights {x[1].type} do not fit {x[0].type}")
    *kernel, inputs, _, channels = map(int, sizes)
    moved = op.transpose(x[1], perm=(4, 3, 0, 1, 2))
    places = _window(x, kernel)
    return _laid_out(x, lambda volume: op.conv(volume, moved, groups=channels // inputs, **places), x[0])


def _conv_transpose(x: Operands) -> Any:
    """Reads the wanted shape, weights [D, H, W, outputs, inputs], and the volume."""
    wanted = x.sizes(0)
    if len(wanted) != 5:
        raise Unfit(f"the wanted shape {wanted} is no volume's")
    return transposed_volume(x, x[2], x[1], [wanted[axis] for axis in _axes(x)])


def transposed_volume(x: Operands, volume: Value, weights: Value, wanted: Sequence[Dimension]) -> Any:
    """Return the transposed convolution of a volume, with a wanted depth, height and width."""
    padding = x.get("padding", "VALID")
    if padding not in _PADDINGS or _each(x, "dilations") != (1, 1, 1):
        raise Unfit("dilated windows, and paddings other than SAME and VALID, are not supported")
    kernel, shape = tuple(size for size in weights.type.shape[:3] if isinstance(size, int)), volume.type.shape
    if len(shape) != 5 or len(kernel) != 3:
        raise Unfit(f"weights {weights.type} do not fit {volume.type}")
    sizes = [shape[axis] for axis in _axes(x)]
    places = transposed_window(sizes, wanted, kernel, _each(x, "strides"), padding=_PADDINGS.index(padding))
    moved = op.transpose(weights, perm=(4, 3, 0, 1, 2))
    return _laid_out(x, lambda turned: op.conv_transpose(turned, moved, **places), volume)


def _pool(pool: Any) -> Row:
    def pooled(x: Operands) -> Any:
        kernel = _each(x, "ksize")
        sizes = _window(x, kernel)
        return _laid_out(x, lambda volume: pool(volume, kernel=kernel, **sizes), x[0])

    return pooled


VOLUMES: dict[str, Row] = {
    "AvgPool3D": _pool(op.average_pool),
    "Conv3D": _conv,
    "Conv3DBackpropInputV2": _conv_transpose,
    "MaxPool3D": _pool(op.max_pool),
}
"""What each op means."""
