from __future__ import annotations

import functools
import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphrewrite import FixedPoint, Graph, Tensor, define_op, evaluate, op
from graphrewrite.compare.equality import equals
from graphrewrite.errors import GraphError, ParseError
from graphrewrite.formats.text import format_attribute, to_text
from graphrewrite.formats.text.graph_parser import parse_module, read
from graphrewrite.formats.text.node_order import in_writing_order
from graphrewrite.hierarchy.graph_ops import graph_op
from graphrewrite.hierarchy.module import Module
from graphrewrite.testing import digraphs, graphs

X = "graph g\nx = input() : f32[N,2]\n"


@define_op(infer=lambda x, table: x)
def looked_up(x, *, table):
    return table[x]


@define_op(results=2, infer=lambda x: (x, x))
def twice(x):
    return x, x


@given(graphs())
def test_what_is_printed_parses_to_an_equal_graph(graph):
    again = Graph.parse(to_text(graph, whole=True))
    assert again == graph
    assert str(again) == str(graph)
    assert again.inputs == graph.inputs
    assert again.outputs == graph.outputs


names = st.text(min_size=1, max_size=12)


@given(names, names, names)
def test_any_name_survives(graph_name, x_name, y_name):
    if x_name == y_name:
        y_name += "'"
    graph = Graph(graph_name)
    x = graph.input(x_name, Tensor("f32", ("N",)))
    graph.output(y_name, x + x)
    assert Graph.parse(str(graph)) == graph


@pytest.mark.parametrize(
    "name", ["graph", "graphic", "a=b", "x:1", "a, b", "1", "(", "'", '"', "# no", "ü", "\n", "a\u2028b"]
)
def test_awkward_names_survive(name):
    graph = Graph(name)
    graph.output("y" if name != "y" else "z", op.relu(graph.input(name, Tensor("f32", ("N",)))))
    assert Graph.parse(str(graph)) == graph


@pytest.mark.parametrize(
    "value",
    [
        np.array([np.nan, np.inf, -np.inf, -0.0], np.float32),
        np.array(3.5),
        np.zeros((2, 0, 3), np.float32),
        np.arange(100, dtype=np.int8),
        np.array([True, False]),
        np.array([[2**63 - 1, -(2**63)]]),
        np.array([1e-45, 3.4e38, 0.1], np.float32),
    ],
    ids=lambda value: f"{value.dtype}{list(value.shape)}",
)
def test_constants_survive_bit_for_bit(value):
    graph = Graph("g")
    graph.output("y", graph.constant(value))
    assert Graph.parse(to_text(graph, whole=True)) == graph


@pytest.mark.parametrize(
    "table",
    [
        np.array([1, 2], np.int16),
        np.array([[1], [2]]),
        np.arange(50),
        (1, (2, 3)),
        [float("inf"), -1.5],
        "f32",
        FixedPoint(True, 8, -4),
        (FixedPoint(False, 3, 1), None),
        {"a": [1, 2], "b": {"c": True}},
        -3,
    ],
    ids=str,
)
def test_attributes_survive(table):
    graph = Graph("g", ops=[looked_up])
    graph.output("y", looked_up(graph.input("x", Tensor("i64", ("N",))), table=table))
    again = Graph.parse(to_text(graph, whole=True), ops=[looked_up])
    assert again == graph
    found = again.attributes("looked_up_1")["table"]
    assert isinstance(found, np.ndarray) == isinstance(table, np.ndarray)


def test_a_node_with_several_results_survives():
    graph = Graph("g", ops=[twice])
    a, b = twice(graph.input("x", Tensor("f32", ("N",))))
    graph.output("y", b - a)
    assert "sub(twice_1:1, twice_1)" in str(graph)
    assert Graph.parse(str(graph), ops=[twice]) == graph


def test_large_arrays_are_abbreviated_for_people_only():
    assert format_attribute(np.arange(100)) == "<100 values, 0 to 99>"
    assert len(format_attribute(np.arange(100), whole=True)) > 300


