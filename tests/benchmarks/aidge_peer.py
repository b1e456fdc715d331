"""Aidge's CPU backend in a process of its own: load a model, then run it once for each line that comes in.

    python aidge_peer.py model.onnx inputs.npy outputs.npy

Run by an interpreter that has aidge-core, aidge-backend-cpu and aidge-onnx; it prints seconds, a line a run.
"""

from __future__ import annotations

import os
import sys
import time


def main(model: str, given: str, results: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Aidge prints is no answer
    import aidge_backend_cpu  # noqa: F401
    import aidge_core
    import aidge_onnx
    import numpy as np

    aidge_core.Log.set_console_level(aidge_core.Level.Fatal)
    x = np.load(given)
    graph = aidge_onnx.load_onnx(model)
    graph.compile("cpu", aidge_core.dtype.float32, dims=[list(x.shape)])
    scheduler = aidge_core.SequentialScheduler(graph)
    tensor = aidge_core.Tensor(x)
    print("ready", file=answers, flush=True)
    for index, _ in enumerate(sys.stdin):
        start = time.perf_counter()
        scheduler.forward(not index, [tensor])  # sizes are known from the first run
        seconds = time.perf_counter() - start
        (output,) = graph.get_output_nodes()
        np.save(results, np.array(output.get_operator().get_output(0)))
        print(seconds, file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
