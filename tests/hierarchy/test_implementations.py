"""Implementations by name: evaluated, inlined, verified; refused where they are missing or do not fit."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Module, Tensor, define_op, evaluate, op, rewrite, rule, verify
from graphrewrite.errors import ImplementationError, VerificationError
from graphrewrite.hierarchy import GraphOp, expand, flatten, implemented
from graphrewrite.lowering import from_onnx, quantise, to_onnx
from graphrewrite.rules import RULES, drop_identity, inline
from graphrewrite.testing import graphs, inputs_for

X = {"x": np.float32([[-1, 2]])}


def main(call: str = "relu(x)", kind: str = "f32[N,2]", marks: str = "{implementation='fast'}") -> Graph:
    return Graph.parse(f"graph main\nx = input() : {kind}\nr = {call} {marks} : {kind}\ny = output(r)")


def fast(kind: str = "f32[M,2]", call: str = "abs(x)", name: str = "fast") -> Graph:
    return Graph.parse(f"graph {name}\nx = input() : {kind}\na = {call}\nb = add(a, x)\ny = output(b)")


def module_of(*graphs_: Graph) -> Module:
    module = Module("net")
    for graph in graphs_:
        module[graph.name] = graph
    return module


def twice_relu(graph: Graph) -> np.ndarray:
    return evaluate(graph, X)["y"].tolist()


# ---------------------------------------------------------------------- honoured


def test_a_graph_of_the_module_computes_the_node():
    module = module_of(main(), fast())
    graph = module["main"]
    assert twice_relu(graph) == [[0, 4]]
    assert twice_relu(inline(graph)) == twice_relu(flatten(graph)) == [[0, 4]]
    assert [n for n, _ in expand(graph, "r").added] == ["r.a", "r.b"]
    assert twice_relu(rewrite(module, inline)["main"]) == [[0, 4]]
    verify(module)
    verify(implemented(graph))
    assert module.copy()["main"].library is not module
    same = (graph.copy(), graph.renamed({"r": "s"}), graph.set(backend="gpu"), graph.view("all", ["r"]).subgraph())
    for other in (*same, Module.parse(str(module))["main"], rewrite(graph, RULES), copy.deepcopy(graph)):
        assert twice_relu(other) == [[0, 4]]


def test_a_library_is_a_mapping_and_comes_before_the_module():
    graph, negative = main(), fast(call="neg(x)")
    assert evaluate(graph, X, implementations=None)["y"].tolist() == [[0, 2]]  # the op itself
    assert evaluate(graph, X, implementations={"fast": fast()})["y"].tolist() == [[0, 4]]
    module = module_of(graph, fast())
    assert evaluate(module["main"], X, implementations={"fast": negative})["y"].tolist() == [[0, 0]]
    assert evaluate(main(), X, implementations=module)["y"].tolist() == [[0, 4]]


def test_implementations_of_implementations_and_of_nested_graphs():
    block = main(marks="{implementation='slow'}").copy()
    block.name = "block"
    slow = main()
    slow.name = "slow"
    outer = Graph("outer")
    value = GraphOp("block", {"block": block})(outer.input("x", Tensor("f32", ("N", 2))))
    outer.output("y", value)
    library = {"slow": slow, "fast": fast()}
    assert evaluate(outer, X, implementations=library)["y"].tolist() == [[0, 4]]
    made = implemented(outer, library)
    assert not any("implementation" in data for each in (made, flatten(made)) for _, data in each.nodes(data=True))
    assert outer.op("block_1").body is block
    assert implemented(outer) is outer


def test_in_bodies_of_loops_and_deep_in_nested_graphs():
    body = Graph.parse("""graph body
