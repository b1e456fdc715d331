"""Evaluation in floats against onnxruntime, onnx's reference evaluator and Aidge's CPU backend, one thread each.

Figures are medians of ratios of times that were taken one right after the other; of the second table, ratios of the
least times that the processor spent. Memory is the growth of the resident set, each engine in a process of its own that
has computed another network before: from before a model is loaded to its results ("in all", with weights), and of the
evaluation alone, after one of a single frame; and the peak of what is allocated in terms of the plan and the weights.
To have Aidge in the table, install it in any environment:

    pip install aidge-core aidge-backend-cpu aidge-onnx
    make bench PEERS=that/environment/bin/python
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator
from threadpoolctl import threadpool_limits

from graphrewrite import evaluate
from graphrewrite.execution.program import Program, compile_graph
from graphrewrite.execution.program.kernel import Kernel
from graphrewrite.lowering import from_onnx
from tests.benchmarks.figures import print_table, scaled
from tests.benchmarks.small_networks import BATCHES, LARGER, NETWORKS, inputs_of, resnet

PROGRAM = Path(__file__).with_name("aidge_peer.py")
MEMORY = Path(__file__).with_name("memory_peer.py")
HEADS = (
    "network, batch",
    "program µs",
    "onnxruntime 1",
    "goal",
    "evaluate() 1",
    "compile 1",
    "reference, times",
    "goal",
    "Aidge, times",
    "goal",
)
MOST = {1: "<= 10", 1024: "<= 4"}
GOALS = {
    ("MLP", 1): (1.5, 3.0),
    ("MLP", 64): (1.3, 1.5),
    ("CNN", 1): (3.0, 4.0),
    ("CNN", 64): (1.3, 1.5),
    ("DS-CNN", 1): (4.0, 5.0),
    ("DS-CNN", 64): (2.0, 2.2),
    ("MobileNetV2 x0.5", 1): (4.0, 5.0),
    ("MobileNetV2 x0.5", 64): (3.0, 3.0),
    ("transformer", 1): (2.5, 3.0),
    ("transformer", 64): (2.5, 2.5),
}
"""How many times the processor time of onnxruntime a program may take, and `evaluate` where it is called again."""
GOAL_HEADS = (
    "network, batch",
    "onnxruntime µs",
    "program, times",
    "goal",
    "evaluate again",
    "goal",
    "first call",
    "in all MiB",
    "onnxruntime 1",
    "goal",
    "alone MiB",
    "onnxruntime 1",
    "plan + weights 1",
    "goal",
)
SECONDS = scaled(0.01, 2.0)
"""For all of one row."""

Run = Callable[[], float]


def timed(function: Callable[[], object]) -> Run:
    def run() -> float:
        start = time.perf_counter()
        function()
        return time.perf_counter() - start

    return run


def ratios(ours: Run, others: dict[str, Run], seconds: float = SECONDS) -> tuple[float, dict[str, float]]:
    """Our time, and the medians of the others' times in terms of ours; slow ones run less often."""
    own: list[float] = []
    found: dict[str, list[float]] = {name: [] for name in others}
    spent = dict.fromkeys(others, 0.0)
    for run in (ours, *others.values()):
        run()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(own) < scaled(1, 3):
        for name, run in others.items():
            if len(found[name]) >= scaled(1, 3) and spent[name] > seconds / len(others):
                continue
            before, theirs, after = ours(), run(), ours()
            own += (before, after)
            spent[name] += theirs + before + after
            found[name].append(theirs / min(before, after))
        if all(spent[name] > seconds / len(others) for name in others):
            break
    return statistics.median(own), {name: statistics.median(times) for name, times in found.items()}


