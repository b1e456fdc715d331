"""Dialects: namespaces of ops, types of edges and levels of one's own, which work as the library's do."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import (
    Dialect,
    EdgeType,
    Graph,
    Rule,
    Tensor,
    define_op,
    diff,
    evaluate,
    op,
    rewrite,
    rule,
    rules,
    trace,
    verify,
)
from graphrewrite.errors import EvaluationError, GraphError, RewriteError, RuleError, TypeMismatchError, UnknownOpError
from graphrewrite.formats import from_dict, load, read_text, save, to_dict, write_text
from graphrewrite.op.levels import LEVELS
from graphrewrite.rules import FOLDING
from tests.support.query_plans import RULES, Relation, hash_join, join_by_table, rel

F = Tensor("f32", ("N",))
SIDES = (("id", "age"), ("id", "item"))
PLAN = """graph plan
people = input() : rel.Relation(columns=['id', 'age'])
orders = input() : rel.Relation(columns=['id', 'item'])
join_1 = rel.join(people, orders, on='id') : rel.Relation(columns=['id', 'age', 'item'])
filter_1 = rel.filter(join_1, column='age', low=2) : rel.Relation(columns=['id', 'age', 'item'])
project_1 = rel.project(filter_1, columns=['item']) : rel.Relation(columns=['item'])
count_1 = rel.count(filter_1) : i64[]
rows = output(project_1)
n = output(count_1)"""


def plan() -> Graph:
    return Graph.parse(PLAN, ops=[rel])


ROWS = {
    name: st.lists(st.fixed_dictionaries({column: st.integers(0, 3) for column in columns}), max_size=4)
    for name, columns in zip(("people", "orders"), SIDES, strict=True)
}


@given(st.fixed_dictionaries(ROWS), st.sampled_from(["id", "age", "item"]))
def test_a_query_plan_is_a_graph_like_any_other(rows, column):
    built = Graph("plan", ops=[rel])
    people, orders = (built.input(*each) for each in zip(ROWS, map(Relation, SIDES), strict=True))
    kept = rel.filter(rel.join(people, orders, on="id"), column="age", low=2)
    built.output("rows", rel.project(kept, columns=["item"]))
    built.output("n", rel.count(kept))
    assert str(built) == PLAN
    built.nodes["filter_1"]["column"] = column
    verify(built)
    early = rewrite(built, RULES, verify=True)
    assert [early.nodes[o.node]["type"] for o in early.operands("project_1")] == ["rel.join"]
    tables = rewrite(early, [join_by_table], verify=True)
    for graph in (early, tables):
        assert evaluate(graph, rows) == evaluate(built, rows)
        assert Graph.parse(str(graph), ops=[rel]) == from_dict(to_dict(graph), ops=[rel]) == graph
        assert pickle.loads(pickle.dumps(graph)) == copy.deepcopy(graph) == graph
    assert evaluate(built, rows)["n"] == len(evaluate(built, rows)["rows"])


def test_it_is_drawn_explained_and_compared(tmp_path):
    graph = plan()
    for shown in (graph, trace(graph, RULES), RULES[0], diff(graph, rewrite(graph, RULES))):
        assert "rel.filter" in str(shown.show()._repr_html_())
    assert RULES[0].explain(graph, at="filter_1")
    assert "rel.Relation(" in str(graph.summary())
    save(graph, tmp_path / "plan.json")
    write_text(graph, tmp_path / "plan.txt")
    assert load(tmp_path / "plan.json", ops=[rel]) == read_text(tmp_path / "plan.txt", ops=[rel]) == graph


@pytest.mark.parametrize("read", [lambda g: Graph.parse(str(g)), lambda g: from_dict(to_dict(g))])
def test_what_is_missing_is_asked_for(read):
    with pytest.raises(GraphError.__base__, match=r"dialect 'rel', which is missing; pass the dialect as ops=\[rel\]"):
        read(plan())
    bare = Graph("g", ops=[rel])
    bare.output("n", rel.count(bare.input("x", Relation(["id"]))))
    bare.ops.clear()
    with pytest.raises(UnknownOpError, match=r"unknown op 'rel.count' of the dialect 'rel', which is missing"):
        bare.op("count_1")


def test_values_are_those_of_their_type():
    with pytest.raises(EvaluationError, match=r"'people' is rel.Relation.*, and got another value: the row"):
        evaluate(plan(), {"people": [{"id": 1}], "orders": []})
    with pytest.raises(TypeMismatchError, match=r"relu\(rel.Relation.* its values are no arrays"):
        op.relu(plan().value("people"))
    with pytest.raises(TypeMismatchError, match=r"rel.join does not take f32\[N\], f32\[N\]"):
        rel.join.infer(F, F, on="id")
    for wrong, told in (
        ({"columns": ({},)}, r"rel.Relation.columns\[0\]: expected str, got dict"),
        ({"columns": 5}, r"rel.Relation.columns: expected tuple\[str, \.\.\.\], got int 5"),
        ({}, "the field 'columns' of rel.Relation is missing"),
        ({"colums": ["a"]}, "rel.Relation has no field 'colums'; it has columns; did you mean 'columns'"),
    ):
        with pytest.raises(TypeMismatchError, match=told):
            Relation(**wrong)
    with pytest.raises(TypeMismatchError, match=r"rel.Relation has 1 fields \(columns\), got 2"):
        Relation(["a"], ["b"])
    with pytest.raises(TypeMismatchError, match="the field 'shape' of Wrong is reserved"):

        class Wrong(EdgeType, dialect=Dialect("other")):
            shape: int


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rel.Relatio(columns=['a'])", "unknown type 'rel.Relatio'; did you mean 'rel.Relation'"),
        ("rel.Relation(colums=['a'])", "has no field 'colums'; it has columns; did you mean 'columns'"),
        ("rel.Relation()", "rel.Relation cannot be made: .*missing"),
        ("rel.Relation(['a'])", "expected another field=value"),
    ],
)
def test_types_are_parsed_with_care(text, message):
    with pytest.raises(GraphError.__base__, match=message):
        Graph.parse(f"graph g\nx = input() : {text}", ops=[rel])


def scaled_by(factor):
    """One of many ops of a name."""

    @define_op
    def scaled(x):
        return x * factor

    return scaled


def again(number):
    """An op in one of two versions."""
    space = {"define_op": define_op}
    exec(compile(f"@define_op(infer=lambda x: x)\ndef twice(x):\n  return x * {number}", "again", "exec"), space)
    return space["twice"]


def test_an_op_that_is_defined_again_replaces_the_old_one_unless_both_are_given():
    old, new = again(1), again(2)
    graph = Graph("g", ops=[old])
    new(graph.input("x", F))
    assert graph.ops["twice"] is new
    with pytest.raises(GraphError, match="two different ops are named 'twice'"):
        Graph("g", ops=[old, new])
    assert Graph("g", ops=[again(1), again(1)]).ops


def test_names_do_not_clash():
    one, other = Dialect("one"), Dialect("other")
    for dialect in (one, other):

        @define_op(dialect=dialect)
        def split(x):
            return x

        split(split(Graph("g", ops=[one, other]).input("x", F)))
    assert {**one.ops, **other.ops}.keys() == {"one.split", "other.split"}

    with pytest.raises(GraphError, match="two different ops are named 'twice'"):
        Graph("g", ops=[define_op(name="twice")(f) for f in (split.function, lambda x: x)])
    with pytest.raises(GraphError, match="two different ops are named 'scaled'"):
        Graph("g", ops=[scaled_by(2.0), scaled_by(3.0)])
    assert Graph("g", ops=[scaled_by(2.0), scaled_by(2.0)]).ops

    with pytest.raises(GraphError, match="the dialect 'one' has another 'split'"):
        define_op(dialect=one, name="split")(lambda x: x)
    with pytest.raises(GraphError, match="'ops' is no name for a member"):
        define_op(dialect=one, name="ops")(lambda x: x)
    with pytest.raises(AttributeError, match="has no 'splt'; did you mean 'split'"):
        _ = one.splt


@pytest.mark.parametrize("name", ["shape", "relu", "constant", "input", "output"])
def test_an_op_of_the_name_of_a_library_op_is_refused_wherever_it_comes_in(name):
    @define_op(name=name)
    def mine(x):
        return x

    def in_a_rule():
        @rule
        def changed(x):
            yield mine(x)
            return x

    graph = Graph("g")
    x = graph.input("x", F)
    ways = (lambda: Graph("g", ops=[mine]), lambda: mine(x), lambda: graph.adopt(mine), in_a_rule)
    for way in ways:
        with pytest.raises((GraphError, RuleError), match=f"library has an op named '{name}' already; .*dialect=…"):
            way()
    assert mine(np.float32(3)) == 3


def test_levels_are_checked_and_ordered():
    with pytest.raises(TypeMismatchError, match=r"unknown level 'logicl'.*did you mean 'logical'"):
        define_op(dialect=rel, level="logicl")(lambda x: x)
    with pytest.raises(TypeMismatchError, match="unknown level 'hgih'; known are nn, integer, stream"):
        define_op(level="hgih")(lambda x: x)
    with pytest.raises(GraphError, match="not 'strem'; these are nn, integer, stream, memory; did you mean 'stream'"):
        Dialect("d", levels=("high",), above="strem")
    with pytest.raises(GraphError, match="cannot stand above nn and below integer"):
        Dialect("d", levels=("high",), above="nn", below="integer")
    with pytest.raises(GraphError, match="cannot have the level 'nn'"):
        Dialect("d", levels=("nn",))
    with pytest.raises(RuleError, match=r"makes 'rel.hash_join' of the level rel.physical out of rel.logical"):
        rule(join_by_table.function)

    @rule(kind="lowering")
    def back(a, b, on):
        """Back up."""
        yield hash_join(a, b, on=on)
        return rel.join(a, b, on=on)

    with pytest.raises(RewriteError, match="a lowering goes to a more specific level"):
        rewrite(rewrite(plan(), [join_by_table]), [back])


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=4), st.lists(st.floats(-1, 1, width=32), max_size=5))
def test_a_signal_chain_goes_down_to_ops_of_the_library(gains, samples):
    sig = Dialect("sig", levels=("signal",), above="nn")

    @define_op(dialect=sig)
    def gain(x, *, db=0.0):
        """Louder by some decibels."""
        return x * np.float32(10 ** (db / 20))

    @rule(keeps="rounding")
    def merge_gains(x, first, second):
        """Gains add up."""
        yield gain(gain(x, db=first), db=second)
        return gain(x, db=first + second)

    @rule(kind="lowering", keeps="rounding")
    def gain_as_product(x, db):
        """A gain is a product."""
        yield gain(x, db=db)
        return x * np.float32(10 ** (db / 20))

    graph = Graph("chain", ops=[sig])
    value = graph.input("x", F)
    for db in gains:
        value = sig.gain(value, db=db)
    graph.output("y", value)
    merged = rewrite(graph, [merge_gains], verify=True)
    assert merged.number_of_nodes() == 3
    lowered = rewrite(merged, [gain_as_product], verify=True)
    assert "sig." not in str(lowered)
    for each in (merged, lowered):
        assert Graph.parse(str(each), ops=[sig]) == from_dict(to_dict(each), ops=[sig]) == each
        assert np.allclose(evaluate(each, samples)["y"], evaluate(graph, samples)["y"], rtol=1e-4, atol=1e-6)
    with pytest.raises(RewriteError, match=r"transformation and makes 'mul' of the level nn out of sig.signal"):
        rewrite(merged, [Rule(gain_as_product.function, keeps="rounding")])


def test_no_constant_takes_the_place_of_an_object():
    @define_op(dialect=(table := Dialect("table")), infer=lambda *, rows: Relation(["id"]))
    def rows_of(*, rows):
        return [{"id": row} for row in rows]

    graph = Graph("g", ops=[rel, table])
    rows = graph.add(rows_of, [], {"rows": (1, 2, 3)})
    kept = rel.filter(rows, column="id", low=2)
    graph.output("kept", kept)
    graph.output("n", rel.count(kept) + 1)
    folded = rewrite(graph, (*FOLDING, *rules.RULES), verify=True)
    assert sorted(data["type"] for data in folded.nodes.values()) == [
        *("constant", "output", "output", "rel.filter", "table.rows_of")
    ]
    assert evaluate(folded, {}) == evaluate(graph, {}) == {"kept": [{"id": 2}, {"id": 3}], "n": 3}
    for refused in (lambda: graph.constant([1], type=Relation(["id"])), lambda: rel.join(rows, [{"id": 1}], on="id")):
        with pytest.raises(TypeMismatchError, match=r"op.* without operands"):
            refused()
    with pytest.raises(TypeMismatchError, match="an EdgeType of a dialect"):
        op.reshape(rows, shape=(1,))


LEVELS_OF_SOME = [
    *LEVELS,
    *(
        level
        for i, (above, below) in enumerate([("nn", None), ("stream", "nn"), (None, "stream"), (None, None)])
        for level in Dialect(f"d{i}", levels=("high", "low"), above=above, below=below).levels
    ),
]


@given(*[st.sampled_from(LEVELS_OF_SOME)] * 3)
def test_levels_are_a_strict_order(a, b, c):
    assert not (a.stands_above(b) and b.stands_above(a))
    assert a.stands_above(c) or not (a.stands_above(b) and b.stands_above(c))
    assert a.dialect != b.dialect or a.stands_above(b) or b.stands_above(a) or a == b
