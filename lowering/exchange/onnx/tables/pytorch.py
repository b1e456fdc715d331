"""ONNX ops that files of PyTorch mean otherwise than the specification."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.onnx.tables.movement import MOVEMENT

__all__ = ["PYTORCH"]


def _aligned(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    """Write sizes for scales of aligned corners: PyTorch aligns those of the rounded size, ONNX those of the exact."""
    scales = attributes.get("scales")
    if scales is None or attributes.get("coordinate_transformation_mode") != "align_corners":
        return attributes
    own = types[0].shape
    result = op.resize.infer(types[0], **{**attributes, "mode": "nearest"})[0].shape
    axes = attributes.get("axes") or range(len(own))
    if all(isinstance(own[a], int) and own[a] * scale == result[a] for a, scale in zip(axes, scales, strict=True)):
        return attributes
    return {**attributes, "scales": None, "sizes": tuple(result[axis] for axis in axes)}


PYTORCH = tuple(replace(entry, complete=_aligned) for entry in MOVEMENT if entry.onnx == "Resize")
"""Entries for models whose producer is PyTorch, in place of those of the table."""
