"""Importers and lowerings: ONNX → float graph → fixed point → integers → streaming hardware.

Each step takes a graph and returns one that prints, draws and evaluates; between any two of them one may stop and look.
"""

from graphrewrite.lowering.binary_points import LOWER_BINARY_POINTS
from graphrewrite.lowering.bridge import enter, leave
from graphrewrite.lowering.composite import (
    LOWER_ACTIVATIONS,
    LOWER_COMPOSITE,
    LOWER_MOVEMENT,
    LOWER_NORMALISATIONS,
    LOWER_POOLS,
    LOWER_PRODUCTS,
    LOWER_QUANTISED,
    LOWER_RECURRENT,
    LOWER_REDUCTIONS,
    LOWER_SHARES,
    LOWER_SUMS,
    lower_composite,
)
from graphrewrite.lowering.errors import (
    LoweringError,
    ModelError,
    OpenSizesError,
    ParallelismError,
    QuantisationError,
    UnsupportedOpsError,
)
from graphrewrite.lowering.exchange.entry import Entry
from graphrewrite.lowering.folding.report import FoldingReport
from graphrewrite.lowering.from_onnx import from_onnx
from graphrewrite.lowering.heads import softmax_as_arg_max, softmax_bounds, softmax_in_hardware
from graphrewrite.lowering.host import Partition, partition
from graphrewrite.lowering.quantise import quantise
from graphrewrite.lowering.quantised import (
    APPROXIMATE_STEPS,
    ENTER_QUANTISED,
    LEAVE_MOVED,
    LOWER_PAIRS,
    LOWER_SCALED_LAYERS,
    LOWER_STEPS,
    LOWER_STORED,
    LOWER_TRAINED,
    LOWER_UNSCALED_LAYERS,
    MOVE_SCALES,
    TURN_OPERANDS,
)
from graphrewrite.lowering.quantised.approximations import function_bounds
from graphrewrite.lowering.shift_add import SHARE_SUMS, UNROLL_SHIFT_ADD
from graphrewrite.lowering.streaming.counting import MAP_COUNTING
from graphrewrite.lowering.to_integer import LOWER_TO_INTEGER, to_integer
from graphrewrite.lowering.to_onnx import to_onnx
from graphrewrite.lowering.to_stream import LOWER_TO_STREAM, to_stream
from graphrewrite.lowering.transposes import SINK_TRANSPOSES

__all__ = [
    "APPROXIMATE_STEPS",
    "ENTER_QUANTISED",
    "LEAVE_MOVED",
    "LOWER_ACTIVATIONS",
    "LOWER_BINARY_POINTS",
    "LOWER_COMPOSITE",
    "LOWER_MOVEMENT",
    "LOWER_NORMALISATIONS",
    "LOWER_PAIRS",
    "LOWER_POOLS",
    "LOWER_PRODUCTS",
    "LOWER_QUANTISED",
    "LOWER_RECURRENT",
    "LOWER_REDUCTIONS",
    "LOWER_SCALED_LAYERS",
    "LOWER_SHARES",
    "LOWER_STEPS",
    "LOWER_STORED",
    "LOWER_SUMS",
    "LOWER_TO_INTEGER",
    "LOWER_TO_STREAM",
    "LOWER_TRAINED",
    "LOWER_UNSCALED_LAYERS",
    "MAP_COUNTING",
    "MOVE_SCALES",
    "SHARE_SUMS",
    "SINK_TRANSPOSES",
    "TURN_OPERANDS",
    "UNROLL_SHIFT_ADD",
    "Entry",
    "FoldingReport",
    "LoweringError",
    "ModelError",
    "OpenSizesError",
    "ParallelismError",
    "Partition",
    "QuantisationError",
    "UnsupportedOpsError",
    "enter",
    "from_onnx",
    "function_bounds",
    "leave",
    "lower_composite",
    "partition",
    "quantise",
    "softmax_as_arg_max",
    "softmax_bounds",
    "softmax_in_hardware",
    "to_integer",
    "to_onnx",
    "to_stream",
]
