"""Views: parts of a graph with inputs and outputs of their own, which follow it."""

from __future__ import annotations

import copy
import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op, pass_, rewrite, rule, trace, verify
from graphrewrite.errors import EvaluationError, GraphError, RewriteError, TypeMismatchError
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.hierarchy.border import label_of
from graphrewrite.hierarchy.graph_ops import graph_op
from graphrewrite.rules import RULES, eliminate_dead_nodes, merge_equal_nodes
from graphrewrite.testing import graphs, inputs_for

TEXT = """graph g
x = input() : f32[N,2]
c = constant(value=[1.0, 2.0]) : f32[2]
a = add(x, c)
n = neg(a)
m = neg(n)
r = relu(m)
e = exp(a)
s = mul(r, e)
y = output(s)
z = output(m)"""


@rule
def drop_minus_minus(x):
    """Minus minus x is x."""
    yield op.neg(op.neg(x))
    return x


@rule
def relu_as_maximum(x):
    """A relu is a maximum with zero."""
    yield op.relu(x)
    return op.maximum(x, 0)


@rule
def fuse_relu_of_neg(x):
    """No such identity holds; what matters is what is replaced."""
    yield op.relu(op.neg(x))
    return op.abs(op.exp(x))


@rule
def observe(x):
    """Every sigmoid and exp is looked at from above."""
    top = (op.exp | op.sigmoid)(x)
    yield top
    return op.identity(top)


def example() -> Graph:
    return Graph.parse(TEXT)


def labels(values):
    return [label_of(value) for value in values]


# ------------------------------------------------------------------ what a view is


def test_its_inputs_and_outputs_are_what_enters_and_leaves():
    view = example().view("v", ["n", "m", "e"])
    assert view.nodes == {"n", "m", "e"}
    assert list(view) == ["n", "m", "e"]
    assert (labels(view.input_operands), labels(view.output_operands)) == (["a"], ["m", "e"])
    assert (view.inputs, view.outputs) == (("a",), ("m", "e"))


def test_a_constant_outside_is_no_input_unless_it_is_named():
    graph = example()
    assert labels(graph.view("v", ["a"]).input_operands) == ["x"]
    view = graph.view("w", ["a"], inputs=["c"])
    assert labels(view.input_operands) == ["c", "x"]
    assert view.evaluate({"c": [5.0, 5.0], "x": [[0, 1]]})["a"].tolist() == [[5.0, 6.0]]


def test_an_order_that_is_named_is_kept_and_the_rest_follows():
    graph = example()
    assert labels(graph.view("v", ["n", "m", "e"], outputs=["e", "n"]).output_operands) == ["e", "n", "m"]
    assert labels(graph.view("w", ["s"], inputs=["e"]).input_operands) == ["e", "r"]


def test_inputs_and_outputs_of_the_graph_may_be_members():
    graph = example()
    whole = graph.view("all", graph)
    assert (labels(whole.input_operands), labels(whole.output_operands)) == (["x"], ["s", "m"])
    given_ = {"x": np.float32([[1, -2]])}
    found = whole.evaluate(given_)
    wanted = evaluate(graph, given_)
    assert (found["s"] == wanted["y"]).all()
    assert (found["m"] == wanted["z"]).all()


def test_views_overlap_and_a_node_knows_its_views():
    graph = example()
    first, second = graph.view("first", ["n", "m"]), graph.view("second", ["m", "r"])
    assert graph.views == ("first", "second")
    assert (graph.views_of("m"), graph.views_of("n"), graph.views_of("x")) == (("first", "second"), ("first",), ())
    assert (first & second).nodes == {"m"}
    assert (first | second).nodes == {"n", "m", "r"}
    assert (first - second).nodes == (first - ["m"]).nodes == {"n"}
    assert (first ^ second).nodes == (["n", "m"] ^ second).nodes == {"n", "r"}
    assert first & ["n"] <= first
    assert first >= ["m"]
    assert first.isdisjoint(["a"])
    assert graph.views == ("first", "second")
    first.forget()
    assert graph.views == ("second",)
    assert first.nodes == {"n", "m"}


