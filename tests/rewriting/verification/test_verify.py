from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, define_op, op, rewrite, rule, verify
from graphrewrite.errors import GraphError, RuleError, VerificationError
from graphrewrite.graph.type_inference import infer
from graphrewrite.op.generic_op import generic
from graphrewrite.rewriting.verification import CHECKS, check, faults
from graphrewrite.testing import graphs

F = Tensor("f32", ("N", 2))


@define_op(level="stream", stateful=True, infer=lambda x: x)
def held(x):
    """What it was given in the cycle before."""
    return x


@define_op(results=2, infer=lambda x: (x, x))
def both(x):
    """Two results."""
    return x, x


def sound() -> Graph:
    graph = Graph("g", ops=[held, both])
    x = graph.input("x", F)
    graph.output("y", op.relu(x) - x * np.ones(2, np.float32))
    return graph


@given(graphs())
def test_generated_graphs_are_sound(graph):
    verify(graph)
    plain = nx.DiGraph(graph)
    assert type(plain) is nx.DiGraph
    if not graph.ops:  # a plain graph does not say what ops of one's own are
        verify(plain)


def found(graph, checks=CHECKS):
    return [(fault.check, fault.node) for fault in faults(graph, checks)]


BREAKS = {
    "no slots": (lambda g: g.edges["x", "relu_1"].clear(), "slots_are_numbered", "relu_1", "'x' says None"),
    "slots twice": (
        lambda g: g.edges["mul_1", "sub_1"].update(slots=((0, 0),)),
        "slots_are_numbered",
        "sub_1",
        "slot 0 is both 'relu_1' and 'mul_1'",
    ),
    "a gap": (
        lambda g: g.edges["mul_1", "sub_1"].update(slots=((2, 0),)),
        "slots_are_numbered",
        "sub_1",
        "there is no slot 1",
    ),
    "wild slots": (lambda g: g.edges["x", "relu_1"].update(slots=((0,),)), "slots_are_numbered", "relu_1", "says"),
    "negative": (lambda g: g.edges["x", "relu_1"].update(slots=((0, -1),)), "slots_are_numbered", "relu_1", "says"),
    "unknown op": (lambda g: g.nodes["relu_1"].update(type="rellu"), "ops_are_known", "relu_1", "did you mean 'relu'"),
    "no type": (lambda g: g.nodes["relu_1"].pop("type"), "nodes_have_types", "relu_1", "its type is missing"),
    "type no text": (
        lambda g: g.nodes["relu_1"].update(type=["relu"]),
        "nodes_have_types",
        "relu_1",
        "its type is \\['relu",
    ),
    "other type": (
        lambda g: g.nodes["sub_1"].update(result=Tensor("f64", ("N", 2))),
        "results_follow",
        "sub_1",
        "sub gives f32\\[N,2\\], and the node is declared f64",
    ),
    "too many results": (
        lambda g: g.nodes["sub_1"].update(result=(F, F)),
        "results_follow",
        "sub_1",
        "sub gives f32\\[N,2\\], and the node is declared f32\\[N,2\\], f32\\[N,2\\]",
    ),
    "mismatch": (
        lambda g: g.nodes["constant_1"].update(value=np.ones(3, np.float32), result=Tensor("f32", (3,))),
        "results_follow",
        "mul_1",
        "mul\\(f32\\[N,2\\], f32\\[3\\]\\): .* do not broadcast.* it reads 'x', 'constant_1'",
    ),
    "no result type": (lambda g: g.nodes["mul_1"].pop("result"), "values_are_typed", "mul_1", "no result type"),
    "strange result type": (
        lambda g: g.nodes["mul_1"].update(result="f32"),
        "values_are_typed",
        "mul_1",
        "must be a type",
    ),
    "input without a type": (lambda g: g.nodes["x"].pop("result"), "values_are_typed", "x", "inputs need a declared"),
    "output of another type": (
        lambda g: g.nodes["y"].update(result=Tensor("f64", ("N", 2))),
        "results_follow",
        "y",
        "output gives f32",
    ),
    "missing attribute": (
        lambda g: g.nodes["relu_1"].update(type="transpose"),
        "attributes_fit",
        "relu_1",
        "needs the attribute 'perm'",
    ),
    "wild attribute": (
        lambda g: g.nodes["relu_1"].update(type="transpose", perm="no"),
        "attributes_fit",
        "relu_1",
        "transpose.perm: expected Sequence",
    ),
    "wrong shape": (
        lambda g: g.nodes["constant_1"].update(value=np.ones(3, np.float32)),
        "constants_hold",
        "constant_1",
        "holds an array of shape \\[3\\]",
    ),
    "wrong dtype": (
        lambda g: g.nodes["constant_1"].update(value=np.ones(2)),
        "constants_hold",
        "constant_1",
        "holds an array of float64 and is declared f32",
    ),
    "no numbers": (
        lambda g: g.nodes["constant_1"].update(value=["a", "b"]),
        "constants_hold",
        "constant_1",
        "holds an array",
    ),
    "no array": (lambda g: g.nodes["constant_1"].pop("value"), "attributes_fit", "constant_1", "attribute 'value'"),
    "a constant of two types": (
        lambda g: g.nodes["constant_1"].update(result=(Tensor("f32", (2,)), F)),
        "constants_hold",
        "constant_1",
        "a constant is a Tensor",
    ),
    "written constant": (
        lambda g: g.add_edge("x", "constant_1", slots=((0, 0),)),
        "operands_fit",
        "constant_1",
        "is a constant and 'x' writes to it",
    ),
    "written input": (lambda g: g.add_edge("constant_1", "x", slots=((0, 0),)), "operands_fit", "x", "takes at most 0"),
    "result that is not there": (
        lambda g: g.edges["x", "relu_1"].update(slots=((0, 1),)),
        "results_are_there",
        "relu_1",
        "reads result 1 of 'x', which has fewer",
    ),
    "missing operand": (lambda g: g.remove_edge("x", "relu_1"), "operands_fit", "relu_1", "relu needs operand 'x'"),
    "surplus operand": (
        lambda g: g.add_edge("constant_1", "relu_1", slots=((1, 0),)),
        "operands_fit",
        "relu_1",
        "relu takes at most 1",
    ),
    "empty output": (
        lambda g: g.remove_edge("sub_1", "y"),
        "operands_fit",
        "y",
        "an output has one operand, this ha.*0",
    ),
    "written output": (
        lambda g: g.add_edge("x", "y", slots=((1, 0),)),
        "operands_fit",
        "y",
        "an output has one operand, this has 2",
    ),
    "position of an output": (
        lambda g: g.nodes["y"].update(index=4),
        "ports_are_numbered",
        "y",
        "positions of its inputs or outputs",
    ),
    "no position": (lambda g: g.nodes["x"].pop("index"), "ports_are_numbered", "x", "has no position"),
    "wild position": (lambda g: g.nodes["x"].update(index="0"), "ports_are_numbered", "x", "is number '0'"),
    "output twice": (
        lambda g: g.output("z", g.value("x")) and g.nodes["z"].update(index=0),
        "ports_are_numbered",
        "z",
        "is number 0 among the graph's outputs, as 'y' is",
    ),
    "cycle": (
        lambda g: g.add_edge("sub_1", "relu_1", slots=((0, 0),)) or g.remove_edge("x", "relu_1"),
        "cycles_pass_state",
        "relu_1",
        "cycle relu_1 -> sub_1 -> relu_1",
    ),
    "cycle of order": (
        lambda g: g.add_control("sub_1", "mul_1"),
        "cycles_pass_state",
        "mul_1",
        "cycle mul_1 -> sub_1 -> mul_1",
    ),
    "reads itself": (
        lambda g: g.add_edge("relu_1", "relu_1", slots=((0, 0),)) or g.remove_edge("x", "relu_1"),
        "cycles_pass_state",
        "relu_1",
        "reads itself",
    ),
    "name no text": (
        lambda g: nx.relabel_nodes(g, {"mul_1": 7}, copy=False),
        "names_are_unique",
        7,
        "node names are non-empty strings, got 7",
    ),
    "empty name": (
        lambda g: nx.relabel_nodes(g, {"mul_1": ""}, copy=False),
        "names_are_unique",
        "",
        "node names are non-empty strings, got ''",
    ),
}


