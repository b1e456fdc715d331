"""Quantised models as they come from training: scales, zero points and float ops become integer ops, by rules.

Numbers of a grid are written ``mul(from_fixed(mantissas), scale)``, stored ones
``quantize_linear(from_fixed(mantissas), 1, zero_point)``: mantissas are the distance from the zero point, so that a
border of zeros is one. Scales move behind sums of products; what float ops and a quantiser make of a mantissa is a step
function, found with the model's own arithmetic and proved for each number.
"""

from __future__ import annotations

from graphrewrite.lowering.quantised.approximations import APPROXIMATE_STEPS
from graphrewrite.lowering.quantised.entries import ENTER_QUANTISED
from graphrewrite.lowering.quantised.layers import LOWER_SCALED_LAYERS, LOWER_UNSCALED_LAYERS
from graphrewrite.lowering.quantised.movement import LEAVE_MOVED, MOVE_SCALES
from graphrewrite.lowering.quantised.pairs import LOWER_PAIRS
from graphrewrite.lowering.quantised.steps import LOWER_STEPS
from graphrewrite.lowering.quantised.stored import LOWER_STORED
from graphrewrite.lowering.quantised.turned import TURN_OPERANDS

__all__ = [
    "APPROXIMATE_STEPS",
    "ENTER_QUANTISED",
    "LEAVE_MOVED",
    "LOWER_PAIRS",
    "LOWER_SCALED_LAYERS",
    "LOWER_STEPS",
    "LOWER_STORED",
    "LOWER_TRAINED",
    "LOWER_UNSCALED_LAYERS",
    "MOVE_SCALES",
    "TURN_OPERANDS",
]

LOWER_TRAINED = (
    *ENTER_QUANTISED,
    *MOVE_SCALES,
    *LOWER_SCALED_LAYERS,
    *LOWER_STORED,
    *LOWER_PAIRS,
    *TURN_OPERANDS,
    *LOWER_STEPS,
)
"""From quantised models, as they come from training, to integers."""
