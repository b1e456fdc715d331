"""Evaluation in floats against onnxruntime, onnx's reference evaluator and Aidge's CPU backend, one thread each.

Figures are medians of ratios of times that were taken one right after the other. To have Aidge in the table, install it
in any environment:

    pip install aidge-core aidge-backend-cpu aidge-onnx
    make bench PEERS=that/environment/bin/python
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
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
from graphrewrite.execution.program import compile_graph
from graphrewrite.lowering import from_onnx
from tests.benchmarks.figures import print_table, scaled
from tests.benchmarks.small_networks import BATCHES, NETWORKS, inputs_of

PROGRAM = Path(__file__).with_name("aidge_peer.py")
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


@pytest.fixture(scope="module")
def rows() -> list:
    """The rows of the table, which is printed when all of them are there."""
    found: list = []
    yield found
    print_table("Evaluation, in floats; one thread", HEADS, found)
