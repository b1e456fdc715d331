"""The matcher against exhaustive search: no match lost, none spurious, none twice."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Constant, Graph, Tensor, op, rule
from graphrewrite.graph import Operand
from graphrewrite.match import find_at, same
from graphrewrite.pattern import Literal, Pattern, PatternNode
from graphrewrite.testing import graphs

OPS = ("neg", "add", "sub", "mul", "relu")


def exhaustive(pattern: Pattern, graph: Graph, *, shared: str) -> set[tuple]:
    """Every assignment of nodes to pattern nodes, and of operand orders, that meets the definition of a match."""
    found = set()
    inner = [n for n in pattern.nodes if n not in pattern.roots]
    swaps = [n for n in pattern.nodes if n.op.commutative]
    candidates = [[n for n in graph if graph.nodes[n]["type"] == term.op.name] for term in pattern.nodes]
    for chosen in product(*candidates):
        if len(set(chosen)) < len(chosen):
            continue
        image = dict(zip(pattern.nodes, chosen, strict=True))
        if shared == "refuse" and any(set(graph.successors(image[n])) - set(chosen) for n in inner):
            continue
        for flips in product((False, True), repeat=len(swaps)):
            bound: dict[str, Operand] = {}
            if all(
                fits(term, image, bound, graph, flipped=dict(zip(swaps, flips, strict=True)).get(term))
                for term in pattern.nodes
            ):
                found.add((chosen, tuple(sorted(bound.items()))))
    return found


def fits(term: PatternNode, image: dict, bound: dict[str, Operand], graph: Graph, *, flipped: bool | None) -> bool:
    operands = list(graph.operands(image[term]))
    if len(operands) != len(term.operands):
        return False
    if flipped:
        operands[:2] = operands[1::-1]
    for wanted, value in zip(term.operands, operands, strict=True):
        data = graph.nodes[value.node]
        if isinstance(wanted, PatternNode):
            good = image[wanted] == value.node and value.result == 0
        elif isinstance(wanted, Literal):
            good = data["type"] == "constant" and bool(np.all(data["value"] == wanted.value))
        else:
            good = bound.setdefault(wanted.name, value) == value and (not wanted.constant or data["type"] == "constant")
        if not good:
            return False
    return True


@st.composite
def patterns(draw):
    """A rule's function, written from a random expression."""
    names = draw(st.lists(st.sampled_from("xyz"), min_size=1, max_size=3, unique=True))
    constant = draw(st.booleans())
    made: list[str] = []
    lines: list[str] = []
    used: set[str] = set()
    for i in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(OPS))
        count = 2 if name in ("add", "sub", "mul") else 1
        operands = [draw(st.sampled_from([*made[-2:], *names, *(["1.0"] if j else [])])) for j in range(count)]
        used.update(operands)
        lines.append(f"    n{i} = op.{name}({', '.join(operands)})")
        made.append(f"n{i}")
    roots = [n for n in made if n not in used]
    variables = [n for n in names if n in used]
    if not variables or "(1.0)" in "".join(lines):
        lines, roots, variables = ["    n0 = op.neg(x)"], ["n0"], ["x"]
    parameters = ", ".join(f"{n}: Constant" if constant and i == 1 else n for i, n in enumerate(variables))
    returned = f"({', '.join(roots)},)"
    body = "\n".join([f"def r({parameters}):", *lines, f"    yield {returned}", f"    return {returned}"])
    scope = {"op": op, "Constant": Constant}
    exec(body, scope)
    return scope["r"], draw(st.sampled_from(["refuse", "keep"]))


@given(patterns(), graphs(ops=OPS))
def test_matches_are_complete_sound_and_unique(written, graph):
    function, shared = written
    found_rule = rule(shared=shared)(function)
    found = [
        (m.nodes, tuple(sorted(m.bindings.items())))
        for node in graph
        if graph.nodes[node]["type"] == found_rule.pattern.roots[0].op.name
        for m in find_at(found_rule.pattern, graph, node, shared=shared)
    ]
    assert len(found) == len(set(found)), "a match is given twice"
    assert set(found) == exhaustive(found_rule.pattern, graph, shared=shared)


def test_the_search_is_not_exponential_in_equal_operands():
    @rule(shared="keep")
    def deep(x):
        total = x
        for _ in range(12):
            total = op.add(total, total)
        yield total
        return x

    graph = Graph("g")
    value = graph.input("x", Tensor("f32", ("N",)))
    for _ in range(14):
        value = value + value
    graph.output("y", value)
    assert len(list(deep.matches_at(graph, "add_14"))) == 1


def test_a_star_of_commutative_readers_is_found_once_each():
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N",)))
    for i in range(50):
        graph.output(f"y{i}", op.mul(op.neg(x), x))

    @rule
    def pair(x):
        yield op.mul(x, op.neg(x))
        return x

    assert len(pair.find(graph)) == 50


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (1, 1.0, True),
        ((1, 2), [1, 2], True),
        ((1, 2), (1, 2, 3), False),
        (np.array([1, 2]), np.array([1, 2]), True),
        (np.array([1, 2]), (1, 3), False),
        (None, 0, False),
        (((1,), np.array([2])), [[1], [2]], True),
    ],
)
def test_attribute_values_are_compared_by_content(a, b, equal):
    assert same(a, b) is equal
    assert same(b, a) is equal


def test_the_oracle_finds_something():
    @rule
    def both(x, y):
        yield op.add(op.neg(x), y)
        return x

    graph = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = neg(x)\nc = add(a, b)\ny = output(c)")
    assert len(exhaustive(both.pattern, graph, shared="refuse")) == 2
