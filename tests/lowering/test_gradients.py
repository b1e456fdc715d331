"""Each gradient, written as other ops, is the difference quotient: a few graphs of every one of them."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op, rewrite
from graphrewrite.lowering import gradients
from graphrewrite.testing import inputs_for
from tests.support.derivatives import are_difference_quotients, derivatives

USUAL = settings(
    deadline=None, derandomize=True, database=None, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
FAMILIES = [[*getattr(gradients, name)] for name in gradients.__all__ if name != "GRADIENTS"]
OTHERS = pytest.mark.slow(cases=20)  # in all half a minute; what each of them writes is compared with what is recorded
RULES = [m if m is family[0] else pytest.param(m, marks=OTHERS) for family in FAMILIES for m in family]


def written(member, count: int) -> bool:
    """Compare what a rule writes with what it is for, of some graphs; tell whether nothing is left of one of them."""
    fired, met = [], set()

    @settings(USUAL, max_examples=count)
    @given(st.data())
    def compare(data):
        graph = data.draw(derivatives(member))
        inputs = data.draw(inputs_for(graph, moderate=True))
        if (facts := _facts(graph)) <= met:  # to draw a graph costs little beside a difference quotient
            return
        made = rewrite(graph, [member])
        if not are_difference_quotients(graph, made, inputs):
            return
        met.update(facts)
        fired.append(not any(str(made.nodes[node]["type"]).startswith("vjp_") for node in made))

    compare()
    return any(fired)


def _facts(graph: Graph) -> set[Any]:
    """Return what a graph can show: each two of its attributes together, and with sizes that are 1."""
    (node,) = (n for n in graph if str(graph.nodes[n]["type"]).startswith("vjp_"))
    shapes = [graph.result_type(*source).shape for source in graph.operands(node)]
    given = {name: _ends(value) for name, value in graph.attributes(node).items()}
    given |= {"op": graph.nodes[node]["type"]}
    given["ones"] = str([[size == 1 for size in shape] for shape in shapes])
    return {*combinations(sorted(given.items()), 2)}


def _ends(value: Any) -> str:
    is_of_numbers = isinstance(value, tuple | list) and value and not any(isinstance(each, str) for each in value)
    return str((min(value), max(value)) if is_of_numbers else value)


@pytest.mark.parametrize("member", RULES, ids=lambda member: member.name)
def test_a_gradient_is_the_difference_quotient(member):
    assert written(member, 16) or written(member, 60)


@pytest.mark.parametrize("step", [1, 2, -1, -2])
def test_a_slice_that_begins_or_ends_beyond_its_axis_has_the_gradient_of_what_it_takes(step):
    far = 2**31 - 1
    for size, start, end in product((1, 3), (-far, -2, 0, 2, far), (-far, -2, 0, 2, far)):
        g = Graph("g")
        x = g.input("x", Tensor("f32", (size,)))
        (taken,) = op.slice.result_types((x.type,), {"starts": (start,), "ends": (end,), "steps": (step,)})
        of_result = g.input("g", taken)
        g.output("y", op.slice.vjp(of_result, x, starts=(start,), ends=(end,), steps=(step,)))
        inputs = {"x": np.zeros(size, np.float32), "g": 1 + np.arange(taken.shape[0], dtype=np.float32)}
        expected = np.zeros(size, np.float32)
        places = op.slice(np.arange(size), starts=(start,), ends=(end,), steps=(step,))
        expected[places] = inputs["g"]
        assert evaluate(rewrite(g, gradients.GRADIENTS), inputs)["y"].tolist() == expected.tolist(), (size, start, end)


def test_equal_limits_leave_no_gradient():
    g = Graph("g")
    of_result, x = (g.input(name, Tensor("f32", ("N",))) for name in ("g", "x"))
    g.output("y", op.clip.vjp(of_result, x, low=1.0, high=1.0))
    found = evaluate(rewrite(g, gradients.GRADIENTS), {"g": np.full(3, 2, np.float32), "x": np.float32([0, 1, 2])})
    assert found["y"].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("of", "shapes", "attributes"),
    [
        (op.det, [(2,), (2, 0, 0)], {}),
        (op.attention, [(2, 0, 3, 1), (2, 0, 3, 1), (2, 2, 3, 1), (2, 2, 3, 1)], {"wrt": 1}),
        (op.attention, [(2, 0, 3, 1), (2, 0, 3, 1), (2, 2, 3, 1), (2, 2, 3, 1)], {"wrt": 2}),
        (op.max_pool, [("N", 0, 1), ("N", 0, 1)], {"kernel": (1,)}),
        (op.max_unpool, [("N", 0, 1), ("N", 0, 1), ("N", 0, 1)], {"wrt": 0, "kernel": (1,)}),
        (op.max_unpool, [(0, 1, 2), (0, 1, 1), (0, 1, 1)], {"wrt": 0, "kernel": (2,), "strides": (2,)}),
    ],
)
def test_what_has_no_entries_leaves_no_gradient(of, shapes, attributes):
    g = Graph("g")
    elements = ["f32", "f32", "i64" if of is op.max_unpool else "f32", "f32"]
    values = [g.input(f"x{k}", Tensor(e, shape)) for k, (e, shape) in enumerate(zip(elements, shapes, strict=False))]
    g.output("y", of.vjp(*values, **attributes))
    arrays = [np.ones([2 if size == "N" else size for size in shape]) for shape in shapes]
    found = evaluate(rewrite(g, gradients.GRADIENTS), {f"x{k}": array for k, array in enumerate(arrays)})
    assert np.array_equal(found["y"], 0 * arrays[attributes.get("wrt", 0) + 1])
