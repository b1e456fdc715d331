"""The table of all supported ONNX ops, for import and export."""

from __future__ import annotations

from collections.abc import Iterable

from graphrewrite.lowering.exchange.entry import Entry
from graphrewrite.lowering.exchange.onnx.tables.attention import ATTENTION
from graphrewrite.lowering.exchange.onnx.tables.channels_last import CHANNELS_LAST
from graphrewrite.lowering.exchange.onnx.tables.classical import CLASSICAL
from graphrewrite.lowering.exchange.onnx.tables.elementwise import ELEMENTWISE
from graphrewrite.lowering.exchange.onnx.tables.features import FEATURES
from graphrewrite.lowering.exchange.onnx.tables.layers import LAYERS
from graphrewrite.lowering.exchange.onnx.tables.movement import MOVEMENT
from graphrewrite.lowering.exchange.onnx.tables.onnxruntime import ONNXRUNTIME
from graphrewrite.lowering.exchange.onnx.tables.pytorch import PYTORCH
from graphrewrite.lowering.exchange.onnx.tables.quantised import QUANTISED
from graphrewrite.lowering.exchange.onnx.tables.random import RANDOM
from graphrewrite.lowering.exchange.onnx.tables.recurrent import RECURRENT
from graphrewrite.lowering.exchange.onnx.tables.reductions import REDUCTIONS
from graphrewrite.lowering.exchange.onnx.tables.texts import WORDING
from graphrewrite.lowering.exchange.onnx.tables.training import TRAINING
from graphrewrite.lowering.exchange.onnx.tables.vision import VISION

__all__ = ["PRODUCERS", "TABLE", "by_op"]


def by_op(entries: Iterable[Entry]) -> dict[str, tuple[Entry, ...]]:
    """Return entries by their ONNX op, in order.

    Examples
    --------
    >>> from graphrewrite import op
    >>> [entry.op for entry in by_op([Entry("Relu", op.relu), Entry("Relu", op.abs)])["Relu"]]
    [<op relu>, <op abs>]
    """
    by_name: dict[str, tuple[Entry, ...]] = {}
    for entry in entries:
        by_name[entry.onnx] = (*by_name.get(entry.onnx, ()), entry)
    return by_name


TABLE: dict[str, tuple[Entry, ...]] = by_op(
    (
        *(*ELEMENTWISE, *LAYERS, *MOVEMENT, *REDUCTIONS, *RECURRENT, *QUANTISED, *CHANNELS_LAST, *ONNXRUNTIME),
        *(*VISION, *ATTENTION, *TRAINING, *CLASSICAL, *FEATURES, *WORDING, *RANDOM),
    )
)
"""Entries by ONNX op: opset 13 to 28; older models are converted on load."""

PRODUCERS = {"pytorch": by_op(PYTORCH)}
"""Entries for what certain producers of files mean otherwise than ONNX, by the producer's name in the file."""
