"""Graphs as nodes, put in place of them and back."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, define_op, evaluate, op, rewrite, trace, verify
from graphrewrite.errors import GraphError, RewriteError, RuleError, TypeMismatchError, UnknownOpError
from graphrewrite.graph.edit import apply_edit, revert_edit
from graphrewrite.hierarchy.blocks import flattened
from graphrewrite.hierarchy.expansion import flatten
from graphrewrite.hierarchy.graph_ops import graph_op, nested_ops
from graphrewrite.hierarchy.module import Module
from graphrewrite.op.generic_op import generic
from graphrewrite.rules import drop_identity, eliminate_dead_nodes, inline, outline, outline_nodes
from graphrewrite.testing import graphs, inputs_for

X = Tensor("f32", ("N", 2))


def body() -> Graph:
    return Graph.parse("""graph block
x = input() : f32[N,2]
w = constant(value=[[1, 2], [3, 4]]) : f32[2,2]
l = linear(x, w)
r = relu(l)
y = output(r)""")


def used(block: Graph | None = None) -> Graph:
    known = graph_op(body() if block is None else block)
    graph = Graph("g")
    graph.output("y", known(known(graph.input("x", Tensor("f32", (8, 2))))))
    return graph


def same_values(a: Graph, b: Graph, inputs: dict[str, np.ndarray]) -> bool:
    with np.errstate(all="ignore"):
        found, wanted = evaluate(a, inputs), evaluate(b, inputs)
    return found.keys() == wanted.keys() and all(found[k].tobytes() == wanted[k].tobytes() for k in wanted)


# ---------------------------------------------------------------------- inline


def test_names_origins_types_and_arrays() -> None:
    graph = used()
    graph.nodes["block_1"]["origin"] = ("imported",)
    made = rewrite(graph, inline)
    verify(made)
    assert str(made) == (
        "graph g\n"
        "x = input() : f32[8,2]\n"
        "block_1.w = constant(value=[[1.0, 2.0], [3.0, 4.0]]) : f32[2,2]\n"
        "block_1.l = linear(x, block_1.w) : f32[8,2]\n"
        "block_1.r = relu(block_1.l) : f32[8,2]\n"
        "block_2.w = constant(value=[[1.0, 2.0], [3.0, 4.0]]) : f32[2,2]\n"
        "block_2.l = linear(block_1.r, block_2.w) : f32[8,2]\n"
        "block_2.r = relu(block_2.l) : f32[8,2]\n"
        "y = output(block_2.r)"
    )
    assert made.origin("block_1.r") == ("imported",)
    assert made.origin("block_2.r") == ("block_2",)
    inner = nested_ops(graph)[0].body
    assert made.nodes["block_1.w"]["value"] is made.nodes["block_2.w"]["value"] is inner.nodes["w"]["value"]


def test_names_that_are_taken() -> None:
    graph = used()
    graph.add_node("block_1.l", type="input", index=1, result=X, origin=())
    made = inline(graph)
    assert "block_1.l_1" in made
    verify(made)


def test_marks_and_controls() -> None:
    block = body()
    block.add_control("x", "r", kind="first")
    block.nodes["r"].update(backend="cpu", use_kernel="fast")
    graph = used(block)
    graph.nodes["block_2"].update(backend="gpu", implementation="other")
    graph.add_control("x", "block_2", kind="memory")
    after = op.relu(graph.value("x")).node
    graph.add_control("block_2", after)
    made = inline(graph)
    assert made.nodes["block_2.l"]["backend"] == "gpu"
    assert made.nodes["block_2.r"]["backend"] == "cpu"
    assert made.nodes["block_2.r"]["use_kernel"] == "fast"
    assert "implementation" not in made.nodes["block_2.l"]
    assert made.controls("block_2.l") == (("x", "memory"),)
    assert made.controls("block_2.r") == (("block_1.r", "first"),)
    assert made.controls(after) == (("block_2.r", "control"),)


def test_what_is_passed_through_or_constant() -> None:
    block = Graph("block")
    x = block.input("x", X)
    block.output("same", x)
    block.output("again", x)
    block.output("fixed", block.constant(np.float32(3)))
    graph = Graph("g")
    for i, value in enumerate(graph_op(block)(graph.input("x", X))):
        graph.output(f"y_{i}", value)
    made = inline(graph)
    verify(made)
    assert [made.operands(f"y_{i}")[0].node for i in range(3)] == ["x", "x", "block_1.constant_1"]


def test_only_where_it_is_asked_for() -> None:
    graph = used()
    made = rewrite(graph, inline, at="block_2")
    assert "block_1" in made
    assert "block_2" not in made
    assert [str(place) for place in inline.find(graph)] == ["inline at 'block_1'", "inline at 'block_2'"]
    assert inline.explain(graph, at="block_1") == "inline matches at 'block_1': it is the graph 'block'."
    assert inline.explain(graph, at="x") == "inline does not match at 'x': 'input' is no graph."


def test_in_place_traced_verified_and_taken_back() -> None:
    graph = used()
    before = graph.copy()
    steps = trace(graph, [inline])
    assert [step.rule for step in steps.steps] == ["inline", "inline"]
    assert graph == before
    assert rewrite(graph, inline, verify=True) == steps.graph
    edit = inline.edit(graph, inline.find(graph)[0])
    assert graph == before
    apply_edit(graph, edit)
    revert_edit(graph, edit)
    assert graph == before
    assert rewrite(graph, inline, copy=False) is graph
    assert graph == steps.graph


def test_a_graph_that_has_changed_since_is_refused_and_nothing_changes() -> None:
    graph = used()
    block = nested_ops(graph)[0].body
    block.nodes["w"]["value"] = np.ones((3, 2), np.float32)
    for node, kind in (("w", (3, 2)), ("l", ("N", 3)), ("r", ("N", 3))):
        block.nodes[node]["result"] = Tensor("f32", kind)
    before = graph.copy()
    with pytest.raises(
        TypeMismatchError, match=re.escape("its graph 'block' gives f32[8,3] now, and the node is declared")
    ):
        rewrite(graph, inline, copy=False)
    assert graph == before


def test_ops_of_the_same_name_and_another_meaning_are_refused() -> None:
    def twin(kind: str) -> Graph:
        graph = Graph(kind)
        graph.output("y", generic("Swirl", results=1)(graph.input("x", X)))
        return graph

    graph = used(twin("block"))
    made = inline(graph)
    assert {data["type"] for _, data in made.nodes(data=True)} == {"input", "Swirl", "output"}

    @define_op(name="Swirl")
    def swirl(x):
        """Another one."""
        return x

    graph.output("z", swirl(graph.value("x")))
    with pytest.raises(GraphError, match="another op named 'Swirl'"):
        inline(graph)


def test_shared_constants_are_one_node() -> None:
    module = Module("net")
    w = module.constant("w", np.ones((2, 2), np.float32))
    block, main = module.add_graph("block"), module.add_graph("main")
    block.output("y", op.linear(block.input("x", X), w.on(block)))
    known = module.op("block")
    main.output("y", known(known(main.input("x", X))))
    made = rewrite(module, inline)
    assert [n for n, data in made["main"].nodes(data=True) if data["type"] == "constant"] == ["w"]
    assert made["main"].nodes["w"]["value"] is made.constants["w"]
    verify(made)


def test_it_does_nothing_to_plain_digraphs() -> None:
    import networkx as nx

    graph = nx.DiGraph([("a", "b")])
    assert list(rewrite(graph, inline).edges) == [("a", "b")]


# ---------------------------------------------------------------------- outline as a rule


def test_wherever_the_graph_occurs_there_is_a_node_of_it() -> None:
    flat = inline(used())
    known = graph_op(body())
    made = rewrite(flat, outline(known))
    verify(made)
    assert [made.nodes[n]["type"] for n in made.in_order()] == ["input", "block", "block", "output"]
    assert same_values(made, flat, {"x": np.float32([[1, -2]] * 8)})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda g: g.nodes["block_1.w"].update(value=np.float32([[1, 2], [3, 5]])),
            "it is the constant 'w' of 'block'",
        ),
        (lambda g: g.output("z", g.value("block_1.l")), "'z' outside the match reads it"),
        (lambda g: g.nodes["block_1.r"].update(type="neg"), "the pattern needs relu"),
    ],
)
def test_what_differs_is_left_with_a_reason(change, said: str) -> None:
    graph = inline(used())
    change(graph)
    assert said in outline(graph_op(body())).explain(graph, at="block_1.r")


def test_types_decide() -> None:
    block = Graph.parse("graph block\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    graph = Graph.parse("graph g\nx = input() : f32[N,3]\nr = relu(x)\ny = output(r)")
    rule = outline(graph_op(block))
    assert rewrite(graph, rule) == graph
    assert "its input 'x' is f32[N,2], got f32[N,3]" in rule.explain(graph, at="r")


def test_attributes_decide_those_at_their_default_too() -> None:
    text = "graph {}\nx = input() : f32[N,1,8,8]\np = max_pool(x, kernel=[2, 2]{})\ny = output(p)"
    block = Graph.parse(text.format("block", ""))
    assert outline(graph_op(block)).find(Graph.parse(text.format("g", "")))
    assert not outline(graph_op(block)).find(Graph.parse(text.format("g", ", strides=[2, 2]")))


def test_several_results_of_which_one_reads_another() -> None:
    block = Graph("block")
    x = block.input("x", X)
    inner = op.relu(x)
    block.output("outer", -inner)
    block.output("inner", inner)
    block.output("again", inner)
    graph = Graph("g")
    relu = op.relu(graph.input("x", X))
    graph.output("a", relu)
    graph.output("b", -relu)
    made = rewrite(graph, outline(graph_op(block)))
    verify(made)
    assert made.operands("a") == (("block_1", 1),)
    assert made.operands("b") == (("block_1", 0),)
    assert same_values(made, graph, {"x": np.float32([[1, -2]])})


def test_a_graph_is_not_put_into_itself() -> None:
    block = body()
    rule = outline(graph_op(block))
    assert rewrite(block, rule) == block
    assert "it is the graph 'block' itself" in rule.explain(block, at="r")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = input() : f32[N]\ny = output(x)", "it returns its input 'x' as it is"),
        ("x = input() : f32[N]\nz = input() : f32[N]\nr = relu(x)\ny = output(r)", "no output needs its 'z'"),
        ("x = input() : f32[N]\nr = relu(x)\nn = neg(x)\ny = output(r)", "no output needs its 'n'"),
        (
            "x = input() : f32[N]\nc = constant(value=1) : f32[]\nr = relu(x)\ny = output(r)\nz = output(c)",
            "constant 'c'",
        ),
    ],
)
def test_graphs_that_are_no_patterns(text: str, said: str) -> None:
    with pytest.raises(RuleError, match=f"the graph 'block' cannot be a pattern: .*{said}"):
        outline(graph_op(Graph.parse(f"graph block\n{text}")))


# ---------------------------------------------------------------------- outline chosen nodes


def test_chosen_nodes_become_a_graph() -> None:
    graph = inline(used())
    made, block = outline_nodes(graph, ["block_1.l", "block_1.r"], "layer")
    verify(made)
    assert str(made) == (
        "graph g\n"
        "x = input() : f32[8,2]\n"
        "layer_1 = layer(x) : f32[8,2]\n"
        "block_2.w = constant(value=[[1.0, 2.0], [3.0, 4.0]]) : f32[2,2]\n"
        "block_2.l = linear(layer_1, block_2.w) : f32[8,2]\n"
        "block_2.r = relu(block_2.l) : f32[8,2]\n"
        "y = output(block_2.r)\n"
        "\n" + str(block.body)
    )
    assert made.origin("layer_1") == ("block_1",)
    assert same_values(made, graph, {"x": np.float32([[1, -2]] * 8)})
    assert "block_1.l" in graph


def test_constants_that_others_read_stay_for_them() -> None:
    graph = body()
    graph.output("z", graph.value("w"))
    made, block = outline_nodes(graph, ["l"], "part")
    verify(made)
    assert "w" in made
    assert block.body.nodes["w"]["value"] is made.nodes["w"]["value"]


def test_a_view_says_the_order() -> None:
    graph = Graph.parse("""graph g
