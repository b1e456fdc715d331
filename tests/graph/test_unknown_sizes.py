"""Unknown sizes: numbers of a graph's own, kept by inference, text, files, rewriting and expansion."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, decline, define_op, evaluate, op, rewrite, rule, verify
from graphrewrite.compare import equals, structure_hash
from graphrewrite.errors import RewriteError
from graphrewrite.formats import from_dict, to_dict
from graphrewrite.graph.type_inference import infer
from graphrewrite.hierarchy import compose, sequential
from graphrewrite.hierarchy.expansion import flatten
from graphrewrite.hierarchy.graph_ops import graph_op
from graphrewrite.rules import RULES
from graphrewrite.types import Dimension, Size


@define_op(infer=lambda x: Tensor("i64", (len(x.shape), Size.unknown())))
def places(x):
    """Indices of what is not 0."""
    return np.array(np.nonzero(x))


@define_op(
    infer=lambda x: (Tensor("f32", (Size.unknown(),)), Tensor("i64", (Size.unknown(), Size.unknown(1)))), results=2
)
def split_off(x):
    """Two results of which the first sizes are the same."""
    kept = x[x > 0]
    return kept, np.zeros((len(kept), 3), np.int64)


@define_op(infer=lambda x, *, shape: Tensor(x.element, tuple(shape)))
def shaped(x, *, shape: tuple[Dimension, ...]):
    """A reshape that takes numbers only."""
    assert all(type(size) is int for size in shape)
    return np.reshape(x, shape)


OPS = [places, split_off, shaped]


def two() -> Graph:
    g = Graph("g", ops=OPS)
    x = g.input("x", Tensor("f32", ("N", 5)))
    first, second = places(x), places(op.relu(x))
    g.output("y", op.cast(first, element="f32"))
    g.output("z", shaped(second, shape=(second.type.shape[1], 2)))
    return g


def test_numbers_are_free_and_come_through():
    assert str(two()) == (
        "graph g\n"
        "x = input() : f32[N,5]\n"
        "places_1 = places(x) : i64[2,?1]\n"
        "cast_1 = cast(places_1, element='f32') : f32[2,?1]\n"
        "relu_1 = relu(x) : f32[N,5]\n"
        "places_2 = places(relu_1) : i64[2,?2]\n"
        "shaped_1 = shaped(places_2, shape=['?2', 2]) : i64[?2,2]\n"
        "y = output(cast_1)\n"
        "z = output(shaped_1)"
    )


def test_the_same_letter_is_the_same_number():
    g = Graph("g")
    a, b = split_off(g.input("x", Tensor("f32", (Size.unknown(),))))
    assert (str(a.type), str(b.type)) == ("f32[?2]", "i64[?2,?3]")


def test_inference_keeps_numbers_and_numbers_what_is_new():
    g = two()
    assert infer(g) == ()
    g.nodes["x"]["result"] = Tensor("f64", ("N", 5))
    infer(g)
    assert str(g.result_type("places_2")) == "i64[2,?2]"
    del g.nodes["places_1"]["result"]
    assert infer(g, ["places_1"]) == ("places_1", "cast_1")
    assert str(g.result_type("cast_1")) == "f32[2,?3]"
    verify(g)


@pytest.mark.parametrize(
    "way",
    [
        lambda g: Graph.parse(str(g), ops=OPS),
        lambda g: from_dict(json.loads(json.dumps(to_dict(g))), ops=OPS),
        lambda g: pickle.loads(pickle.dumps(g)),
        copy.deepcopy,
        lambda g: g.copy(),
    ],
    ids=["text", "json", "pickle", "deepcopy", "copy"],
)
def test_every_way_out_and_in_keeps_them(way):
    g = two()
    again = way(g)
    assert again == g
    verify(again)
    x = np.array([[0, 1, -2, 0, 3]], np.float32)
    assert {n: a.tolist() for n, a in evaluate(again, {"x": x}).items()} == {
        "y": [[0, 0, 0], [1, 2, 4]],
        "z": [[0, 0], [1, 4]],
    }


def test_text_without_types_gets_numbers_that_no_line_has():
    g = Graph.parse("graph g\nx = input() : f32[N]\na = places(x)\nb = places(x) : i64[1,?1]\ny = output(a)", ops=OPS)
    assert [str(g.result_type(n)) for n in "ab"] == ["i64[1,?2]", "i64[1,?1]"]


def test_a_declared_size_stands_for_an_unknown_one():
    g = Graph.parse("graph g\nx = input() : f32[N]\na = places(x) : i64[1,7]\ny = output(a)", ops=OPS)
    assert infer(g) == ()
    verify(g)
    assert Graph.parse(str(g), ops=OPS) == g


def test_graphs_are_equal_up_to_numbers_where_names_do_not_count():
    text = "graph g\nx = input() : f32[?{},?{}]\nz = input() : f32[?{}]\ny = output(x)\nw = output(z)"
    a, b, c = (Graph.parse(text.format(*numbers)) for numbers in [(1, 2, 1), (7, 3, 7), (1, 2, 2)])
    assert a != b
    assert equals(a, b, names=False)
    assert not equals(a, c, names=False)
    assert structure_hash(a, names=False) == structure_hash(b, names=False) != structure_hash(c, names=False)


@rule
def place_twice(x):
    """What is not 0 stays so."""
    found = places(x)
    yield found
    if x.op_name == "neg":
        return decline("done", at=found)
    return places(op.neg(x))


def test_a_new_node_takes_the_number_of_the_old_one():
    after = rewrite(two(), [place_twice])
    assert [str(after.result_type(n)) for n in ("places_3", "places_4")] == ["i64[2,?1]", "i64[2,?2]"]
    assert after.attributes("shaped_1")["shape"] == ("?2", 2)
    verify(after)


@rule
def place_relu(x):
    """Inner nodes have unknown sizes of their own."""
    found = op.cast(places(x), element="f32")
    yield found
    return op.neg(op.neg(op.cast(places(op.neg(x)), element="f32")))


def test_inner_new_nodes_take_the_number_as_well():
    after = rewrite(two(), [place_relu], once=True)
    new = after.operands(after.operands("y")[0].node)[0].node
    assert str(after.result_type(new)) == "f32[2,?1]"
    verify(after)


@rule
def fold_places(x):
    """Of a constant, the places are known."""
    found = places(x)
    yield found
    if not x.is_constant:
        return decline("not known", at=found)
    return places(x.value)


def test_a_size_that_becomes_known_is_so_everywhere():
    g = Graph("g", ops=OPS)
    found = places(g.constant(np.eye(3, dtype=np.float32)))
    g.output("y", op.cast(shaped(found, shape=(found.type.shape[1], 2)), element="f32"))
    g.output("z", places(g.input("x", Tensor("f32", ("N",)))))
    after = rewrite(g, [fold_places])
    assert after.attributes("shaped_1")["shape"] == (3, 2)
    assert str(after.result_type("cast_1")) == "f32[3,2]"
    assert str(after.result_type(after.operands("z")[0].node)) == "i64[1,?2]"
    verify(after)


def test_an_input_keeps_its_unknown_sizes():
    g = Graph.parse("graph g\nx = input() : f32[?1,3]\nr = relu(x)\nn = neg(r)\ny = output(n)")

    @rule
    def known(x):
        top = op.neg(x)
        yield top
        return np.zeros((2, 3), np.float32)

    with pytest.raises(RewriteError, match="a rewrite keeps types"):
        known(g)


def test_expansion_gives_them_numbers_of_the_outer_graph():
    body = Graph("body", ops=OPS)
    x = body.input("x", Tensor("f32", ("M", "2*K")))
    inner, found = places(op.neg(x)), places(x)
    body.output("a", shaped(found, shape=(found.type.shape[1], 2)))
    body.output("b", shaped(x, shape=("2*M", "K")))
    body.output("c", op.cast(inner, element="f32"))
    g = Graph("g", ops=OPS)
    x = g.input("x", Tensor("f32", ("N", 6)))
    for which in "vw":
        for name, value in zip("abc", graph_op(body)(x), strict=True):
            g.output(f"{which}_{name}", value)
    assert [str(g.result_type("body_2", i)) for i in range(3)] == ["i64[?3,2]", "f32[2*N,3]", "f32[2,?4]"]
    flat = flatten(g)
    verify(flat)
    assert flat.attributes("body_2.shaped_2")["shape"] == ("2*N", 3)
    array = np.array([[0, 1, 2, 0, 0, 3], [1, 0, 0, 0, 0, 0]], np.float32)
    of_g, of_flat = evaluate(g, {"x": array}), evaluate(flat, {"x": array})
    assert of_g["w_b"].shape == (4, 3)
    assert {n: a.tolist() for n, a in of_g.items()} == {n: a.tolist() for n, a in of_flat.items()}


def test_a_graph_that_is_built_into_another_gets_new_numbers():
    g = two()
    x = g.input("u", Tensor("f32", ("K", 5)))
    for name, value in zip("vw", sequential(two())(x), strict=True):
        g.output(name, value)
    verify(g)
    assert [str(g.result_type(*g.operands(n)[0])) for n in "yvzw"] == [
        "f32[2,?1]",
        "f32[2,?3]",
        "i64[?2,2]",
        "i64[?4,2]",
    ]


def test_composed_graphs_share_no_numbers():
    joined = compose(two(), two(), {})
    verify(joined)
    assert len({name for n in joined for name in getattr(joined.nodes[n].get("result"), "unknowns", ())}) == 4


def test_the_library_folds_what_the_data_decides_and_nothing_that_inputs_do():
    g = Graph("g", ops=OPS)
    x = g.input("x", Tensor("f32", ("N", 3)))
    found = op.nonzero(g.constant(np.eye(3, dtype=np.float32)))
    g.output("y", op.cast(op.reshape(found, shape=(found.type.shape[1], 2)), element="f32"))
    g.output("z", op.add(x, op.expand(g.constant(np.ones((1, 3), np.float32)), shape=("N", 3))))
    after = rewrite(g, RULES, verify=True)
    assert sorted(data["type"] for _, data in after.nodes(data=True)) == sorted(
        ["add", "constant", "constant", "input", "output", "output"]
    )
    array = np.ones((2, 3), np.float32)
    assert {n: a.tolist() for n, a in evaluate(after, {"x": array}).items()} == {
        n: a.tolist() for n, a in evaluate(g, {"x": array}).items()
    }
