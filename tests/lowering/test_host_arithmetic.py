"""What a port's integers stand for: what the host's own ops do, bit for bit, in Python, in C and in the simulation."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, op
from graphrewrite.errors import EvaluationError
from graphrewrite.graph import Value
from graphrewrite.hdl import NetlistError, emit, simulate
from graphrewrite.hdl.emission.host_code import port_of
from graphrewrite.hdl.emission.vectors import payloads
from graphrewrite.hdl.netlist import netlist
from graphrewrite.lowering import from_onnx, partition, port_encodings, quantise, to_integer, to_stream
from graphrewrite.types import Stream, element_dtype
from tests.lowering.test_trained_exports import quant
from tests.support.designs import rectify
from tests.support.host_code import Program, host_module
from tests.support.lowering_networks import mlp
from tests.support.random_networks import Network, networks, quantised, widths
from tests.support.trained_networks import stored

RANDOM = np.random.default_rng(5)


def built(shape: tuple[int, ...], chain: Callable[[Value], Value], element: str = "f32") -> Graph:
    g = Graph("ports")
    g.output("y", chain(g.input("x", Tensor(element, ("N", *shape)))))
    return g


def grid(y: Value, fraction: int = 3, element: str | None = None) -> Value:
    """Through a format and out of it again: the core between host parts."""
    fixed = op.relu(op.to_fixed(y, element=FixedPoint(True, 8, fraction)))
    return op.from_fixed(fixed, fraction=fraction, element=element or y.type.element)


def float_network() -> Graph:
    samples = {"x": RANDOM.normal(size=(50, 4)).astype(np.float32)}
    return to_integer(quantise(from_onnx(mlp()), samples))


def channels_last(x: Value) -> Value:
    """ImageNet's mean and deviation by channel, and the axes moved, on both sides."""
    scaled = op.div(op.sub(x, np.float32([0.485, 0.456, 0.406])), np.float32([0.229, 0.224, 0.225]))
    out = grid(op.transpose(scaled, perm=(0, 3, 1, 2)))
    gained = op.add(op.mul(out, np.float32([[[0.5]], [[0.1]], [[0.3]]])), np.float32(0.25))
    return op.transpose(gained, perm=(0, 2, 3, 1))


def stored_by_channel(x: Value) -> Value:
    """Through integers with a scale and a zero point for each channel, and out of them."""
    scale, zero = np.float32([0.25, 0.1, 0.75]), np.int8([3, 0, -5])
    whole = op.quantize_linear(x, scale, zero, axis=1)
    return grid(op.mul(op.dequantize_linear(whole, scale, zero, axis=-2), np.float32([[1], [2], [0.5]])))


class Case(NamedTuple):
    integer: Callable[[], Graph]
    host: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    scales: tuple[int, int] = (1, 1)


CASES = {
    "float": Case(float_network),
    "stored": Case(lambda: to_integer(built((6,), lambda x: stored(RANDOM, stored(RANDOM, x))))),
    "stored by channel": Case(lambda: built((3, 2), stored_by_channel), scales=(3, 1)),
    "zero point": Case(lambda: to_integer(built((5,), lambda x: quant(x, 0.3, 4, 3, signed=False)))),
    "floor": Case(lambda: to_integer(built((5,), lambda x: quant(x, 0.1, 5, mode="FLOOR")))),
    "signs": Case(lambda: to_integer(built((9,), lambda x: op.bipolar_quant(x, np.float32(0.5))))),
    "channels last": Case(lambda: built((4, 5, 3), channels_last), scales=(3, 3)),
    "doubles": Case(lambda: built((7,), lambda x: op.neg(grid(op.mul(x, np.float64(1 / 3)), 5)), "f64")),
    "whole numbers": Case(lambda: built((7,), lambda x: grid(op.cast(x, element="f32"), 0), "u8")),
    "decision": Case(lambda: built((3,), lambda x: op.cast(grid(x, 0, "i64"), element="bool")), scales=(1, 0)),
    "truth": Case(lambda: built((3,), lambda x: grid(op.cast(x, element="f32")), "bool")),
    "one number": Case(lambda: built((1,), lambda x: op.squeeze(grid(x), axes=(1,)))),
    "softmax": Case(lambda: built((5,), lambda x: op.softmax(grid(x))), host=((), ("softmax",))),
    "logarithm": Case(
        lambda: built((5,), lambda x: grid(op.mul(op.log(op.abs(x)), np.float32(0.7)))), host=(("abs", "log"), ())
    ),
    "number by number": Case(
        lambda: built((2, 3), lambda x: grid(op.sub(x, np.arange(6, dtype=np.float32).reshape(2, 3)))), scales=(6, 1)
    ),
    "reversed": Case(
        lambda: built((2, 3), lambda x: grid(op.transpose(op.reshape(x, shape=("N", 3, 2)), perm=(0, 2, 1))))
    ),
}