a = input() : f32[N]
b = input() : f32[N]
s = sub(a, b)
n = neg(s)
y = output(s)
z = output(n)""")
    view = graph.view("part", ["s", "n"], inputs=["b", "a"], outputs=["n", "s"])
    made, block = outline_nodes(graph, view, "block")
    verify(made)
    assert block.operands == ("b", "a")
    assert made.operands("z") == (("block_1", 0),)
    assert same_values(made, graph, {"a": np.float32([1, 2]), "b": np.float32([5, 7])})
    assert made.view("part").nodes == {"block_1"}


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        (["l", "nr"], "node 'nr': is not in the graph"),
        ([], "'part' would have no nodes"),
        (["x", "y", "w"], "'part' would have no nodes"),
        (["l", "n"], "node 'r': lies on a path that leaves the chosen nodes and comes back to 'n'; choose it too"),
        ("l", "list of names"),
    ],
)
def test_nodes_that_cannot_be_chosen(nodes, said: str) -> None:
    graph = body()
    graph.output("z", -graph.value("r"))
    graph.nodes["neg_1"]["type"] = "neg"
    import networkx as nx

    nx.relabel_nodes(graph, {"neg_1": "n"}, copy=False)
    before = graph.copy()
    with pytest.raises(GraphError, match=re.escape(said)):
        outline_nodes(graph, nodes, "part")
    assert graph == before


@pytest.mark.parametrize("name", ["", "relu"])
def test_names_that_cannot_be_chosen(name: str) -> None:
    with pytest.raises(GraphError, match="name"):
        outline_nodes(body(), ["l"], name)


def test_an_op_that_is_known_by_that_name() -> None:
    graph = used()
    with pytest.raises(GraphError, match="another op named 'block'"):
        outline_nodes(graph, ["block_1"], "block")
    graph.nodes["block_1"]["type"] = "blok"
    with pytest.raises(UnknownOpError, match="unknown op"):
        inline.edit(graph, inline.find(used())[0])


@given(data=st.data())
def test_what_is_outlined_and_inlined_gives_the_same_values(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    inner = [n for n in graph.in_order() if graph.nodes[n]["type"] not in ("input", "output", "constant")]
    if not inner:
        return
    start = data.draw(st.integers(0, len(inner) - 1))
    chosen = inner[start : data.draw(st.integers(start + 1, len(inner)))]
    # A slice of an order may leave out what lies between.
    between = set().union(*(graph.downstream(n) for n in chosen)) & set().union(*(graph.upstream(n) for n in chosen))
    if not between <= set(chosen):
        with pytest.raises(GraphError, match="comes back"):
            outline_nodes(graph, chosen, "chosen")
        return
    made, block = outline_nodes(graph, chosen, "chosen")
    verify(made)
    verify(block.body)
    inputs = data.draw(inputs_for(graph))
    assert same_values(made, graph, inputs)
    back = inline(made)
    verify(back)
    assert same_values(back, graph, inputs)
    counts = [
        Counter(data["type"] for _, data in g.nodes(data=True) if "value" not in data) for g in (back, inline(graph))
    ]
    assert counts[0] == counts[1]


@given(data=st.data())
def test_a_graph_is_found_in_itself(data: st.DataObject) -> None:
    graph = eliminate_dead_nodes(data.draw(graphs()))
    block = graph.copy()
    block.name = "block"
    kinds = {graph.nodes[graph.operands(output)[0].node]["type"] for output in graph.outputs}
    has_controls = any(graph.controls(node) for node in graph)
    if has_controls or kinds & {"input", "constant"} or not all(graph.readers(name) for name in graph.inputs):
        with pytest.raises(RuleError, match="cannot be a pattern"):
            outline(graph_op(block), shared="keep")
        return
    made = rewrite(graph, outline(graph_op(block), shared="keep"))
    verify(made)
    inputs = data.draw(inputs_for(graph))
    assert same_values(made, graph, inputs)
    assert same_values(inline(made), graph, inputs)


@pytest.mark.parametrize("whole", [False, True])
def test_inputs_and_outputs_that_are_chosen_stay_what_they_are(whole: bool) -> None:
    graph = Graph.parse("""graph g
