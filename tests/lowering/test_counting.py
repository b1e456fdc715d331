"""Products of bits and ternary numbers: counted without multipliers, and signs carried as one bit."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, Stream, Tensor, evaluate, op, rewrite
from graphrewrite.hdl import cosimulate, emit
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.netlist import netlist
from graphrewrite.lowering import FoldingReport, partition, to_integer, to_stream
from graphrewrite.lowering.streaming.multiplier_free import count_agreements

SHAPE = (3, 5, 6)


def weights(*shape: int, seed: int = 0, zeros: bool = False) -> np.ndarray:
    return np.random.default_rng(seed).choice([-1, 0, 1] if zeros else [-1, 1], shape)


def network() -> Graph:
    """Binary convolutions, of groups, depthwise, with a border of zeros; a dense layer of signs of a frame."""
    g, random = Graph("binary"), np.random.default_rng(3)
    x = op.bipolar_quant(g.input("x", Tensor("f32", ("N", *SHAPE))), np.float32(1))
    for seed, (channels, border, groups) in enumerate([(4, 0, 1), (8, 0, 2), (8, 0, 8), (6, 1, 1)]):
        w = weights(channels, x.type.shape[1] // groups, 2, 2, seed=seed).astype(np.float32)
        given = {"pads": (border,) * 4, "strides": (1, 1), "dilations": (1, 1), "groups": groups}
        x = op.conv(x, w, np.zeros(channels, np.float32), **given)
        gains, terms = random.normal(size=(channels, 1, 1)), random.normal(size=(channels, 1, 1))
        x = op.bipolar_quant(op.add(op.mul(x, gains.astype(np.float32)), terms.astype(np.float32)), np.float32(1))
    x = op.reshape(x, shape=(-1, int(np.prod(x.type.shape[1:]))))
    last = op.linear(x, weights(5, x.type.shape[1], seed=9, zeros=True).astype(np.float32), np.zeros(5, np.float32))
    g.output("y", op.bipolar_quant(last, np.float32(1)))
    return g


@pytest.fixture(scope="module")
def integer() -> Graph:
    return to_integer(network())


def counts(stream: Graph) -> list[tuple[str, str]]:
    found = [stream.attributes(n) for n in stream.in_order() if stream.nodes[n]["type"] == "popcount"]
    return [(each["coding"], each["over"]) for each in found]


@pytest.mark.parametrize("options", [{}, {"parallelism": 4, "stages": 3}, {"interval": 200}])
def test_a_binary_network_has_no_multiplier(integer: Graph, options: dict[str, int]) -> None:
    reports: list[FoldingReport] = []
    stream, parts = to_stream(integer, reports=reports, **options), partition(integer)
    kinds = [stream.nodes[n]["type"] for n in stream.in_order()]
    assert "matvec" not in kinds
    on_positions = [("bipolar", "position")] * 3 + [("ternary", "position")]
    assert counts(stream) == [*on_positions, ("bipolar", "frame")]
    assert [layer.multipliers for layer in reports[0].layers.values()] == [0] * 5
    if "parallelism" in options:
        layers = [p.site for p in netlist(stream).instances.values() if p.component.op.name == "popcount"]
        assert all(site.operands[0].lanes * site.results[0].lanes <= 4 for site in layers)
        assert all(site.attributes["stages"] == 3 for site in layers)
    x = {"x": np.random.default_rng(1).normal(size=(5, *SHAPE)).astype(np.float32)}
    found, wanted = parts.decode(evaluate(stream, parts.encode(x))), evaluate(network(), x)
    np.testing.assert_array_equal(found["y"], wanted["y"])


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_a_count_has_the_stages_of_the_product_as_far_as_it_has_any(stages: int) -> None:
    g = Graph("g")
    x = g.input("x", Stream(FixedPoint(False, 1), (40,), 4))
    shape = {"weights": weights(3, 40), "bias": [1, 2, 3], "element": FixedPoint(True, 9), "lanes": 1}
    g.output("y", g.add(matvec, [x], {**shape, "stages": stages}))
    made = rewrite(g, [count_agreements])
    (found,) = (made.attributes(n) for n in made if made.nodes[n]["type"] == "popcount")
    assert (found["stages"], found["lanes"], *found["bias"]) == (min(stages, 3), 1, 1, 2, 3)
    bits = np.random.default_rng(0).integers(0, 2, (5, 40))
    np.testing.assert_array_equal(evaluate(made, bits)["y"], evaluate(g, bits)["y"])


@pytest.mark.ghdl
def test_it_equals_ghdl(integer: Graph) -> None:
    report = cosimulate(emit(to_stream(integer, parallelism=12, stages=2), frames=2))
    assert report.equal, str(report)
