"""Layers of QONNX with their channels last are those of ONNX with their channels second."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from graphrewrite import evaluate
from graphrewrite.lowering import from_onnx
from tests.support.lowering_networks import model, weights

DOMAIN = "qonnx.custom_op.channels_last"
IMAGE, LINE = (2, 5, 6, 4), (2, 7, 4)
NORM = {name: np.abs(weights(4, seed=seed)) for seed, name in enumerate(("gain", "shift", "mean", "var"))}
BIAS = {"b": weights(6, seed=1)}


@pytest.mark.parametrize(
    ("kind", "shape", "constants", "attributes"),
    [
        ("BatchNormalization", IMAGE, NORM, {"epsilon": 0.5}),
        ("BatchNormalization", LINE, NORM, {}),
        ("Conv", IMAGE, {"w": weights(6, 2, 3, 4)}, {"kernel_shape": [2, 3]}),
        ("Conv", IMAGE, {"w": weights(6, 2, 3, 2), **BIAS}, {"strides": [2, 1], "pads": [1, 0, 0, 2], "group": 2}),
        ("Conv", LINE, {"w": weights(6, 3, 4), **BIAS}, {"dilations": [2]}),
        ("MaxPool", IMAGE, {}, {"kernel_shape": [2, 3]}),
        ("MaxPool", IMAGE, {}, {"kernel_shape": [2, 3], "strides": [2, 2], "pads": [1, 0, 0, 2]}),
        ("MaxPool", LINE, {}, {"kernel_shape": [3], "strides": [3]}),
    ],
)
def test_layers_are_those_with_channels_second(
    kind: str, shape: tuple[int, ...], constants: dict[str, np.ndarray], attributes: dict[str, Any]
) -> None:
    x = weights(*shape, seed=5)
    second = {name: np.moveaxis(array, -1, 1) if name == "w" else array for name, array in constants.items()}
    found = []
    for domain, given, held in ((DOMAIN, x, constants), ("", np.moveaxis(x, -1, 1), second)):
        node = helper.make_node(kind, ["x", *held], ["y"], domain=domain, **attributes)
        proto = model([node], held, input_shape=given.shape, domains=[domain] if domain else [])
        found.append(evaluate(from_onnx(proto), {"x": given})["y"])
    last, plain = found
    np.testing.assert_array_equal(last, np.moveaxis(plain, 1, -1))