def test_it_is_plain_data_that_copies_and_pickles():
    graph = example()
    graph.view("v", ["n", graph.value("m")], outputs=[("m", 0)])
    assert graph.graph["views"]["v"] == {"nodes": ("n", "m"), "inputs": (("a", 0),), "outputs": (("m", 0),)}
    for other in (graph.copy(), copy.copy(graph), copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        assert other.view("v").nodes == {"n", "m"}
        other.view("v", ["m", "n"], outputs=["m"])  # the same again
        with pytest.raises(GraphError, match=r"has another view 'v'; .* remove it by graph.view\('v'\).forget\(\)"):
            other.view("v", ["a"])
        other.view("v").forget()
        other.view("v", ["a"])
        assert graph.view("v").nodes == {"n", "m"}


def test_results_of_one_node_are_told_apart():
    halves = op.define_op(name="both", results=2, infer=lambda x: (x, x))(lambda x: (x, -x))
    graph = Graph("g")
    low, high = halves(graph.input("x", Tensor("f32", ("N",))))
    graph.output("y", op.exp(high) + low)
    view = graph.view("v", ["exp_1", "add_1"])
    assert labels(view.input_operands) == ["both_1:1", "both_1"]
    assert view.inputs == ("both_1:1", "both_1")
    assert view.evaluate({"both_1:1": [0.0], "both_1": [2.0]})["add_1"].tolist() == [3.0]
    assert labels(graph.view("w", ["both_1"]).output_operands) == ["both_1", "both_1:1"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda g: g.view("v", ["n", "mm"]), "node 'mm': is not in the graph; did you mean 'm'"),
        (lambda g: g.view("v", "n"), "as a list of names"),
        (lambda g: g.view("v", ["n"], outputs=["r"]), "node 'r': is not an output of the view 'v'"),
        (lambda g: g.view("v", ["n"], outputs=[("n", 1)]), "n:1 is not a result of a member"),
        (lambda g: g.view("v", ["n"], inputs=["m"]), "node 'm': is not an input of the view 'v'"),
        (lambda g: g.view("v", ["m"], outputs=["m", "m"]), "named twice"),
        (lambda g: g.view("v", [example().value("n")]), "another graph"),
        (lambda g: g.view("v", example().view("v", ["n"])), "another graph"),
        (lambda g: g.view("", ["n"]), "are non-empty strings, got ''"),
        (lambda g: g.view("ww"), "has no view 'ww'; did you mean 'w'"),
        (lambda g: g.view("v", inputs=["x"]), "no nodes; pass nodes="),
        (lambda g: g.view("w") | ["q"], "node 'q'"),
    ],
)
def test_what_is_no_view_is_refused_and_nothing_is_stored(wrong, message):
    graph = example()
    graph.view("w", ["a"])
    before = dict(graph.graph)
    with pytest.raises(GraphError, match=message):
        wrong(graph)
    assert graph.graph == before


def test_wrong_inputs_of_an_evaluation_are_named():
    view = example().view("v", ["n"])
    with pytest.raises(EvaluationError, match="the input 'a' is missing"):
        view.evaluate({})
    with pytest.raises(EvaluationError, match="no input 'aa'; did you mean 'a'"):
        view.evaluate({"aa": [[1, 2]]})
    with pytest.raises(EvaluationError, match="shape"):
        view.evaluate({"a": [1, 2, 3]})


@st.composite
def viewed(draw: st.DrawFn) -> Graph:
    """Graphs with two views of random nodes; shrinks to small ones."""
    graph = draw(graphs())
    assume(not any(isinstance(data.get("result"), tuple) for data in graph.nodes.values()))  # values go by nodes here
    for name in ("first", "second"):
        graph.view(name, draw(st.sets(st.sampled_from(sorted(graph)), min_size=1)))
    return graph


