"""Cycle prediction in numpy against GHDL's simulation."""

from __future__ import annotations

import shutil
import time

import numpy as np
import pytest

from graphrewrite import Graph, hdl, op
from graphrewrite.lowering import quantise, to_integer, to_stream
from graphrewrite.types import Tensor
from tests.benchmarks.figures import NETWORKS, fastest, integer_graph, print_table, scaled

FEW, MANY, BATCH = scaled((1, 2, 16), (5, 45, 1024))
HEADS = ("network, multipliers a layer", "cycles/image", "GHDL images/s", "predicted images/s", "ratio", "goal")


@pytest.mark.skipif(shutil.which("ghdl") is None, reason="GHDL is missing (Debian: apt-get install ghdl-mcode)")
def test_prediction_against_ghdl():
    """GHDL's rate is that between two lengths of test, so that analysis and elaboration do not count against it."""
    rows = []
    for network in scaled(NETWORKS[:1], NETWORKS):
        integer = integer_graph(network)
        for parallelism in scaled((16,), (16, "full")):
            stream = to_stream(integer, parallelism=parallelism)
            gates = {port: [1] for port in (*stream.inputs, *stream.outputs)}
            designs = [hdl.emit(stream, frames=frames, gates=gates) for frames in (FEW, MANY)]
            # The least of two: a test of few frames is short, and its difference to a longer one would be noise.
            few, many = (min(hdl.cosimulate(design).seconds for _ in range(2)) for design in designs)
            rate = (MANY - FEW) / max(many - few, 1e-3)
            (predicting,) = fastest(lambda stream=stream: hdl.predict(stream, BATCH))
            interval = int(hdl.predict(stream, 8).interval)
            rows.append(
                (f"{network}, {parallelism}", interval, rate, BATCH / predicting, BATCH / predicting / rate, ">= 1000")
            )
    print_table(f"Cycle prediction of {BATCH} images, from the graph on, against GHDL", HEADS, rows)


def convolutions(size: int, channels: tuple[int, ...]) -> Graph:
    """Convolutions of 3 x 3, each with a pooling where the channels change, and a dense layer; integers."""
    random = np.random.default_rng(0)
    g = Graph("convolutions")
    x, depth = g.input("x", Tensor("f32", ("N", 3, size, size))), 3
    for wanted in channels:
        weights = random.normal(0, (9 * depth) ** -0.5, (wanted, depth, 3, 3)).astype(np.float32)
        x = op.relu(op.conv(x, weights, np.zeros(wanted, np.float32), pads=(1, 1, 1, 1)))
        x, size = (op.max_pool(x, kernel=(2, 2), strides=(2, 2)), size // 2) if wanted != depth else (x, size)
        depth = wanted
    weights = random.normal(0, 0.02, (10, depth * size**2)).astype(np.float32)
    g.output("y", op.linear(op.flatten(x), weights, np.zeros(10, np.float32)))
    return to_integer(quantise(g, random.normal(size=(4, *g.result_type("x").shape[1:])).astype(np.float32)))


def test_choosing_buffers_against_one_prediction():
    rows = []
    for size in scaled((8,), (8, 16, 32)):
        integer = convolutions(size, scaled((4, 4), (16, 16, 32, 32, 64)))
        start = time.process_time()
        stream = to_stream(integer, max_multipliers=32)
        chosen = time.process_time() - start
        start = time.process_time()
        interval = hdl.predict(stream, BATCH).interval
        depths = [stream.nodes[n]["depth"] for n in stream if stream.nodes[n]["type"] == "fifo"]
        rows.append((f"{size} x {size}", int(interval), str(depths), chosen, chosen / (time.process_time() - start)))
    heads = ("image", "cycles/image", "depths of fifos", "CPU seconds", "predictions")
    print_table("Folding six layers to 32 multipliers, buffers included, as a multiple of one prediction", heads, rows)
