"""Modules: graphs that share constants and placeholders, are nodes of each other, and implement nodes."""

from __future__ import annotations

import copy
import pickle
import re

import networkx as nx
import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, op, rewrite, rule, show, trace, verify
from graphrewrite.errors import (
    GraphError,
    RewriteError,
    RuleError,
    TypeMismatchError,
    UnknownGraphError,
    VerificationError,
)
from graphrewrite.hierarchy.graph_ops import graph_op
from graphrewrite.hierarchy.module import Module
from graphrewrite.rules import RULES, inline, outline

X = Tensor("f32", ("N", 2))


def network() -> Module:
    """Two graphs that share a weight, one of which is a node of the other, twice."""
    module = Module("net", author="me")
    w = module.constant("w", np.float32([[1, 2], [3, 4]]))
    x = module.placeholder("x", X)
    block, main = module.add_graph("block"), module.add_graph("main")
    block.output("y", op.relu(op.linear(x.on(block), w.on(block))))
    main.output("y", op.linear(module.op("block")(module.op("block")(x.on(main))), w.on(main)))
    verify(module)
    return module


def shared_arrays(module: Module) -> list[np.ndarray]:
    return [data["value"] for graph in module.values() for _, data in graph.nodes(data=True) if "value" in data]


# ---------------------------------------------------------------------- a mapping


def test_it_is_a_mapping_of_graphs() -> None:
    module = network()
    assert list(module) == ["block", "main"]
    assert len(module) == 2
    assert "main" in module
    assert "mian" not in module
    assert 3 not in module
    assert module.get("mian") is None
    del module["main"]
    assert list(module) == ["block"]
    assert repr(module) == "<Module 'net': 1 graph, 1 constant, 1 placeholder>"


@pytest.mark.parametrize(
    "attempt",
    [
        lambda module: module["mian"],
        lambda module: module.op("mian"),
        lambda module: module.__delitem__("mian"),
        lambda module: module.collect(["mian"]),
        lambda module: module.implementation("mian", "x"),
        lambda module: module.unshare("mian", "x"),
    ],
)
def test_a_graph_that_is_not_there_is_named_with_the_nearest_one(attempt) -> None:
    with pytest.raises(
        UnknownGraphError, match=r"the module 'net' has no graph 'mian' \(it has block, main\); did you"
    ):
        attempt(network())


def test_a_graph_is_called_as_its_key() -> None:
    module = Module("net")
    graph = Graph("g")
    module["main"] = graph
    assert module["main"] is graph
    assert graph.name == "main"
    with pytest.raises(GraphError, match="'main' of the module 'net' cannot have the second name 'other'; copy it"):
        module["other"] = graph
    with pytest.raises(GraphError, match="already has a graph 'main'"):
        module.add_graph("main")
    assert list(module) == ["main"]


def test_the_old_name_of_add_graph_still_works() -> None:
    module = Module("net")
    with pytest.warns(DeprecationWarning, match="add_graph"):
        assert module.graph("main") is module["main"]


def test_a_plain_digraph_is_made_a_graph() -> None:
    module = Module("net")
    module["main"] = nx.DiGraph([("a", "b")])  # type: ignore[assignment]  # of networkx, which is untyped
    assert isinstance(module["main"], Graph)
    assert set(module["main"].edges) == {("a", "b")}


@pytest.mark.parametrize("thing", [nx.MultiDiGraph(), nx.Graph(), {}, "graph g", None])
def test_what_is_no_graph_is_refused(thing) -> None:
    module = network()
    with pytest.raises(GraphError, match=r"a module contains Graph or networkx\.DiGraph, got"):
        module["main"] = thing
    assert module == network()


@pytest.mark.parametrize("name", ["", None, 3])
def test_what_is_no_name_is_refused(name) -> None:
    module = Module()
    with pytest.raises(GraphError, match="are non-empty strings, got"):
        module[name] = Graph("g")
    with pytest.raises(GraphError, match="are non-empty strings, got"):
        module.constant(name, 1)
    assert not module
    assert not module.constants


# ---------------------------------------------------------------------- constants and placeholders


