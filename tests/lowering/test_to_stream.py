"""Streams: the components give the integers, bit for bit, however they are folded."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Stream, Tensor, evaluate, op, rewrite, verify
from graphrewrite.hdl import predict, simulate
from graphrewrite.hdl.netlist import netlist
from graphrewrite.lowering import LOWER_TO_STREAM, LoweringError, from_onnx, partition, quantise, to_integer, to_stream
from graphrewrite.lowering.streaming.bridge import leave, too_wide
from graphrewrite.lowering.streaming.channelwise import MAP_LANES
from graphrewrite.lowering.streaming.layers import map_conv
from graphrewrite.lowering.streaming.movement import map_selection, split_channels
from graphrewrite.rewriting.traces import Step
from tests.support.lowering_networks import residual_cnn, weights
from tests.support.random_networks import Network, networks, quantised, widths

S8, U4 = FixedPoint(True, 8), FixedPoint(False, 4)
FOLDINGS = st.sampled_from(["full", "folded", 2, 5])


def integers(*made: str, shape: str = "N,3") -> Graph:
    """A graph of mantissas s8f4, given by lines of text that read f and give r."""
    lines = ["graph g", f"x = input() : f32[{shape}]", "f = to_fixed(x, element=s8f4)", *made]
    return Graph.parse("\n".join([*lines, "z = from_fixed(r, fraction=4)", "y = output(z)"]))


def lowered(network: Network, bits: int, per_channel: bool) -> Graph:
    return to_integer(quantised(network, bits, per_channel=per_channel))


def test_a_lane_has_at_most_48_bits() -> None:
    g = Graph("g")
    widest, wider = (g.input(f"x{n}", Tensor(FixedPoint(True, n), ("N", 1))) for n in (48, 49))
    assert too_wide(widest, widest) is None
    assert too_wide(widest, wider) == "a lane has at most 48 bits, and s49f0 has 49"
    assert too_wide(g.input("x", Tensor("i8", ("N", 1)))) == "a lane holds numbers of a fixed-point format, and not i8"


@pytest.mark.parametrize(
    ("gain", "term", "component"),
    [((1 << 29) - 1, 1 << 46, "affine"), (1 << 29, 0, "matvec"), (2, 3 << 46, "matvec")],
)
def test_weights_of_single_channels_are_gains_where_they_fit(gain: int, term: int, component: str) -> None:
    g, byte = Graph("g"), FixedPoint(False, 8)
    x = leave(g.input("x", Stream(byte, (2, 3))))
    w, b = np.full((2, 1, 1), gain), np.full(2, term)
    g.output("y", op.integer_conv(x, w, b, groups=2, element=FixedPoint(False, 48)))
    stream, samples = rewrite(g, [map_conv]), {"x": np.array([[[0, 1, 255], [7, 8, 9]]], byte.dtype)}
    assert component in {stream.nodes[n]["type"] for n in stream}
    np.testing.assert_array_equal(evaluate(stream, samples)["y"], evaluate(g, samples)["y"])


@pytest.mark.parametrize(
    "made",
    [
        lambda x, _: op.slice(x, starts=(1,), ends=(4,), axes=(1,), steps=(2,)),
        lambda x, _: op.slice(x, starts=(0,), ends=(3,), axes=(2,), steps=(2,)),
        lambda x, _: op.concat(x, x, axis=1),
        lambda x, y: op.concat(x, y, axis=1),
        lambda x, y: op.concat(x, y, axis=2),
        lambda x, y: op.integer_add(x, y, element=FixedPoint(True, 9)),
        op.integer_sub,
        op.integer_mul,
        lambda x, _: op.max_pool(x, kernel=(2,)),
        lambda x, _: op.clip(x, low=0, high=math.inf),
        lambda x, _: op.integer_conv(x, np.full((4, 2, 1), 3), np.ones(4, int), groups=2, element=FixedPoint(True, 20)),
        lambda x, _: op.integer_conv(x, np.full((4, 4, 2), 3), np.ones(4, int), element=FixedPoint(True, 20)),
        lambda x, _: op.concat(*op.split(x, sizes=(1, 3), axis=1)[::-1], axis=1),
    ],
)
def test_channels_of_several_beats_are_taken_together(made: Callable[[Any, Any], Any]) -> None:
    g = Graph("g")
    folded, whole = (g.input(name, Stream(S8, (4, 3), lanes)) for name, lanes in (("x", 2), ("y", 4)))
    g.output("z", made(leave(folded), leave(whole)))
    stream = rewrite(rewrite(g, LOWER_TO_STREAM), [split_channels, *LOWER_TO_STREAM])
    samples = {name: weights(2, 4, 3, scale=50.0).astype(np.int8) for name in g.inputs}
    assert stream.nodes[stream.operands("z")[0].node]["type"] == "leave"
    np.testing.assert_array_equal(evaluate(stream, samples)["z"], evaluate(g, samples)["z"])


@pytest.mark.parametrize(
    ("size", "before", "dilation"),
    [(3, 2, 1), (1, 1, 1), (2, 3, 1), (2, 3, 2), (2, 4, 2), (3, 5, 2), (2, 3, 3), (2, 4, 3)],
)
def test_a_first_window_reaches_just_into_the_image(size: int, before: int, dilation: int) -> None:
    g = Graph("g")
    x = op.to_fixed(g.input("x", Tensor("f64", ("N", 1, 12))), element=FixedPoint(True, 8))
    geometry = {"strides": (1,), "pads": (before, 0), "dilations": (dilation,)}
    w = np.arange(1, size + 1).reshape(1, 1, -1)
    sums = op.integer_conv(x, w, np.zeros(1, int), element=FixedPoint(True, 16), **geometry)
    g.output("y", op.from_fixed(sums, fraction=0))
    stream, parts, samples = to_stream(g), partition(g), {"x": weights(5, 1, 12, scale=50.0).astype(float)}
    (kernel,) = (stream.nodes[n]["kernel"] for n in stream if stream.nodes[n]["type"] == "window")
    reach = dilation * (kernel[0] - 1)
    assert reach >= before
    assert kernel[0] == size or reach - dilation < before
    np.testing.assert_array_equal(parts.decode(evaluate(stream, parts.encode(samples)))["y"], evaluate(g, samples)["y"])


@pytest.mark.parametrize(
    ("operands", "shifts", "result", "wanted"),
    [
        ((S8, U4), (0, 0), FixedPoint(True, 9), "s9f0"),
        ((S8, U4), (0, 3), FixedPoint(True, 9), "s9f0"),
        ((S8, U4), (2, 0), FixedPoint(True, 6), "s11f0"),
        ((U4, S8), (5, 1), FixedPoint(True, 8), "s11f0"),
        ((U4, U4), (1, 0), FixedPoint(False, 6), "u6f0"),
        ((U4, U4), (0, 0), FixedPoint(True, 9), "s9f0"),
        ((S8, S8), (39, 0), FixedPoint(True, 48), "s48f0"),
        ((S8, S8), (40, 0), FixedPoint(True, 48), None),
    ],
)  # fmt: skip
def test_a_sum_is_as_wide_as_it_needs(
    operands: tuple[FixedPoint, ...], shifts: tuple[int, int], result: FixedPoint, wanted: str | None
) -> None:
    """What a narrower result does not hold saturates after the sum."""
    g = Graph("g")
    x, y = (leave(g.input(f"x{i}", Stream(element, (3,), 1))) for i, element in enumerate(operands))
    g.output("z", op.integer_add(x, y, element=result, shifts=shifts))
    made = rewrite(g, MAP_LANES)
    sums = [made.attributes(n) for n in made if made.nodes[n]["type"] == "stream_add"]
    assert [(str(each["element"]), tuple(each["shifts"])) for each in sums] == [(wanted, shifts)] * (wanted is not None)


@given(networks(), widths(), st.booleans(), FOLDINGS)
def test_streams_carry_the_integers(network: Network, bits: int, per_channel: bool, parallelism: str | int) -> None:
    integer = lowered(network, bits, per_channel)
    before = integer.copy()
    stream = to_stream(integer, parallelism=parallelism)
    assert integer == before
    verify(stream)
    netlist(stream)
    assert {stream.op(n).level for n in stream} <= {"stream", "structure"}
    parts = partition(integer)
    for scale in (1.0, -99.0):
        x = {"x": network.samples * scale}
        found = parts.decode(evaluate(stream, parts.encode(x)))["y"]
        np.testing.assert_array_equal(found, evaluate(integer, x)["y"])


@given(networks(), widths(), FOLDINGS)
def test_the_simulation_has_the_same_values_and_every_beat_has_a_cycle(
    network: Network, bits: int, parallelism: str | int
) -> None:
    integer = lowered(network, bits, per_channel=False)
    stream = to_stream(integer, parallelism=parallelism)
    given_mantissas = partition(integer).encode({"x": network.samples[:3]})
    found = simulate(stream, given_mantissas)
    for name in stream.outputs:
        np.testing.assert_array_equal(found.values[name], evaluate(stream, given_mantissas)[name])
        assert (np.diff(found.cycles[name].ravel()) > 0).all()
    assert predict(stream, 3).interval >= 1


class TestComponents:
    @pytest.mark.parametrize(
        ("lines", "shape", "kinds"),
        [
            (["r = relu(f)"], "N,3", ["stream_clip"]),
            (["r = clip(f, low=-3, high=5)"], "N,3", ["stream_clip"]),
            (["r = requantise(f, shift=2, element=s4f2)"], "N,3", ["stream_requantise"]),
            (["r = reshape(f, shape=('N', 12))"], "N,3,2,2", ["stream_reshape"]),
            (["r = max_pool(f, kernel=(2, 2))"], "N,3,4,4", ["window", "stream_maximum"]),
            (["r = transpose(f, perm=(0, 3, 1, 2))"], "N,4,4,1", ["stream_reshape"]),
            (["r = arg_max(f)"], "N,3", ["argmax"]),
            (["a = relu(f)", "r = integer_add(f, a, element=s9f4)"], "N,3", ["fork", "stream_clip", "stream_add"]),
            (["r = integer_add(f, f, element=s9f4)"], "N,3", ["fork", "stream_add"]),
        ],
    )
    def test_one_op(self, lines: list[str], shape: str, kinds: list[str]) -> None:
        graph = integers(*lines, shape=shape)
        stream = to_stream(graph)
        found = [stream.nodes[n]["type"] for n in stream.in_order() if stream.op(n).level == "stream"]
        assert [kind for kind in found if kind != "fifo"] == kinds
        sizes = [int(size) for size in shape.split(",")[1:]]
        x = {"x": weights(5, *sizes, scale=3.0)}
        parts = partition(graph)
        np.testing.assert_array_equal(parts.decode(evaluate(stream, parts.encode(x)))["y"], evaluate(graph, x)["y"])

    @pytest.mark.parametrize("parallelism", ["full", "folded", 3, 6])
    @pytest.mark.parametrize(
        ("shape", "weight", "geometry"),
        [
            ((2, 5, 6), (4, 1, 2, 2), {"groups": 2, "dilations": (2, 3)}),
            ((6, 4, 4), (6, 1, 3, 3), {"groups": 6, "pads": (1, 1, 1, 1)}),
            ((6, 4, 4), (9, 2, 1, 1), {"groups": 3}),
            ((4, 7, 3), (2, 4, 2, 1), {"strides": (2, 1), "pads": (4, 0, 0, 1)}),
            ((3, 9), (4, 3, 3), {"strides": (2,), "pads": (2, 1), "dilations": (2,)}),
            ((6, 8), (6, 3, 2), {"groups": 2, "pads": (5, 0)}),
        ],
        ids=str,
    )
    def test_convolutions(
        self, shape: tuple[int, ...], weight: tuple[int, ...], geometry: dict[str, object], parallelism: str | int
    ) -> None:
        g, axes = Graph("g"), len(shape) - 1
        x = g.input("x", Tensor("f64", ("N", *shape)))
        full = {"strides": (1,) * axes, "dilations": (1,) * axes, "pads": (0,) * 2 * axes, **geometry}
        g.output("y", op.conv(x, weights(*weight).astype(float), np.arange(float(weight[0])), **full))
        samples = weights(5, *shape).astype(float)
        integer = to_integer(quantise(g, samples))
        parts = partition(integer)
        stream = to_stream(integer, parallelism=parallelism)
        found = parts.decode(evaluate(stream, parts.encode({"x": samples})))["y"]
        np.testing.assert_array_equal(found, evaluate(integer, {"x": samples})["y"])
        multipliers = 1
        for n in stream:
            if stream.nodes[n]["type"] == "matvec":
                x_lanes = stream.result_type(stream.operands(n)[0].node).lanes
                multipliers = min(x_lanes, np.shape(stream.nodes[n]["weights"])[1]) * stream.result_type(n).lanes
        if parallelism == "full":
            assert multipliers >= np.prod(weight)  # zeros of a longer kernel come on top
        else:
            assert multipliers <= (1 if parallelism == "folded" else parallelism)

    def test_branches_meet_behind_buffers(self) -> None:
        x = weights(20, 1, 6, 6, scale=1.0)
        stream = to_stream(to_integer(quantise(from_onnx(residual_cnn()), x)), parallelism="folded")
        kinds = [stream.nodes[n]["type"] for n in stream]
        assert kinds.count("fork") == kinds.count("stream_add") == 1
        assert "fifo" in kinds
        assert predict(stream, 4).interval > 0

    def test_origins_are_those_of_the_model(self) -> None:
        x = weights(20, 1, 6, 6, scale=1.0)
        stream = to_stream(to_integer(quantise(from_onnx(residual_cnn()), x)))
        origins = {name for n in stream if stream.op(n).level == "stream" for name in stream.nodes[n]["origin"]}
        assert {"c1", "c2", "join", "pool", "fc"} <= origins

    def test_what_each_rule_did_is_collected(self) -> None:
        steps: list[Step] = []
        to_stream(integers("r = relu(f)"), steps=steps)
        assert "map_relu" in {step.rule for step in steps}

    def test_ports_are_streams(self) -> None:
        stream = to_stream(integers("r = relu(f)"))
        assert stream.result_type("x") == Stream(FixedPoint(True, 8, 4), (3,))


class TestErrors:
    def test_no_integers(self) -> None:
        with pytest.raises(LoweringError, match=r"no integer part .*; call to_integer"):
            to_stream(Graph.parse("graph g\nx = input() : f32[N,3]\nr = relu(x)\ny = output(r)"))

    def test_every_node_without_hardware_is_named_with_the_reason(self) -> None:
        graph = integers("t = transpose(f, perm=(0, 2, 1))", "r = transpose(t, perm=(0, 2, 1))", shape="N,3,2")
        with pytest.raises(LoweringError, match=r"2 nodes have no hardware: t: .*change their order.*; r: "):
            to_stream(graph)

    def test_a_convolution_over_three_axes(self) -> None:
        g = Graph("g")
        x = g.input("x", Tensor("f64", ("N", 2, 5, 3, 3)))
        one, none = (1, 1, 1), (0, 0, 0)
        weight = np.ones((3, 2, 2, 2, 2))
        g.output("y", op.conv(x, weight, np.ones(3), strides=one, pads=(*none, *none), dilations=one))
        integer = to_integer(quantise(g, np.ones((2, 2, 5, 3, 3))))
        with pytest.raises(LoweringError, match="only convolutions over one or two axes have a component"):
            to_stream(integer)

    def test_a_fixed_batch(self) -> None:
        with pytest.raises(LoweringError, match=r"node 'x': its batch has the fixed size 2; import"):
            to_stream(integers("r = relu(f)", shape="2,3"))

    @pytest.mark.parametrize(
        ("given", "line"),
        [
            ("s8f4", "r = requantise(f, shift=0, element=s50f4)"),
            ("s50f4", "r = relu(f)"),
            ("s50f4", "r = clip(f, low=0)"),
        ],
    )
    def test_numbers_wider_than_a_lane(self, given: str, line: str) -> None:
        graph = integers(line)
        text = str(graph).replace("element=s8f4", f"element={given}").replace("f) : s8f4", f"f) : {given}")
        lines = [line.partition(" : ")[0] for line in text.splitlines()[1:]]
        lines[0] = "x = input() : f32[N,3]"
        with pytest.raises(LoweringError, match=r"1 nodes have no hardware: r: .*(31|48)"):
            to_stream(Graph.parse("\n".join(["graph g", *lines])))


@pytest.mark.parametrize(("axis", "is_mapped"), [(-1, True), (0, False), (-2, False)])
def test_frames_in_another_order_are_no_selection_of_channels(axis: int, is_mapped: bool) -> None:
    graph = Graph("reversed")
    x = leave(graph.input("x", Stream(FixedPoint(True, 8), (2,))))
    graph.output("y", op.slice(x, starts=(-1,), ends=(-(2**31 - 1),), axes=(axis,), steps=(-1,)))
    assert ("slice_1" not in rewrite(graph, map_selection)) == is_mapped
