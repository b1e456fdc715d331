"""Implementations: chosen by what they state, with conversions where they need them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, define_op, evaluate, evaluation, op, rewrite, verify
from graphrewrite.errors import EvaluationError, GraphError, TypeMismatchError, UnknownOpError
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.execution.implementation import (
    Implementation,
    Wanted,
    choose,
    fits,
    insert_conversions,
    replace_generic,
)
from graphrewrite.execution.program import compile_graph
from graphrewrite.hierarchy.graph_ops import graph_op
from graphrewrite.rules.transfers import drop_transfer, insert_transfers, merge_transfers
from graphrewrite.testing import graphs, inputs_for

F = Tensor("f32", ("N", 4))


def relu_graph(marks: str = "", kind: str = "f32[N,4]") -> Graph:
    return Graph.parse(f"graph g\nx = input() : {kind}\nr = relu(x{marks})\ny = output(r)")


# ------------------------------------------------------------------ choosing


def best(implementations, wanted):
    found = choose(implementations, wanted)
    return None if found is None else found.implementation


def test_the_best_match_comes_first():
    wanted = Wanted("relu", op.relu, (F,), backend="gpu", kernel="fast")
    open_ = Implementation(op.relu, np.abs)
    gpu = Implementation(op.relu, np.abs, backend="gpu")
    both = Implementation("relu", np.abs, backend="gpu", kernel="fast", element="f32")
    needs = Implementation(op.relu, np.abs, backend="gpu", kernel="fast", element="f16", layout="NC")
    cpu = Implementation(op.relu, np.abs, backend="cpu")
    other = Implementation(op.neg, np.abs, backend="gpu")
    for order in itertools.permutations([open_, gpu, both, needs, cpu, other]):
        assert [fit.implementation for fit in fits(order, wanted)] == [both, gpu, open_, needs]
    twin = Implementation(op.relu, np.negative)
    assert best([twin, open_], wanted) is twin
    assert best([open_, twin], wanted) is open_


fields = st.fixed_dictionaries(
    {},
    optional={
        "backend": st.sampled_from(["cpu", "gpu"]),
        "element": st.sampled_from(["f16", "f32", "i8"]),
        "layout": st.sampled_from(["NC", "CN"]),
        "kernel": st.sampled_from(["a", "b"]),
    },
)


@given(st.lists(fields, max_size=5), fields)
def test_what_is_chosen_is_what_a_reading_of_the_contract_chooses(stated, asked):
    """Against a plain reading: no contradiction, then conversions, then what is named, then other agreement."""
    given_ = [Implementation(op.relu, np.abs, **fields_) for fields_ in stated]
    kind = Tensor(asked.get("element", "f32"), ("N", 4), asked.get("layout"))
    wanted = Wanted("relu", op.relu, (kind,), asked.get("backend"), asked.get("kernel"))
    ranked = []
    for index, fields_ in enumerate(stated):
        if any(fields_.get(k, asked.get(k)) != asked.get(k, fields_.get(k)) for k in ("backend", "kernel")):
            continue
        casts = fields_.get("element", kind.element) != kind.element
        if casts and "i8" in (fields_["element"], kind.element):
            continue
        moves = fields_.get("layout", kind.layout or "NC") != (kind.layout or "NC")
        named = sum(k in fields_ and fields_[k] == asked.get(k) for k in ("backend", "kernel"))
        agreed = (fields_.get("layout") or "") == kind.layout, fields_.get("element") == kind.element
        ranked.append((casts + moves, -named, -sum(agreed), index))
    if ranked:
        assert best(given_, wanted) is given_[min(ranked)[-1]]
    elif wanted.backend in (None, "cpu") and wanted.kernel is None:
        assert choose(given_, wanted) is None
    else:
        with pytest.raises(EvaluationError):
            choose(given_, wanted)


def test_precision_is_bits_of_any_element():
    half = Implementation(op.relu, np.abs, precision=16)
    for element in ("f16", "bf16", "i16", FixedPoint(True, 16)):
        assert fits([half], Wanted("relu", op.relu, (Tensor(element, (2,)),)))[0].conversions == ()
    assert fits([half], Wanted("relu", op.relu, (F,)))[0].element == "f16"
    assert fits([half], Wanted("relu", op.relu, (Tensor("i8", (2,)),))) == []


def test_a_backend_that_nobody_implements_lists_what_there_is():
    there = [Implementation(op.relu, np.abs, backend="cpu"), Implementation(op.neg, np.abs, backend="gpu")]
    graph = relu_graph(", backend='gpu'")
    with pytest.raises(EvaluationError, match=r"node 'r': .*relu\(f32\[N,4\]\) has the backend 'gpu'.*backend cpu>"):
        evaluate(graph, {"x": np.zeros((1, 4))}, implementations=there)
    with pytest.raises(EvaluationError, match="kernel 'fast'; available: none"):
        evaluate(relu_graph(", use_kernel='fast'"), {"x": np.zeros((1, 4))}, implementations=there[1:])
    assert evaluate(graph, {"x": -np.ones((1, 4))}, implementations=None)["y"].sum() == 0


LOOPED = """graph body
i = input() : i64[]
x = input() : f32[N,4]
c = constant(value=True) : bool[]
r = relu(x) {backend='gpu'}
go_on = output(c)
last = output(r)"""


def looped() -> Graph:
    graph = Graph("g")
    x = graph.input("x", F)
    graph.output("y", op.loop(graph.constant(np.int64(2)), graph.constant(np.array(True)), x, body=Graph.parse(LOOPED)))
    return graph


def nested() -> Graph:
    graph = Graph("main")
    graph.output("y", graph_op(relu_graph().set(backend="gpu"))(graph.input("x", F)))
    return graph


@pytest.mark.parametrize("make", [lambda: relu_graph().set(backend="gpu"), looped, nested])
def test_a_backend_that_nobody_implements_is_an_error_when_a_graph_runs(make):
    graph, x = make(), {"x": -np.ones((2, 4), np.float32)}
    verify(graph)
    compiled, shown = lambda g, x: compile_graph(g)(x), lambda g, x: g.show(values=x)
    for run in (evaluate, compiled, evaluation, shown):
        with pytest.raises(EvaluationError, match=r"^node 'r': no .* backend 'gpu'; available: none, .* on 'cpu' and"):
            run(graph, x)
    assert evaluate(graph, x, implementations=None)["y"].sum() == 0
    assert evaluation(graph, x, implementations=None).edges["y", 0].high == 0
    gpu = [Implementation(op.relu, lambda x: x + 1, backend="gpu")]
    assert evaluate(graph, x, implementations=gpu)["y"].sum() in (0, 8)
    with pytest.raises(EvaluationError, match="has the backend 'gpu'; did you mean 'gpo'"):
        evaluate(graph, x, implementations=[Implementation(op.neg, abs, backend="gpo")])
    for each in (relu_graph().set(backend="cpu"), relu_graph().set(backend="numpy")):
        assert evaluate(each, x)["y"].sum() == evaluate(each, x, implementations=gpu)["y"].sum() == 0


def test_only_what_runs_needs_its_backend():
    graph = spread()
    graph.nodes["e"]["backend"] = "board"
    with pytest.raises(EvaluationError, match=r"'b': .*the same holds for 'c', 'e'; pass implementations="):
        evaluate(graph, {"x": [[1, 2]]})
    assert compile_graph(graph, ["a"])({"x": [[1, 2]]})["a"].tolist() == [[-1, -2]]
    dead = relu_graph()
    dead.nodes[op.neg(dead.value("x")).node]["backend"] = "gpu"
    assert evaluate(dead, {"x": np.ones((1, 4))})["y"].sum() == 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"function": 3},
        {"element": "f17"},
        {"layout": "NN"},
        {"element": "f16", "precision": 32},
        {"precision": 0},
    ],
)
def test_wrong_implementations_are_refused(wrong):
    with pytest.raises(TypeMismatchError):
        Implementation(**{"op": op.relu, "function": np.abs, **wrong})


# ------------------------------------------------------------------ evaluating


def test_it_computes_instead_of_the_op():
    seen = []

    def function(x):
        seen.append((x.dtype, x.shape))
        return np.maximum(x, 0) + 1

    graph = relu_graph()
    found = evaluate(graph, {"x": [[-1, 1, 2, 3]]}, implementations=[Implementation(op.relu, function)])
    assert found["y"].tolist() == [[1.0, 2.0, 3.0, 4.0]]
    found = evaluate(graph, {"x": [[-1, 1, 2, 3]]}, implementations=[Implementation(op.relu, function, element="f16")])
    assert (found["y"].dtype, found["y"].tolist()) == (np.float32, [[1.0, 2.0, 3.0, 4.0]])
    assert seen == [(np.float32, (1, 4)), (np.float16, (1, 4))]
    assert graph == relu_graph()
    program = compile_graph(graph, implementations=[Implementation("relu", function)])
    assert program({"x": np.zeros((2, 4))})["y"].tolist() == [[1.0] * 4] * 2


def test_a_layout_that_is_stated_is_that_of_the_arrays():
    seen = []

    def pool(x, **attributes):
        seen.append(x.shape)
        return np.moveaxis(op.max_pool(np.moveaxis(x, -1, 1), **attributes), 1, -1)

    graph = Graph("g")
    graph.output("y", op.max_pool(graph.input("x", Tensor("f32", ("N", 3, 4, 6))), kernel=(2, 2), strides=(2, 2)))
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 6)).astype(np.float32)
    given_ = [Implementation(op.max_pool, pool, layout="NHWC")]
    made = insert_conversions(given_)(graph)
    verify(made)
    assert str(made.result_type("max_pool_1")) == "f32[N,2,3,3] NHWC"
    np.testing.assert_array_equal(
        evaluate(graph, {"x": x}, implementations=given_)["y"], evaluate(graph, {"x": x})["y"]
    )
    assert seen == [(2, 4, 6, 3)]
    assert insert_conversions(given_)(made) == made


@given(graphs().flatmap(lambda g: st.tuples(st.just(g), inputs_for(g, moderate=True))), st.data())
def test_the_ops_own_functions_in_other_circumstances(case, data):
    graph, inputs = case
    # The graph in a node says of which type its values are.
    plain = [d["type"] for _, d in graph.nodes(data=True) if not any(isinstance(v, Graph) for v in d.values())]
    names = sorted({*plain} - {"input", "output", "constant"})
    chosen = data.draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    element = data.draw(st.sampled_from([None, "f32", "f64"]))
    given_ = [
        Implementation(graph_op, graph_op.function, element=element) for n in chosen for graph_op in [ops_of(graph, n)]
    ]
    made = rewrite(graph, insert_conversions(given_))
    verify(made)
    assert insert_conversions(given_)(made) == made
    with np.errstate(all="ignore"):
        before, after = evaluate(graph, inputs), evaluate(graph, inputs, implementations=given_)
        again = evaluate_nodes(made, inputs, made.outputs, implementations=given_)
    for name, value in before.items():
        assert after[name].dtype == value.dtype
        np.testing.assert_array_equal(again[name], after[name])
        narrowed = any("f64" in str(data.get("result")) for _, data in graph.nodes(data=True))
        if element is None or (element == "f32" and not narrowed):
            np.testing.assert_array_equal(after[name], value)


def ops_of(graph: Graph, name: str):
    return next(graph.op(n) for n, d in graph.nodes(data=True) if d["type"] == name)


# ------------------------------------------------------------------ plugins


def swirled(known: bool = True) -> Graph:
    graph = Graph("g")
    x = graph.input("x", F)
    graph.output("y", op.neg(op.generic("Swirl")(x, turns=3, result=Tensor("f32", ("N", 4)))))
    graph.nodes["Swirl_1"]["backend"] = "gpu"
    if not known:
        graph.ops.clear()
    return graph


@define_op(name="Swirl", infer=lambda x, turns: Tensor(x.element, (*x.shape[:-1], 2)))
def swirl(x, *, turns):
    """What a user's package brings along."""
    return x[..., :2] * turns


