"""Definitions of ops and mapping rules as data: of ONNX, TensorFlow and deeplearning4j."""

from graphrewrite.lowering.exchange.rulesets.definitions import (
    FrameworkOp,
    onnx_ops,
    read_descriptors,
    read_onnx_ops,
    read_tensorflow_ops,
)
from graphrewrite.lowering.exchange.rulesets.entries import entries_of, skeleton
from graphrewrite.lowering.exchange.rulesets.ruleset import Ruleset, read_ruleset
from graphrewrite.lowering.exchange.rulesets.written_nodes import framework_node

__all__ = [
    "FrameworkOp",
    "Ruleset",
    "entries_of",
    "framework_node",
    "onnx_ops",
    "read_descriptors",
    "read_onnx_ops",
    "read_ruleset",
    "read_tensorflow_ops",
    "skeleton",
]
