"""The memory that a model takes in a process of its own: ``memory_peer.py engine model.onnx inputs.npy other.onnx``.

Printed are two numbers of bytes by which the resident set grows at most: from before the model is loaded to its
results, and from its results for one frame to those for all. What libraries allocate once in a process, whatever they
compute, is there before: another model, of inputs of the same number of frames, has been computed.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx

Run = Callable[[np.ndarray], object]


def status(name: str) -> int:
    """A number of bytes from the system's table of this process."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name)]
    return int(line.split()[1]) << 10


def by_onnxruntime(model: str) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x": x})


def by_graphrewrite(model: str) -> Run:
    from graphrewrite import evaluate
    from graphrewrite.lowering import from_onnx

    graph = from_onnx(onnx.load(model))
    return lambda x: evaluate(graph, {"x": x})


def start() -> int:
    """Return the resident set without what is free; its peak starts anew."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


def main(engine: str, model: str, inputs: str, other: str) -> None:
    load = {"onnxruntime": by_onnxruntime, "graphrewrite": by_graphrewrite}[engine]
    x = np.load(inputs)
    (given,) = onnx.load(other).graph.input
    shape = [d.dim_value for d in given.type.tensor_type.shape.dim][1:]
    load(other)(np.zeros((len(x), *shape), np.float32))
    before = start()
    run = load(model)
    run(x[:1])
    loaded, most = status("VmRSS"), status("VmHWM")
    loaded = min(loaded, start())
    results = run(x)
    highest = status("VmHWM")
    del results
    print(max(most, highest) - before, highest - loaded)


if __name__ == "__main__":
    main(*sys.argv[1:])