def test_a_constant_of_two_graphs_is_one_array() -> None:
    module = network()
    held = shared_arrays(module)
    assert len(held) == 2
    assert all(array is module.constants["w"] for array in held)
    with pytest.raises(ValueError, match="read-only"):
        held[0][0] = 0
    with pytest.raises(TypeError):
        module.constants["w"] = held[0]  # type: ignore[index]  # that is the test
    assert module.shared("w").on(module["main"]).node == "w"
    assert [graph.inputs for graph in module.values()] == [("x",), ("x",)]
    assert module.placeholders == {"x": X}
    assert module.type_of("w") == Tensor("f32", (2, 2))


def test_what_was_given_can_be_written_to_and_is_not_what_is_held() -> None:
    module = Module()
    given = np.zeros(2, np.float32)
    module.constant("w", given)
    given[0] = 1
    assert module.constants["w"].tolist() == [0, 0]


def test_one_node_a_graph() -> None:
    module = network()
    main = module["main"]
    assert module.shared("w").on(main).node == module.shared("w").on(main).node
    main.input("v", X)
    v = module.constant("v", np.float32(1))
    assert v.on(main).node == "v_1"
    assert v.on(main).node == "v_1"
    assert repr(v) == "<constant 'v' of module 'net': f32[]>"


def test_setting_a_constant_changes_it_for_all() -> None:
    module = network()
    module.set_constant("w", [[1, 0], [0, 1]])
    assert all(array is module.constants["w"] for array in shared_arrays(module))
    assert module.constants["w"].dtype == np.float32
    assert evaluate(module["main"], {"x": [[1, -2]]})["y"].tolist() == [[1, 0]]
    verify(module)


def test_types_follow_a_constant_and_a_placeholder() -> None:
    module = Module("net")
    x, w = module.placeholder("x", X), module.constant("w", np.ones((3, 2), np.float32))
    block, main = module.add_graph("block"), module.add_graph("main")
    block.output("y", op.linear(x.on(block), w.on(block)))
    main.output("y", -module.op("block")(x.on(main)))
    module.set_constant("w", np.ones((5, 2), np.float32))
    assert str(main.result_type("neg_1")) == "f32[N,5]"
    verify(module)
    module.set_placeholder("x", Tensor("f32", (7, 2)))
    assert str(main.result_type("neg_1")) == "f32[7,5]"
    verify(module)


def test_a_change_that_does_not_fit_changes_nothing() -> None:
    module = network()
    with pytest.raises(TypeMismatchError, match=r"'w' cannot be f32\[2,3\]: graph 'block': node 'linear_1'"):
        module.set_constant("w", np.zeros((2, 3), np.float32))
    with pytest.raises(TypeMismatchError, match=r"'x' cannot be f32\[N,3\]: graph 'block': node 'linear_1'"):
        module.set_placeholder("x", Tensor("f32", ("N", 3)))
    # It fits the block, but not what reads the block's result.
    with pytest.raises(TypeMismatchError, match=r"'w' cannot be f32\[3,2\]: graph 'main': node 'block_2'"):
        module.set_constant("w", np.zeros((3, 2), np.float32))
    with pytest.raises(TypeMismatchError, match=r"holds an array of shape \[2\]"):
        module.set_constant("w", np.zeros(2, np.float32), Tensor("f32", (2, 3)))
    assert module == network()


@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        (lambda m: m.constant("w", 1), "already has a constant or placeholder 'w'"),
        (lambda m: m.placeholder("w", X), "already has a constant or placeholder 'w'"),
        (lambda m: m.set_constant("v", 1), "no constant or placeholder 'v'; add it first"),
        (lambda m: m.set_constant("x", 1), "'x' is a placeholder"),
        (lambda m: m.set_placeholder("w", X), "'w' is a constant; change it with set_constant"),
        (lambda m: m.shared("weight"), "no constant or placeholder 'weight'"),
        (lambda m: m.shared("w").on(Graph("other")), "the graph 'other' is not in the module 'net'"),
        (lambda m: m.shared("w").on(m["main"].copy()), "the graph 'main' is not in the module 'net'"),
        (lambda m: m.unshare("main", "y"), "is of type 'output', not a constant"),
        (lambda m: m.unshare("main", "v"), "node 'v': is not in the graph"),
    ],
)
def test_wrong_use_of_constants(attempt, said: str) -> None:
    module = network()
    with pytest.raises(GraphError, match=re.escape(said)):
        attempt(module)
    assert module == network()