@pytest.mark.parametrize("case", BREAKS)
def test_a_broken_graph_is_named(case):
    break_it, name, node, message = BREAKS[case]
    graph = sound()
    verify(graph)
    break_it(graph)
    assert found(graph) == [(name, node)]
    with pytest.raises(VerificationError, match=message) as caught:
        verify(graph)
    assert str(caught.value).startswith(f"node {node!r}: ")
    assert [fault.node for fault in caught.value.faults] == [node]
    plain = nx.DiGraph(graph)
    assert found(plain) == [(name, node)]
    assert dict(plain.nodes) == dict(graph.nodes)


def test_every_fault_is_listed():
    graph = sound()
    graph.nodes["relu_1"]["type"] = "rellu"
    graph.nodes["constant_1"]["value"] = np.ones(3)
    with pytest.raises(VerificationError) as caught:
        verify(graph)
    assert len(str(caught.value).splitlines()) == 2
    assert len(caught.value.faults) == 2


def test_names_that_print_alike():
    graph = sound()
    graph.add_node(1, type="constant", value=np.ones(1), result=Tensor("f64", (1,)))
    graph.add_node("1", type="constant", value=np.ones(1), result=Tensor("f64", (1,)))
    with pytest.raises(VerificationError, match="another node whose name prints as '1'"):
        verify(graph)


