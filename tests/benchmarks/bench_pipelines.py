"""The library's own rules on networks: a deep one as exporters write it, and those that are shipped."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from graphrewrite import Graph, rewrite, trace
from graphrewrite.lowering import from_onnx, quantise, to_integer, to_stream
from graphrewrite.lowering.streaming import stream_lowering
from graphrewrite.rules import FOLDING, RULES
from tests.benchmarks.bench_rewrite import Row, measure
from tests.benchmarks.figures import MODELS, NETWORKS, path_of, print_table, scaled
from tests.benchmarks.small_networks import exported_resnet, inputs_of

HEADS = ("rules, network", "nodes", "steps", "ms", "µs/step", "x", "goal")


def test_rules_of_the_library(monkeypatch):
    """Time of the processor, the least of several rounds; x is that of a rewrite by hand, as in the chain."""
    by_hand = measure(Row("limits", "dictionaries", "by hand"), "chain", scaled(100, 10_000), sys.executable)
    rows = []
    for name, network, job, steps, goal in jobs(monkeypatch):
        seconds = least(job)
        each = seconds / max(steps, 1) * 1e6
        rows.append((name, len(network), steps, seconds * 1e3, each, each / by_hand["microseconds"], goal))
    print_table("Rules of the library", HEADS, rows)


def jobs(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Graph, Callable[[], object], int, str]]:
    """Each job with its name, its network, the number of its steps and what it is to reach."""
    deep = from_onnx(exported_resnet(scaled(1, 107)))
    networks = {f"ResNet of {len(deep):,}": deep, **{name: from_onnx(path_of(name)) for name in NETWORKS}}
    for name, network in networks.items():
        for rules, called in ((RULES, "RULES"), (RULES + FOLDING, "RULES + FOLDING")):
            goal = "<= 250 ms" if network is deep and rules is RULES else ""
            yield f"{called}, {name}", network, lambda g=network, r=rules: rewrite(g, r), steps_of(network, rules), goal
    for name, quantised in quantised_networks():
        steps: list[object] = []
        integer = to_integer(quantised, steps=steps)
        yield f"to_integer, {name}", quantised, lambda g=quantised: to_integer(g), len(steps), ""
        core, rules = stream_rules(integer, monkeypatch)
        job = lambda g=core, r=rules: rewrite(g, r)  # noqa: E731
        yield f"rules of to_stream, {name}", core, job, steps_of(core, rules), ""


def quantised_networks() -> Iterator[tuple[str, Graph]]:
    for name in NETWORKS:
        with np.load(MODELS / f"{name}.npz") as data:
            yield name, quantise(from_onnx(path_of(name)), data["calibration_x"][:64])
    model = exported_resnet(scaled(1, 12))
    shallow = from_onnx(model)
    yield f"ResNet of {len(shallow):,}", quantise(shallow, inputs_of(model, 32), fit=False, equalise=False)


def steps_of(graph: Graph, rules: tuple) -> int:
    return len(trace(graph, rules).steps)


def stream_rules(integer: Graph, monkeypatch: pytest.MonkeyPatch) -> tuple[Graph, tuple]:
    """What `to_stream` rewrites, and by which rules."""
    given: list[tuple[Graph, tuple]] = []

    class CaughtError(Exception):
        """Ends the lowering: what follows is no rewriting."""

    def recorded(graph, rules, steps):
        given.append((graph, rules))
        raise CaughtError

    with monkeypatch.context() as patched:
        patched.setattr(stream_lowering, "recorded", recorded)
        with pytest.raises(CaughtError):
            to_stream(integer)
    return given[0]


def least(job: Callable[[], object]) -> float:
    times = []
    end = time.perf_counter() + scaled(0, 2)
    while len(times) < scaled(1, 7) or time.perf_counter() < end:
        gc.collect()
        start = time.process_time()
        job()
        times.append(time.process_time() - start)
    return min(times)
