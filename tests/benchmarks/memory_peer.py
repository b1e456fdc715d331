"""The memory that one evaluation takes in a process of its own: ``memory_peer.py engine model.onnx inputs.npy``.

Printed are the bytes by which the resident set grows at most, from a loaded model and its inputs to the results.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from pathlib import Path

import numpy as np
import onnx


def status(name: str) -> int:
    """A number of bytes from the system's table of this process."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name)]
    return int(line.split()[1]) << 10


def main(engine: str, model: str, inputs: str) -> None:
    x = {"x": np.load(inputs)}
    small = {"x": x["x"][:1]}
    if engine == "onnxruntime":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

        def run(given: dict[str, np.ndarray]) -> object:
            return session.run(None, given)
    else:
        from graphrewrite import evaluate
        from graphrewrite.lowering import from_onnx

        graph = from_onnx(onnx.load(model))

        def run(given: dict[str, np.ndarray]) -> object:
            return evaluate(graph, given)

    run(small)  # what is loaded once
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = status("VmRSS")
    run(x)
    print(status("VmHWM") - before)


if __name__ == "__main__":
    main(*sys.argv[1:])