def session_of(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def aidge(
    python: str, model: onnx.ModelProto, x: np.ndarray, folder: Path, stack: ExitStack
) -> tuple[Run, Path] | None:
    """A run of Aidge in a process of its own, and where its results lie; None if it is not installed."""
    onnx.save(model, folder / "model.onnx")
    np.save(folder / "x.npy", x)
    command = [python, str(PROGRAM), str(folder / "model.onnx"), str(folder / "x.npy"), str(folder / "y.npy")]
    peer = stack.enter_context(
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
    )
    assert peer.stdout is not None
    if peer.stdout.readline().strip() != "ready":
        return None

    def run() -> float:
        assert peer.stdin is not None
        assert peer.stdout is not None
        print(file=peer.stdin, flush=True)
        return float(peer.stdout.readline())

    return run, folder / "y.npy"


@pytest.mark.parametrize("batch", scaled(BATCHES[:1], BATCHES))
@pytest.mark.parametrize("network", NETWORKS)
def test_networks(network: str, batch: int, peers: str, tmp_path: Path, rows: list) -> None:
    model = NETWORKS[network]()
    inputs = inputs_of(model, batch)
    graph, session, reference = from_onnx(model), session_of(model), ReferenceEvaluator(model)
    program = compile_graph(graph)
    with threadpool_limits(1), ExitStack() as stack:
        (wanted,) = session.run(None, inputs)
        for found in (program(inputs), evaluate(graph, inputs)):
            np.testing.assert_allclose(*found.values(), wanted, rtol=1e-4, atol=1e-5)
        others = {
            "onnxruntime": timed(lambda: session.run(None, inputs)),
            "evaluate": timed(lambda: evaluate(graph, inputs)),
            "compile": timed(lambda: compile_graph(graph)),
            "reference": timed(lambda: reference.run(None, inputs)),
        }
        peer = aidge(peers, model, inputs["x"], tmp_path, stack)
        if peer is not None:
            others["aidge"], results = peer
            others["aidge"]()
            np.testing.assert_allclose(np.load(results), wanted, rtol=1e-4, atol=1e-5)
        own, found = ratios(timed(lambda: program(inputs)), others)
    rows.append(
        (
            f"{network}, {batch}",
            own * 1e6,
            1 / found["onnxruntime"],
            MOST.get(batch, ""),
            found["evaluate"],
            found["compile"],
            found["reference"],
            ">= 25" if network == "CNN" else "",
            found.get("aidge", "not installed"),
            "> 1",
        )
    )


@pytest.mark.parametrize(("network", "batch"), scaled(list(GOALS)[::5], list(GOALS)))
def test_goals(network: str, batch: int, tmp_path: Path, goal_rows: list) -> None:
    model = {**NETWORKS, **LARGER}[network]()
    inputs = inputs_of(model, batch)
    graph, session = from_onnx(model), session_of(model)
    program = compile_graph(graph)
    with threadpool_limits(1):
        (wanted,) = session.run(None, inputs)
        copies = [graph.copy() for _ in range(scaled(1, 5))]
        first = min(spent(lambda g=g: evaluate(g, inputs)) for g in copies)
        for found in (program(inputs), evaluate(graph, inputs), evaluate(graph, inputs)):
            np.testing.assert_allclose(*found.values(), wanted, rtol=1e-3, atol=1e-4)
        theirs, ours, again = least(
            lambda: session.run(None, inputs), lambda: program(inputs), lambda: evaluate(graph, inputs)
        )
        tracemalloc.start()
        fresh = compile_graph(graph)
        fresh(inputs)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    onnx.save(model, tmp_path / "model.onnx")
    onnx.save(resnet(), tmp_path / "other.onnx")
    np.save(tmp_path / "x.npy", inputs["x"])
    own, other = (memory_of(engine, tmp_path) for engine in ("graphrewrite", "onnxruntime"))
    most, quick = GOALS[network, batch]
    large = batch > 1
    goal_rows.append(
        (
            f"{network}, {batch}",
            theirs / 1e3,
            ours / theirs,
            f"<= {most}",
            again / theirs,
            f"<= {quick}",
            first / theirs,
            own[0] / 2**20,
            own[0] / other[0],
            "<= 1.2",
            own[1] / 2**20,
            own[1] / max(other[1], 1) if large else "",
            peak / planned(program, inputs) if large else "",
            "<= 1.1" if large else "",
        )
    )


def spent(function: Callable[[], object]) -> int:
    start = time.process_time_ns()
    function()
    return time.process_time_ns() - start


def least(*functions: Callable[[], object]) -> list[int]:
    """The least processor time of each function in ns, taken in turn."""
    found = [spent(function) for function in functions]
    end = time.process_time() + 2 * SECONDS
    while time.process_time() < end:
        found = [min(a, spent(function)) for a, function in zip(found, functions, strict=True)]
    return found


def planned(program: Program, inputs: dict[str, np.ndarray]) -> int:
    """The bytes that a program needs by its plan: weights, and the greatest sum of what is alive at a time."""
    weights = sum(array.nbytes for results in program.constants.values() for array in results)
    values = {**program.constants, **{name: (array,) for name, array in inputs.items()}}
    most, batch = 0, len(next(iter(inputs.values())))
    block = 0  # which kernels use one after the other, and keep for the next run
    steps, _ = program._steps(inputs)
    for step, dead in steps:
        step.run(values)
        if isinstance(step, Kernel):
            block = max(block, step.memory.size * step._chunk(batch))
        alive = {id(a): a.nbytes for node, results in values.items() if node not in program.constants for a in results}
        most = max(most, block + sum(alive.values()) - sum(array.nbytes for array in inputs.values()))
        for node in dead:
            values.pop(node, None)
    return weights + most


def memory_of(engine: str, folder: Path) -> list[int]:
    """The bytes by which the resident set of a process grows with a model, and in an evaluation of it alone."""
    files = [str(folder / name) for name in ("model.onnx", "x.npy", "other.onnx")]
    path = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": path}
    command = [sys.executable, str(MEMORY), engine, *files]
    return list(map(int, subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout.split()))


@pytest.fixture(scope="module")
def goal_rows() -> list:
    """The rows of the second table."""
    found: list = []
    yield found
    print_table("Evaluation again and again, in floats: processor time and memory; one thread", GOAL_HEADS, found)


@pytest.fixture(scope="module")
def rows() -> list:
    """The rows of the table, which is printed when all of them are there."""
    found: list = []
    yield found
    print_table("Evaluation, in floats; one thread", HEADS, found)
