"""The matcher against exhaustive search: no match lost, none spurious, none twice, in the documented order."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op, rule
from graphrewrite.graph import Operand
from graphrewrite.graph.edit import apply_edit
from graphrewrite.rewriting.engine.attempt import attempt_of
from graphrewrite.rewriting.engine.rule_index import Entry, Index, entries_of
from graphrewrite.rewriting.match import Candidates
from graphrewrite.rewriting.pattern import Every, PatternNode, Repeated, Rest, identical, same
from graphrewrite.rewriting.rule.outcome import Declined
from tests.support.assigning import Several, comparable
from tests.support.exhaustive import Found, reference
from tests.support.pairs import Pair, graph_of
from tests.support.profiles import some_of
from tests.support.sources import KINDS, OWN_OPS, Writer, rule_of

PAIRS, CHUNKS = 10_000, 20
SEEDS = [range(i, i + PAIRS // CHUNKS) for i in range(0, PAIRS, PAIRS // CHUNKS)]


def identity(match: Any) -> tuple[Any, ...]:
    """What tells a match of the engine from others, in the words of the reference."""
    made = list(zip(match.rule.pattern.terms, match.images, strict=True))
    return (
        tuple(at for term, at in made if isinstance(term, PatternNode)),
        tuple(at and Several(at.nodes, at.values) for term, at in made if isinstance(term, Repeated | Every)),
        tuple(comparable(match.bindings[v.name]) for v in match.rule.pattern.variables),
    )


def orders_are_documented(pattern: Any) -> bool:
    """Whether the definition says in which order the matches at one root come."""
    return len(pattern.roots) == 1 and not any(
        isinstance(t, Repeated | Every)
        or (isinstance(t, PatternNode) and sum(isinstance(o, Rest) for o in t.operands) > 1)
        for t in pattern.terms
    )


def check(pair: Pair) -> list[Found]:
    """Compare what is found with what should be; return that."""
    tested, graph = pair.rule, pair.graph
    expected = reference(tested.pattern, graph, shared=tested.shared)
    wanted = {match.identity: match for match in expected}
    at_nodes = [m for node in graph.in_order() for m in tested.matches_at(graph, node)]

    def told() -> str:
        found = "\n".join(f"  {identity(m)}" for m in at_nodes)
        return f"\n\n{pair}\n\nexpected:\n" + "\n".join(f"  {m.identity}" for m in expected) + f"\nfound:\n{found}"

    if not isinstance(tested.pattern.roots[0], Every):  # a group is found at each of its members
        assert len(at_nodes) == len(set(map(identity, at_nodes))), f"twice{told()}"
        if orders_are_documented(tested.pattern):
            assert [identity(m) for m in at_nodes] == list(wanted), f"another order{told()}"
    assert {identity(m) for m in at_nodes} == set(wanted), f"lost or spurious{told()}"
    for match in at_nodes:
        same_match = wanted[identity(match)]
        assert match.roots == same_match.roots, told()
        assert (len(match.nodes), set(match.nodes)) == (len(same_match.all_nodes), same_match.all_nodes), told()
    found = [identity(m) for m in tested.find(graph)]
    assert found == list(dict.fromkeys(identity(m) for m in at_nodes if not pair.declines(m.bindings))), f"find{told()}"
    check_attempts(pair, at_nodes)
    return expected


def check_attempts(pair: Pair, at_nodes: list[Any]) -> None:
    """Compare what the engine tries, by whatever way is fastest, with what is found; and what it would change."""
    tested, graph = pair.rule, pair.graph
    wanted = list(map(identity, at_nodes))
    for entry in entries_of(tested):
        tried = [identity(match) for match, _ in attempts(entry, graph.copy())]
        if entry.root == 0 and not isinstance(tested.pattern.roots[0], Every):
            assert tried == wanted, f"the engine tries other matches\n\n{pair}\n\n{tried}\n\nand not\n\n{wanted}"
        assert set(tried) == set(wanted), (
            f"the engine enters elsewhere\n\n{pair}\n\nby root {entry.root} and tries {tried}\n\n{wanted}"
        )
    if at_nodes:
        one, other = graph.copy(), graph.copy()
        _, first = next(attempts(entries_of(tested)[0], one))
        planned = tested.edit(other, at_nodes[0])
        assert isinstance(first, Declined) == isinstance(planned, Declined), pair
        if not isinstance(first, Declined):
            apply_edit(one, first)
            apply_edit(other, planned)
            assert one == other, f"the engine makes another graph\n\n{one}\n\nand not\n{other}\n\nof\n\n{pair}"


def attempts(entry: Entry, graph: Graph) -> Iterator[tuple[Any, Any]]:
    """What the engine tries in a graph that does not change."""
    index, attempt = Index([entry], None), attempt_of(entry, graph, Candidates(graph))
    for node in graph.in_order():
        if index.at(graph.nodes[node]["type"], graph.pred[node], graph.nodes):
            yield from attempt(node)


@pytest.mark.slow(cases=2)
@pytest.mark.parametrize("seeds", some_of(SEEDS, 6), ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_matches_are_those_of_exhaustive_search(seeds):
    found = planted = 0
    for seed in seeds:
        pair = Pair(random.Random(seed))
        found += bool(check(pair))
        planted += pair.planted
    assert found > 0.4 * len(seeds), "too many of the graphs have no match"
    assert 0.4 * len(seeds) < planted < 0.6 * len(seeds)


def test_every_kind_of_pattern_is_tried_often():
    counts: Counter[str] = Counter()
    for seed in some_of(range(PAIRS)):
        writer = Writer(random.Random(seed))
        writer.write()
        counts.update(kind for kind, count in writer.kinds.items() if count)
    print(f"{PAIRS} pairs:", ", ".join(f"{kind} {counts[kind]}" for kind in KINDS))
    assert set(counts) == set(KINDS)
    assert min(counts.values()) > 60, counts


@given(st.randoms(use_true_random=False))
def test_matches_are_those_of_exhaustive_search_and_counterexamples_are_small(rng):
    check(Pair(rng))


# ---------------------------------------------------------------------- one example a form


def shown(value: Any) -> str:
    if isinstance(value, Operand):
        return f"{value.node}:{value.result}" if value.result else value.node
    if isinstance(value, tuple) and all(isinstance(v, Operand) for v in value):
        return f"({' '.join(map(shown, value))})"
    return "-" if value is None else repr(value)


def matches(source: str, lines: str, options: str = "") -> list[str]:
    """All matches of a rule in a graph, a line each: the roots, and what the variables bind."""
    tested = rule_of(f"@rule{options}\n{source}\n  return rule.decline('only looked at')")
    graph = graph_of(lines)
    found = [m for node in graph.in_order() for m in tested.matches_at(graph, node)]
    expected = reference(tested.pattern, graph, shared=tested.shared)
    assert {identity(m) for m in found} == {m.identity for m in expected}
    lines_of = [" ".join([*m.roots, *(f"{k}={shown(v)}" for k, v in m.bindings.items())]) for m in found]
    return list(dict.fromkeys(lines_of))


EXAMPLES = [
    ("position", "def r(x, y):\n  yield op.sub(x, y)", "a = sub(p, q)", ["a x=p y=q"]),
    ("same variable", "def r(x):\n  yield op.sub(x, x)", "a = sub(p, q); b = sub(q, q)", ["b x=q"]),
    ("literal", "def r(x):\n  yield op.mul(x, 1)", "a = mul(one, p); b = mul(p, two)", ["a x=p"]),
    ("set of values", "def r(x):\n  yield op.mul(x, {1, 2})", "a = mul(p, row); b = mul(p, q)", ["a x=p"]),
    ("range of values", "def r(x):\n  yield op.mul(x, range(2))", "a = mul(p, one); b = mul(p, two)", ["a x=p"]),
    ("array", "def r(x):\n  yield op.mul(x, np.array([1, 2, 1]))", "a = mul(p, row); b = mul(p, one)", ["a x=p"]),
    ("constant", "def r(x, c: Constant):\n  yield op.sub(x, c)", "a = sub(p, one); b = sub(one, p)", ["a x=p c=one"]),
    ("commutative", "def r(x, y):\n  yield op.add(x, y)", "a = add(p, q)", ["a x=p y=q", "a x=q y=p"]),
    ("commutative, equal operands", "def r(x, y):\n  yield op.add(x, y)", "a = add(p, p)", ["a x=p y=p"]),
    ("not commutative", "def r(x, y):\n  yield op.sub(op.neg(x), y)", "n = neg(p); a = sub(q, n)", []),
    ("commutative variadic", "def r(x, y, z):\n  yield blend(x, y, z)", "a = blend(p, q, p)",
     ["a x=p y=q z=p", "a x=p y=p z=q", "a x=q y=p z=p"]),
    ("commutative with a rest", "def r(xs, y):\n  yield blend(*xs, op.neg(y))", "n = neg(q); a = blend(p, n, q)",
     ["a xs=(p q) y=q"]),
    ("optional", "def r(x, w, b=None):\n  yield affine(x, w, b)", "a = affine(p, q); b = affine(q, p, p)",
     ["a x=p w=q b=-", "b x=q w=p b=p"]),
    ("variadic", "def r(xs):\n  yield pack(*xs)", "a = pack(p, q, p)", ["a xs=(p q p)"]),
    ("variadic in parts", "def r(xs, y, zs):\n  yield pack(*xs, op.neg(y), *zs)", "n = neg(q); a = pack(n, p, q)",
     ["a xs=() y=q zs=(p q)"]),
    ("variadic twice", "def r(xs, y):\n  yield op.sub(pack(*xs), pack(y, *xs))",
     "m = pack(p, q); n = pack(q, p, q); a = sub(m, n)", ["a xs=(p q) y=q"]),
    ("one of several ops", "def r(x):\n  yield (op.neg | op.relu)(x)", "a = neg(p); b = relu(p); c = abs(p)",
     ["a x=p", "b x=p"]),
    ("one of several forms", "def r(x, y):\n  yield op.abs(op.neg(x) | op.relu(y) | x)", "n = relu(p); a = abs(n)",
     ["a x=- y=p", "a x=n y=-"]),
    ("any op", "def r(x):\n  yield op.abs(rule.any_op(x))", "n = neg(p); a = abs(n); b = abs(p)", ["a x=p"]),
    ("any op, any operands", "def r(xs):\n  yield rule.any_op(*xs)", "a = sub(p, one)", ["a xs=(p one)"]),
    ("repeated", "def r(x):\n  yield rule.repeated(x, op.relu)", "a = relu(p); b = relu(a); c = relu(b); d = relu(q)",
     ["c x=p", "d x=q"]),
    ("repeated, at least", "def r(x):\n  yield rule.repeated(x, op.relu, least=3)", "a = relu(p); b = relu(a)", []),
    ("repeated, read elsewhere", "def r(x):\n  yield rule.repeated(x, op.relu)", "a = relu(p); b = relu(a); c = neg(a)",
     ["a x=p", "b x=a"]),
    ("repeated inside", "def r(x):\n  yield op.neg(rule.repeated(op.abs(x), op.relu))",
     "m = abs(p); a = relu(m); b = relu(a); n = neg(b)", ["n x=p"]),
    ("repeated or none", "def r(x):\n  yield op.neg(rule.repeated(op.abs(x), op.relu, least=0))",
     "m = abs(p); a = relu(m); n = neg(a); k = abs(q); o = neg(k); b = relu(q); c = neg(b)", ["n x=p", "o x=q"]),
    ("repeated or none, of a variable", "def r(x):\n  yield op.neg(rule.repeated(x, op.relu, least=0))",
     "a = relu(p); n = neg(a); o = neg(q)", ["n x=p", "o x=q"]),
    ("repeated or none, with a variable",
     "def r(x, z):\n  yield op.neg(rule.repeated(x, lambda l: op.sub(l, z), least=0))",
     "a = sub(p, q); n = neg(a); o = neg(q)", ["n x=p z=q", "o x=q z=-"]),
    ("repeated or none, of what is bound later",
     "def r(x, z):\n  yield op.sub(rule.repeated(x, lambda l: op.mul(z, l), least=0), op.neg(z))",
     "a = mul(p, q); m = neg(p); n = sub(a, m); b = mul(p, q); r = neg(one); o = sub(b, r)",
     ["n x=q z=p", "o x=b z=one"]),
    ("repeated or none, of a second result",
     "def r(x):\n  first, second = halves(x)\n  yield op.neg(rule.repeated(second, op.relu, least=0))",
     "h = halves(p); n = neg(h:1); k = halves(q); o = neg(k)", ["n x=p"]),
    ("repeated, with own variables", "def r(x):\n  yield rule.repeated(x, lambda l, c: op.sub(l, c))",
     "a = sub(p, one); b = sub(a, two)", ["b x=p"]),
    ("repeated, in any way", "def r(x, z):\n  yield rule.repeated(x, lambda l: op.mul(z, l))", "a = mul(p, q)",
     ["a x=q z=p", "a x=p z=q"]),
    ("alternative read twice", "def r(x, y):\n  n = op.neg(x) | y\n  yield op.sub(n, n)", "n = neg(p); a = sub(n, n)",
     ["a x=p y=-", "a x=- y=n"]),
    ("attribute", "def r(x):\n  yield scale(x, by=2)", "a = scale(p, by=2); b = scale(p)", ["a x=p"]),
    ("attribute at its default", "def r(x):\n  yield scale(x, by=1)", "a = scale(p, by=2); b = scale(p)", ["b x=p"]),
    ("attribute captured", "def r(x, k):\n  yield scale(scale(x, by=k), by=k)",
     "m = scale(p, by=2); a = scale(m, by=2); n = scale(p, by=2); b = scale(n, by=3)", ["a x=p k=2"]),
    ("attribute one of", "def r(x):\n  yield scale(x, by={1, 3})", "a = scale(p, by=2); b = scale(p, by=3)", ["b x=p"]),
    ("attribute in a range", "def r(x):\n  yield scale(x, by=range(2, 4))", "a = scale(p, by=4); b = scale(p, by=3)",
     ["b x=p"]),
    ("attribute predicate", "def r(x):\n  yield scale(x, by=rule.where(lambda k: k > 2, 'it is large'))",
     "a = scale(p, by=2); b = scale(p, by=3)", ["b x=p"]),
    ("condition", "def r(x: rule.where(lambda v: v.shape == (), 'it is a scalar')):\n  yield op.neg(x)",
     "a = neg(p); b = neg(two)", ["b x=two"]),
    ("condition of no name", "def r(x):\n  yield op.sub(x, rule.where(lambda v: v.is_constant, 'it is known'))",
     "a = sub(p, one); b = sub(p, q)", ["a x=p"]),
    ("several results", "def r(x):\n  a, b = halves(x)\n  yield op.sub(a, b)",
     "h = halves(p); a = sub(h, h:1); b = sub(h:1, h)", []),
    ("several results, two roots", "def r(x):\n  a, b = halves(x)\n  yield op.neg(a), op.abs(b)",
     "h = halves(p); a = neg(h); b = abs(h:1)", ["a b x=p"]),
    ("diamond", "def r(x):\n  n = op.neg(x)\n  yield op.sub(op.relu(n), op.abs(n))",
     "n = neg(p); m = neg(p); a = relu(n); b = abs(n); c = abs(m); d = sub(a, b); e = sub(a, c)", []),
    ("diamond, once", "def r(x):\n  n = op.neg(x)\n  yield op.sub(op.relu(n), op.abs(n))",
     "n = neg(p); a = relu(n); b = abs(n); d = sub(a, b)", ["d x=p"]),
    ("components", "def r(x, y):\n  yield op.neg(x), op.abs(y)", "a = neg(p); b = abs(q); c = abs(p)",
     ["a b x=p y=q", "a c x=p y=p"]),
    ("not that operand", "def r(x, y):\n  yield op.sub(x, ~op.neg(y))", "n = neg(p); a = sub(p, n); b = sub(p, q)",
     ["b x=p y=-"]),
    ("not that value", "def r(x):\n  yield op.sub(x, ~x)", "a = sub(p, p); b = sub(p, q)", ["b x=p"]),
    ("no such reader", "def r(x):\n  n = op.neg(x)\n  yield n, ~op.abs(n)",
     "a = neg(p); b = neg(q); c = abs(b); d = relu(b)", ["a x=p"]),
    ("no such neighbour", "def r(x):\n  yield op.neg(x), ~op.abs(x)", "a = neg(p); b = neg(q); c = abs(q)", ["a x=p"]),
    ("every reader", "def r(x):\n  yield rule.every(x, op.relu)", "a = relu(p); b = relu(p); c = neg(p); d = relu(q)",
     ["a b x=p"]),
    ("every reader, at least", "def r(x):\n  yield rule.every(x, op.relu, least=3)", "a = relu(p); b = relu(p)", []),
    ("every reader with a form", "def r(x):\n  yield rule.every(x, lambda w: op.sub(x, w))",
     "a = sub(p, one); b = sub(p, q); c = sub(q, p)", ["a b x=p"]),
    ("outside reader", "def r(x):\n  yield op.abs(op.neg(x))", "n = neg(p); a = abs(n); b = relu(n)", []),
]  # fmt: skip


@pytest.mark.parametrize(("source", "lines", "expected"), [e[1:] for e in EXAMPLES], ids=[e[0] for e in EXAMPLES])
def test_each_form_matches_as_it_reads(source, lines, expected):
    assert matches(source, lines) == expected


def test_an_outside_reader_does_not_matter_where_the_rule_keeps_or_duplicates_the_node():
    for shared in ("keep", "duplicate"):
        found = matches(
            "def r(x):\n  yield op.abs(op.neg(x))", "n = neg(p); a = abs(n); b = relu(n)", f"(shared={shared!r})"
        )
        assert found == ["a x=p"]


def test_a_chain_and_a_group_say_what_they_are_made_of():
    chain = rule_of("@rule\ndef r(x):\n  yield rule.repeated(x, lambda l, c: op.sub(l, c))\n  return x")
    (match,) = chain.find(graph_of("a = sub(p, one); b = sub(a, two)"))
    assert match.images[0].nodes == (("a",), ("b",))
    assert match.images[0].values == ((Operand("one"),), (Operand("two"),))
    group = rule_of("@rule\ndef r(x):\n  e = rule.every(x, lambda w: op.sub(x, w))\n  yield e\n  return [x, x]")
    (match,) = group.find(graph_of("b = sub(p, one); a = sub(p, q)"))
    assert match.images[0].nodes == (("a",), ("b",))
    assert match.images[0].values == ((Operand("q"),), (Operand("one"),))
    assert match.roots == ("a", "b")


def test_a_run_binds_what_the_rest_of_the_pattern_wants():
    source = "def r(x, z):\n  yield op.sub(rule.repeated(x, lambda l: op.mul(z, l)), op.neg(z))"
    found = matches(source, "m = mul(p, p); n = mul(p, m); o = neg(m); a = sub(n, o)", "(shared='keep')")
    assert found == ["a x=p z=m"]


def test_a_group_is_found_once():
    group = rule_of("@rule\ndef r(x):\n  yield rule.every(x, op.relu)\n  return [x, x, x]")
    assert len(group.find(graph_of("a = relu(p); b = relu(p); c = relu(p)"))) == 1


def test_matches_come_in_topological_order_of_their_roots_then_in_the_order_of_operands():
    pair = rule_of("@rule(shared='keep')\ndef r(x, y, z):\n  yield op.add(op.mul(x, y), z)\n  return op.fma(x, y, z)")
    graph = graph_of("m = mul(p, q); b = add(m, m); n = mul(b, p); a = add(n, b)")
    assert [(m.roots[0], m.bindings["x"].node) for m in pair.find(graph)] == [
        ("b", "p"), ("b", "q"), ("a", "b"), ("a", "p"),
    ]  # fmt: skip


# ---------------------------------------------------------------------- size


def chain_of(graph: Graph, value: Any, count: int) -> Any:
    for _ in range(count):
        value = op.relu(value)
    return value


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


def test_seven_equal_operands_of_a_commutative_op_are_one_match():
    (blend,) = (o for o in OWN_OPS if o.name == "blend")
    graph = Graph("g", ops=OWN_OPS)
    x = graph.input("x", Tensor("f32", (3,)))
    graph.output("y", blend(*[x] * 7))

    @rule
    def seven(a, b, c, d, e, f, g):
        yield blend(a, b, c, d, e, f, g)
        return a

    assert len(list(seven.matches_at(graph, "blend_1"))) == 1


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


def test_a_chain_longer_than_the_recursion_limit_is_matched():
    graph = Graph("g")
    graph.output("y", chain_of(graph, graph.input("x", Tensor("f32", ("N",))), 3000))

    @rule
    def whole(x):
        yield rule.repeated(x, op.relu)
        return op.relu(x)

    (match,) = whole.find(graph)
    assert len(match.nodes) == 3000


# ---------------------------------------------------------------------- the parts


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


@pytest.mark.parametrize(
    ("a", "b", "one"),
    [
        (0, 0.0, True),
        (0.0, -0.0, False),
        ((1.0, 0.0), (1.0, -0.0), False),
        ((-0.0, 2.0), (-0.0, 2.0), True),
        (np.array([0.0, 1.0]), np.array([-0.0, 1.0]), False),
        (np.array([3.0, 1.0]), np.array([3.0, 1.0]), True),
        (1, 2, False),
    ],
)
def test_an_attribute_that_stands_twice_is_one_value(a, b, one):
    assert identical(a, b) is identical(b, a) is one


def test_limits_with_zeros_of_two_signs_are_no_match():
    @rule
    def limited_twice(x, low):
        yield op.clip(op.clip(x, low=low), low=low)
        return op.clip(x, low=low)

    text = "graph g\nx = input() : f32[N]\na = clip(x, low=0.0)\nb = clip(a, low={})\ny = output(b)"
    for quickly in (1, 20):  # the matcher is generated after some searches
        for low, count in (("-0.0", 0), ("0", 1), ("0.0", 1)):
            for _ in range(quickly):
                assert len(limited_twice.find(Graph.parse(text.format(low)))) == count


def test_the_reference_finds_what_it_should_and_nothing_else():
    @rule
    def both(x, y):
        yield op.add(op.neg(x), y)
        return x

    graph = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = neg(x)\nc = add(a, b)\ny = output(c)")
    assert [m.nodes for m in reference(both.pattern, graph)] == [("a", "c"), ("b", "c")]
    assert [m.bindings for m in reference(both.pattern, graph)] == [
        (Operand("x"), Operand("b")),
        (Operand("x"), Operand("a")),
    ]


@pytest.mark.parametrize("element", ["f16", "f32", "f64"])
def test_a_number_is_the_float_next_to_it_in_the_type_of_the_constant(element):
    @rule
    def drop_tenth(x):
        yield op.mul(x, 0.1)
        return x

    for number, matches in ((0.1, True), (0.1001, False)):
        graph = Graph("tenth")
        graph.output("y", op.mul(graph.input("x", Tensor(element, ("N",))), number))
        assert bool(drop_tenth.find(graph)) == matches
