"""Composite ops against the parts that `RECOGNITION` makes them of: what is recognised is to be no slower.

Figures are medians of ratios of CPU times that were taken one right after the other, of the parts in terms of the op:
above 1 the op is faster. Both are evaluated in f32, by a compiled program and by `evaluate`, which compiles them first.

A gelu by the error function is about as fast as its parts: it keeps the digits that 1 + erf loses far below zero.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, op, rewrite
from graphrewrite.execution.program import compile_graph
from graphrewrite.rules import RULES
from graphrewrite.rules.recognition import RECOGNITION
from tests.benchmarks.figures import print_table, scaled

SHAPES: tuple[tuple[int, ...], ...] = scaled(((1, 8, 4, 4),), ((1, 1000), (8, 128, 768), (1, 64, 56, 56)))
SECONDS = scaled(0.0, 0.3)
"""For one cell of the table."""


def _number(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def _softmax(x: Any, exponent: Any) -> Any:
    shares = op.exp(exponent)
    return op.div(shares, op.reduce_sum(shares, axes=(-1,)))


def _less_maximum(x: Any) -> Any:
    return op.sub(x, op.reduce_max(x, axes=(-1,)))


def _log_sum_exp(x: Any) -> Any:
    return op.log(op.reduce_sum(op.exp(x), axes=(-1,)))


def _gelu(x: Any, curve: Any) -> Any:
    return op.mul(op.mul(x, op.add(curve, _number(1))), _number(0.5))


def _through_tanh(x: Any) -> Any:
    cube = op.mul(op.mul(x, x), x)
    return op.tanh(op.mul(op.add(x, op.mul(cube, _number(0.044715))), _number((2 / np.pi) ** 0.5)))


def _plus_three(x: Any) -> Any:
    return op.clip(op.add(x, _number(3)), low=0.0, high=6.0)


def _exp_of_negative(x: Any) -> Any:
    return op.add(op.exp(op.neg(x)), _number(1))


def _rms(x: Any, axes: tuple[int, ...] = (-1,)) -> Any:
    mean = op.reduce_mean(op.mul(x, x), axes=axes)
    return op.div(x, op.sqrt(op.add(mean, _number(1e-5))))


def _centred(x: Any, axes: tuple[int, ...] = (-1,)) -> Any:
    return op.sub(x, op.reduce_mean(x, axes=axes))


def _per_entry(x: Any) -> np.ndarray:
    return np.linspace(0.05, 0.5, x.shape[-1], dtype=np.float32)


def _per_channel(x: Any) -> np.ndarray:
    return np.linspace(0.05, 0.5, x.shape[1], dtype=np.float32).reshape(-1, *[1] * (len(x.shape) - 2))


def _instances(x: Any) -> Any:
    axes = tuple(range(2, len(x.shape)))
    return op.add(op.mul(_rms(_centred(x, axes), axes), _per_channel(x)), _per_channel(x))


def _groups(x: Any) -> Any:
    """As PyTorch exports it, which has an op for instances."""
    ones = np.ones(8, np.float32)
    norm = op.instance_norm(op.reshape(x, shape=(x.shape[0], 8, -1)), ones, 0 * ones)
    return op.add(op.mul(op.reshape(norm, shape=x.shape), _per_channel(x)), _per_channel(x))


def _shuffled(x: Any) -> Any:
    batch, channels, *positions = x.shape
    grouped = op.reshape(x, shape=(batch, 4, channels // 4, *positions))
    return op.reshape(op.transpose(grouped, perm=(0, 2, 1, *range(3, len(grouped.shape)))), shape=x.shape)


PARTS: dict[str, Callable[[Any], Any]] = {
    "softmax": lambda x: _softmax(x, _less_maximum(x)),
    "softmax, less safe": lambda x: _softmax(x, x),
    "log_softmax": lambda x: op.sub(less := _less_maximum(x), _log_sum_exp(less)),
    "reduce_log_sum_exp": _log_sum_exp,
    "reduce_l1": lambda x: op.reduce_sum(op.abs(x), axes=(-1,)),
    "reduce_sum_square": lambda x: op.reduce_sum(op.mul(x, x), axes=(-1,)),
    "reduce_l2": lambda x: op.sqrt(op.reduce_sum(op.mul(x, x), axes=(-1,))),
    "gelu": lambda x: _gelu(x, op.erf(op.div(x, _number(2**0.5)))),
    "gelu, tanh": lambda x: _gelu(x, _through_tanh(x)),
    "sigmoid": lambda x: op.div(_number(1), _exp_of_negative(x)),
    "silu": lambda x: op.mul(x, op.sigmoid(x)),
    "silu, of exp": lambda x: op.div(x, _exp_of_negative(x)),
    "softplus": lambda x: op.log(op.add(op.exp(x), _number(1))),
    "mish": lambda x: op.mul(x, op.tanh(op.log(op.add(op.exp(x), _number(1))))),
    "softsign": lambda x: op.div(x, op.add(op.abs(x), _number(1))),
    "hard_sigmoid": lambda x: op.clip(op.add(op.mul(x, _number(0.2)), _number(0.5)), low=0.0, high=1.0),
    "hard_swish": lambda x: op.mul(op.mul(x, _plus_three(x)), _number(1 / 6)),
    "prelu": lambda x: op.add(op.relu(x), op.mul(op.minimum(x, _number(0)), _per_entry(x))),
    "leaky_relu": lambda x: op.maximum(x, op.mul(x, _number(0.1))),
    "relu": lambda x: op.maximum(x, _number(0)),
    "clip": lambda x: op.minimum(op.maximum(x, _number(0)), _number(6)),
    "rms_norm": lambda x: op.mul(_rms(x), _per_entry(x)),
    "layer_norm": lambda x: op.add(op.mul(_rms(_centred(x)), _per_entry(x)), _per_entry(x)),
    "instance_norm": _instances,
    "group_norm": _groups,
    "channel_shuffle": _shuffled,
}
"""How exporters write each op."""
OF_CHANNELS = {"instance_norm", "group_norm", "channel_shuffle"}


def ratio_of_times(parts: Callable[[], object], whole: Callable[[], object]) -> float:
    """The median of the CPU times of the parts in terms of those of the whole, in turn."""
    found = []
    for function in (parts, whole):
        function()
    end = time.perf_counter() + SECONDS
    while len(found) < scaled(1, 5) or time.perf_counter() < end:
        times = []
        for function in (parts, whole):
            start = time.process_time()
            function()
            times.append(time.process_time() - start)
        found.append(times[0] / max(times[1], 1e-9))
    return statistics.median(found)


@pytest.mark.parametrize("name", PARTS)
def test_what_is_recognised(name: str, rows: list) -> None:
    cells: list[object] = []
    for shape in SHAPES:
        if name in OF_CHANNELS and len(shape) < 3:
            cells += ["", ""]
            continue
        parts = Graph("parts")
        parts.output("y", PARTS[name](parts.input("x", Tensor("f32", shape))))
        parts = rewrite(parts, RULES)
        whole = rewrite(parts, RECOGNITION)
        assert [n for n in whole if whole.op(n).name == name.partition(",")[0]], whole
        inputs = {"x": np.random.default_rng(0).normal(0, 2, shape).astype(np.float32)}
        np.testing.assert_allclose(evaluate(whole, inputs)["y"], evaluate(parts, inputs)["y"], rtol=1e-4, atol=1e-5)
        for compiled in (partial(compile_graph, instructions=False), lambda graph: partial(evaluate, graph)):
            cells.append(ratio_of_times(*(partial(compiled(graph), inputs) for graph in (parts, whole))))
    rows.append((name, *cells))


@pytest.fixture(scope="module")
def rows() -> list:
    """The rows of the table, which is printed when all of them are there."""
    found: list = []
    yield found
    heads = [f"{how} {list(shape)}" for shape in SHAPES for how in ("program", "evaluate()")]
    print_table("Parts in terms of what is recognised, CPU time in f32", ("op", *heads), found)
