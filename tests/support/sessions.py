"""Sessions of onnxruntime, each on one thread: tests run beside each other, and threads that wait keep a core busy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

__all__ = ["session_of"]


def session_of(model: bytes | Path, *, optimise: bool = True) -> Any:
    """A session of a model on the processor; without onnxruntime, what asks for one is skipped."""
    ort = pytest.importorskip("onnxruntime")
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if not optimise:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    given = model if isinstance(model, bytes) else str(model)
    return ort.InferenceSession(given, options, providers=["CPUExecutionProvider"])