@pytest.mark.parametrize("known", [True, False])
def test_a_generic_op_gets_an_implementation(known):
    graph = swirled(known)
    del graph.nodes["Swirl_1"]["backend"]
    x = np.ones((1, 4), np.float32)
    with pytest.raises(UnknownOpError, match="Swirl"):
        evaluate(graph, {"x": x})
    given_ = [Implementation("Swirl", lambda x, turns: x * turns)]
    assert evaluate(graph, {"x": x}, implementations=given_)["y"].tolist() == [[-3.0] * 4]


@pytest.mark.parametrize("known", [True, False])
def test_a_plugin_takes_the_place_of_a_generic_op(known):
    graph = swirled(known)
    graph.view("v", ["Swirl_1"])
    before = graph.copy()
    for made in (replace_generic(swirl)(graph), rewrite(graph, [replace_generic(swirl)])):
        verify(made)
        assert made.op("Swirl_1") is swirl
        assert str(made.result_type("neg_1")) == "f32[N,2]"
        assert made.nodes["Swirl_1"]["backend"] == "gpu"
        assert made.view("v").nodes == {"Swirl_1"}
        assert evaluate(made, {"x": np.ones((1, 4))}, implementations=None)["y"].tolist() == [[-3.0, -3.0]]
        assert replace_generic(swirl)(made) == made
    assert graph == before