def test_outputs_that_nothing_leads_to():
    graph = sound()
    graph.remove_edge("relu_1", "sub_1")
    graph.remove_edge("mul_1", "sub_1")
    assert found(graph) == [("operands_fit", "sub_1"), ("outputs_are_reached", "y")]


def test_layouts_that_disagree():
    graph = Graph("g")
    a = graph.input("a", Tensor("f32", ("N", 4, 4, 4), "NHWC"))
    b = graph.input("b", Tensor("f32", ("N", 4, 4, 4), "NHWC"))
    graph.output("y", a + b)
    verify(graph)
    graph.nodes["b"]["result"] = Tensor("f32", ("N", 4, 4, 4), "NCHW")
    with pytest.raises(VerificationError, match=r"node 'add_1': .*NHWC.*NCHW.*it reads 'a', 'b'"):
        verify(graph)


@pytest.mark.parametrize("element", [FixedPoint(True, 5, 2), "i4", "bf16"], ids=str)
def test_constants_out_of_range(element):
    graph = Graph("g")
    held = np.float32([1.001]) if element == "bf16" else np.int8([99])
    graph.output("y", graph.constant(np.zeros_like(held), type=Tensor(element, (1,))))
    verify(graph)
    graph.nodes["constant_1"]["value"] = held
    assert found(graph) == [("constants_hold", "constant_1")]


def loop() -> Graph:
    graph = Graph("loop", ops=[held])
    x = graph.input("x", F)
    graph.add_node("d", type="held", result=F)
    total = x + graph.value("d")
    graph.add_edge(total.node, "d", slots=((0, 0),))
    graph.output("y", total)
    return graph


def test_cycles_are_legal_through_state():
    graph = loop()
    verify(graph)
    graph.add_node("e", type="held", result=F)
    graph.add_edge("e", "e", slots=((0, 0),))
    verify(graph)
    graph.edges["e", "e"].update(slots=(), kind="control")
    with pytest.raises(VerificationError, match=r"'e': .*operand"):
        verify(graph)
    graph.remove_node("e")
    graph.nodes["d"]["type"] = "relu"
    assert found(graph) == [("cycles_pass_state", "add_1")]


def test_two_cycles_are_two_faults_and_long_ones_are_abbreviated():
    graph = Graph("g")
    for name in ("a", "b"):
        nodes = [f"{name}{i}" for i in range(1000)]
        graph.add_nodes_from(nodes, type="relu", result=F)
        graph.add_edges_from(zip(nodes, [*nodes[1:], nodes[0]], strict=True), slots=((0, 0),))
    found_ = [fault for fault in faults(graph) if fault.check == "cycles_pass_state"]
    assert [fault.node for fault in found_] == ["a0", "b0"]
    assert "(989 more)" in found_[0].message
    assert len(found_[0].message) < 200


