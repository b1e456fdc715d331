"""Importers and lowerings: ONNX → float graph → fixed point → integers → streaming hardware, or C.

Each step takes a graph and returns one that prints, draws and evaluates; between any two of them one may stop and look.
"""

from typing import TYPE_CHECKING, NoReturn

from graphrewrite.errors import no_attribute
from graphrewrite.lowering.c import run_c, to_c
from graphrewrite.lowering.composite import (
    LOWER_ACTIVATIONS,
    LOWER_ATTENTION,
    LOWER_COMPOSITE,
    LOWER_MOVEMENT,
    LOWER_NORMALISATIONS,
    LOWER_POOLS,
    LOWER_PRODUCTS,
    LOWER_QUANTISED,
    LOWER_RECURRENT,
    LOWER_REDUCTIONS,
    LOWER_REPETITIONS,
    LOWER_SHARES,
    LOWER_SUMS,
    lower_composite,
)
from graphrewrite.lowering.errors import (
    LoweringError,
    ModelError,
    OpenSizesError,
    ParallelismError,
    ProfileError,
    QuantisationError,
    QuantisationLossError,
    QuantisationWarning,
    UnsupportedOpsError,
)
from graphrewrite.lowering.exchange.entry import Entry
from graphrewrite.lowering.exchange.hooks import Hook, ModelInfo, ModelNode
from graphrewrite.lowering.exchange.keras_import import from_keras
from graphrewrite.lowering.exchange.onnx_export import to_onnx
from graphrewrite.lowering.exchange.onnx_import import from_onnx
from graphrewrite.lowering.exchange.rulesets.interpretation import (
    Interpretation,
    interpret_onnx,
    interpret_tensorflow,
)
from graphrewrite.lowering.exchange.tensorflow_import import from_tensorflow
from graphrewrite.lowering.exchange.tflite_import import from_tflite
from graphrewrite.lowering.exchange.torch_export import to_torch
from graphrewrite.lowering.exchange.torch_import import from_torch
from graphrewrite.lowering.folding.folding_report import FoldingReport
from graphrewrite.lowering.gradients import GRADIENTS
from graphrewrite.lowering.host_arithmetic import port_encodings
from graphrewrite.lowering.host_cut import Cut, HostCut, cut_for_host, cuts
from graphrewrite.lowering.host_partition import Partition, partition
from graphrewrite.lowering.integer.binary_points import LOWER_BINARY_POINTS
from graphrewrite.lowering.integer.classifier_heads import softmax_as_arg_max
from graphrewrite.lowering.integer.hardware_heads import decisions_in_hardware, softmax_bounds, softmax_in_hardware
from graphrewrite.lowering.integer.integer_lowering import LOWER_TO_INTEGER, to_integer
from graphrewrite.lowering.memory import lower_to_memory
from graphrewrite.lowering.optimisation import HARDWARE, INTEGER, ONNX, TARGETS, C, Target, optimise
from graphrewrite.lowering.prequantised import (
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
    SWAP_OPERANDS,
)
from graphrewrite.lowering.prequantised.approximations import function_bounds
from graphrewrite.lowering.prequantised.transposes import SINK_TRANSPOSES
from graphrewrite.lowering.quantisation.agreement import Agreement, Reference
from graphrewrite.lowering.quantisation.fixed_point_network import quantise
from graphrewrite.lowering.quantisation.guards import Finding, findings
from graphrewrite.lowering.quantisation.layer_sensitivity import Sensitivity, sensitivity
from graphrewrite.lowering.quantisation.profile_gathering import profile_values
from graphrewrite.lowering.quantisation.sample_review import weak_samples
from graphrewrite.lowering.quantisation.value_profile import ValueProfile
from graphrewrite.lowering.quantisation.width_search import search_widths
from graphrewrite.lowering.shift_add import SHARE_SUMS, UNROLL_SHIFT_ADD
from graphrewrite.lowering.streaming.bridge import enter, leave
from graphrewrite.lowering.streaming.multiplier_free import MAP_COUNTING
from graphrewrite.lowering.streaming.stream_lowering import LOWER_TO_STREAM, to_stream

__all__ = [
    "APPROXIMATE_STEPS",
    "ENTER_QUANTISED",
    "GRADIENTS",
    "HARDWARE",
    "INTEGER",
    "LEAVE_MOVED",
    "LOWER_ACTIVATIONS",
    "LOWER_ATTENTION",
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
    "LOWER_REPETITIONS",
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
    "ONNX",
    "SHARE_SUMS",
    "SINK_TRANSPOSES",
    "SWAP_OPERANDS",
    "TARGETS",
    "UNROLL_SHIFT_ADD",
    "Agreement",
    "C",
    "Cut",
    "Entry",
    "Finding",
    "FoldingReport",
    "Hook",
    "HostCut",
    "Interpretation",
    "LoweringError",
    "ModelError",
    "ModelInfo",
    "ModelNode",
    "OpenSizesError",
    "ParallelismError",
    "Partition",
    "ProfileError",
    "QuantisationError",
    "QuantisationLossError",
    "QuantisationWarning",
    "Reference",
    "Sensitivity",
    "Target",
    "UnsupportedOpsError",
    "ValueProfile",
    "cut_for_host",
    "cuts",
    "decisions_in_hardware",
    "enter",
    "findings",
    "from_keras",
    "from_onnx",
    "from_tensorflow",
    "from_tflite",
    "from_torch",
    "function_bounds",
    "interpret_onnx",
    "interpret_tensorflow",
    "leave",
    "lower_composite",
    "lower_to_memory",
    "optimise",
    "partition",
    "port_encodings",
    "profile_values",
    "quantise",
    "run_c",
    "search_widths",
    "sensitivity",
    "softmax_as_arg_max",
    "softmax_bounds",
    "softmax_in_hardware",
    "to_c",
    "to_integer",
    "to_onnx",
    "to_stream",
    "to_torch",
    "weak_samples",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute(__name__, name, __all__)
