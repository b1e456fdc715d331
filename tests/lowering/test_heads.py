"""Heads of classifiers: what is asked for is in the hardware or refused, and no note says anything else."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op
from graphrewrite.cli.heads import head_notes, headed, with_hardware_head
from graphrewrite.graph import Operand, Value
from graphrewrite.hdl import cosimulate, emit
from graphrewrite.lowering import LoweringError, Partition, partition, quantise, softmax_bounds, to_integer, to_stream
from graphrewrite.lowering.integer.hardware_heads import heads_of_host
from graphrewrite.lowering.integer.host_readings import Reading, aligned, reading
from graphrewrite.lowering.prequantised.quantisers import is_quantised
from graphrewrite.types import element_dtype
from tests.support.lowering_networks import weights

HEADS = ("auto", "class", "scores", "softmax")


def fake(x: Value, scale: float | np.ndarray, zero: int = 0) -> Value:
    """Numbers of 8 bits, by one scale or one a channel."""
    points = np.full(np.shape(scale), zero, np.int8)
    return op.dequantize_linear(op.quantize_linear(x, np.float32(scale), points), np.float32(scale), points)


def layer(x: Value, outputs: int, *, bias: bool = True, per_channel: bool = False) -> Value:
    rows, columns = outputs, x.type.shape[1]
    scales = np.float32([0.01, 0.0123, 0.02, 0.031])[: outputs if per_channel else 1].reshape(-1, 1)
    whole = np.random.default_rng(3).integers(-100, 100, (rows, columns)).astype(np.float32)
    b = weights(rows, seed=4) if bias else np.zeros(rows, np.float32)
    return op.linear(x, whole * scales, b)


def float_vector(x: Value) -> Value:
    return layer(op.relu(layer(x, 4)), 3)


def one_scale(x: Value) -> Value:
    return fake(layer(fake(x, 0.04, 3), 3), 0.1, -5)


def scale_a_class(x: Value) -> Value:
    return layer(fake(x, 0.04), 3, per_channel=True)


def stored_by_class(x: Value) -> Value:
    return fake(layer(fake(x, 0.04), 3), np.float32([0.1, 0.07, 0.09]))


def sums(x: Value) -> Value:
    return layer(fake(x, 0.04), 3, bias=False)


def image(x: Value) -> Value:
    maps = op.reshape(fake(layer(fake(x, 0.04), 12), 0.1), shape=("N", 3, 2, 2))
    return op.add(maps, np.float32([0.5]))


def number(x: Value) -> Value:
    return layer(fake(x, 0.04), 1)


def float_number(x: Value) -> Value:
    return layer(op.relu(layer(x, 4)), 1)


BODIES = (float_vector, one_scale, scale_a_class, stored_by_class, sums, image, number, float_number)
ENDS: dict[str, Callable[[Value], Value]] = {
    "none": lambda v: v,
    "softmax": lambda v: op.softmax(v, axis=1),
    "log_softmax": lambda v: op.log_softmax(v, axis=1),
    "arg_max": lambda v: op.arg_max(v, axis=1),
    "class of shares": lambda v: op.arg_max(op.softmax(v, axis=1), axis=1, keep_dims=False),
    "stored shares": lambda v: fake(op.softmax(v, axis=1), 1 / 255, -128),
    "moved": lambda v: op.reshape(op.softmax(v, axis=1), shape=("N", *v.type.shape[1:], 1)),
    "last axis": lambda v: op.softmax(op.reshape(v, shape=("N", 1, int(np.prod(v.type.shape[1:])))), axis=-1),
    "sigmoid": op.sigmoid,
}


def built(body: Callable[[Value], Value], end: str) -> Graph:
    g = Graph("g")
    g.output("y", ENDS[end](body(g.input("x", Tensor("f32", ("N", 4))))))
    return g


def integer_of(graph: Graph, head: str) -> Graph:
    network = headed(graph, head)
    return with_hardware_head(
        to_integer(network if is_quantised(network) else quantise(network, weights(30, 4, scale=2.0))), head
    )


def kinds(part: Graph) -> set[str]:
    return {part.nodes[n]["type"] for n in part}


def check_notes(graph: Graph, integer: Graph, head: str) -> Partition:
    parts, notes = partition(integer), "\n".join(head_notes(graph, integer))
    core, after = kinds(parts.core), kinds(parts.after)
    is_truth = integer.result_type(*integer.operands("y")[0]).element == "bool"
    assert ("hardware gives the class" in notes) == ("arg_max" in core)
    assert ("hardware gives the decision" in notes) == ("integer_threshold" in core and is_truth)
    assert ("hardware gives probabilities" in notes) == ("integer_softmax" in core)
    assert ("the softmax before y is left to the host" in notes) == bool({"softmax", "log_softmax"} & after)
    assert ("the class is left to the host" in notes) == bool({"arg_max", "greater"} & after)
    decided = {"arg_max", "integer_threshold"} & core
    assert not (decided and {"arg_max", "greater", "softmax"} & after)
    if head == "class":
        assert decided
    elif head == "softmax":
        assert "integer_softmax" in core
        assert not {"softmax", "arg_max"} & after
    elif head == "scores":
        assert not {"arg_max", "integer_softmax"} & core
    return parts


SAMPLES = {"x": weights(40, 4, seed=6, scale=2.0)}


@cache
def scores_of(body: Callable[[Value], Value]) -> np.ndarray:
    """What a body without an end gives, in integers."""
    return evaluate(integer_of(built(body, "none"), "scores"), SAMPLES)["y"]


@pytest.mark.slow(cases=2)
@pytest.mark.parametrize("body", BODIES)
def test_every_head_is_done_or_refused_and_no_note_says_otherwise(body: Callable[[Value], Value]) -> None:
    done = 0
    for end, head in product(ENDS, HEADS):
        if body in (number, float_number) and end not in ("none", "sigmoid"):
            continue
        if body is float_vector and end == "stored shares":
            continue
        graph = built(body, end)
        why, integer = "", graph
        try:
            integer = integer_of(graph, head)
        except LoweringError as error:
            why = str(error)
        if head == "softmax" and (body in (number, float_number) or end == "sigmoid"):
            assert "--head softmax needs an output that is a vector of scores" in why
            continue
        assert why == "", (end, head)
        done += 1
        parts = check_notes(graph, integer, head)
        whole = evaluate(integer, SAMPLES)["y"]
        np.testing.assert_array_equal(parts.decode(evaluate(parts.core, parts.encode(SAMPLES)))["y"], whole)
        if head == "class" and (end != "last axis" or body is not image):
            scores = scores_of(body)
            wanted = scores > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
            np.testing.assert_array_equal(whole.reshape(wanted.shape), wanted)
        if head == "softmax" and (end != "last axis" or body is not image):
            scores = scores_of(body).astype(np.float64)
            shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
            (bound,) = softmax_bounds(integer).values()
            assert np.abs(whole.reshape(shares.shape) - shares).max() <= bound + 1e-6
    assert done >= 6


@pytest.mark.ghdl
@pytest.mark.parametrize(
    ("body", "end", "head"),
    [(scale_a_class, "none", "class"), (stored_by_class, "none", "softmax"), (number, "sigmoid", "class")],
)
def test_it_equals_ghdl(body: Callable[[Value], Value], end: str, head: str) -> None:
    report = cosimulate(emit(to_stream(integer_of(built(body, end), head), parallelism=2), frames=3))
    assert report.equal, str(report)


@pytest.mark.parametrize("end", [lambda v: v, lambda v: op.softmax(v, axis=-1)])
def test_a_channels_last_image_has_its_class_at_each_position(end: Callable[[Value], Value]) -> None:
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 4, 4, 2)))
    maps = op.conv(op.transpose(x, perm=(0, 3, 1, 2)), weights(3, 2, 1, 1), weights(3, seed=1))
    g.output("y", end(op.transpose(maps, perm=(0, 2, 3, 1))))
    samples = weights(6, 4, 4, 2, scale=1.0)
    made = with_hardware_head(to_integer(quantise(headed(g, "class"), samples)), "class")
    assert "the hardware gives the class" in head_notes(g, made)[0]
    stream, parts = to_stream(made, parallelism="folded"), partition(made)
    found = parts.decode(evaluate(stream, parts.encode({"x": samples})))["y"]
    scores = evaluate(to_integer(quantise(g, samples)), {"x": samples})["y"]
    np.testing.assert_array_equal(found[..., 0], scores.argmax(axis=-1))


def test_scales_that_no_integers_align_are_refused() -> None:
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 3)))
    whole = op.from_fixed(op.to_fixed(x, element=FixedPoint(True, 8)), fraction=0)
    g.output("y", op.add(op.mul(whole, np.float32([[1.1, 0.7, 0.3]])), np.float32([[1e30, 1, -3]])))
    with pytest.raises(LoweringError, match=r"--head class has no hardware for arg_max \(.*48 bits align them.*--head"):
        with_hardware_head(headed(g, "class"), "class")
    made = with_hardware_head(headed(g, "class"), "auto")
    assert [*heads_of_host(made)] == ["arg_max_1"]
    check_notes(g, made, "auto")


FACTORS, TERMS = np.float32([[1, -0.5, 0.25]]), np.float32([[3, -20, 1.5]])
AFFINE: dict[str, Callable[[Value], Value]] = {
    "mul": lambda v: op.mul(FACTORS, v),
    "div": lambda v: op.div(v, FACTORS),
    "add": lambda v: op.add(v, TERMS),
    "sub": lambda v: op.sub(v, TERMS),
    "sub from": lambda v: op.sub(TERMS, v),
    "neg": lambda v: op.neg(op.sub(v, TERMS)),
    "cast": lambda v: op.cast(op.add(op.identity(v), TERMS), element="f64"),
    "all": lambda v: op.div(op.sub(TERMS, op.mul(op.add(v, TERMS), FACTORS)), FACTORS),
    "stored": lambda v: op.dequantize_linear(
        op.quantize_linear(v, np.float32(1), np.int16(7)), np.float32([0.5, 2, 1]), np.int16([7, 3, -9]), axis=1
    ),
}


@pytest.mark.parametrize("step", AFFINE)
def test_the_class_is_that_of_the_scores_behind_affine_ops(step: str) -> None:
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 3)))
    whole = op.from_fixed(op.to_fixed(x, element=FixedPoint(True, 8)), fraction=0)
    g.output("y", op.arg_max(AFFINE[step](whole), axis=1))
    made = with_hardware_head(g, "class")
    assert not heads_of_host(made)
    samples = {"x": weights(400, 3, scale=50.0)}
    np.testing.assert_array_equal(evaluate(made, samples)["y"], evaluate(g, samples)["y"])


def test_scales_of_classes_are_read_through_a_reshape() -> None:
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 3, 1, 1)))
    whole = op.from_fixed(op.to_fixed(x, element=FixedPoint(True, 8)), fraction=0)
    scores = op.reshape(op.mul(whole, np.float32([1, 0.25, 0.75]).reshape(3, 1, 1)), shape=("N", 3))
    g.output("y", op.arg_max(scores, axis=1))
    made = with_hardware_head(g, "class")
    assert not heads_of_host(made)
    samples = {"x": weights(40, 3, 1, 1, scale=50.0)}
    np.testing.assert_array_equal(evaluate(made, samples)["y"], evaluate(g, samples)["y"])


def test_several_outputs_have_notes_of_their_own() -> None:
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 4)))
    inner = op.relu(layer(x, 4))
    g.output("y", op.softmax(layer(inner, 3)))
    g.output("z", layer(inner, 1))
    made = integer_of(g, "class")
    assert head_notes(g, made) == ["y: the softmax before y is replaced by argmax: the hardware gives the class"]
    assert evaluate(made, {"x": weights(3, 4)})["z"].dtype == np.float32


@pytest.mark.parametrize(
    ("axis", "scales", "is_read"),
    [(1, [0.5, 2, 1], True), (2, [0.5, 2, 1], False), (2, [2] * 3, True), (1, [1, np.inf, 1], False)],
)
def test_scales_are_those_of_classes_or_all_the_same(axis: int, scales: list[float], is_read: bool) -> None:
    """There are as many positions as classes: only the axis tells them apart."""
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 3, 3)))
    whole = op.from_fixed(op.to_fixed(x, element=FixedPoint(True, 8)), fraction=0)
    stored = op.quantize_linear(whole, np.float32(1), np.int16(0))
    g.output("y", op.arg_max(op.dequantize_linear(stored, np.float32(scales), np.int16([0] * 3), axis=axis), axis=1))
    made = with_hardware_head(g, "auto")
    assert (not heads_of_host(made)) == is_read
    samples = {"x": weights(50, 3, 3, scale=50.0)}
    np.testing.assert_array_equal(evaluate(made, samples)["y"], evaluate(g, samples)["y"])


FRACTIONS = st.lists(st.integers(-40, 40), min_size=3, max_size=3).filter(any)


def aligned_scores(factors: list[float], terms: list[float], width: int) -> tuple[Fraction, Fraction, list[Fraction]]:
    """The unit and the error of aligned scores, and by how much these differ from what they are, row by row.

    All classes of a row may have an offset in common.
    """
    g, element = Graph("g"), FixedPoint(True, width)
    real = op.from_fixed(g.input("x", Tensor(element, ("N", 3))), fraction=0, element="f64")
    scores = op.add(op.mul(real, np.array([factors])), np.array([terms]))
    found = reading(g, Operand(scores.node), 1)
    assert isinstance(found, Reading)
    made = aligned(g, found)
    assert not isinstance(made, str), made
    whole, unit, error = made
    kind = whole.type.element
    g.output("y", whole)
    numbers = np.random.default_rng(0).integers(element.minimum, element.maximum + 1, (30, 3))
    numbers[0], numbers[1] = element.minimum, element.maximum
    apart = []
    mantissas = evaluate(g, {"x": numbers.astype(element_dtype(element))})["y"]
    for row, scored in zip(numbers.tolist(), mantissas.tolist(), strict=True):
        assert all(kind.minimum <= score <= kind.maximum for score in scored)
        wanted = [Fraction(f) * n + Fraction(t) for f, n, t in zip(factors, row, terms, strict=True)]
        differences = [unit * score - w for score, w in zip(scored, wanted, strict=True)]
        apart.append(max(differences) - min(differences))
    assert kind.width <= 48
    return unit, error, apart


@pytest.mark.parametrize("width", [2, 8, 20, 30])
@given(FRACTIONS, FRACTIONS, st.booleans())
def test_scores_of_scales_with_a_common_part_are_aligned_exactly(
    width: int, factors: list[int], terms: list[int], has_terms: bool
) -> None:
    quarters = [term / 4 if has_terms else 0.0 for term in terms]
    unit, error, apart = aligned_scores([factor / 8 for factor in factors], quarters, width)
    assert unit > 0
    assert (error, max(apart)) == (0, 0)


@pytest.mark.parametrize("scale", [1, -1, 1000])
@pytest.mark.parametrize("width", [2, 8, 17, 20, 23, 24, 25, 28, 31])
def test_scores_of_other_scales_are_aligned_within_their_error(width: int, scale: float) -> None:
    """Which is as small as float32 has it: half a unit of the last place of the greatest number, or little more."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        factors = scale * random.uniform(1, 7, 3)
        far = abs(factors).max() * 2.0 ** (width - 1)
        _, error, apart = aligned_scores(factors.tolist(), random.uniform(-far / 3, far / 3, 3).tolist(), width)
        assert max(apart) <= 2 * error
        assert 0 < error <= Fraction(far) / 2**22
        assert max(apart) > error / 20, "the error is not far greater than it must be"
