"""Nodes of integers as bit-vectors: z3 finds no value outside of what is known of it, at 8, 16 and 32 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphrewrite import FixedPoint
from graphrewrite.rewriting.facts import Fact, numbers
from graphrewrite.rewriting.facts.numbers.fact import integers, of_element
from graphrewrite.rewriting.facts.table import FactTable
from tests.support.integer_nodes import BINARY, INTEGER_LEVEL, UNARY, node_of
from tests.support.profiles import some_of, some_seeds

z3 = pytest.importorskip("z3")

from graphrewrite.testing.proof.number import Number  # noqa: E402 (these need z3)
from graphrewrite.testing.proof.refusal import Untranslatable  # noqa: E402
from graphrewrite.testing.proof.solver import Question, possible  # noqa: E402
from graphrewrite.testing.proof.translation import Inputs, Translation  # noqa: E402

EFFORT, ROOM = 300_000, 100
HARD = {"mul", "div", "mod", "fmod", "square", "fma", "integer_mul"}
"""Of these, z3 decides products and quotients of eight bits only."""
FORMATS = (FixedPoint(True, 8), FixedPoint(False, 16), FixedPoint(True, 24))
CASES = [
    (name, build, (element,) * operands)
    for builds, elements, operands in (
        (BINARY, ("i8", "u8", "i16", "u32", "i32"), 2),
        (UNARY, ("i8", "u8", "i16", "u32", "i32"), 1),
        (INTEGER_LEVEL, FORMATS, 2),
    )
    for element in elements
    for name, build in builds.items()
    if name not in HARD or element in ("i8", "u8", FORMATS[0])
]


def drawn(element: Any, rng: np.random.Generator) -> Fact:
    """Return a fact of an element type: a range with both ends near to those of the type or to 0, and a known bit."""
    plain = of_element(element)
    ends = [int(plain.low), 0, int(plain.high)]
    low, high = sorted(min(max(ends[rng.integers(3)] + int(rng.integers(-40, 40)), ends[0]), ends[2]) for _ in range(2))
    bit = 1 << int(rng.integers(0, 3))
    known = ((bit, 0), (0, bit), (0, 0))[rng.integers(3)]
    found = integers(low, high, *known)
    return found if high - low > 2 * bit and not found.zeros & found.ones else integers(low, high)


def outside(number: Number, fact: Fact) -> Any:
    """Return the condition that a fact does not hold of a number."""
    term = number.at_point(0).resized(ROOM)
    return z3.Or(term < fact.low, term > fact.high, term & fact.zeros != 0, ~term & fact.ones != 0)


def verdict(build: Any, elements: tuple[Any, ...], seed: int) -> str:
    """Return whether a value of a node lies outside of what follows from random facts of its operands."""
    rng = np.random.default_rng(seed)
    graph, node = node_of(build, elements, ((1,), (1,)))
    table = FactTable(graph, numbers)
    given = {name: drawn(elements[0], rng) for name in graph.inputs}
    table.facts |= {name: (fact,) for name, fact in given.items()}
    inputs = Inputs.of(graph)
    constraints = inputs.constraints + [
        z3.Not(outside(variable.number, given[variable.input])) for variable in inputs.variables
    ]
    values = Translation(lambda condition: possible(constraints, condition)).values(graph, inputs.arrays)
    condition = outside(values[node][0].entries.item(), table.of(node))
    answer = Question(constraints, condition, effort=EFFORT).answer(
        [(v.name, v.number.width) for v in inputs.variables]
    )
    return answer.verdict if answer.verdict != "sometimes" else f"{given}: {table.of(node)!r}, {answer.values}"


def label(case: Any) -> str:
    """Return a part of a test's name."""
    return case if isinstance(case, str) else "" if callable(case) else " ".join(map(str, case))


@pytest.mark.parametrize(("name", "build", "elements"), some_of(CASES, 4), ids=label)
def test_no_value_is_outside(name: str, build: Any, elements: tuple[Any, ...]) -> None:
    try:
        found = [verdict(build, elements, seed) for seed in some_seeds()]
    except Untranslatable as why:
        pytest.skip(f"not in bit-vectors: {why}")
    assert set(found) <= {"never", "unknown"}, found
    assert "never" in found
