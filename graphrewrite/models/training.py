"""Training by Adam, and export to ONNX together with the samples that belong to a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from graphrewrite.models.layers import Array, Layer


def train(
    layers: list[Layer],
    x: Array,
    labels: Array,
    rng: np.random.Generator,
    *,
    epochs: int,
    batch: int = 64,
    rate: float = 3e-3,
    decay: float = 1e-4,
    augment: Callable[[Array, np.random.Generator], Array] = lambda images, rng: images,
) -> None:
    """Minimise the cross entropy by Adam with weight decay; the rate falls to zero along a cosine."""
    moments = [{k: (np.zeros_like(p), np.zeros_like(p)) for k, p in layer.parameters.items()} for layer in layers]
    steps, step = epochs * (len(x) // batch), 0
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for start in range(0, len(x) - batch + 1, batch):
            chosen = order[start : start + batch]
            slope = softmax(forward(layers, augment(x[chosen], rng), training=True))
            slope[np.arange(batch), labels[chosen]] -= 1
            slope /= batch
            for layer in reversed(layers):
                slope = layer.backward(slope)
            step += 1
            pace = rate * 0.5 * (1 + np.cos(np.pi * step / steps))
            for layer, kept in zip(layers, moments, strict=True):
                for key, parameter in layer.parameters.items():
                    gradient = layer.gradients[key]
                    first, second = kept[key]
                    first += 0.1 * (gradient - first)
                    second += 0.001 * (gradient**2 - second)
                    direction = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
                    parameter -= pace * (direction + decay * parameter)


def forward(layers: list[Layer], x: Array, *, training: bool = False) -> Array:
    """Scores (logits) of a batch."""
    for layer in layers:
        x = layer.forward(x, training)
    return x


def softmax(scores: Array) -> Array:
    """Probabilities from scores."""
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def save(
    layers: list[Layer],
    folder: Path,
    name: str,
    *,
    note: str,
    closing_softmax: bool,
    calibration_x: Array,
    test_x: Array,
    test_y: Array,
) -> float:
    """Write NAME.onnx and NAME.npz; the share of right answers on the test samples goes into the model, and back."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    for layer in layers:
        for arrays in (layer.parameters, layer.state):
            arrays.update({key: value.astype(np.float32) for key, value in arrays.items()})
    scores = forward(layers, test_x.astype(np.float32))
    right = float((scores.argmax(1) == test_y).mean())
    nodes, constants, x = [], [], "input"
    for layer in layers:
        arrays = {**layer.parameters, **layer.state}
        for op, operands, attributes in layer.nodes():
            y = f"/{layer.name}/{op}_output_0"
            names = [f"{layer.name}.{operand}" for operand in operands]
            constants += [numpy_helper.from_array(arrays[key], full) for key, full in zip(operands, names, strict=True)]
            nodes.append(helper.make_node(op, [x, *names], [y], name=f"/{layer.name}/{op}", **attributes))
            x = y
    if closing_softmax:
        nodes.append(helper.make_node("Softmax", [x], ["output"], name="/Softmax", axis=-1))
    nodes[-1].output[0] = "output"
    value = helper.make_tensor_value_info
    text = f"{note} Right on {right:.2%} of {len(test_y)} held-out samples."
    graph = helper.make_graph(
        nodes,
        name,
        [value("input", TensorProto.FLOAT, ["N", *test_x.shape[1:]])],
        [value("output", TensorProto.FLOAT, ["N", scores.shape[1]])],
        constants,
        doc_string=text,
    )
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, producer_name="graphrewrite", ir_version=8, doc_string=text)
    helper.set_model_props(model, {"held_out_accuracy": f"{right:.4f}", "held_out_samples": str(len(test_y))})
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, folder / f"{name}.onnx")
    np.savez_compressed(
        folder / f"{name}.npz",
        calibration_x=calibration_x.astype(np.float32),
        test_x=test_x.astype(np.float32),
        test_y=test_y.astype(np.uint8),
    )
    return right
