"""Hardware of networks whose batch has any name, and whose other sizes are open."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, op
from graphrewrite.lowering import quantise, to_integer, to_stream
from graphrewrite.lowering.errors import LoweringError

RNG = np.random.default_rng(0)
WEIGHTS = (RNG.standard_normal((3, 18)) * 0.3).astype(np.float32)
SAMPLES = RNG.standard_normal((20, 2, 3, 3)).astype(np.float32)


def network(batch: str) -> Graph:
    g = Graph("g")
    x = op.flatten(op.relu(g.input("x", Tensor("f32", (batch, 2, 3, 3)))))
    g.output("y", op.linear(x, WEIGHTS, np.zeros(3, np.float32)))
    return g


def test_a_batch_may_have_any_name():
    streams = [to_stream(to_integer(quantise(network(batch), {"x": SAMPLES}))) for batch in ("N", "batch", "n_samples")]
    assert streams[0] == streams[1] == streams[2]
    assert evaluate(streams[1], {"x": np.ones((4, 2, 3, 3), np.int8)})["y"].shape == (4, 3)


RELU = """graph g
x = input() : f32[{batch},3{more}]
f = to_fixed(x, element=s8f4)
r = relu(f)
c = from_fixed(r, fraction=4)
y = output(c)
"""


def test_an_open_length_is_refused_where_a_stream_needs_a_number():
    g = Graph.parse(RELU.format(batch="batch", more=",2*seq"))
    with pytest.raises(LoweringError, match=r"'x': .*batch,3,2\*seq\].* a number for seq: call graph.with_sizes"):
        to_stream(g)
    assert "stream s8f4[3,14]" in str(to_stream(g.with_sizes({"seq": 7})))


def test_two_batches_are_refused():
    second = RELU.format(batch="M", more="").partition("\n")[2]
    for name in "xfrcy":
        second = second.replace(f"{name} =", f"{name}2 =").replace(f"({name}", f"({name}2")
    g = Graph.parse(RELU.format(batch="batch", more="") + second)
    with pytest.raises(LoweringError, match="'x2': its batch is M, and that of 'x' is batch"):
        to_stream(g)
    assert to_stream(g.with_sizes({"M": "batch"})).inputs == ("x", "x2")


def test_integers_say_which_sizes_are_open():
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", "seq", 8)))
    g.output("y", op.matmul(op.relu(x), WEIGHTS[:, :8].T.copy()))
    with pytest.raises(LoweringError, match=r"of the inputs' sizes, seq is open: graph.with_sizes\(\{'seq': …\}\)"):
        to_integer(quantise(g, {"x": RNG.standard_normal((9, 5, 8)).astype(np.float32)}))
