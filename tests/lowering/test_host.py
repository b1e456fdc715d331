"""The host's part: what is before and behind the hardware, and the three together are the whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op, verify
from graphrewrite.lowering import LoweringError, from_onnx, partition, quantise, softmax_as_arg_max, to_integer
from graphrewrite.lowering.integer.classifier_heads import classify
from tests.support.lowering_networks import mlp, weights
from tests.support.random_networks import Network, networks, quantised, widths


def several() -> Graph:
    """Two inputs; three outputs, of which two carry the same value."""
    g = Graph("several")
    a, b = (g.input(name, Tensor("f64", ("N", 3))) for name in ("a", "b"))
    left = op.relu(op.linear(a, np.eye(3) * 0.5, np.ones(3)))
    both = op.add(left, op.linear(b, np.eye(3) * 0.25, np.zeros(3)))
    score = op.linear(both, np.arange(6.0).reshape(2, 3) / 8, np.ones(2))
    g.output("probability", op.softmax(score))
    g.output("score", score)
    g.output("middle", both)
    return g


def check(integer: Graph, x: dict[str, np.ndarray]) -> None:
    parts = partition(integer)
    for part in (parts.before, parts.core, parts.after):
        verify(part)
    kinds = {parts.core.nodes[n]["type"] for n in parts.core}
    assert not {"to_fixed", "from_fixed", "softmax"} & kinds
    given_mantissas = parts.encode(x)
    for name, values in given_mantissas.items():
        element = parts.core.result_type(name).element
        assert values.dtype.kind == "i" or values.dtype.kind == "u"
        assert element.minimum <= values.min()
        assert values.max() <= element.maximum
    found = parts.decode(evaluate(parts.core, given_mantissas))
    wanted = evaluate(integer, x)
    assert list(found) == list(wanted)
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values)


@given(networks(), widths(), st.booleans())
def test_the_parts_together_are_the_whole(network: Network, bits: int, per_channel: bool) -> None:
    integer = to_integer(quantised(network, bits, per_channel=per_channel))
    before = integer.copy()
    check(integer, {"x": network.samples * 3})
    assert integer == before
    parts = partition(integer)
    assert parts.core.inputs == ("x",)
    assert parts.core.outputs == parts.outputs == ("y",)


def test_several_inputs_and_outputs() -> None:
    x = {name: weights(9, 3, seed=i, scale=1.0).astype(float) for i, name in enumerate("ab")}
    integer = to_integer(quantise(several(), x))
    check(integer, x)
    parts = partition(integer)
    assert parts.core.inputs == ("a", "b")
    assert parts.outputs == ("probability", "score", "middle")


def test_a_softmax_is_left_to_the_host() -> None:
    x = {"x": weights(9, 4)}
    integer = to_integer(quantise(from_onnx(mlp(softmax=True)), x))
    check(integer, x)
    assert "softmax" in {data["type"] for _, data in partition(integer).after.nodes(data=True)}


def test_a_transposed_input_is_left_to_the_host() -> None:
    g = Graph("g")
    x = g.input("x", Tensor("f64", ("N", 4, 4, 2)))
    moved = op.transpose(x, perm=(0, 3, 1, 2))
    g.output("y", op.conv(moved, weights(3, 2, 2, 2).astype(float), np.ones(3)))
    samples = weights(5, 4, 4, 2).astype(float)
    integer = to_integer(quantise(g, samples))
    check(integer, {"x": samples})
    assert partition(integer).core.result_type("x").shape == ("N", 2, 4, 4)


def test_nothing_between() -> None:
    with pytest.raises(LoweringError, match=r"no integer part between to_fixed and from_fixed; call to_integer"):
        partition(from_onnx(mlp()))


class TestHeads:
    @pytest.mark.parametrize("head", [softmax_as_arg_max, classify])
    def test_the_class_is_that_of_the_probabilities(self, head: object) -> None:
        graph, x = from_onnx(mlp(softmax=True)), {"x": weights(50, 4, scale=2.0)}
        before = graph.copy()
        found = evaluate(head(graph), x)["y"]  # type: ignore[operator]
        assert graph == before
        np.testing.assert_array_equal(found[:, 0], evaluate(graph, x)["y"].argmax(axis=1))

    def test_scores_become_the_class_where_asked(self) -> None:
        graph, x = from_onnx(mlp()), {"x": weights(50, 4, scale=2.0)}
        assert softmax_as_arg_max(graph) == graph
        np.testing.assert_array_equal(evaluate(classify(graph), x)["y"][:, 0], evaluate(graph, x)["y"].argmax(axis=1))

    def test_the_class_of_the_integers_is_that_of_their_numbers(self) -> None:
        x = weights(40, 4, scale=2.0)
        fixed = quantise(softmax_as_arg_max(from_onnx(mlp(softmax=True))), x)
        integer = to_integer(fixed)
        check(integer, {"x": x})
        np.testing.assert_array_equal(evaluate(integer, {"x": x})["y"], evaluate(fixed, {"x": x})["y"])
        core = partition(integer).core
        assert core.result_type(*core.operands("y")[0]).element == FixedPoint(False, 2)


def test_outputs_that_are_not_given_are_named() -> None:
    g = Graph.parse("""graph g
    x = input() : f32[N,2]
    f = to_fixed(x, element=s8f4)
    z = from_fixed(f, fraction=4)
    y = output(z)""")
    with pytest.raises(
        LoweringError, match="outputs of the hardware are missing: y; give an array for each output of the core"
    ):
        partition(g).decode({})