@given(viewed().flatmap(lambda g: st.tuples(st.just(g), inputs_for(g))))
def test_alone_it_computes_what_it_computes_in_the_graph(case):
    graph, inputs = case
    for name in graph.views:
        view = graph.view(name)
        verify(view.subgraph())
        names = {v.node for v in (*view.input_operands, *view.output_operands)}
        with np.errstate(all="ignore"):
            values = evaluate_nodes(graph, inputs, names)
            found = view.evaluate({label_of(v): values[v.node] for v in view.input_operands})
        for value in view.output_operands:
            np.testing.assert_array_equal(found[label_of(value)], values[value.node])
        assert view.summary()


# ------------------------------------------------------------------ following


def test_a_member_gives_way_to_what_replaces_it():
    graph = example()
    graph.view("v", ["m", "r", "e"], outputs=["r", "e", "m"])
    after = rewrite(graph, relu_as_maximum)
    assert after.view("v").nodes == {"m", "e", "maximum_1", "constant_1"}
    assert labels(after.view("v").output_operands) == ["maximum_1", "e", "m"]
    assert graph.view("v").nodes == {"m", "r", "e"}


def test_what_is_replaced_by_its_input_passes_through():
    graph = example()
    graph.view("v", ["n", "m"])
    view = rewrite(graph, drop_minus_minus).view("v")
    assert (len(view), labels(view.input_operands), labels(view.output_operands)) == (0, ["a"], ["a"])
    assert view.evaluate({"a": [[1, 2]]})["a"].tolist() == [[1.0, 2.0]]


def test_a_match_across_its_border():
    graph = Graph.parse(TEXT.replace("z = output(m)", "z = output(e)"))
    graph.view("below", ["m", "e"], outputs=["m", "e"])
    graph.view("above", ["r", "s"], inputs=["m", "e"])
    after = rewrite(graph, fuse_relu_of_neg)
    assert after.view("below").nodes == {"e", "exp_1", "abs_1"}
    assert labels(after.view("below").output_operands) == ["abs_1", "e"]
    assert after.view("above").nodes == {"s", "exp_1", "abs_1"}
    assert labels(after.view("above").input_operands) == ["n", "e"]


def test_a_node_that_is_put_on_top_belongs_to_it():
    graph = example()
    graph.view("v", ["e"])
    graph.view("next", ["s"], inputs=["e", "r"])
    after = rewrite(graph, observe, once=True)
    assert after.view("v").nodes == {"e", "identity_1"}
    assert labels(after.view("v").output_operands) == ["identity_1"]
    assert labels(after.view("next").input_operands) == ["identity_1", "r"]


def test_it_follows_a_merge():
    graph = Graph.parse(
        "graph g\nx = input() : f32[N]\na = neg(x)\nb = neg(x)\nc = exp(a)\nd = exp(b)\ns = sub(d, c)\ny = output(s)"
    )
    graph.view("c", ["a", "c"])
    graph.view("d", ["b", "d"])
    for after in (rewrite(graph, merge_equal_nodes), merge_equal_nodes(graph)):
        (left,) = {after.operands("s")[0].node}
        for name in ("c", "d"):
            assert left in after.view(name)
            assert after.view(name).nodes == after.view("c").nodes
            assert labels(after.view(name).output_operands) == [left]


def test_nodes_that_a_pass_puts_between_members_join():
    @pass_
    def insert_identity(graph):
        """Put an identity above n."""
        if "i" in graph:
            return []
        graph.add(op.identity, [graph.value("n")], name="i")
        graph.remove_edge("n", "m")
        graph.add_edge("i", "m", slots=((0, 0),))
        return ["m"]

    graph = example()
    graph.view("v", ["n", "m"])
    graph.view("w", ["a", "m"])
    after = rewrite(graph, insert_identity)
    assert after.view("v").nodes == {"n", "i", "m"}
    assert after.view("w").nodes == {"a", "m"}
    assert labels(after.view("w").input_operands) == ["x", "i"]


def test_dead_members_go():
    graph = Graph.parse(TEXT + "\nd = neg(x)\nf = exp(d)")
    graph.view("v", ["d", "f", "n"])
    view = eliminate_dead_nodes(graph).view("v")
    assert (view.nodes, labels(view.output_operands)) == ({"n"}, ["n"])