def test_one_graph_gets_its_own() -> None:
    module = network()
    assert module.unshare("main", "w", [[0, 0], [0, 0]]).tolist() == [[0, 0], [0, 0]]
    assert evaluate(module["main"], {"x": [[1, 2]]})["y"].tolist() == [[0, 0]]
    assert module.constants["w"].tolist() == [[1, 2], [3, 4]]
    assert "shared" not in module["main"].nodes["w"]
    verify(module)


def test_a_rule_that_changes_a_constant_for_one_graph_copies_first() -> None:
    module = network()

    @rule
    def halve(x, w: rule.Constant):
        yield op.linear(x, w)
        if (w.value <= 0).all():
            return rule.decline("it is done")
        return op.linear(x, w.value * np.float32(-1))

    made = rewrite(module["main"], halve)
    module["main"] = made
    verify(module)
    assert module["block"].nodes["w"]["value"] is module.constants["w"]
    assert module.constants["w"].tolist() == [[1, 2], [3, 4]]


# ---------------------------------------------------------------------- taking graphs in


def test_a_graph_brings_along_the_graphs_that_it_is_made_of() -> None:
    inner, outer = Graph("inner"), Graph("outer")
    inner.output("y", op.relu(inner.input("x", X)))
    outer.output("y", graph_op(inner)(outer.input("x", X)))
    main = Graph("main")
    main.output("y", graph_op(outer)(main.input("x", X)))
    module = Module("net")
    module["main"] = main
    assert set(module) == {"main", "outer", "inner"}
    assert module["inner"] is inner
    assert all(op_.library is module for graph in module.values() for op_ in graph.ops.values())
    verify(module)


def test_a_graph_of_the_same_name_and_another_meaning_is_refused() -> None:
    module = network()
    other = Graph("block")
    other.output("y", -other.input("x", X))
    main = Graph("main")
    main.output("y", graph_op(other)(main.input("x", X)))
    with pytest.raises(
        GraphError, match="has nodes of a graph 'block' that differs from the graph of that name in the module 'net'"
    ):
        module["other"] = main
    assert module == network()
    assert main.name == "main"


def test_a_graph_of_another_module_is_copied_with_what_it_needs() -> None:
    module, other = network(), Module("other")
    with pytest.raises(GraphError, match="add a copy of that to the module 'other' first"):
        other["main"] = module["main"].copy()
    assert not other
    other["block"] = module["block"].copy()
    other["main"] = module["main"].copy()
    verify(other)
    assert other["main"].ops["block"].library is other
    assert other.constants["w"].tolist() == module.constants["w"].tolist()
    other.set_constant("w", [[0, 0], [0, 0]])
    assert module == network()


def test_a_shared_constant_of_another_value_is_refused() -> None:
    module, other = network(), Graph("other")
    other.constant(np.zeros((2, 2), np.float32), name="w")
    other.nodes["w"]["shared"] = "w"
    with pytest.raises(
        GraphError, match="node 'w': differs from the constant 'w' of the module 'net'; remove the annotation 'shared'"
    ):
        module["other"] = other
    assert module == network()


# ---------------------------------------------------------------------- implementations


def test_implementations_and_what_is_referenced() -> None:
    module = Module("net")
    main, fast, faster = (module.add_graph(name) for name in ("main", "fast", "faster"))
    module.add_graph("unused")
    for graph in (main, fast, faster):
        graph.output("y", op.relu(graph.input("x", X)))
    main.nodes["relu_1"]["implementation"] = "fast"
    fast.nodes["relu_1"]["implementation"] = "faster"
    main.nodes["x"]["implementation"] = "missing"
    assert module.implementation("main", "relu_1") is fast
    assert module.implementation("main", "y") is None
    assert module.implementation("main", "x") is None
    assert module.referenced() == ("main", "fast", "missing", "faster")
    assert module.referenced("fast") == ("fast", "faster")
    assert list(module.collect()) == ["main", "fast", "faster"]
    assert list(module.collect(["unused"])) == ["unused"]
    assert len(module) == 4
    with pytest.raises(GraphError, match="is not in the graph"):
        module.implementation("main", "relu_2")


