"""Every exact rule, and every folding one, on element types and layouts that the other tests do not make."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Rule, Tensor, evaluate, op, rewrite, verify
from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.graph.type_inference import infer
from graphrewrite.rules import FOLDING, RULES
from graphrewrite.rules.windows import dilate_conv
from graphrewrite.testing import graphs, inputs_for
from graphrewrite.types import element_kind, hold
from tests.support.profiles import fewer_examples

OF_PATTERNS = (member for member in dict.fromkeys((*RULES, *FOLDING)) if isinstance(member, Rule))
MEMBERS = {member.name: member for member in OF_PATTERNS if member is not dilate_conv}
"""Those whose patterns say what a graph is in which they fire: that of dilated convolutions says no permutation."""
LETTERS = {3: "NCW", 4: "NCHW", 5: "NCDHW"}


def retyped(graph: Graph, element: str) -> Graph:
    """The graph with another element type instead of float32."""
    made = graph.copy()
    for data in made.nodes.values():
        kind = data.get("result")
        if data["type"] in ("input", "constant") and kind.element == "f32":
            data["result"] = Tensor(element, kind.shape, kind.layout)
            if data["type"] == "constant":
                with np.errstate(over="ignore", invalid="ignore"):
                    data["value"] = hold(element, data["value"])
    infer(made)
    return made


def named(graph: Graph, draw: st.DrawFn) -> Graph:
    """The graph with names for the axes of its larger inputs, in any order: layers read their axes by them."""
    made = graph.copy()
    for node in made.inputs:
        kind = made.result_type(node)
        if len(kind.shape) in LETTERS and draw(st.booleans()):
            letters = "".join(draw(st.permutations(LETTERS[len(kind.shape)])))
            made.nodes[node]["result"] = Tensor(kind.element, kind.shape, letters)
    infer(made)
    return made


def examine_rule(rule: Rule, graph: Graph, inputs: dict[str, np.ndarray], *, exact: bool) -> None:
    """Rewriting raises nothing, keeps the graph well formed, and its values where it says so."""
    verify(graph)
    found = rewrite(graph, [rule])
    verify(found)
    with np.errstate(all="ignore"):
        try:
            before = evaluate_nodes(graph, inputs)
        except EvaluationError:
            return  # a size to which it expands is that of no input
        after = evaluate_nodes(found, inputs)
    for name, array in before.items():
        assert after[name].dtype == array.dtype
        assert after[name].shape == array.shape
        if exact:
            np.testing.assert_array_equal(after[name], array)


@pytest.mark.slow(cases=7)
@pytest.mark.parametrize("rule", MEMBERS.values(), ids=MEMBERS)
def test_a_rule_takes_every_element_type(rule):
    with fewer_examples():

        @given(graphs(containing=rule), st.sampled_from(["bf16", "f16", "i8", "i4", "u4", "u16"]), st.data())
        def examine(graph, element, data):
            try:
                graph = retyped(graph, element)
            except TypeMismatchError:
                return  # these operands are no longer those of their ops
            inputs = data.draw(inputs_for(graph, moderate=True))
            examine_rule(rule, graph, inputs, exact=rule.keeps == "exact")

    examine()


@pytest.mark.slow
@pytest.mark.parametrize("rule", MEMBERS.values(), ids=MEMBERS)
def test_a_rule_takes_every_layout(rule):
    with fewer_examples():

        @given(graphs(containing=rule), st.data())
        def examine(graph, data):
            try:
                graph = named(graph, data.draw)
            except TypeMismatchError:
                return  # these operands are no longer those of their ops
            inputs = data.draw(inputs_for(graph, moderate=True))
            found = rewrite(graph, [rule])
            verify(found)
            with np.errstate(all="ignore"):
                try:
                    before = evaluate_nodes(graph, inputs)
                except EvaluationError:
                    return  # a size to which it expands is that of no input
                after = evaluate_nodes(found, inputs)
            for name, array in before.items():
                if rule.keeps == "exact":
                    np.testing.assert_array_equal(after[name], array)
                elif element_kind(graph.result_type(*graph.operands(name)[0]).element) == "float":
                    large = np.nanmax(np.abs(array), initial=1.0, where=np.isfinite(array))
                    np.testing.assert_allclose(after[name], array, rtol=1e-2, atol=1e-3 * large)

    examine()


@given(st.permutations("NCHW"), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_constants_of_one_axis_fold_where_that_is_the_channels(letters, axis, seed):
    """All sizes are 3, so that only the names tell the channels from rows and columns."""
    layout, rng = "".join(letters), np.random.default_rng(seed)

    def entries() -> np.ndarray:
        shape = [1, 1, 1, 1]
        shape[axis] = 3
        return rng.uniform(0.5, 2, shape).astype(np.float32)

    g = Graph("g")
    x = op.add(op.mul(g.input("x", Tensor("f32", (3, 3, 3, 3), layout)), entries()), entries())
    w, b = rng.normal(size=(3, 3, 1, 1)).astype(np.float32), rng.normal(size=3).astype(np.float32)
    y = op.add(op.mul(op.conv(x, w, b), entries()), entries())
    border = (*(int(letter == "H") for letter in layout), *(int(letter == "W") for letter in layout))
    y = op.conv(op.pad(y, pads=border), w, b, pads=(0, 1, 1, 0))
    g.output("y", op.average_pool(op.add(y, 0.0), kernel=(2, 2)))
    found = rewrite(g, FOLDING)
    verify(found)
    array = rng.normal(size=(3, 3, 3, 3)).astype(np.float32)
    np.testing.assert_allclose(evaluate(found, {"x": array})["y"], evaluate(g, {"x": array})["y"], rtol=1e-3, atol=1e-4)
    left = sum(data["type"] == "mul" for data in found.nodes.values())
    assert left == (0 if layout[axis] == "C" else 2)