def test_long_mappings_are_abbreviated_for_people_only():
    graph = Graph("g", origin={"doc": "!" * 1500}, note={"author": "!" * 500})
    x = graph.input("x", Tensor("f32", ("N",)))
    words = {"a": "!" * 900, "b": "!" * 100}
    graph.output("y", graph.add(op.generic("Loop"), [x], {"words": words, "k": [1] * 100}, name="loop"))
    head, _, line, _ = str(graph).splitlines()
    assert head == f"graph g(note={{'author': '{'!' * 500}'}}, origin=<1 entry, 1,511 letters>)"
    assert line.startswith("loop = ?Loop(x, k=[1, 1, ")
    assert "words=<2 entries, 1,018 letters>" in line
    assert Graph.parse(to_text(graph, whole=True)) == graph
    with pytest.raises(ParseError, match="this one is abbreviated"):
        Graph.parse(str(graph))


def test_a_negative_fraction_and_comments_are_read():
    graph = Graph.parse("# a comment\ngraph g\n\nx = input() : s8f-2[N]\n  # another\ny = output(x)\n")
    assert graph.result_type("x").element == FixedPoint(True, 8, -2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (X + "r = rellu(x)", "line 3, column 5: unknown op 'rellu'; did you mean 'relu'"),
        (X + "r = relu(z)", "line 3, column 10: node 'z': is not in the graph"),
        (X + "r = relu(x:1)", "line 3, column 10: expected an operand"),
        (X + "r = relu(x, colour=?)", "line 3, column 20: expected a value"),
        (X + "r = relu(x, alpha=1)", "line 3, column 5: relu has no attribute 'alpha'"),
        (X + "r = relu(x", "line 3, column 11: expected ',' or '\\)', and the line ends"),
        (X + "r relu(x)", "line 3, column 1: expected 'name = op"),
        (X + "r = relu(x) f32[N,2]", "line 3, column 13: expected ':' and a type, got 'f32"),
        (X + "r = relu(x) : f32[N,3]", "line 3, column 15: the type of relu is f32\\[N,2\\] here, and the text says"),
        (X + "x = relu(x)", "line 3, column 1: node 'x': another node has the same name"),
        (X + "y = output()", "line 3, column 5: an output has one operand"),
        (X + "m = matmul(x, x)", "line 3, column 5: matmul"),
        (X + "c = constant() : f32[]", "line 3, column 5: a constant needs a value"),
        ("graph g\nx = input()", "line 2, column 5: an input needs a type"),
        ("graph g\nx = input() : f99[N]", "line 2, column 15: .*unknown element type 'f99'"),
        ("graph g\nx = input() : f32", "'f32' is not a type"),
        (X + "r = relu(__import__('os'))", "line 3"),
        (X + "r = clip(x, low=__import__('os'))", "line 3, column 17: expected a value"),
    ],
)
def test_what_is_no_graph_is_refused_with_its_place(text, message):
    with pytest.raises(ParseError, match=message):
        Graph.parse(text)


@given(digraphs(max_size=5).map(Graph))
def test_every_digraph_survives(graph):
    text = to_text(graph, whole=True)
    try:
        again = Graph.parse(text)
    except ParseError as error:
        assume("and the type says" not in str(error))  # a constant that contradicts its type
        raise
    assert equals(again, graph)
    assert again == graph
    assert to_text(again, whole=True) == text
    assert str(again) == str(graph)


def rebuilt(graph: nx.DiGraph) -> Graph:
    """The same graph, everything added in the opposite order."""
    new = Graph(ops=getattr(graph, "ops", {}).values())
    new.graph.update(reversed(list(graph.graph.items())))
    for node, data in reversed(list(graph.nodes(data=True))):
        new.add_node(node)
        new.nodes[node].update(reversed(list(data.items())))
    for source, destination, data in reversed(list(graph.edges(data=True))):
        new.add_edge(source, destination)
        new.edges[source, destination].update(reversed(list(data.items())))
    return new


@given(digraphs(max_size=5).map(Graph) | graphs())
def test_equal_graphs_print_the_same_text_in_whatever_order_they_were_built(graph):
    other = rebuilt(graph)
    assert other == graph
    assert to_text(other, whole=True) == to_text(graph, whole=True)