def test_graphs_that_name_each_other_are_no_endless_search() -> None:
    module = Module("net")
    for name, other in (("a", "b"), ("b", "a")):
        graph = module.add_graph(name)
        graph.output("y", op.relu(graph.input("x", X)))
        graph.nodes["relu_1"]["implementation"] = other
    assert module.referenced("a") == ("a", "b")
    with pytest.raises(VerificationError, match="'a' is implemented by itself: a -> b -> a"):
        verify(module)


# ---------------------------------------------------------------------- copies, equality


@pytest.mark.parametrize(
    ("copied", "own_arrays"),
    [
        (Module.copy, False),
        (copy.copy, False),
        (copy.deepcopy, True),
        (lambda module: pickle.loads(pickle.dumps(module)), True),
        (lambda module: copy.deepcopy(module["main"]).ops["block"].library, True),
        (lambda module: pickle.loads(pickle.dumps(module["main"])).ops["block"].library, True),
    ],
)
def test_copies(copied, own_arrays: bool) -> None:
    module = network()
    made = copied(module)
    assert made == module
    verify(made)
    assert made["main"].ops["block"].library is made
    assert made["main"] is not module["main"]
    assert (made.constants["w"] is not module.constants["w"]) == own_arrays
    assert all(array is made.constants["w"] for array in shared_arrays(made))
    assert not made.constants["w"].flags.writeable
    made["block"].nodes["relu_1"]["type"] = "neg"
    made.set_constant("w", [[0, 0], [0, 0]])
    made.attributes["author"] = "you"
    made.placeholder("more", X)
    assert module == network()
    assert made != module


@pytest.mark.parametrize(
    "change",
    [
        lambda module: setattr(module, "name", "other"),
        lambda module: module.attributes.update(more=1),
        lambda module: module.add_graph("more"),
        lambda module: module.__delitem__("main"),
        lambda module: module.constant("v", 1),
        lambda module: module.set_constant("w", [[1, 2], [3, 5]]),
        lambda module: module["main"].nodes["x"].update(backend="gpu"),
    ],
)
def test_what_differs_is_not_equal(change) -> None:
    module = network()
    assert module == network()
    change(module)
    assert module != network()
    assert module != "net"


def test_the_order_of_graphs_does_not_matter() -> None:
    module, other = Module(), Module()
    for name in ("a", "b"):
        module.add_graph(name)
    for name in ("b", "a"):
        other.add_graph(name)
    assert module == other


# ---------------------------------------------------------------------- rewriting


def test_every_graph_is_rewritten_and_the_module_is_untouched() -> None:
    module = network()
    made = rewrite(module, inline, verify=True)
    assert isinstance(made, Module)
    assert module == network()
    assert {data["type"] for _, data in made["main"].nodes(data=True)} == {
        *("input", "constant", "linear", "relu", "output")
    }
    verify(made)
    assert list(made.collect()) == ["main"]
    assert sum(data["type"] == "constant" for _, data in made["main"].nodes(data=True)) == 1
    x = np.float32([[1, -2], [3, 4]])
    assert np.array_equal(evaluate(made["main"], {"x": x})["y"], evaluate(module["main"], {"x": x})["y"])
    assert inline(module) == made
    assert rewrite(module, RULES) == module


def test_a_graph_in_its_own_place_is_left() -> None:
    module = network()
    assert rewrite(module, outline(module.op("block"))) == module


def test_graphs_that_rules_bring_along_come_into_the_module() -> None:
    module = Module("net")
    main = module.add_graph("main")
    main.output("y", op.relu(main.input("x", X)))
    body = Graph("rectify")
    body.output("y", op.maximum(body.input("x", X), np.float32(0)))
    rectify = graph_op(body)

    @rule
    def name_it(x):
        yield op.relu(x)
        return rectify(x)

    made = rewrite(module, name_it)
    assert list(made) == ["main", "rectify"]
    assert made["main"].ops["rectify"].library is made
    assert list(module) == ["main"]
    verify(made)


def test_rules_that_bring_ever_more_graphs_along_come_to_an_end() -> None:
    module = Module("net")
    main = module.add_graph("main")
    main.output("y", op.relu(main.input("x", X)))
    made: list[Graph] = []

    @rule
    def wrap(x):
        yield op.relu(x)
        made.append(Graph(f"wrapped_{len(made)}"))
        made[-1].output("y", op.relu(made[-1].input("x", X)))
        return graph_op(made[-1])(x)

    with pytest.raises(RewriteError, match="the rules do not end: there are more than 101 graphs"):
        rewrite(module, wrap, limit=100)