i = input() : i64[]
x = input() : f32[N,2]
c = constant(value=True) : bool[]
r = relu(x) {implementation='fast'}
go_on = output(c)
last = output(r)""")
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 2)))
    graph.output("y", op.loop(graph.constant(np.int64(2)), graph.constant(np.array(True)), x, body=body))
    assert evaluate(graph, X, implementations={"fast": fast()})["y"].tolist() == [[0, 8]]
    deep = main()
    for level in range(300):
        around = Graph(f"level_{level}")
        value = GraphOp(deep.name, {deep.name: deep})(around.input("x", Tensor("f32", ("N", 2))))
        around.output("y", value)
        deep = around
    assert evaluate(deep, X, implementations={"fast": fast()})["y"].tolist() == [[0, 4]]


def test_an_op_gets_attributes_and_constants_as_attributes():
    @define_op
    def scaled(x, *, weight, offset=0.0):
        """Scale and shift."""
        return x * np.asarray(weight, np.float32) + np.float32(offset)

    @define_op
    def layer(x, weight, *, offset=0.0):
        """A layer."""
        return x * weight + np.float32(offset)

    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 2)))
    graph.output("y", layer(x, np.float32([3, 3]), offset=1.0))
    graph.nodes["layer_1"].update(implementation="mine", latency=4)
    assert evaluate(graph, X, implementations={"mine": scaled})["y"].tolist() == [[-2, 7]]
    node = implemented(graph, {"mine": scaled}).nodes["layer_1"]
    assert (node["type"], node["offset"], node["latency"]) == ("scaled", 1.0, 4)
    unknown = main("?Scale(x, weight=[2.0, 2.0], note=1)", marks="{implementation='mine'}")
    assert evaluate(unknown, X, implementations={"mine": scaled})["y"].tolist() == [[-2, 4]]
    assert implemented(unknown, {"mine": scaled}).annotations("r") == {"note": 1}


@pytest.mark.parametrize("name", ["relu", "main", "Swirl"])
def test_names_that_ops_have_already(name):
    graph = main("?Swirl(x)" if name == "Swirl" else "relu(x)", marks=f"{{implementation='{name}'}}")
    assert evaluate(graph, X, implementations={name: fast(name=name)})["y"].tolist() == [[0, 4]]


@given(graphs(containing=drop_identity) | graphs(), st.data(), st.booleans())
def test_any_nodes_may_have_one_and_no_rule_changes_what_they_compute(graph, data, negates):
    nodes = [n for n in graph if graph.nodes[n]["type"] not in ("input", "output", "constant")]
    module = Module("net")
    for node in data.draw(st.lists(st.sampled_from(nodes), unique=True, max_size=3)) if nodes else []:
        body = Graph(f"of_{node}", ops=graph.ops.values())
        values = [body.input(f"x{i}", graph.result_type(*o)) for i, o in enumerate(graph.operands(node))]
        made = body.add(graph.op(node), values, graph.attributes(node))
        for i, value in enumerate(made if isinstance(made, tuple) else (made,)):
            body.output(f"y{i}", op.neg(value) if negates and str(value.dtype) == "f32" else value)
        module[body.name] = body
        graph.nodes[node]["implementation"] = body.name
    inputs = data.draw(inputs_for(graph, moderate=True))
    with np.errstate(all="ignore"):
        expected = evaluate(graph, inputs, implementations=module)
        own = {} if negates else evaluate(graph, inputs, implementations=None)
        made = implemented(graph, module)
        verify(made)
        module["main"] = graph
        after = rewrite(graph, RULES, verify=True)
        for found in (own, graph.evaluate(inputs), after.evaluate(inputs), inline(made).evaluate(inputs)):
            for name, array in found.items():
                np.testing.assert_array_equal(array, expected[name])


# ---------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("graph", "library", "message"),
    [
        (main(), {"fats": fast()}, "node 'r': is implemented by 'fast', and there is no .*; did you mean 'fats'?"),
        (main(), {}, "no such graph, op or component; put it into the graph's module, pass"),
        (main(), (), "no such graph, op or component; .* pass implementations={'fast': …}, or remove the annotation"),
        (main(), {"fast": 3}, "the implementation 'fast' is no graph, op or component but 3"),
        (main(), {"fast": fast("f32[M,3]")}, r"does not fit: .*its input 'x' is f32\[M,3\], got f32\[N,2\]"),
        (main(), {"fast": fast("f16[M,2]")}, r"does not fit: .*its input 'x' is f16\[M,2\]"),
        (main(), {"fast": op.add}, "does not fit: add needs operand .y."),
        (main(), {"fast": op.reduce_sum}, "does not fit: it gives f32.*, and the node is f32"),
        (main("clip(x, low=0)"), {"fast": op.neg}, "does not fit: neg.*low"),
        (main("add(x, x)"), {"fast": fast()}, "does not fit: .*1"),
        (main(), {"fast": main()}, "the graph 'main' is implemented by itself: main -> main"),
    ],
)
def test_what_is_missing_or_does_not_fit(graph, library, message):
    with pytest.raises(ImplementationError, match=message):
        evaluate(graph, X, implementations=library)


def test_a_name_that_nobody_has_stops_what_computes_or_lowers():
    graph = main()
    verify(graph)  # what it names may be passed later
    verify(graph, implementations={"fast": fast()})
    for library, said in (({}, "there is no such graph"), ({"fast": fast("f32[M,3]")}, "which does not fit")):
        with pytest.raises(VerificationError, match=f"node 'r': is implemented by 'fast', .*{said}"):
            verify(graph, implementations=library)
    for use in (
        lambda: graph.copy().view("all", ["r"]).evaluate(X["x"]),
        lambda: graph(X["x"]),
        lambda: quantise(graph, X),
    ):
        with pytest.raises(ImplementationError, match="node 'r': is implemented by 'fast', and there is no such graph"):
            use()
    assert from_onnx(to_onnx(graph), batch=None) == graph
    module = module_of(main(), fast(name="fats"))
    for use in (verify, inline, to_onnx):
        with pytest.raises((ImplementationError, VerificationError), match=r"node 'r': .* did you mean 'fats'"):
            use(module["main"])
    assert flatten(module["main"]).nodes["r"]["implementation"] == "fast"  # it may be passed later


def test_lowerings_honour_what_is_passed_or_in_the_module():
    of_module, passed = module_of(main(), fast())["main"], {"implementations": {"fast": fast()}}
    lowered = [quantise(of_module, X), quantise(main(), X, **passed)]
    lowered += [from_onnx(to_onnx(of_module)), from_onnx(to_onnx(main(), **passed))]
    assert [evaluate(graph, X)["y"].tolist() for graph in lowered] == [[[0, 4]]] * 4


def test_why_a_rule_leaves_such_a_node_alone():
    @rule(keeps="assumes")
    def fused(x):
        """Of a negative x."""
        yield op.relu(op.neg(x))
        return op.abs(x)

    module = module_of(main("identity(x)"), fast())
    assert twice_relu(rewrite(module, RULES)["main"]) == [[0, 4]]
    said = str(drop_identity.explain(module["main"], at="r"))
    assert "'r' declined: is computed by the graph 'fast', not by its op; inline that first" in said
    assert drop_identity.find(module["main"]) == []
    assert list(rewrite(main("identity(x)"), RULES)) == ["x", "y"]
    within = Graph.parse("graph within\nx = input() : f32[N,2]\nn = neg(x)\nr = relu(n)\ny = output(r)")
    assert "abs_1" in rewrite(within, fused)
    within.nodes["n"]["implementation"] = "fast"
    module["within"] = within
    assert rewrite(within, fused) == within


def test_verify_checks_those_of_a_module():
    module = module_of(main(), fast("f32[M,3]"), fast(name="other"))
    with pytest.raises(
        VerificationError, match=r"graph 'main': node 'r': is implemented by 'fast', which does not fit"
    ):
        verify(module)
    module["main"].nodes["r"]["implementation"] = "oter"
    with pytest.raises(VerificationError, match="did you mean 'other'"):
        verify(module)
    with pytest.raises(ImplementationError, match="did you mean 'other'"):
        evaluate(module["main"], X)
    module["main"].nodes["r"]["implementation"] = "other"
    verify(module)
    module["other"].nodes["a"]["implementation"] = "main"
    with pytest.raises(VerificationError, match="'main' is implemented by itself: main -> other -> main"):
        verify(module)
    with pytest.raises(ImplementationError, match="by itself"):
        inline(module["main"])
