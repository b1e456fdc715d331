"""Chains written in a line: what they fuse, which blocks are one graph, and what is no chain."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Tensor, define_op, evaluate, op, rewrite, rule
from graphrewrite.errors import RuleError
from graphrewrite.hierarchy import layers, sequential
from graphrewrite.rules import inline
from graphrewrite.testing import check
from tests.support.whole_way import goes_on

IMAGE = Tensor("f32", ("N", 2, 4, 4))
X = {"x": np.linspace(-1, 1, 64, dtype="f4").reshape(2, 2, 4, 4)}
PARTS = {"c": layers.conv(2, 1), "b": layers.batch_norm(), "r": op.relu, "n": op.neg}
CHAINS = {
    "conv -> batch_norm? -> relu": "cb?r",
    "conv -> relu | neg": "c[rn]",
    "neg+ -> relu": "n+r",
    "conv -> neg* -> relu": "cn*r",
    "relu? -> neg -> neg": "r?nn",
}


ANNOTATIONS = [{}, {}, {"step": 1}, {"backend": "cpu"}, {"backend": "numpy", "unit": [1]}]


@given(st.sampled_from(sorted(CHAINS)), st.text("cbrn", min_size=1, max_size=9), st.randoms(use_true_random=False))
def test_a_chain_is_found_where_a_regular_expression_finds_it(chain, letters, rng):
    graph = sequential(*(PARTS[letter] for letter in letters)).graph(IMAGE, name="net")
    for node in graph:
        if graph.nodes[node]["type"] not in ("input", "output", "constant"):
            graph.nodes[node].update(rng.choice(ANNOTATIONS))
    fused = rewrite(graph, rule.chain(chain, "block"))
    kinds = [fused.nodes[n]["type"] for n in fused.in_order()]
    assert any(kind.startswith("block") for kind in kinds) == (re.search(CHAINS[chain], letters) is not None)
    assert rewrite(fused, inline).equals(graph, names=False)
    goes_on(fused, X)


def test_blocks_that_differ_in_weights_only_are_one_graph():
    block = [layers.conv(2, 3, pads=(1, 1, 1, 1)), op.relu]
    graph = sequential(*block, *block, layers.conv(2, 1), op.relu).graph(IMAGE)
    fused = rewrite(graph, rule.chain("conv -> relu", "block"))
    kinds = [fused.nodes[node]["type"] for node in fused.in_order()]
    assert [kind for kind in kinds if "block" in kind] == ["block", "block", "block_2"]
    assert sorted(fused.ops) == ["block", "block_2"]
    assert fused.op("block_1").operands == ("x", "conv_1_w", "conv_1_b")
    np.testing.assert_array_equal(evaluate(fused, X)["y"], evaluate(graph, X)["y"])


def test_an_op_of_ones_own_and_annotations_stand_in_the_block():
    @define_op
    def swirl(x):
        """Turn the last axis around."""
        return x[..., ::-1]

    graph = sequential(swirl, op.relu).graph(IMAGE)
    graph.nodes["swirl_1"]["backend"] = "board"
    fused = rewrite(graph, rule.chain("swirl -> relu", "block", ops=[swirl]))
    assert fused.op("block_1").body.nodes["swirl_1"]["backend"] == "board"


@pytest.mark.slow
def test_the_kit_tests_a_chain():
    assert check(rule.chain("neg -> relu? -> abs", "block"), seed=0)


def test_a_chain_prints_and_explains_itself():
    fuse = rule.chain("conv -> relu", "block")
    assert str(fuse) == "fuse_block: relu(conv(x, *others_1))"
    graph = sequential(layers.conv(2, 1), op.neg).graph(IMAGE)
    assert "needs relu" in str(fuse.explain(graph, at="neg_1"))


@pytest.mark.parametrize(
    ("chain", "name", "message"),
    [
        ("conv -> rellu", "block", "did you mean 'relu'"),
        ("conv - > relu", "block", "write ops with -> between them"),
        ("", "block", "write ops with -> between them"),
        ("conv -> relu?", "block", r"Pipeline\(longer, shorter\)"),
        ("conv -> split", "block", "one result"),
        ("conv -> relu", "conv", "an op of the library has that name"),
        ("conv -> relu", "a block", "identifier"),
    ],
)
def test_what_is_no_chain_is_refused(chain, name, message):
    with pytest.raises(RuleError, match=message):
        rule.chain(chain, name)