@given(graphs())
def test_nodes_are_printed_operands_first(graph):
    assert in_writing_order(graph) == graph.in_order()


MUTATIONS = ["'", '"', "(", ")", "[", "{", "<", ">", ":", ",", "=", "?", "^", "~", "@", "-", "\\", "#", "1", "9" * 5000]
MUTATIONS += ["\n", "graph g\n", "module m\n", "x", "nan", "array(", "type(", "i8<0.1:3>", "f32[", "**{", " : ", "0x"]


def parsed(text: str) -> Graph | str:
    """The graph of a text, or what is wrong with it."""
    try:
        return Graph.parse(text)
    except ParseError as error:
        return str(error)


@given(digraphs(max_size=5).map(Graph) | graphs(), st.randoms(use_true_random=False))
def test_mutated_texts_are_refused_with_their_place_or_read(graph, random):
    text = to_text(graph, whole=True)
    for _ in range(20):
        i, j = sorted(random.choices(range(len(text) + 1), k=2))
        j = random.choice([i, i + 1, j])
        k = random.randrange(len(text) + 1)
        mutated = text[:i] + random.choice([*MUTATIONS, "", text[k : k + 9]]) + text[j:]
        found = parsed(mutated)
        assert isinstance(found, Graph) or re.match(r"line \d+, column \d+: ", found), found
        str(found)


@given(st.text(max_size=60))
def test_what_nobody_has_printed_is_refused_with_its_place_or_read(text):
    assert parsed(text) is not None


@pytest.mark.parametrize("text", ["[" * 10**5, "-" * 10**5, "{0: " * 10**4, "f32[" * 10**4, "(" * 10**5])
def test_what_nests_too_deep_is_refused(text):
    with pytest.raises(ParseError, match="line 3, column"):
        Graph.parse(X + f"r = ?Foo(x, a={text}")


def test_what_nests_too_deep_is_not_written():
    graph = Graph("g", deep=functools.reduce(lambda inner, _: (inner,), range(200), ()))
    with pytest.raises(GraphError, match="nest deeper than 100"):
        to_text(graph, whole=True)


def test_a_value_that_could_not_be_read_is_not_written():
    graph = Graph("g")
    graph.add_node("n", type="Foo", value=object())
    assert "object object" in str(graph)
    with pytest.raises(GraphError, match="node 'n': a value of type object cannot be written"):
        to_text(graph, whole=True)


def test_attributes_marks_order_and_unknown_ops_have_a_place_in_the_text():
    graph = Graph.parse(
        "graph net(author='me', sizes=[1, 2])\n"
        "x = input() : f32[N,2]\n"
        "m = ?'a.b::C'(x, alpha=1, backend='gpu') : f32[N,3], i64[N]\n"
        "r = relu(m, ^x, backend='cpu') : f32[N,3]\n"
        "s = neg(r, ^m:memory) : f32[N,3]\n"
        "y = output(s)"
    )
    assert graph.graph == {"name": "net", "author": "me", "sizes": (1, 2)}
    assert graph.attributes("m") == {"alpha": 1}
    assert graph.nodes["m"]["backend"] == "gpu"
    assert graph.op("m").results == 2
    assert graph.controls("s") == (("m", "memory"),)
    assert Graph.parse(str(graph)) == graph


def test_a_digraph_of_something_else_survives():
    graph = nx.DiGraph([("Aachen", "Buir"), ("Buir", "Köln")])
    graph.nodes["Buir"]["type"] = "halt"
    graph.edges["Aachen", "Buir"]["weight"] = 7
    assert to_text(graph) == "graph\nAachen = ?()\nBuir = ?halt(~Aachen{'weight': 7})\n'Köln' = ?(~Buir)"
    assert Graph.parse(to_text(graph)) == Graph(graph)


@define_op(level="stream", stateful=True, infer=lambda x, y: x)
def latch(x, y):
    return x


