"""A trained network as an ONNX file, with the samples that belong to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphrewrite import Graph, evaluate, op, rewrite, rule
from graphrewrite.lowering import to_onnx

__all__ = ["save"]


@rule(keeps="rounding")
def linear_as_gemm(x, w, b):
    """The name that ONNX has for it."""
    yield op.linear(x, w, b)
    return op.gemm(x, w, b, trans_b=True)


def save(
    graph: Graph,
    folder: Path,
    *,
    note: str,
    calibration_x: np.ndarray,
    test_x: np.ndarray,
    test_y: np.ndarray,
) -> float:
    """Write NAME.onnx and NAME.npz into a folder, which is made; the share of right answers goes into the model."""
    import onnx
    from onnx import helper

    test_x = test_x.astype(np.float32)
    (scores,) = evaluate(graph, {graph.inputs[0]: test_x}).values()
    right = float((scores.argmax(1) == test_y).mean())
    model = to_onnx(rewrite(graph, linear_as_gemm))
    model.doc_string = model.graph.doc_string = f"{note} Right on {right:.2%} of {len(test_y)} held-out samples."
    helper.set_model_props(model, {"held_out_accuracy": f"{right:.4f}", "held_out_samples": str(len(test_y))})
    onnx.checker.check_model(model, full_check=True)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / f"{graph.name}.onnx")
    np.savez_compressed(
        folder / f"{graph.name}.npz",
        calibration_x=calibration_x.astype(np.float32),
        test_x=test_x,
        test_y=test_y.astype(np.uint8),
    )
    return right