def samples(graph: Graph) -> dict[str, np.ndarray]:
    kind = graph.result_type(graph.inputs[0])
    wide = RANDOM.normal(size=(40, *kind.shape[1:])) * 10.0 ** RANDOM.integers(-2, 4, (40, *[1] * len(kind.shape[1:])))
    numbers = np.abs(wide * 9) if kind.element == "u8" else wide
    return {graph.inputs[0]: numbers.astype(element_dtype(kind.element))}


@pytest.mark.parametrize("name", CASES)
def test_they_are_what_the_host_computes(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    integer = case.integer()
    parts = partition(integer)
    encodings = port_encodings(parts)
    ((_, taken), (_, given_back)) = encodings.items()
    assert (taken.host, given_back.host) == case.host
    assert (max(len(taken.scale), len(taken.zero_point)), len(given_back.scale)) == case.scales
    x = samples(integer)
    mantissas = parts.encode(x)
    (port,) = mantissas
    numbers = x["x"] if not taken.host else np.log(np.abs(x["x"]))
    np.testing.assert_array_equal(taken.encode(numbers), mantissas[port])
    element = parts.core.result_type(port).element
    assert (taken.low, taken.high) >= (element.minimum, element.minimum)
    # The real numbers that integers stand for are within half a step of the model's, where these are in range.
    if taken.rounding == "half to even" and not taken.gather and len(taken.scale) == 1 == len(taken.zero_point):
        inside = (mantissas[port] > taken.low) & (mantissas[port] < taken.high)
        real = taken.scale[0] * (mantissas[port] - taken.zero_point[0])
        assert np.abs(real - numbers)[inside].max() <= 0.5001 * abs(taken.scale[0])
    try:
        stream = to_stream(integer)
    except Exception:
        assert name in ("zero point", "floor", "signs")  # there is no hardware between their ends
        return
    given_numbers = numbers if numbers.dtype.kind == "f" else mantissas[port]
    simulation = simulate(stream, {port: given_numbers}, encodings=encodings)
    (out,) = simulation.values.values()
    (found,) = simulation.numbers.values()
    if not given_back.host:
        (wanted,) = parts.decode(simulation.values).values()
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype
    check_host_code(emit(stream, encodings=encodings), netlist(stream), numbers, mantissas[port], out, found, tmp_path)


def check_host_code(design, net, numbers, mantissas, out, found, folder: Path) -> None:
    ((x, streams),), (y,) = net.inputs.items(), net.outputs
    jsonschema.validate(design.description, json.loads(design.files["design.schema.json"]))
    for port in design.description["ports"]:
        if port["scale"] and len(port["scale"]) == len(port["zero_point"]) == 1 and port["scale"] != [1]:
            assert f"number = {port['scale'][0]} * " in design.files["README.md"]
    module = host_module(design)
    host = module[design.name.capitalize()]
    words = host.encode(numbers)
    assert module["PORTS"][x].lines(words) == payloads(streams, mantissas)
    back = module["PORTS"][y].to_words(out)
    np.testing.assert_array_equal(host.decode(back), found)
    if shutil.which("gcc") is None:
        return
    program = Program(design, folder, numbers.dtype, found.dtype)
    for k in range(2):
        code, encoded, decoded = program(numbers[k], back[k], words[k].size)
        assert code == 0
        np.testing.assert_array_equal(encoded, words[k].ravel())
        np.testing.assert_array_equal(decoded, found[k].ravel())
    if module["PORTS"][x].encoding.rounding == "half to even" and numbers.dtype.kind == "f":
        assert program(np.full_like(numbers[0], np.nan), back[0], words[0].size)[0] == -1
        with pytest.raises(ValueError, match="NaN"):
            host.encode(np.full_like(numbers, np.nan))


@settings(max_examples=20)
@given(networks(), widths(), st.booleans())
def test_of_any_network(network: Network, bits: int, per_channel: bool) -> None:
    integer = to_integer(quantised(network, bits, per_channel=per_channel))
    parts = partition(integer)
    encodings = port_encodings(parts)
    x = {"x": network.samples * 3}
    mantissas = parts.encode(x)
    np.testing.assert_array_equal(encodings["x"].encode(x["x"]), mantissas["x"])
    if not encodings["y"].host:
        core = {"y": RANDOM.integers(encodings["y"].low, encodings["y"].high, (2, *encodings["y"].port_shape))}
        np.testing.assert_array_equal(encodings["y"].decode(core["y"]), parts.decode(core)["y"])


def test_the_class_is_named() -> None:
    g = built((5,), lambda x: op.arg_max(stored(RANDOM, x), axis=1, keep_dims=False))
    assert port_encodings(to_integer(g))["y"].meaning == "the class: the place of the greatest of 5 scores"


def test_values_that_several_read_are_mantissas() -> None:
    g = Graph("ports")
    y = grid(g.input("x", Tensor("f32", ("N", 3))), 2)
    g.output("score", y)
    g.output("share", op.softmax(y))
    encoding = port_encodings(g)["score"]
    assert (encoding.tensor, encoding.scale, encoding.host) == ("score", (0.25,), ("softmax",))
    assert encoding.decode([[1, 2, 3]]).tolist() == [[0.25, 0.5, 0.75]]


def test_values_that_are_read_in_two_ways_are_mantissas() -> None:
    g = Graph("ports")
    fixed = op.relu(op.to_fixed(g.input("x", Tensor("f32", ("N", 3))), element=FixedPoint(True, 8, 2)))
    g.output("one", op.from_fixed(fixed, fraction=2))
    g.output("other", op.from_fixed(fixed, fraction=2, element="f64"))
    encoding = port_encodings(g)["one"]
    assert (encoding.tensor, encoding.element, encoding.host) == ("one and other", "float64", ("from_fixed",))
    assert encoding.decode([[1, 2, 3]]).tolist() == [[0.25, 0.5, 0.75]]


def test_what_cannot_be_described_is_named() -> None:
    second = Graph("ports")
    x = second.input("x", Tensor("f32", ("N", 4)))
    second.output("y", grid(op.split(x, axis=1, sizes=(1, 3))[1]))
    half = Graph("ports")
    half.output(
        "y",
        op.from_fixed(op.to_fixed(half.input("x", Tensor("f16", ("N", 2))), element=FixedPoint(True, 8)), fraction=0),
    )
    assert "x" not in port_encodings(second)
    assert "x" not in port_encodings(half)
    design = emit(to_stream(second), encodings=port_encodings(second))
    assert "`x`: mantissas, of 3 bits behind the binary point." in design.files["README.md"]


class TestSimulate:
    def stream(self) -> tuple[Graph, dict]:
        g = built((3,), grid)
        return to_stream(g), port_encodings(g)

    def test_integers_stay_what_they_are(self) -> None:
        stream, encodings = self.stream()
        assert simulate(stream, {"x": [[1, 2, 3]]}, encodings=encodings).values["y"].tolist() == [[1, 2, 3]]
        assert simulate(stream, {"x": [[1.0, 2.0, 3.0]]}).values["y"].tolist() == [[1, 2, 3]]
        floats = simulate(stream, {"x": [[1.0, 2.0, -3.0]]}, encodings=encodings)
        assert floats.values["y"].tolist() == [[8, 16, 0]]
        assert floats.numbers["y"].tolist() == [[1, 2, 0]]

    def test_what_does_not_fit_is_said(self) -> None:
        stream, encodings = self.stream()
        with pytest.raises(EvaluationError, match="encodings=port_encodings"):
            simulate(stream, {"x": [[0.5, 0, 0]]})
        with pytest.raises(EvaluationError, match="NaN"):
            simulate(stream, {"x": [[np.nan, 0, 0]]}, encodings=encodings)
        with pytest.raises(EvaluationError, match=r"has the shape \(1, 2\); give \[N, 3\]"):
            simulate(stream, {"x": [[0.5, 0]]}, encodings=encodings)
        with pytest.raises(NetlistError, match="'X', which is no port"):
            simulate(stream, {"x": [[1, 2, 3]]}, encodings={"X": encodings["x"]})
        with pytest.raises(NetlistError, match="give the encodings of the same network"):
            emit(to_stream(built((2,), grid)), encodings=encodings)


def test_the_class_of_a_design_has_a_legal_name() -> None:
    assert "None_" in host_module(emit(rectify(), name="none"))


def test_words_of_any_width() -> None:
    for width, lanes, folds in ((1, 3, 1), (7, 5, 2), (33, 2, 3), (63, 1, 2), (8, 8, 1)):
        for signed in (False, True):
            element = FixedPoint(signed, width)
            stream = Stream(element, (lanes * folds, 2, 2), lanes)
            port = port_of("x", stream, None)
            numbers = RANDOM.integers(element.minimum, element.maximum, (3, *stream.shape), endpoint=True)
            words = port.to_words(numbers)
            assert port.lines(words) == payloads(stream, numbers)
            np.testing.assert_array_equal(port.from_words(words), numbers)
            np.testing.assert_array_equal(port.encode(numbers), words)  # integers, where no more is known


def test_scales_and_zero_points_are_those_of_the_whole_line() -> None:
    """Differences, quotients and a negative on both sides; what is the same of all channels is said once."""

    def chain(x: Value) -> Value:
        given = op.add(op.div(op.sub(x, np.float32([0.5, -1])), np.float32([0.25, 0.25])), np.float32(3))
        return op.neg(op.div(op.sub(op.mul(grid(given), np.float32(2)), np.float32([1, -4])), np.float32(4)))

    encodings = port_encodings(built((2,), chain))
    x, y = encodings["x"], encodings["y"]
    assert (x.scale, x.zero_point) == ((0.25 / 8,), (8.0, 56.0))
    assert (y.scale, y.zero_point) == ((-0.0625,), (4.0, -16.0))
