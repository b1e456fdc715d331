"""The integer level against onnxruntime's floats, one thread each."""

from __future__ import annotations

import numpy as np
import onnxruntime
from threadpoolctl import threadpool_limits

from graphrewrite import evaluate
from graphrewrite.execution.program import compile_graph
from graphrewrite.lowering import partition
from tests.benchmarks.figures import NETWORKS, fastest, integer_graph, path_of, print_table, samples_of, scaled

BATCHES = scaled((1,), (1, 32, 1024))
HEADS = (
    "network, batch",
    "onnxruntime µs",
    "integers µs",
    "ratio",
    "goal",
    "with conversions µs",
    "compile µs",
    "evaluate µs",
    "functions µs",
)


def test_integers_against_onnxruntime():
    """The program of the integer part; then with conversion from and to floats; then compiled anew each time."""
    rows = []
    for network in scaled(NETWORKS[:1], NETWORKS):
        graph = integer_graph(network)
        parts = partition(graph)
        whole, core = compile_graph(graph), compile_graph(parts.core)
        session = _session(network)
        (name,) = graph.inputs
        for batch in BATCHES:
            floats = {name: samples_of(network, batch)}
            fixed = parts.encode(floats)
            found, wanted = core(fixed), _by_functions(parts.core, fixed)
            assert all(np.array_equal(found[n], wanted[n]) for n in wanted)
            with threadpool_limits(1):
                theirs, integers, converted, compiling, evaluating, plain = fastest(
                    lambda session=session, floats=floats: session.run(None, floats),
                    lambda core=core, fixed=fixed: core(fixed),
                    lambda whole=whole, floats=floats: whole(floats),
                    lambda parts=parts: compile_graph(parts.core),
                    lambda parts=parts, fixed=fixed: evaluate(parts.core, fixed),
                    lambda parts=parts, fixed=fixed: _by_functions(parts.core, fixed),
                )
            goal = "<= 2" if (network, batch) == ("digits", 1024) else ""
            times = [t * 1e6 for t in (converted, compiling, evaluating, plain)]
            rows.append((f"{network}, {batch}", theirs * 1e6, integers * 1e6, integers / theirs, goal, *times))
    print_table("Integer level, exact, against onnxruntime in float32; one thread", HEADS, rows)


def _session(network: str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path_of(network), options, providers=["CPUExecutionProvider"])


def _by_functions(graph, inputs):
    """Each node by its op's function, without instructions."""
    values = dict(inputs)
    for node in graph.in_order():
        if node not in values:
            arrays = [values[o.node] for o in graph.operands(node)]
            values[node] = graph.op(node).function(*arrays, **graph.attributes(node))
    return {node: values[node] for node in graph.outputs}
