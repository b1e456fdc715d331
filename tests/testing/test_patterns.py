"""The strategy of patterns: every form, graphs that contain them, and the matcher against exhaustive search on both."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, assume, find, given, settings
from hypothesis import strategies as st

from graphrewrite.rewriting.match import find_at
from graphrewrite.rewriting.pattern import (
    Either,
    Every,
    Literal,
    Pattern,
    PatternNode,
    Repeated,
    Rest,
    Result,
    Variable,
    Where,
    Without,
)
from graphrewrite.testing import graphs, patterns
from tests.support.assigning import Several, comparable
from tests.support.exhaustive import reference
from tests.support.sources import halves

pytestmark = pytest.mark.slow

QUICK = settings(database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck), deadline=None)


def nodes(pattern: Pattern) -> list[PatternNode]:
    return [term for term in pattern.terms if isinstance(term, PatternNode)]


def operands(pattern: Pattern) -> list[object]:
    return [operand for node in nodes(pattern) for operand in node.operands]


def times(pattern: Pattern, kind: type) -> int:
    """How often the term of a kind stands that stands most often."""
    found = Counter(id(t) for t in operands(pattern) if isinstance(t, kind))
    return max(found.values(), default=0)


FORMS = {
    "several ops": lambda p: any(len(n.ops) > 1 for n in nodes(p)),
    "any op": lambda p: any(not n.ops for n in nodes(p)),
    "optional": lambda p: any(v.optional for v in p.variables),
    "variadic": lambda p: any(isinstance(t, Rest) for t in operands(p)),
    "repeated": lambda p: any(isinstance(t, Repeated) for t in p.terms),
    "every": lambda p: any(isinstance(t, Every) for t in p.terms),
    "either": lambda p: any(isinstance(t, Either) for t in p.terms),
    "without": lambda p: any(isinstance(t, Without) for t in operands(p)),
    "forbidden": lambda p: bool(p.forbidden),
    "literal": lambda p: any(isinstance(t, Literal) for t in operands(p)),
    "condition": lambda p: any(isinstance(t, Where) for t in operands(p)),
    "condition of a variable": lambda p: any(v.condition is not None for v in p.variables),
    "constant": lambda p: any(v.constant for v in p.variables),
    "attribute bound": lambda p: any(isinstance(v, Variable) for n in nodes(p) for v in n.attributes.values()),
    "attribute under a condition": lambda p: any(isinstance(v, Where) for n in nodes(p) for v in n.attributes.values()),
    "several roots": lambda p: len(p.roots) > 1,
    "shared variable": lambda p: times(p, Variable) > 1,
    "shared node": lambda p: times(p, PatternNode) > 1,
}


@pytest.mark.slow(cases=0)
def test_every_form_is_frequent():
    seen: Counter[str] = Counter()

    @settings(QUICK, max_examples=400)
    @given(patterns())
    def examine(pattern):
        seen["all"] += 1
        seen.update(form for form, holds in FORMS.items() if holds(pattern))

    examine()
    assert set(seen) == {"all", *FORMS}
    assert min(seen.values()) > 5, seen


def test_results_are_read_apart():
    found = find(
        patterns(ops=[halves, "add"]),
        lambda p: any(isinstance(r, Result) for r in p.roots),
        settings=settings(QUICK, max_examples=50),
    )
    assert {o.name for n in found.nodes for o in n.ops} <= {"halves", "add"}


@pytest.mark.parametrize(
    ("ops", "wanted", "smallest"),
    [
        (["neg", "add"], lambda p: True, "neg(a)"),
        (["neg", "add"], lambda p: len(p.nodes) > 1, "neg(neg(a))"),
        (["add"], lambda p: True, "add(a, b)"),
        (["neg"], lambda p: len(p.roots) > 1, "neg(a), neg(b)"),
    ],
)
def test_patterns_shrink_to_few_nodes_of_the_first_op(ops, wanted, smallest):
    shrinking = settings(QUICK, phases=[Phase.generate, Phase.shrink], max_examples=500)
    assert str(find(patterns(ops=ops), wanted, settings=shrinking)) == smallest


@settings(suppress_health_check=list(HealthCheck))
@given(patterns(), st.data())
def test_what_contains_a_pattern_has_a_match(pattern, data):
    graph = data.draw(graphs(containing=pattern, ops=["neg"]))
    assert any(True for node in graph for _ in find_at(pattern, graph, node, shared="keep")), f"{pattern}\n{graph}"


@settings(suppress_health_check=list(HealthCheck))
@given(patterns(ops=["neg", "add", "sub", "relu"]), st.sampled_from(["refuse", "keep"]), st.data())
def test_matches_are_those_of_exhaustive_search(pattern, shared, data):
    graph = data.draw(graphs(containing=pattern, ops=["neg"]))
    assume(len(graph) < 10 and len(pattern.nodes) < 5)
    found = {
        (
            tuple(at for t, at in zip(pattern.terms, m.images, strict=True) if isinstance(t, PatternNode)),
            tuple(
                at and Several(at.nodes, at.values)
                for t, at in zip(pattern.terms, m.images, strict=True)
                if isinstance(t, Repeated | Every)
            ),
            tuple(map(comparable, m.values)),
        )
        for node in graph.in_order()
        for m in find_at(pattern, graph, node, shared=shared)
    }
    assert found == {m.identity for m in reference(pattern, graph, shared=shared)}, f"{pattern}\n{graph}"
