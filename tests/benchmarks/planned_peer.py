"""The memory of a first run, and its plan, in a process of its own: ``planned_peer.py model.onnx batch``.

Printed are bytes: the plan, the weights, the peak of what the run allocates, the growth of the resident set. Both hold
what the program keeps for later runs; another program of the network has run before, for what libraries load and keep.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import onnx

from graphrewrite import rewrite
from graphrewrite.execution.program import compile_graph
from graphrewrite.lowering import from_onnx
from graphrewrite.memory import schedule
from graphrewrite.rules import eliminate_independent_nodes
from tests.benchmarks.memory_peer import status


def main(model: str, frames: str) -> None:
    batch = int(frames)
    graph = rewrite(from_onnx(onnx.load(model)), [eliminate_independent_nodes])
    shapes = {name: graph.result_type(name).shape for name in graph.inputs}
    random = np.random.default_rng(0)
    x = {name: random.standard_normal((batch, *shape[1:]), dtype=np.float32) for name, shape in shapes.items()}
    plan = schedule(graph).peak * batch  # a size without a number counts as 1, and so do those of one frame
    compile_graph(graph)(x)
    program = compile_graph(graph)
    weights = sum(array.nbytes for results in program.constants.values() for array in results)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = status("VmRSS")
    program(x)
    resident = status("VmHWM") - before
    program = compile_graph(graph)  # afterwards, since tracing leaves holes in the heap
    tracemalloc.start()
    program(x)
    allocated = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(plan, weights, allocated, resident)


if __name__ == "__main__":
    main(*sys.argv[1:])