def test_a_failure_names_the_graph() -> None:
    @rule
    def fail(x):
        yield op.relu(x)
        return op.relu(x.value)

    with pytest.raises(RuleError, match="it is no constant") as caught:
        rewrite(network(), fail)
    assert caught.value.__notes__ == ["in the graph 'block' of the module 'net'"]


@pytest.mark.parametrize("options", [{"at": "relu_1"}, {"copy": False}])
def test_a_module_is_rewritten_as_a_whole(options) -> None:
    with pytest.raises(RuleError, match="rewrite one of its graphs"):
        rewrite(network(), inline, **options)


def test_graphs_that_contain_each_other_are_refused() -> None:
    module = network()
    block = module["block"]
    block.ops["main"] = module.op("main")
    block.add_node("again", type="main", result=X, origin=())
    block.add_edge("x", "again", slots=((0, 0),))
    for attempt in (
        lambda: evaluate(module["main"], {"x": np.zeros((1, 2))}),
        lambda: rewrite(module, inline),
        lambda: rewrite(module, []),
        lambda: module.set_constant("w", np.ones((2, 2), np.float32)),
        lambda: verify(module),
    ):
        with pytest.raises(Exception, match="contain itself"):
            attempt()
    assert set(module.referenced()) == {"main", "block"}


def test_a_module_shows_all_its_graphs_and_is_none_itself():
    module = Module("net")
    block = module.add_graph("block")
    block.output("y", op.relu(block.input("x", X)))
    main = module.add_graph("main")
    main.output("y", module.op("block")(main.input("x", X)))
    assert [line.split()[0] for line in module.summary().splitlines() if line and " " not in line] == ["block", "main"]
    picture = module.show()
    assert [scene.title for scene in picture.scenes] == ["block", "main"]
    assert "relu_1" in repr(module.show(max_nodes=1))
    for use in (lambda m: evaluate(m, {}), lambda m: trace(m, [])):
        with pytest.raises(GraphError, match=r"Module is not a graph .*; give one of its graphs: 'block', 'main'"):
            use(module)
    with pytest.raises(GraphError, match="int is not a graph that can be drawn"):
        show(3)


def test_a_plain_digraph_is_evaluated():
    graph = nx.DiGraph(Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)"))
    assert evaluate(graph, {"x": [-1, 2]})["y"].tolist() == [0, 2]


@pytest.mark.parametrize("name", [3, "", None, ["a"]])
def test_a_graph_is_called_by_a_word(name):
    module = Module("m")
    with pytest.raises(GraphError, match="names of graphs in a module are non-empty strings, got"):
        module.add_graph(name)
    assert len(module) == 0


@pytest.mark.parametrize(
    ("value", "type_", "message"),
    [
        ([1, 300], Tensor("i8", (2,)), r"the constant 't' needs numbers of i8\[2\]: .*300"),
        ([[1], [2, 3]], None, "the constant 't' needs numbers in lists of equal lengths"),
        (["a"], Tensor("f32", (1,)), r"the constant 't' needs numbers of f32\[1\]"),
    ],
)
def test_a_constant_that_its_type_cannot_hold_is_not_kept(value, type_, message):
    module = Module("m")
    with pytest.raises(TypeMismatchError, match=message):
        module.constant("t", value, type_)
    assert not module.constants
    module.constant("t", [1, 2], Tensor("i8", (2,)))


def test_mutable_storage_is_never_folded() -> None:
    """It is said of each variable, in text and files as well, and a pass folds constants only."""
    module = Module("net")
    variables = [module.constant("w", np.float32([1, -2])), module.placeholder("state", Tensor("f32", (2,)))]
    graph = module.add_graph("main")
    for variable in variables:
        graph.output(f"of_{variable.name}", op.relu(variable.on(graph)))
    for same in (module, Module.parse(str(module)), module.copy()):
        assert dict(same.storage) == {"w": "constant", "state": "mutable"}
        result = rewrite(same["main"], RULES)
        assert [data["type"] for _, data in result.nodes(data=True)].count("relu") == 1
        assert result.operands("of_state") == (("relu_2", 0),)
