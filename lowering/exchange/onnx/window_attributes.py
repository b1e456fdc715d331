"""Attributes of windows: defaults that depend on operands (strides of one, auto_pad, output_shape)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphrewrite import Tensor
from graphrewrite.lowering.exchange.attribute_values import integers, whole, word
from graphrewrite.lowering.exchange.entry import same_names
from graphrewrite.op.attribute_forms import same_pads
from graphrewrite.op.nn.convolution import per_axis
from graphrewrite.op.nn.transposed_convolution import transposed_pads

__all__ = ["CONVOLUTION", "complete_conv", "complete_pool", "complete_transposed", "shown", "shown_pool"]

CONVOLUTION: dict[str, Any] = {
    **same_names(integers, "strides", "pads", "dilations"),
    **same_names(word, "auto_pad"),
    "group": ("groups", whole),
}


def _filled(attributes: dict[str, Any], x: Tensor, kernel: Sequence[int]) -> dict[str, Any]:
    """Fill strides and pads for each axis; resolve auto_pad (ONNX specification, Conv and MaxPool)."""
    rank = len(kernel)
    mode = attributes.pop("auto_pad", "NOTSET")
    dilations = attributes.get("dilations", (1,) * rank)
    filled = {"strides": (1,) * rank, "pads": (0,) * (2 * rank), **attributes}
    if mode.startswith("SAME"):
        filled["pads"] = same_pads(x.shape[2:], kernel, filled["strides"], dilations, upper=mode == "SAME_UPPER")
    elif mode == "VALID":
        filled["pads"] = (0,) * (2 * rank)
    return filled


def _kernel(types: Sequence[Tensor]) -> tuple[int, ...]:
    return tuple(int(d) for d in types[1].shape[2:])


def complete_conv(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    """Complete the attributes of a convolution; the kernel's shape is that of the weights."""
    rank = len(types[0].shape) - 2
    return {"dilations": (1,) * rank, **_filled(attributes, types[0], _kernel(types))}


def complete_pool(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    """Complete the attributes of a pooling, which states its kernel."""
    if "kernel" not in attributes:
        raise ValueError("its attribute 'kernel_shape' is missing")
    filled = _filled(attributes, types[0], attributes["kernel"])
    if all(d == 1 for d in filled.get("dilations", ())):
        filled.pop("dilations", None)
    return filled


def complete_transposed(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    """Complete a transposed convolution: pads may follow from a wanted size (ONNX specification, ConvTranspose)."""
    kernel = _kernel(types)
    rank = len(kernel)
    mode = attributes.pop("auto_pad", "NOTSET")
    wanted = attributes.pop("output_shape", None)
    filled = {
        "strides": (1,) * rank,
        "pads": (0,) * (2 * rank),
        "dilations": (1,) * rank,
        "output_padding": (0,) * rank,
        **attributes,
    }
    if wanted is None and not mode.startswith("SAME"):
        return filled
    sizes = [int(size) for size in types[0].shape[2:]]
    steps = filled["strides"]
    filled["pads"] = transposed_pads(
        sizes,
        kernel,
        wanted[-rank:] if wanted is not None else [size * step for size, step in zip(sizes, steps, strict=True)],
        strides=steps,
        dilations=filled["dilations"],
        output_padding=filled["output_padding"],
        upper=mode == "SAME_UPPER",
    )
    return filled


def shown(attributes: dict[str, Any], types: Sequence[Tensor]) -> dict[str, Any]:
    """Expand strides, pads and dilations to a number an axis, where they are defaults for any rank."""
    rank = len(types[0].shape) - 2
    counts = {"strides": (rank, 1), "dilations": (rank, 1), "pads": (2 * rank, 0), "output_padding": (rank, 0)}
    return {name: per_axis(value, *counts[name]) if name in counts else value for name, value in attributes.items()}


def shown_pool(attributes: dict[str, Any], types: Sequence[Tensor]) -> dict[str, Any]:
    """Do the same for a pooling, without dilations of one: onnxruntime fails to fuse a quantised pool that has them."""
    every = shown(attributes, types)
    return {name: value for name, value in every.items() if name != "dilations" or any(d != 1 for d in value)}