x = input() : f32[N]
a = neg(x)
f = tanh(x)
b = add(a, f)
y = output(b)
z = output(f)""")
    graph.view("rest", ["f", "b"])
    chosen = list(graph) if whole else ["x", "b", "y"]
    made, block = outline_nodes(graph, chosen, "block")
    verify(made)
    assert block.operands == (("x",) if whole else ("a", "f"))
    assert block.results == (2 if whole else 1)
    assert made.inputs == ("x",)
    assert made.outputs == ("y", "z")
    assert same_values(made, graph, {"x": np.float32([1, 2])})
    seen, block = outline_nodes(graph, graph.view("chosen", chosen), "block")
    assert same_values(seen, graph, {"x": np.float32([1, 2])})
    assert set(block.operands) == ({"x"} if whole else {"a", "f"})


@pytest.mark.parametrize("thing", [Graph("block"), "block", None])
def test_what_is_no_graph_op_is_not_looked_for(thing) -> None:
    with pytest.raises(RuleError, match=r"is a graph op, got .*; make one of a graph by graph_op\(graph\)"):
        outline(thing)


def test_what_stands_in_for_a_block_takes_its_annotations():
    block = body()
    block.nodes["r"]["latency"] = 4
    graph = used(block)
    graph.nodes["block_1"].update(latency=100, unit=["u1"], backend="cpu", use_kernel="k")
    flat = rewrite(graph, inline)
    assert flat.annotations("block_1.r") == {"latency": 4, "unit": ["u1"], "backend": "cpu"}
    assert flat.annotations("block_1.l") == {"backend": "cpu"}
    assert flat.annotations("block_2.r") == {"latency": 4}


def test_views_within_become_views_of_the_graph_and_follow_it() -> None:
    block = Graph.parse("graph block\nx = input() : f32[M]\nn = neg(x)\ni = identity(n)\nr = relu(i)\ny = output(r)")
    block.view("head", ["n", "i"])
    middle, graph = Graph("middle"), Graph("g")
    x = graph_op(block)(middle.input("x", Tensor("f32", ("N",))))
    middle.output("y", graph_op(block)(x))
    middle.view("first", ["block_1"])
    graph.output("y", graph_op(middle)(graph.input("x", Tensor("f32", ("N",)))))
    expected = {
        "middle_1.first": ["middle_1.block_1.i", "middle_1.block_1.n", "middle_1.block_1.r"],
        "middle_1.block_1.head": ["middle_1.block_1.i", "middle_1.block_1.n"],
        "middle_1.block_2.head": ["middle_1.block_2.i", "middle_1.block_2.n"],
    }
    for flat in (inline(graph), flatten(graph), flattened(graph), trace(graph, inline).graph_after(3)):
        assert {view: sorted(flat.view(view).nodes) for view in flat.views} == expected
        verify(flat)
    made = rewrite(graph, (inline, drop_identity), verify=True)
    assert repr(made.view("middle_1.block_2.head")) == (
        "<view middle_1.block_2.head: 1 node, (middle_1.block_1.r) -> (middle_1.block_2.n)>"
    )
    before = graph.copy()
    graph.view("whole", ["middle_1"]).forget()
    with pytest.raises(RewriteError):
        rewrite(graph, (inline, drop_identity), copy=False, limit=2)
    assert graph == before


def test_nodes_that_run_on_several_backends_are_no_block():
    graph = rewrite(used(), inline)
    for node in ("block_1.l", "block_1.r", "block_2.l"):
        graph.nodes[node]["backend"] = "cpu"
    rule = outline(graph_op(body()))
    outlined = rewrite(graph, rule)
    assert [outlined.annotations(n) for n in outlined if outlined.nodes[n]["type"] == "block"] == [{"backend": "cpu"}]
    back = rewrite(outlined, inline)
    marked = [
        back.annotations(n).get("backend") for n in back.in_order() if back.nodes[n]["type"] in ("linear", "relu")
    ]
    assert marked == ["cpu", "cpu", "cpu", None]
    assert "its nodes run on several backends (None, cpu), and a node on one" in str(
        rule.explain(graph, at="block_2.r")
    )


def test_nodes_of_graphs_that_are_attributes_are_other_nodes():
    graph = Graph.parse("""graph g
        x = input() : f32[N,3]
        c = input() : bool[]
        v = input() : f32[N]
        n = neg(x)
        k = cond(c, v, then=body(low), otherwise=body(low))
        y = output(n)
        z = output(k)

        body low
        x = input() : f32[N]
        n = neg(x)
        y = output(n)""")
    outer, block = outline_nodes(graph, ["n"], "block")
    verify(outer)
    assert [data["type"] for data in block.body.nodes.values()] == ["input", "neg", "output"]
    assert outer.nodes["k"]["then"] == graph.nodes["k"]["then"]