def test_nodes_that_are_removed_by_hand_are_gone():
    graph = example()
    view = graph.view("v", ["r", "s", "y"])
    graph.remove_node("y")
    assert (view.nodes, labels(view.output_operands)) == ({"r", "s"}, ["s"])


def test_a_rewrite_in_place_that_fails_leaves_the_views():
    graph = example()
    graph.view("v", ["n", "m", "r"])
    before = graph.copy()

    @rule
    def spin(x):
        """Round and round."""
        yield op.relu(x)
        return op.relu(op.identity(x))

    with pytest.raises(RewriteError):
        rewrite(graph, [drop_minus_minus, spin], copy=False, limit=5)
    assert graph == before
    rewrite(graph, [relu_as_maximum], copy=False)
    assert graph.view("v").nodes == {"n", "m", "maximum_1", "constant_1"}


def test_views_of_a_plain_digraph_follow():
    graph = example()
    graph.view("v", ["n", "m", "r"])
    plain = nx.DiGraph(graph)
    after = rewrite(plain, drop_minus_minus)
    assert type(after) is nx.DiGraph
    assert after.graph["views"]["v"] == {"nodes": ("r",), "inputs": (("a", 0),), "outputs": (("r", 0), ("a", 0))} or (
        after.graph["views"]["v"] == {"nodes": ("r",), "inputs": (("a", 0),), "outputs": (("a", 0), ("r", 0))}
    )
    assert plain.graph["views"]["v"]["nodes"] == ("n", "m", "r")


def test_an_output_that_went_with_its_readers_leaves_the_others_their_places():
    graph = Graph.parse("""graph g
a = constant(value=[[1.0]]) : f32[1,1]
k = constant(value=[[3.0, 1.0]]) : f32[1,2]
c = constant(value=2.0) : f32[]
s = sub(c, a) : f32[1,1]
b = exp(s) : f32[1,1]
n = neg(k) : f32[1,2]
d = add(n, a) : f32[1,2]
y = output(b)
z = output(d)""")
    assert [v.node for v in graph.view("v", ["a", "b", "d"]).output_operands] == ["a", "b", "d"]
    after = rewrite(graph, RULES)
    assert [v.node for v in after.view("v").output_operands] == [after.operands(name)[0].node for name in ("y", "z")]


@given(viewed().flatmap(lambda g: st.tuples(st.just(g), inputs_for(g, moderate=True))))
def test_after_any_rewrite_a_view_gives_the_same_values_in_the_same_order(case):
    graph, inputs = case
    with np.errstate(all="ignore"):
        for rules, once in ((RULES, False), ([*RULES, relu_as_maximum], False), ([relu_as_maximum, observe], True)):
            after = rewrite(graph, rules, once=once)
            assert trace(graph, rules, once=once).graph.graph == after.graph
            for name in graph.views:
                view, old = after.view(name), graph.view(name)
                assert view.nodes <= set(after)
                before = evaluate_nodes(graph, inputs, {v.node for v in old.output_operands})
                now = evaluate_nodes(after, inputs, {v.node for v in (*view.input_operands, *view.output_operands)})
                values = [now[v.node] for v in view.output_operands]
                # Where all readers went too, an output may be part of what replaced them.
                stayed = [v for v in old.output_operands if any(r.node in after for r in graph.readers(v.node))]
                places = [_place(before[v.node], values) for v in stayed]
                assert None not in places
                distinct = len({_bits(value) for value in values}) == len(values)
                assert not distinct or len(set(places)) < len(places) or places == sorted(places)
                given_ = {label_of(v): now[v.node] for v in view.input_operands}
                if any(array.size == 0 for array in (*inputs.values(), *values)) and not given_:
                    continue  # what has no entries may depend on no input, but for its size
                found = view.evaluate(given_)
                for value in view.output_operands:
                    np.testing.assert_array_equal(found[label_of(value)], now[value.node])


def _bits(value: np.ndarray) -> bytes:
    return bytes(str(value.shape), "ascii") + value.tobytes()


