"""Sessions of onnxruntime: a graph as an ONNX model that this engine computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from graphrewrite.errors import EvaluationError, MissingDependencyError
from graphrewrite.graph import Graph
from graphrewrite.lowering.exchange.onnx_export import to_onnx

__all__ = ["session_of"]

_SILENT = 4


def session_of(graph: Graph, *, threads: int = 0) -> Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]:
    """Return a function from arrays of all inputs to those of the outputs, which onnxruntime computes.

    Parameters
    ----------
    graph : Graph
        A graph that `to_onnx` can write.
    threads : int
        How many it may use; 0 for as many as it likes.

    Raises
    ------
    MissingDependencyError
        If onnxruntime, or onnx, is not installed.
    UnsupportedOpsError
        If ops have no counterpart in ONNX.
    EvaluationError
        If onnxruntime does not take the model; or arrays, when they are given.
    """
    try:
        import onnxruntime
    except ImportError:
        raise MissingDependencyError(
            "the backend 'onnxruntime' needs its package: pip install onnxruntime; without a backend, graphrewrite "
            "computes by itself"
        ) from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _SILENT
    options.intra_op_num_threads = threads
    model = to_onnx(graph).SerializeToString()
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors have no class in common
        raise _refusal(error) from None
    names, outputs = [each.name for each in session.get_inputs()], graph.outputs

    def run(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        try:
            found = session.run(None, {name: inputs[name] for name in names})
        except Exception as error:
            raise _refusal(error) from None
        return dict(zip(outputs, map(np.asarray, found), strict=True))

    return run


def _refusal(error: Exception) -> EvaluationError:
    lines = str(error).splitlines() or [type(error).__name__]
    reason = lines[0].rpartition(" : ")[2] if type(error).__module__.startswith("onnxruntime") else lines[0]
    return EvaluationError(f"onnxruntime cannot compute it: {reason}")