def test_edges_of_order_are_no_operands():
    graph = sound()
    graph.add_control("mul_1", "relu_1")
    graph.add_control("x", "relu_1", kind="memory")
    verify(graph)


def test_generic_nodes_are_sound_as_they_are_declared():
    graph = Graph("g")
    x = graph.input("x", F)
    graph.output("y", generic("Swirl")(x, turns=3, result=Tensor("f32", ("N", 7))))
    verify(graph)
    graph.nodes["Swirl_1"].pop("result")
    assert found(graph) == [("values_are_typed", "Swirl_1")]


def test_several_results():
    graph = Graph("g")
    a, b = both(graph.input("x", F))
    graph.output("y", a - b)
    verify(graph)
    graph.nodes["both_1"]["result"] = (F,)
    assert [node for _, node in found(graph)] == ["both_1", "sub_1"]
    assert infer(graph) == ("both_1",)
    verify(graph)


@check
def names_are_short(graph, node):
    """Names have at most five letters."""
    if len(node) > 5:
        yield "is long"


@check(whole=True)
def has_a_name(graph):
    """A graph has a name."""
    if not graph.name:
        yield "the graph has no name"


@rule
def no_double_negation(x):
    """Minus minus x is x."""
    yield op.neg(op.neg(x))
    return x


def test_own_checks_and_rules_stand_beside_the_others():
    graph = Graph()
    x = graph.input("x", F)
    graph.output("y", op.neg(op.neg(x)))
    nx.relabel_nodes(graph, {"neg_2": "negation"}, copy=False)
    mine = (*CHECKS, names_are_short, has_a_name, no_double_negation)
    assert found(graph) == []
    assert found(graph, mine) == [
        ("names_are_short", "negation"),
        ("has_a_name", None),
        ("no_double_negation", "negation"),
    ]
    with pytest.raises(VerificationError, match=r"the graph has no name\nnode 'negation': .*Minus minus x is x"):
        verify(graph, mine)
    verify(graph, ())


def test_a_rule_that_declines_finds_no_fault():
    @rule
    def declining(x):
        """Never."""
        yield op.relu(x)
        return rule.decline("not here")

    assert found(sound(), [declining]) == []


@pytest.mark.parametrize("table", [(verify,), (None,), ("x",)], ids=lambda table: type(table[0]).__name__)
def test_what_is_no_check(table):
    with pytest.raises(RuleError, match="decorate it with @check"):
        faults(sound(), table)


def test_a_check_that_fails_is_named_with_its_place():
    @check
    def fails(graph, node):
        """Nothing."""
        yield graph.nodes[node]["nothing"]

    with pytest.raises(RuleError, match=r"check 'fails' \(.*test_verify.py:\d+\): fails at 'x': KeyError"):
        faults(sound(), (fails,))


def test_a_check_that_meets_a_broken_node_says_nothing_more():
    @check
    def reads(graph, node):
        """Operands can be read."""
        graph.operands(node)
        return ()

    graph = sound()
    graph.edges["x", "relu_1"].clear()
    assert found(graph, (*CHECKS, reads)) == [("slots_are_numbered", "relu_1")]
    assert found(graph, (reads,)) == [("reads", "relu_1")]


@pytest.mark.parametrize("thing", [nx.MultiDiGraph(), nx.Graph(), 3, None], ids=lambda thing: type(thing).__name__)
def test_what_is_no_graph(thing):
    with pytest.raises(GraphError, match=r"make it a networkx.DiGraph"):
        verify(thing)


def test_a_mapping_of_graphs_is_verified_graph_by_graph():
    broken = sound()
    broken.nodes["relu_1"]["type"] = "rellu"
    with pytest.raises(VerificationError, match=r"^graph 'second': node 'relu_1': unknown op 'rellu'"):
        verify({"first": sound(), "second": broken})