def _place(value: np.ndarray, values: list[np.ndarray]) -> int | None:
    return next((i for i, other in enumerate(values) if np.array_equal(value, other, equal_nan=True)), None)


@given(viewed())
def test_in_place_and_by_the_fast_path_it_is_the_same(graph):
    rules = [r for r in [*RULES, drop_minus_minus, relu_as_maximum] if not hasattr(r, "apply_in_place")]
    after = rewrite(graph, rules)
    unwatched = graph.copy()
    del unwatched.graph["views"]
    bare = rewrite(unwatched, rules)
    assert dict(bare.nodes(data="type")) == dict(after.nodes(data="type"))
    given_ = graph.copy()
    assert rewrite(given_, rules, copy=False) is given_
    assert given_ == after


def test_a_view_of_a_graph_with_a_cycle_through_state():
    @op.define_op(level="stream", stateful=True, infer=lambda x: x)
    def held_back(x):
        """What came a cycle ago."""
        return x

    graph = Graph("g", ops=[held_back])
    x = graph.input("x", Tensor("f32", ()))
    held = held_back(x)
    total = op.add(op.neg(op.neg(x)), held)
    graph.output("y", total)
    graph.remove_edge("x", "held_back_1")
    graph.add_edge("add_1", "held_back_1", slots=((0, 0),))
    view = graph.view("v", ["held_back_1", "add_1"])
    assert (labels(view.input_operands), labels(view.output_operands)) == (["neg_2"], ["add_1"])
    assert list(view) == ["held_back_1", "add_1"]
    assert view.subgraph().operands("held_back_1")[0].node == "add_1"
    verify(view.set(element="f64"))


@given(graphs(), st.data())
def test_views_of_the_graph_between_two_steps(graph, data):
    nodes = data.draw(st.lists(st.sampled_from(sorted(graph)), min_size=1, unique=True))
    graph.view("some", nodes)
    found = trace(graph, [*RULES, merge_equal_nodes])
    assert found.graph_after(0).view("some").nodes == graph.view("some").nodes
    last = found.graph_after(len(found.steps))
    assert last.graph["views"] == found.graph.graph["views"]
    for count in range(len(found.steps)):
        assert found.graph_after(count).view("some").nodes <= set(found.graph_after(count))


@pytest.mark.parametrize("name", [3, "", None, ("a",)])
def test_a_view_is_called_by_a_word(name):
    graph = Graph.parse(TEXT)
    with pytest.raises(GraphError, match=r"names of views are non-empty strings, got"):
        graph.view(name, ["n"])
    assert graph.views == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"backend": 3}, "the backend is a string or None, got 3"),
        ({"use_kernel": ["fast"]}, "the use_kernel is a string or None"),
        ({"layout": 3}, "letters A to Z, got 3"),
        ({"layout": ["N", "C"]}, r"letters A to Z, got \['N', 'C'\]"),
    ],
)
def test_settings_are_words(settings, message):
    graph = Graph.parse(TEXT)
    with pytest.raises((GraphError, TypeMismatchError), match=message):
        graph.view("v", ["n"]).set(**settings)


def test_what_no_node_of_a_view_computes_is_no_setting():
    block = Graph.parse("graph block\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    graph = Graph("g")
    swirl = op.generic("Swirl")(graph_op(block)(graph.input("x", Tensor("f32", ("N", 2)))))
    graph.output("y", op.neg(swirl))
    for nodes, kind in ((["block_1"], "block"), (["Swirl_1"], "Swirl")):
        for setting in ({"element": "f16"}, {"layout": "NC"}):
            with pytest.raises(
                TypeMismatchError,
                match=rf"node '{nodes[0]}': the .* cannot be set: {kind} is an unknown op, or a graph",
            ):
                graph.view(kind, nodes).set(**setting)
    found = graph.view("v", ["block_1", "neg_1"]).set(element="f16")
    assert [str(found.result_type(n)) for n in ("block_1", "neg_1")] == ["f32[N,2]", "f16[N,2]"]