def test_a_cycle_through_a_register_survives():
    graph = Graph("g", ops=[latch])
    x = graph.input("x", Tensor("f32", (2,)))
    held = latch(x, x)
    total = held + x
    graph.add_edge("x", held.node, slots=((0, 0),))
    graph.add_edge(total.node, held.node, slots=((1, 0),))
    graph.output("y", total)
    again = Graph.parse(str(graph), ops=[latch])
    assert again == graph
    assert "?" not in str(graph)


def test_a_forward_reference_needs_a_type():
    with pytest.raises(
        ParseError, match="line 3, column 10: 's' is defined further below, where its line must state its type"
    ):
        Graph.parse(X + "r = relu(s)\ns = relu(x)")


def test_a_node_that_is_not_what_its_op_makes_is_marked_and_survives():
    graph = Graph.parse(X + "r = relu(x)\ny = output(r)")
    graph.nodes["r"]["result"] = Tensor("f32", (3,))
    assert "r = ?relu(x) : f32[3]" in str(graph)
    assert Graph.parse(str(graph)) == graph


def block() -> Graph:
    return Graph.parse("graph block\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")


def test_graphs_that_are_nodes_stand_below():
    inner = Graph("outer block")
    inner.output("y", graph_op(block())(graph_op(block())(inner.input("x", Tensor("f32", ("N", 2))))))
    graph = Graph("main")
    x = graph.input("x", Tensor("f32", (3, 2)))
    graph.output("y", graph_op(inner)(graph_op(block())(x)))
    again = Graph.parse(to_text(graph, whole=True))
    assert again == graph
    assert str(again) == str(graph)
    values = {"x": np.float32([[1, -1], [2, -2], [-3, 3]])}
    assert evaluate(again, values)["y"].tolist() == evaluate(graph, values)["y"].tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph a\nx = input() : f32[N]\ny = block(x)\n\ngraph block\nx = input() : f32[N]\ny = block(x)", "itself"),
        ("graph a\nx = input() : f32[N]\n\ngraph b\nx = input() : f32[N]", "is not nested in 'a'"),
        ("graph a\nx = input() : f32[N]\nmodule b", "in the first line only"),
        ("module m\nx = relu()", "expected a constant or placeholder"),
        ("module m\nx = placeholder()", "a placeholder needs a type"),
        ("module m\nx = placeholder() : f32[N]\nx = placeholder() : f32[N]", "already"),
        ("module m\n\ngraph a\n\ngraph a", "another graph has the name 'a'"),
        ("module m\n\ngraph\nx = input() : f32[N]", "one of several graphs needs a name"),
        ("module m\n\ngraph a\nc = constant(shared='w') : f32[2]", "a constant needs a value"),
        ("module m\n\ngraph relu\nx = input() : f32[N]\ny = relu(x)\n\ngraph b\ny = b()", "itself"),
    ],
)
def test_wrong_sections_are_refused(text, message):
    with pytest.raises(ParseError, match=rf"line \d+, column \d+: .*{message}"):
        read(text)


def net() -> Module:
    module = Module("net", author="me")
    w = module.constant("w", np.arange(64, dtype=np.float32).reshape(32, 2))
    module.placeholder("p", Tensor("f32", ("N", 2)))
    inner = module.add_graph("block", kind=(1, 2))
    x = module.shared("p").on(inner)
    inner.output("y", op.linear(x, w.on(inner)))
    main = module.add_graph("main")
    main.output("y", module.op("block")(op.relu(main.input("x", Tensor("f32", ("N", 2))))))
    return module


def test_modules_survive():
    module = net()
    text = to_text(module, whole=True)
    again = Module.parse(text)
    assert again == module
    assert to_text(again, whole=True) == text
    assert text.count("63.0") == 1, "a shared constant is written once"
    node = next(n for n, d in again["block"].nodes(data=True) if d.get("shared") == "w")
    assert again["block"].nodes[node]["value"] is again.constants["w"]
    values = {"x": np.float32([[1, -1]])}
    assert evaluate(again["main"], values)["y"].tolist() == evaluate(module["main"], values)["y"].tolist()
    with pytest.raises(ParseError, match=r"got a module; read it with Module\.parse"):
        Graph.parse(text)
    with pytest.raises(ParseError, match=r"got a graph; read it with Graph\.parse"):
        parse_module("graph g")


