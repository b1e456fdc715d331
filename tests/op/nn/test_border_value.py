"""Convolutions whose border holds another value than zero, and convolutions of one sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op, rewrite, rule, verify
from graphrewrite.errors import GraphError, GraphRewriteError, RuleError, TypeMismatchError
from graphrewrite.hierarchy import layers, sequential
from graphrewrite.op.attribute_forms import Borders, same_pads
from graphrewrite.rules import RULES
from graphrewrite.types import permutation

SIZES = {"N": 2, "C": 3, "L": 8, "H": 5}
LAYOUTS = st.sampled_from(["CL", "CHL"]).flatmap(lambda axes: st.permutations(axes).map("".join))


def weights(positions: int) -> np.ndarray:
    return np.random.default_rng(positions).normal(size=(4, 3, *[3] * positions)).astype(np.float32)


@given(
    LAYOUTS,
    st.booleans(),
    st.sampled_from([0, 1, (1, 2), "same", "valid"]),
    st.sampled_from([0, -1.5, 2]),
    st.integers(1, 2),
)
def test_it_is_the_convolution_of_a_padded_batch(
    sample: str, is_batch: bool, padding: Any, value: float, stride: int
) -> None:
    layout, order = f"N{sample}" if is_batch else sample, "NC" + "".join(sorted(sample.replace("C", "")))
    count, w = len(sample) - 1, weights(len(sample) - 1)
    x = np.random.default_rng(0).normal(size=[SIZES[axis] for axis in layout]).astype(np.float32)
    graph = Graph("g")
    given_ = {"padding": padding, "padding_value": value, "stride": stride}
    made = op.conv(graph.input("x", Tensor("f32", x.shape, layout)), w, **given_)
    graph.output("y", made)
    verify(graph)

    first = np.transpose(x if is_batch else x[None], permutation(f"N{sample}", order))
    ones = (1,) * count
    sizes = first.shape[2:]
    same = same_pads(sizes, w.shape[2:], (stride,) * count, ones, upper=True)
    pads = same if padding == "same" else Borders().spread(padding, count)
    padded = np.pad(first, [(0, 0), (0, 0), *zip(pads[:count], pads[count:], strict=True)], constant_values=value)
    in_order = op.conv(padded, w, stride=stride)
    wanted = np.transpose(in_order, permutation(order, f"N{sample}"))
    assert made.type == Tensor("f32", wanted.shape if is_batch else wanted.shape[1:], layout)
    for each in (graph, rewrite(graph, RULES)):
        np.testing.assert_allclose(evaluate(each, {"x": x})["y"], wanted if is_batch else wanted[0], atol=1e-4)
    np.testing.assert_allclose(op.conv(first, w, **given_), in_order, atol=1e-4)


def test_a_border_of_another_value_is_a_node() -> None:
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 3, 8)))
    made = op.conv(x, weights(1), padding=(1, 2), padding_value=0.5, in_channels=3, name="c")
    border, _ = graph.operands("c")
    assert (made.node, graph.attributes(border.node)) == (
        "c",
        {**op.pad.attributes, "pads": (0, 0, 1, 0, 0, 2), "fill": 0.5},
    )
    assert graph.node("c").padding_value == 0
    assert [graph.nodes[n]["type"] for n in graph] == ["input", "pad", "constant", "conv"]


@pytest.mark.parametrize(
    ("layout", "written", "error", "message"),
    [
        ("NCL", {"padding_value": "a"}, TypeMismatchError, "padding_value: expected a number, got 'a'"),
        ("NCL", {"padding_value": 1, "strid": 2}, TypeMismatchError, "did you mean 'stride'"),
        ("NCL", {"padding_value": 1, "name": "x"}, GraphError, "that name is taken"),
        ("NCL", {"padding_value": 1, "bias": np.ones(3)}, TypeMismatchError, "f64"),
        ("LC", {"name": "x"}, GraphError, "that name is taken"),
        ("LC", {"groups": 2}, TypeMismatchError, "3 channels in 2 groups"),
        ("LD", {}, TypeMismatchError, r"the layout NLD does not have the axes NC\*"),
        (None, {}, TypeMismatchError, "same rank.*'LC'"),
    ],
    ids=str,
)
def test_what_fails_builds_nothing(layout: Any, written: Any, error: type[GraphRewriteError], message: str) -> None:
    graph = Graph("g")
    sizes = (2, 3, 8) if layout == "NCL" else (8, 3)
    x = graph.input("x", Tensor("f32", sizes, layout))
    before = graph.copy()
    with pytest.raises(error, match=message):
        op.conv(x, weights(1), padding=1, **written)
    assert graph == before
    assert op.neg(x).node == "neg_1"


def test_an_array_has_no_layout_and_needs_its_batch() -> None:
    with pytest.raises(TypeMismatchError, match=r"a batch of one is x\[None\]"):
        op.conv(np.ones((3, 8), np.float32), weights(1))


def test_a_pattern_has_one_node_for_the_border_and_a_replacement_may_have_both() -> None:
    with pytest.raises(RuleError, match=r"write op.conv\(op.pad\(x, fill=value\), w\)"):

        @rule
        def wrong(x, w):
            yield op.conv(x, w, padding_value=1.0)
            return x

    @rule
    def with_ones(x, w):
        conv = op.conv(x, w)
        yield op.relu(conv)
        return op.abs(op.conv(x, w, like=conv, padding_value=1.0))

    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 3, 8)))
    graph.output("y", op.relu(op.conv(x, weights(1), padding=(1, 2), stride=2)))
    wanted = Graph("g")
    x = wanted.input("x", Tensor("f32", ("N", 3, 8)))
    wanted.output("y", op.abs(op.conv(x, weights(1), padding=(1, 2), stride=2, padding_value=1.0)))
    found = rewrite(graph, [with_ones])
    values = np.random.default_rng(1).normal(size=(2, 3, 8)).astype(np.float32)
    np.testing.assert_array_equal(evaluate(found, {"x": values})["y"], evaluate(wanted, {"x": values})["y"])
    assert sorted(nodes(found)) == sorted(nodes(wanted))


def nodes(graph: Graph) -> list[str]:
    return [data["type"] for _, data in graph.nodes(data=True)]


@pytest.mark.parametrize(
    ("layout", "sizes"), [("LC", (8, 3)), ("CL", (3, 8)), ("NLC", ("N", 8, 3)), (None, ("N", 3, 8))], ids=str
)
def test_layers_know_the_channels_of_any_layout(layout: str | None, sizes: tuple[Any, ...]) -> None:
    net = sequential(layers.conv(4, 3, padding=1, padding_value=1.0), op.relu, layers.conv(2, 3), layers.batch_norm())
    graph = net.graph(Tensor("f32", sizes, layout))
    (last,) = graph.operands("y")
    wanted = {"LC": (6, 2), "CL": (2, 6), "NLC": ("N", 6, 2), None: ("N", 2, 6)}[layout]
    assert graph.result_type(*last) == Tensor("f32", wanted, layout)
    assert graph.result_type("conv_1.w").shape == (4, 3, 3)
