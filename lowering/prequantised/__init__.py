"""Quantised models as they come from training: scales, zero points and float ops become integer ops, by rules.

Numbers of a grid are written ``mul(from_fixed(mantissas), scale)``, stored ones
``quantize_linear(from_fixed(mantissas), 1, zero_point)``: mantissas are the distance from the zero point, so that a
border of zeros is one. Scales move past sums of products; float ops and a quantiser on mantissas are a step function,
found with the model's own arithmetic and proved for each number.
"""

from __future__ import annotations

from graphrewrite.lowering.prequantised.approximations import APPROXIMATE_STEPS
from graphrewrite.lowering.prequantised.layers import LOWER_SCALED_LAYERS, LOWER_UNSCALED_LAYERS
from graphrewrite.lowering.prequantised.movement import LEAVE_MOVED, MOVE_SCALES
from graphrewrite.lowering.prequantised.operand_order import SWAP_OPERANDS
from graphrewrite.lowering.prequantised.quantised_inputs import ENTER_QUANTISED
from graphrewrite.lowering.prequantised.signs import COMPARE_SUMS, COMPARISONS_AS_SIGNS, COUNT_SIGNS
from graphrewrite.lowering.prequantised.step_lowering import LOWER_STEPS
from graphrewrite.lowering.prequantised.stored_integers import LOWER_STORED
from graphrewrite.lowering.prequantised.stored_readings import READ_STORED
from graphrewrite.lowering.prequantised.stored_rescaling import RESCALE_STORED
from graphrewrite.lowering.prequantised.stored_windows import POOL_STORED
from graphrewrite.lowering.prequantised.sums_and_products import LOWER_PAIRS
from graphrewrite.lowering.prequantised.windows import LOWER_SCALED_WINDOWS

__all__ = [
    "APPROXIMATE_STEPS",
    "COMPARE_SUMS",
    "COMPARISONS_AS_SIGNS",
    "COUNT_SIGNS",
    "ENTER_QUANTISED",
    "LEAVE_MOVED",
    "LOWER_PAIRS",
    "LOWER_SCALED_LAYERS",
    "LOWER_SCALED_WINDOWS",
    "LOWER_STEPS",
    "LOWER_STORED",
    "LOWER_TRAINED",
    "LOWER_UNSCALED_LAYERS",
    "MOVE_SCALES",
    "POOL_STORED",
    "READ_STORED",
    "RESCALE_STORED",
    "SWAP_OPERANDS",
]

LOWER_TRAINED = (
    *ENTER_QUANTISED,
    *MOVE_SCALES,
    *LOWER_SCALED_LAYERS,
    *LOWER_SCALED_WINDOWS,
    *LOWER_STORED,
    *READ_STORED,
    *POOL_STORED,
    *RESCALE_STORED,
    *LOWER_PAIRS,
    *SWAP_OPERANDS,
    *LOWER_STEPS,
    *COMPARISONS_AS_SIGNS,
    *COMPARE_SUMS,
)
"""From quantised models, as they come from training, to integers."""
