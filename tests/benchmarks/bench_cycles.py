"""Cycle prediction in numpy against GHDL's simulation."""

from __future__ import annotations

import shutil

import pytest

from graphrewrite import hdl
from graphrewrite.lowering import to_stream
from tests.benchmarks.figures import NETWORKS, fastest, integer_graph, print_table

FEW, MANY, BATCH = 5, 45, 1024
HEADS = ("network, multipliers a layer", "cycles/image", "GHDL images/s", "predicted images/s", "ratio", "goal")


@pytest.mark.skipif(shutil.which("ghdl") is None, reason="GHDL is missing (Debian: apt-get install ghdl-mcode)")
def test_prediction_against_ghdl():
    """GHDL's rate is that between two lengths of test, so that analysis and elaboration do not count against it."""
    rows = []
    for network in NETWORKS:
        integer = integer_graph(network)
        for parallelism in (16, "full"):
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