def test_attributes_under_other_names():
    made = replace_generic(op.leaky_relu, "Swirl", {"turns": "alpha"})(swirled())
    assert made.nodes["Swirl_1"]["alpha"] == 3
    made = replace_generic(op.relu, "Swirl", {"turns": None})(swirled())
    assert "turns" not in made.nodes["Swirl_1"]
    verify(made)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (
            lambda: replace_generic(op.relu, "Swirl")(swirled()),
            TypeMismatchError,
            "'Swirl_1': relu has no attribute 'turns'",
        ),
        (lambda: replace_generic(op.relu, "neg"), GraphError, "not a generic one"),
        (lambda: replace_generic(op.relu, "Swirl")(replace_generic(swirl)(swirled())), GraphError, "not a generic op"),
    ],
)
def test_what_no_plugin_can_replace(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()


# ------------------------------------------------------------------ transfers


def spread() -> Graph:
    return Graph.parse(
        """graph g
x = input() : f32[N,2]
a = neg(x, backend='cpu')
b = exp(a, backend='gpu')
c = add(a, b, backend='gpu')
d = mul(c, a, backend='cpu')
e = relu(c)
y = output(d)
z = output(e)"""
    )


def test_a_transfer_stands_where_backends_differ():
    graph = spread()
    made = rewrite(graph, insert_transfers, verify=True)
    assert [o.node for o in made.operands("b")] == ["transfer_1"]
    assert [o.node for o in made.operands("c")] == ["transfer_1", "b"]
    assert [o.node for o in made.operands("d")] == ["transfer_2", "a"]
    assert [o.node for o in made.operands("e")] == ["c"]
    assert made.nodes["transfer_1"]["backend"] == "gpu"
    assert insert_transfers(made) == made
    assert Graph.parse(str(made)) == made
    for name, value in evaluate(graph, {"x": [[1, 2]]}, implementations=None).items():
        np.testing.assert_array_equal(evaluate(made, {"x": [[1, 2]]}, implementations=None)[name], value)


def test_transfers_that_are_not_needed_go():
    made = insert_transfers(spread())
    for node in ("a", "b", "c", "d"):
        made.nodes[node]["backend"] = "gpu"
    made = rewrite(made, [drop_transfer, merge_transfers], verify=True)
    assert sorted(n for n in made if "transfer" in n) == ["transfer_2"]
    text = "graph g\nx = input() : f32[N]\nt = transfer(x, backend='a')\nu = transfer(t, backend='b')\ny = output(u)"
    made = rewrite(Graph.parse(text), [drop_transfer, merge_transfers])
    assert [d["backend"] for _, d in made.nodes(data=True) if d["type"] == "transfer"] == ["b"]


@given(graphs(), st.data())
def test_after_insertion_every_reader_reads_from_its_own_backend(graph, data):
    for node in graph:
        backend = data.draw(st.sampled_from([None, "cpu", "gpu"]))
        if backend is not None:
            graph.nodes[node]["backend"] = backend
    made = insert_transfers(graph)
    verify(made)
    for node in made:
        there = made.nodes[node].get("backend")
        if there is not None and made.nodes[node]["type"] != "transfer":
            assert {made.nodes[o.node].get("backend") for o in made.operands(node)} <= {None, there}
    assert insert_transfers(made) == made


# ------------------------------------------------------------------ what is no implementation


@pytest.mark.parametrize(
    ("function", "shape"),
    [(lambda x: x[:1], r"\[1,4\]"), (lambda x: None, "nothing"), (lambda x: np.stack([x, x]), r"\[2,3,4\]")],
)
@pytest.mark.parametrize("kind", ["relu", op.relu])
def test_an_implementation_that_gives_another_shape_is_refused(kind, function, shape):
    slow = Implementation(kind, function, backend="slow")
    with pytest.raises(
        EvaluationError,
        match=rf"node 'r': <implementation of relu.*> must return arrays of shape \[3,4\], got {shape}",
    ):
        evaluate(relu_graph(), {"x": np.ones((3, 4))}, implementations=[slow])


def test_an_implementation_that_gives_too_few_results_is_refused():
    graph = Graph.parse("graph g\nx = input() : f32[N]\ns = ?Split(x) : f32[N], f32[M]\ny = output(s)")
    both = Implementation("Split", lambda x: (x, x[:2]))
    assert evaluate(graph, {"x": np.ones(5)}, implementations=[both])["y"].shape == (5,)
    with pytest.raises(EvaluationError, match=r"must return arrays of shape \[5\], \[M\], got \[5\]"):
        evaluate(graph, {"x": np.ones(5)}, implementations=[Implementation("Split", lambda x: x)])


@pytest.mark.parametrize("given", [3, [3], [op.relu], Implementation(op.relu, np.abs)])
def test_what_is_no_list_of_implementations_is_refused(given):
    for use in (
        lambda: evaluate(relu_graph(), {"x": np.ones((3, 4))}, implementations=given),
        lambda: insert_conversions(given),
    ):
        with pytest.raises(TypeMismatchError, match=r"implementations are a list of Implementation, got"):
            use()


@pytest.mark.parametrize(
    ("op_", "stated", "message"),
    [
        (3, {}, "for an op or its name, got 3"),
        ("", {}, "its name, got ''"),
        (op.relu, {"backend": 3}, "the backend of an implementation is a string, got 3"),
        (op.relu, {"kernel": ["fast"]}, "the kernel of an implementation is a string"),
        (op.relu, {"precision": "16"}, "the precision of an implementation is a number of bits, got '16'"),
        (op.relu, {"layout": 4}, "distinct letters A to Z, got 4"),
    ],
)
def test_an_implementation_states_words_and_numbers(op_, stated, message):
    with pytest.raises(TypeMismatchError, match=message):
        Implementation(op_, np.abs, **stated)


def test_what_takes_the_place_of_generic_nodes_is_an_op():
    with pytest.raises(GraphError, match=r"of replace_generic\(op, name\) is an op, got 'Swirl'"):
        replace_generic("Swirl", op.relu)


def test_a_graph_that_needs_implementations_says_so():
    graph = Graph.parse("graph g\nx = input() : f32[N]\ns = ?Swirl(x) : f32[N]\ny = output(s)")
    with pytest.raises(UnknownOpError, match=r"unknown ops: Swirl \(s\); pass .* or implementations=\[…\]"):
        evaluate(graph, {"x": np.ones(5)})


# ------------------------------------------------------------------ inside of graphs


def test_implementations_compute_inside_of_graphs_that_are_nodes():
    block = Graph("block")
    block.output("y", op.relu(op.generic("Swirl")(block.input("x", F))))
    outer = Graph("outer")
    outer.output("y", op.neg(graph_op(block)(outer.input("x", F))))
    graph = Graph("g")
    graph.output("y", op.relu(graph_op(outer)(graph.input("x", F))))
    calls = []
    mine = Implementation(op.relu, lambda x: calls.append(x.shape) or np.maximum(x, 0), element="f64")
    swirl = Implementation("Swirl", lambda x: x - 3)
    found = evaluate(graph, {"x": np.ones((2, 4))}, implementations=[mine, swirl])["y"]
    np.testing.assert_array_equal(found, np.zeros((2, 4), np.float32))
    assert calls == [(2, 4), (2, 4)]
    whole = Implementation("outer", lambda x: x + 5)
    assert (evaluate(graph, {"x": np.ones((2, 4))}, implementations=[mine, whole])["y"] == 6).all()
    assert len(calls) == 3
    with pytest.raises(UnknownOpError, match=r"unknown ops: Swirl"):
        evaluate(graph, {"x": np.ones((2, 4))}, implementations=[mine])


def test_a_backend_that_is_wanted_inside_of_a_graph_is_asked_for():
    block = relu_graph()
    graph = Graph("main")
    block.graph["name"] = "block"
    graph.output("y", graph_op(block)(graph.input("x", F)))
    graph.nodes["block_1"]["backend"] = "gpu"
    with pytest.raises(EvaluationError, match=r"no implementation of relu.* has the backend 'gpu'; available: none"):
        evaluate(graph, {"x": np.ones((2, 4))}, implementations=[Implementation(op.neg, np.negative)])
    gpu = Implementation(op.relu, lambda x: x + 1, backend="gpu")
    assert (evaluate(graph, {"x": np.ones((2, 4))}, implementations=[gpu])["y"] == 2).all()


def test_a_cast_gets_no_casts_beside_it():
    graph = Graph.parse('graph g\nx = input() : f32[N]\nc = cast(x, element="f16")\ny = output(c)')
    given_ = [Implementation(op.cast, op.cast.function, element="f64")]
    assert rewrite(graph, insert_conversions(given_)) == graph
    found = evaluate(graph, {"x": np.float32([1.5])}, implementations=given_)["y"]
    np.testing.assert_array_equal(found, np.float16([1.5]))