def test_rewriting_is_verified_by_own_checks():
    @rule
    def negate_twice(x):
        """A rectifier of minus minus x."""
        yield op.relu(x)
        return op.clip(op.neg(op.neg(x)), low=0.0, high=1.0)

    graph = sound()
    assert "clip_1" in rewrite(graph, [negate_twice], verify=True)
    with pytest.raises(
        VerificationError, match=r"^negate_twice left a graph that is not well formed:\nnode 'neg_2': no_d"
    ):
        rewrite(graph, [negate_twice], verify=(*CHECKS, no_double_negation))
    with pytest.raises(RuleError, match="decorate it with @check"):
        rewrite(graph, [negate_twice], verify=[negate_twice, "x"])


@rule
def names_as_texts(x, w):
    """A product that is added."""
    yield op.add(op.mul(x, w), x)
    return op.mul(x, op.add(w, 1))


def test_a_graph_rule_finds_faults():
    pattern = nx.DiGraph()
    pattern.add_node("n", type="relu")
    other = nx.DiGraph()
    other.add_node("n", type="neg")
    looked = rule.from_graphs(pattern, other, name="no_relu", interface=["n"])
    with pytest.raises(VerificationError, match="node 'relu_1': no_relu matches here"):
        verify(sound(), [looked])


def _damage(draw, graph):
    """Change one thing somewhere, in any way."""
    nodes = sorted(graph, key=str)
    node = draw(st.sampled_from(nodes))
    wild = st.sampled_from(
        [None, 0, -1, "x", (), (1, 2), [], {}, object(), np.ones(2), F, (F, F), 1.5, ((0, 0), (1, 0))]
    )
    kind = draw(st.sampled_from(["data", "slots", "edge", "remove", "node"]))
    if kind == "data":
        key = draw(st.sampled_from([*graph.nodes[node], "type", "result", "value", "index", "origin", "more"]))
        graph.nodes[node][key] = draw(wild)
    elif kind == "node":
        graph.add_node(draw(st.sampled_from(["new", 3, ("a", 1), ""])), type=draw(wild))
    elif kind == "edge":
        graph.add_edge(node, draw(st.sampled_from(nodes)), slots=draw(wild))
    elif graph.edges:
        edge = draw(st.sampled_from(sorted(graph.edges, key=str)))
        graph.remove_edge(*edge) if kind == "remove" else graph.edges[edge].update(slots=draw(wild))


@given(graphs(), st.data())
def test_whatever_is_broken_is_a_fault_and_never_another_error(graph, data):
    for _ in range(data.draw(st.integers(1, 3))):
        _damage(data.draw, graph)
    for fault in faults(graph, (*CHECKS, no_double_negation, names_as_texts)):
        assert isinstance(str(fault), str)
        assert fault.node is None or fault.node in graph


def test_what_is_said_of_an_empty_name_and_of_a_check_that_is_no_table():
    graph = Graph("g")
    graph.add_node("", type="constant", value=np.float32(1), result=Tensor("f32", ()))
    with pytest.raises(
        VerificationError,
        match=r"^node '': node names are non-empty strings, got ''; give it another with graph.renamed",
    ):
        verify(graph)
    with pytest.raises(RuleError, match=r"<check names_are_unique> is no table of checks; write \(\*CHECKS, mine\)"):
        verify(graph, CHECKS[0])  # type: ignore[arg-type]
    with pytest.raises(
        GraphError, match=r"^networkx.Graph is not a graph that can be verified; make it a networkx.DiGraph"
    ):
        verify(nx.Graph())


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "backend",
            3,
            "^node 'relu_1': its backend must be a non-empty string, got 3; write a name, or remove the key$",
        ),
        ("implementation", "", "its implementation must be a non-empty string, got ''"),
        (
            "origin",
            "relu",
            "its origin must be a tuple of node names, got 'relu'; write the names that it was made from",
        ),
        ("origin", (1,), r"its origin must be a tuple of node names, got \(1,\)"),
    ],
)
def test_annotations_and_origins_that_a_hand_wrote(key, value, message):
    graph = sound()
    graph.nodes["relu_1"][key] = value
    with pytest.raises(VerificationError, match=message) as caught:
        verify(graph)
    assert [fault.check for fault in caught.value.faults] == ["annotations_are_names"]
