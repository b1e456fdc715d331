"""Layers of vision and of sound: images sampled and put together, regions, spectra; and losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.attribute_values import (
    data_type,
    element,
    integers,
    number,
    sizes,
    truth,
    whole,
    word,
)
from graphrewrite.lowering.exchange.entry import Entry, same_names
from graphrewrite.lowering.exchange.onnx.window_attributes import CONVOLUTION, complete_conv, complete_pool, shown
from graphrewrite.op.nn.convolution import per_axis

__all__ = ["VISION"]

_ALIGN = same_names(truth, "align_corners")
_LOSS: dict[str, Any] = {**same_names(word, "reduction"), **same_names(whole, "ignore_index")}
_OFFSETS = {
    **{name: named for name, named in CONVOLUTION.items() if name != "auto_pad"},
    "offset_group": ("offset_groups", whole),
}
_SPECTRUM: dict[str, Any] = same_names(truth, "inverse", "onesided")


def _cross_entropy(x: Any, target: Any, weight: Any = None, *, reduction: Any = "mean", **ignored: Any) -> Any:
    """The loss of the logarithms of probabilities, and these (ONNX specification, SoftmaxCrossEntropyLoss)."""
    logarithms = op.log_softmax(x, axis=1)
    return op.nll_loss(logarithms, target, weight, reduction=reduction, **ignored), logarithms


def _of_image(attributes: dict[str, Any], _: object) -> dict[str, Any]:
    rank = len(attributes["size"])
    return {"strides": (1,) * rank, "pads": (0,) * (2 * rank), "dilations": (1,) * rank, **attributes}


def _image_shown(attributes: dict[str, Any], _: object) -> dict[str, Any]:
    rank = len(attributes["size"])
    counts = {"strides": (rank, 1), "dilations": (rank, 1), "pads": (2 * rank, 0)}
    return {name: per_axis(value, *counts[name]) if name in counts else value for name, value in attributes.items()}


def _unpooled(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    """The size of the positions, of that of the whole."""
    whole_size = attributes.pop("size", None)
    filled = complete_pool(attributes, types)
    return filled if whole_size is None else {**filled, "size": whole_size[2:]}


def _unpooled_shown(attributes: dict[str, Any], types: Sequence[Tensor]) -> dict[str, Any]:
    size = attributes.pop("size", None)
    written = shown(attributes, types)
    return written if size is None else {**written, "size": (*types[0].shape[:2], *size)}


VISION: tuple[Entry, ...] = (
    Entry("AffineGrid", op.affine_grid, _ALIGN, {1: ("size", sizes)}),
    Entry(
        "Col2Im",
        op.fold,
        same_names(integers, "strides", "pads", "dilations"),
        {1: ("size", integers), 2: ("kernel", integers)},
        complete=_of_image,
        shown=_image_shown,
    ),
    Entry("DFT", op.dft, {"axis": ("axis", whole), **_SPECTRUM}, {1: ("length", whole), 2: ("axis", whole)}),
    Entry(
        "DeformConv",
        op.deform_conv,
        _OFFSETS,
        complete=complete_conv,
        ignored=("kernel_shape",),
        shown=shown,
    ),
    Entry(
        "GridSample",
        op.grid_sample,
        {**_ALIGN, "mode": ("mode", lambda v: word(v).removeprefix("bi")), **same_names(word, "padding_mode")},
    ),
    Entry(
        "MaxUnpool",
        op.max_unpool,
        {"kernel_shape": ("kernel", integers), **same_names(integers, "strides", "pads")},
        {2: ("size", sizes)},
        complete=_unpooled,
        shown=_unpooled_shown,
    ),
    Entry(
        "MelWeightMatrix",
        op.mel_weight_matrix,
        {"output_datatype": ("element", element, data_type)},
        {
            0: ("num_mel_bins", whole),
            1: ("dft_length", whole),
            2: ("sample_rate", whole),
            3: ("lower_edge", number),
            4: ("upper_edge", number),
        },
    ),
    Entry("NegativeLogLikelihoodLoss", op.nll_loss, _LOSS),
    Entry(
        "NonMaxSuppression",
        op.non_max_suppression,
        {"center_point_box": ("center_point_box", truth)},
        {2: ("max_output_boxes_per_class", whole), 3: ("iou_threshold", number), 4: ("score_threshold", number)},
    ),
    Entry(
        "RoiAlign",
        op.roi_align,
        {
            **same_names(word, "mode", "coordinate_transformation_mode"),
            **same_names(whole, "output_height", "output_width", "sampling_ratio"),
            **same_names(number, "spatial_scale"),
        },
    ),
    Entry("STFT", op.stft, same_names(truth, "onesided"), {1: ("step", whole), 3: ("length", whole)}),
    Entry("SoftmaxCrossEntropyLoss", _cross_entropy, _LOSS, outputs=2),
)
