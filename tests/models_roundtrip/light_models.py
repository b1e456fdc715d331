"""The light models of the onnx package, image classifiers whose weights are all zero, with random weights instead."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

__all__ = ["LIGHT", "with_random_weights"]

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def with_random_weights(file: Path) -> onnx.ModelProto:
    """The model with a random constant for each weight, so small that a softmax at the end says more than one."""
    model = onnx.load(file)
    random = np.random.default_rng(0)
    shapes = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    model.ir_version = max(4, model.ir_version)  # since then weights need not be inputs
    variances = {node.input[4] for node in model.graph.node if node.op_type == "BatchNormalization"}
    kept = []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        (name,) = node.output
        shape = tuple(shapes[node.input[0]])
        if len(shape) < 2:  # gains, shifts and means
            low, high = (1, 2) if name in variances else (0.2, 0.6)
            array = random.uniform(low, high, shape).astype(np.float32)
        else:
            array = random.standard_normal(shape, np.float32) / np.float32(math.sqrt(math.prod(shape[1:])))
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    del model.graph.node[:]
    model.graph.node.extend(kept)
    return model
