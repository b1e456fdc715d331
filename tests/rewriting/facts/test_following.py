"""Facts are kept along edits, and rules that ask for them are tried again where they change."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, decline, op, rewrite, rule
from graphrewrite.errors import RewriteError, RuleError
from graphrewrite.graph import Operand
from graphrewrite.graph.edit import apply_edit
from graphrewrite.rewriting.facts import (
    distance,
    dominators,
    facts_of,
    finite,
    nonnegative,
    numbers,
    producers,
    readers_of,
)
from graphrewrite.rewriting.facts.observation import observer_of
from graphrewrite.rewriting.facts.table import FactTable


@rule(shared="keep")
def drop_relu(x: rule.where(nonnegative)):
    yield op.relu(x)
    return x


@rule(shared="keep")
def drop_abs(x):
    outer = op.abs(x)
    yield outer
    return x if nonnegative(x) else rule.decline(nonnegative.lacking(x), at=x)


@rule(shared="keep")
def drop_maximum(x, y):
    yield op.maximum(x, y)
    return x if x.fact().low >= y.fact().high else rule.decline("either may be greater")


@rule(shared="keep")
def drop_double_negation(x):
    yield op.neg(op.neg(x))
    return x


@rule(shared="keep")
def narrow(x):
    yield op.clip(op.clip(x, low=-3, high=9), low=0, high=100)
    return op.clip(x, low=0, high=9)


@rule(shared="keep")
def open_up(x):
    """The difference is one of values that are not known any more: facts get less."""
    yield op.sub(op.abs(x), op.relu(x))
    return op.minimum(op.neg(x), op.abs(x))


@rule(shared="keep")
def limit_what_is_read_once(x):
    outer = op.neg(x)
    yield outer
    return rule.decline("others read it") if len(readers_of(x)) > 1 else op.clip(x, low=-9, high=9)


@rule(shared="keep")
def drop_near_inputs(x, y):
    outer = op.maximum(x, y)
    yield outer
    return y if distance(outer, y) == 1 and "x" in producers(x) else rule.decline("it is far away")


@rule(shared="keep")
def rectify_what_few_dominate(x):
    outer = op.abs(x)
    yield outer
    return op.relu(x) if len(dominators(outer)) <= 3 else rule.decline("there are more ways")


RULES = (drop_relu, drop_abs, drop_maximum, drop_double_negation, narrow, open_up)
QUERIES = (limit_what_is_read_once, drop_near_inputs, rectify_what_few_dominate, drop_double_negation, narrow)


def random_graph(rng: random.Random, size: int) -> Graph:
    graph = Graph("g")
    values = [graph.input(name, Tensor("i16", ("N",))) for name in "xy"]
    for _ in range(size):
        a, b = rng.choice(values[-4:]), rng.choice(values)
        made: Any = rng.choice([
            lambda a=a: op.relu(a), lambda a=a: op.abs(a), lambda a=a: op.neg(a), lambda a=a, b=b: op.maximum(a, b),
            lambda a=a, b=b: op.sub(a, b), lambda a=a: op.clip(a, low=-3, high=9),
            lambda a=a: op.clip(a, low=0, high=100),
            lambda a=a: op.neg(op.neg(a)), lambda a=a: op.sub(op.abs(a), op.relu(a)),
            lambda a=a: op.clip(op.clip(a, low=-3, high=9), low=0, high=100),
        ])  # fmt: skip
        values.append(made())
    for i, value in enumerate(values[-3:]):
        graph.output(f"out_{i}", value)
    return graph


class Comparing:
    """A watcher that compares the facts that are kept with new ones after each step."""

    steps = kept = 0

    def tried(self, *_: Any) -> None: ...
    def passing(self, *_: Any) -> None: ...
    def passed(self, *_: Any) -> None: ...

    def rewritten(self, graph: Graph, member: Any, change: Any) -> None:
        self.steps += 1
        observer = observer_of(graph)
        assert observer is not None
        for table in observer.tables.values():
            new = FactTable(graph, table.analysis)
            self.kept += len(table.facts)
            assert {node: new._of_all_below(node) for node in table.facts} == table.facts, member


OPTIONS: tuple[dict[str, Any], ...] = ({}, {"copy": False}, {"first": "rule"}, {"order": "top-down"})


@given(
    st.integers(0, 10**6),
    st.sampled_from(OPTIONS),
    st.booleans(),
    st.integers(3, 25),
    st.sampled_from([RULES, QUERIES, RULES + QUERIES]),
)
def test_the_result_is_that_of_scanning_everything_again(seed, options, watched, size, rules):
    graph = random_graph(random.Random(seed), size)
    watcher = Comparing() if watched else None
    rules = tuple(dict.fromkeys(rules))
    rewritten = rewrite(graph.copy(), rules, watcher=watcher, **options)
    left = {each.name: [match.roots for match in each.find(rewritten)] for each in rules}
    assert not any(left.values()), f"{left}\n{graph}\n{rewritten}"


def test_most_of_the_random_graphs_tell():
    watcher = Comparing()
    for seed in range(10):
        rewrite(random_graph(random.Random(seed), 20), RULES, watcher=watcher)
    assert watcher.steps > 30
    assert watcher.kept > 100


def test_a_chain_may_be_long_and_its_facts_are_computed_once():
    graph = Graph("g")
    value = op.abs(op.cast(graph.input("x", Tensor("i8", ("N",))), element="i32"))
    for _ in range(20_000):
        value = op.relu(value)
    graph.output("y", value)
    calls = 0

    def counted(node: Any) -> Any:
        nonlocal calls
        calls += 1
        return node.facts[0]

    depth = type(numbers)("counted", unknown=lambda _: 1, kind=int, functions={op.relu: counted})
    positive = depth.predicate(lambda fact: fact > 0, "it is positive")

    @rule
    def drop(x: rule.where(positive)):
        yield op.relu(x)
        return x

    assert len(rewrite(graph, [drop])) == 4
    assert calls <= 20_000
    assert facts_of(graph)["relu_20000"].low == 0


def test_a_rule_that_asks_by_a_function_from_elsewhere_is_noticed():
    asks = {"nonnegative": nonnegative.__call__}.__getitem__

    @rule
    def hidden(x):
        yield op.relu(x)
        return x if asks("nonnegative")(x) else decline("may be negative")

    assert not hidden.definition.looks_around
    graph = Graph.parse("""graph g