@given(hnp.arrays(st.sampled_from(["f2", "f4", "f8", "i8", "u8", "c16"]).map(np.dtype), 5))
def test_constants_survive_whatever_their_bits(value):
    graph = Graph("g")
    graph.add_node("c", type="constant", value=value, result=Tensor("f32", (5,)))
    again = Graph.parse(to_text(graph, whole=True)).nodes["c"]["value"]
    assert again.dtype == value.dtype
    assert again.tobytes() == value.tobytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("c = constant(value=[1.5]) : i8[1]", "numbers of type i8"),
        ("c = constant(value=[300]) : i8[1]", "out of bounds"),
        ("c = constant(value=[1, [2]]) : f32[2]", "lists of equal lengths"),
        ("c = constant(value=[1]) : f32[2]", r"the value has the shape \[1\], and the type is f32\[2\]"),
        ("c = constant(value=[1e40]) : f32[1]", "too large for f32"),
        ("c = constant(value=['a']) : f32[1]", "numbers of type f32"),
        ("c = constant(value=<400 values, 0 to 1>) : f32[400]", "this one is abbreviated"),
        ("c = constant(value=@'w') : f32[2]", "which read_text reads"),
        ("c = constant(value=array('|O', [1], 'AA==')) : f32[1]", "the dtype .* is not supported"),
        ("c = constant(value=array('<f4', [9999999999], 'AA==')) : f32[1]", "expected 39999999996 bytes, got 1"),
        ("c = constant(value=1, value=2) : f32[]", "duplicate attribute 'value'"),
        ("c = constant(value=" + "9" * 5000 + ") : f64[]", "the number is too long"),
        ("c = ?Foo({'a': 1, 'a': 2})", "expected an operand"),
        ("c = ?Foo(d={'a': 1, 'a': 2})", "duplicate key"),
        ("c = ?Foo(backend=[1])", "expected a string or a number as backend"),
        ("c = ?input(index='a')", "expected a number as index"),
        ("c = ?Foo(~c{'slots': 3})", "expected pairs"),
        ("c = relu(c)", "must state its type"),
        (r"c = ?Foo(a='\q')", "expected one of"),
    ],
)
def test_wrong_values_are_refused_with_their_place(text, message):
    with pytest.raises(ParseError, match=rf"line 2, column \d+: .*{message}"):
        Graph.parse("graph g\n" + text)


def test_an_error_shows_the_place():
    with pytest.raises(ParseError) as caught:
        Graph.parse(X + "r = clip(x, low=, high=2)")
    assert str(caught.value) == (
        "line 3, column 17: expected a value, got ', high=2)'\n  r = clip(x, low=, high=2)\n                  ^"
    )


def test_a_node_without_results_is_printed_and_parsed():
    block = Graph.parse("graph block\nx = input() : f32[N]\nn = neg(x)")
    graph = Graph("g")
    assert graph_op(block)(graph.input("x", Tensor("f32", ("N",)))) == ()
    assert "\nblock_1 = block(x)\n" in str(graph)
    assert Graph.parse(str(graph)) == graph
    graph.nodes["block_1"]["result"] = (Tensor("f32", ()), Tensor("f32", ()))  # which is wrong, and kept
    assert Graph.parse(str(graph)) == graph


def test_a_node_of_a_graph_that_is_not_as_its_op_makes_it_is_printed_and_parsed():
    block = Graph.parse("graph block\nx = input() : f32[N]\nn = neg(x)\ny = output(n)")
    graph = Graph("g")
    graph.output("y", graph_op(block)(graph.input("x", Tensor("f32", ("N",)))))
    graph.nodes["block_1"]["extra"] = 3
    again = Graph.parse(str(graph))
    assert again == graph
    assert str(again) == str(graph)
    assert again.op("block_1").body == block
