"""A step of training, batch 64 and Adam, beside PyTorch's on one thread where it is installed.

Time is that of the processor, of steps that take turns. The goal is at most 3 times PyTorch's.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from graphrewrite import Graph, Tensor, op
from graphrewrite.hierarchy import layers, sequential
from graphrewrite.learning import Adam, parameters
from graphrewrite.learning.losses import cross_entropy
from graphrewrite.learning.samples import Samples
from graphrewrite.learning.trainer import Programs, Trainer
from tests.benchmarks.figures import print_table, scaled

BATCH, COUNT = 64, 256
ROUNDS = scaled(1, 15)
GATES = {"rnn": 1, "gru": 3, "lstm": 4}
RECURRENT = [("lstm", 16, 32), ("lstm", 64, 64), ("lstm", 28, 128), ("gru", 16, 32), ("gru", 64, 64), ("rnn", 16, 32)]
"""Kind, steps and hidden size."""


def _weights(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(scale=0.1, size=shape).astype(np.float32)


def mlp() -> Graph:
    parts = (layers.linear(256), op.relu, layers.linear(128), op.relu, layers.linear(10))
    return sequential(*parts).graph(Tensor("f32", ("N", 784)))


def mlp_of(torch: ModuleType) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))


def cnn() -> Graph:
    graph = Graph("cnn")
    x = graph.input("x", Tensor("f32", ("N", 1, 28, 28)))
    for inner, outer in ((1, 8), (8, 16)):
        x = op.relu(op.conv(x, _weights(outer, inner, 3, 3), _weights(outer), pads=(1, 1, 1, 1)))
        x = op.max_pool(x, kernel=2, strides=2)
    graph.output("y", op.linear(op.flatten(x), _weights(10, 784), _weights(10)))
    return graph


def cnn_of(torch: ModuleType) -> Any:
    nn = torch.nn
    parts = [
        part
        for inner, outer in ((1, 8), (8, 16))
        for part in (nn.Conv2d(inner, outer, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
    ]
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(784, 10))


def recurrent(kind: str, steps: int, size: int) -> Graph:
    graph, rows = Graph(kind), GATES[kind] * size
    x = op.transpose(graph.input("x", Tensor("f32", ("N", steps, 12))), perm=(1, 0, 2))
    how = {"linear_before_reset": True} if kind == "gru" else {}  # as PyTorch has it
    _, last, *_ = getattr(op, kind)(x, _weights(1, rows, 12), _weights(1, rows, size), _weights(1, 2 * rows), **how)
    graph.output("y", op.linear(op.squeeze(last, axes=(0,)), _weights(10, size), _weights(10)))
    return graph


def recurrent_of(torch: ModuleType, kind: str, size: int) -> Any:
    layer, head = getattr(torch.nn, kind.upper())(12, size, batch_first=True), torch.nn.Linear(size, 10)
    both = torch.nn.ModuleList([layer, head])
    both.forward = lambda x: head(layer(x)[0][:, -1])
    return both


NETWORKS: dict[str, tuple[Callable[[], Graph], Callable[[ModuleType], Any]]] = {
    "MLP 784-256-128-10": (mlp, mlp_of),
    "CNN 1x28x28": (cnn, cnn_of),
    **{
        f"{kind.upper()}, {steps} steps, {size}": (
            lambda kind=kind, steps=steps, size=size: recurrent(kind, steps, size),
            lambda torch, kind=kind, size=size: recurrent_of(torch, kind, size),
        )
        for kind, steps, size in RECURRENT
    },
}


def our_step(graph: Graph, x: np.ndarray, labels: np.ndarray) -> Callable[[], object]:
    given = Samples({graph.inputs[0]: x}, labels)
    programs = Programs.of(graph, cross_entropy, labels, parameters(graph), (), None)
    trainer = Trainer(programs, Adam(), given, None, BATCH, 0, None)
    state = trainer.start()

    def step() -> None:
        nonlocal state
        state = trainer.step(state)

    return step


def their_step(torch: ModuleType, module: Any, x: np.ndarray, labels: np.ndarray) -> Callable[[], object]:
    optimiser, loss = torch.optim.Adam(module.parameters()), torch.nn.CrossEntropyLoss()
    x, labels = torch.tensor(x[:BATCH]), torch.tensor(labels[:BATCH])

    def step() -> None:
        optimiser.zero_grad()
        loss(module(x), labels).backward()
        optimiser.step()

    return step


def _cpu(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


@pytest.mark.filterwarnings("ignore")
def test_steps_of_training() -> None:
    try:
        import torch
    except ImportError:
        torch = None
    else:
        torch.set_num_threads(1)
    rows = []
    with threadpool_limits(1):
        for name, (net, module) in NETWORKS.items():
            graph, rng = net(), np.random.default_rng(0)
            x = rng.normal(size=(COUNT, *graph.result_type(graph.inputs[0]).shape[1:])).astype(np.float32)
            labels = rng.integers(0, 10, COUNT)
            start = time.process_time()
            steps = [our_step(graph, x, labels)]
            built = time.process_time() - start
            if torch is not None:
                steps.append(their_step(torch, module(torch), x, labels))
            for _ in range(scaled(1, 3)):
                for step in steps:
                    step()
            spent = [[_cpu(step) for step in steps] for _ in range(ROUNDS)]
            own, *theirs = (statistics.median(each) for each in zip(*spent, strict=True))
            rows.append([name, built, own * 1e3, *([theirs[0] * 1e3, own / theirs[0]] if theirs else ["-", "-"])])
    print_table("A step of training, batch 64", ["", "built s", "ms", "PyTorch ms", "ratio"], rows)