x = input() : i8[N]
r = relu(x)
c = clip(r, low=0, high=100)
n = neg(c)
m = neg(n)
s = relu(m)
t = relu(s)
y = output(t)""")
    kinds = [data["type"] for _, data in rewrite(graph, [hidden, drop_double_negation]).nodes(data=True)]
    assert kinds == ["input", "relu", "clip", "output"]


def test_what_fails_leaves_the_graph_as_it_was():
    @rule
    def fail(x: rule.where(nonnegative)):
        yield op.neg(x)
        return 1 // 0 * x

    graph = Graph.parse("graph g\nx = input() : i8[N]\na = relu(x)\nb = relu(a)\nn = neg(b)\ny = output(n)")
    before = graph.copy()
    with pytest.raises(RuleError, match="fails below its yield"):
        rewrite(graph, [drop_relu, fail], copy=False)
    assert graph == before
    with pytest.raises(RewriteError, match="do not end"):
        rewrite(graph, [drop_relu], copy=False, limit=0)
    assert graph == before


def test_facts_of_nodes_that_are_not_there():
    @rule
    def foreign(x):
        yield op.relu(x)
        return facts_of(x.graph)["nowhere"]

    graph = Graph.parse("graph g\nx = input() : i8[N]\na = relu(x)\ny = output(a)")
    with pytest.raises(RuleError, match="'nowhere'"):
        foreign(graph)
    assert finite.reason == "it is finite"
    assert Operand("a") == graph.operands("y")[0]
    table = FactTable(graph, numbers)
    assert table.of("a").low == 0
    edit = drop_relu.edit(
        graph, next(drop_relu.matches_at(Graph.parse("graph g\nx = input() : u8[N]\na = relu(x)\ny = output(a)"), "a"))
    )
    apply_edit(graph, edit)
    assert table.follow(edit) == {"a": None}


def test_a_rule_may_ask_by_a_function_that_stands_below_it():
    @rule
    def hidden(x):
        yield op.relu(x)
        return _known(x)

    def _known(x):
        return x if x.fact().low >= 0 else decline("may be negative")

    assert hidden.definition.looks_around
