"""A graph that is evaluated again gives what it holds now, whatever changed in place; else it keeps its program."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Module, Tensor, define_op, evaluate, op
from graphrewrite.errors import EvaluationError, GraphRewriteError
from graphrewrite.execution import Implementation, kept_programs
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.execution.kept_programs import program_of
from graphrewrite.execution.program import compile_graph
from graphrewrite.execution.program.kernel import Kernel
from graphrewrite.execution.snapshot import Snapshot
from graphrewrite.hierarchy import graph_op
from graphrewrite.testing import graphs, inputs_for
from tests.support.program_graphs import inputs_of, integer_graphs
from tests.support.program_networks import networks


def outcome(graph: nx.DiGraph, inputs: Any) -> Any:
    """What an evaluation gives: bits, or the error."""
    with np.errstate(all="ignore"):
        try:
            found = evaluate(graph, inputs)
        except Exception as error:  # of any kind: graphs are broken at random
            return type(error), str(error)
    return {name: (str(a.dtype), a.shape, np.asarray(a).tobytes()) for name, a in found.items()}


def plain(graph: Graph) -> nx.DiGraph:
    """The graph as a digraph of networkx, with lists and arrays that can be written to."""
    new = nx.DiGraph()
    for node, data in graph.nodes(data=True):
        values = {key: value.copy() if isinstance(value, np.ndarray) else value for key, value in data.items()}
        lists = {key: list(v) for key, v in values.items() if isinstance(v, tuple) and key not in ("result", "origin")}
        new.add_node(node, **{**values, **lists})
    new.add_edges_from((a, b, dict(data)) for a, b, data in graph.edges(data=True))
    return new


class Change:
    """One change in place of a graph, drawn at random; `seed` of the changes makes them repeatable."""

    def __init__(self, graph: nx.DiGraph, seed: int) -> None:
        self.graph, self.random = graph, np.random.default_rng(seed)
        kinds = [self.attribute, self.attribute, self.attribute, self.edge, self.source, self.node, self.annotation]
        self.pick(kinds)()

    def pick(self, choices: Any) -> Any:
        choices = list(choices)
        return choices[self.random.integers(len(choices))]

    def attribute(self) -> None:
        data = self.graph.nodes[self.pick(self.graph)]
        key = self.pick(data)
        value = data[key]
        others = [d[key] for _, d in self.graph.nodes(data=True) if key in d]
        if isinstance(value, np.ndarray) and value.flags.writeable and value.size and self.random.integers(2):
            value.reshape(-1)[self.random.integers(value.size)] += 1
        elif isinstance(value, list) and value and self.random.integers(4):
            at = self.random.integers(len(value))
            value[at] = self.other(value[at])
        elif self.random.integers(2):
            data[key] = self.pick(others)
        else:
            data[key] = self.other(value)

    def other(self, value: Any) -> Any:
        """Another value, perhaps an equal one."""
        if isinstance(value, bool):
            return self.pick([not value, int(value)])
        if isinstance(value, int | float):
            return self.pick([value + 1, -value, float(value), value * 0.0])
        if isinstance(value, tuple) and value:
            at = int(self.random.integers(len(value)))
            return (*value[:at], self.other(value[at]), *value[at + 1 :])
        if isinstance(value, np.ndarray):
            return self.pick([-value if value.dtype != bool else ~value, value.copy(), value[..., ::-1]])
        return value

    def edge(self) -> None:
        """Let two edges change places, or slots."""
        edges = list(self.graph.edges(data=True))
        if len(edges) > 1:
            (*_, one), (*_, other) = self.pick(edges), self.pick(edges)
            one["slots"], other["slots"] = other.get("slots", ()), one.get("slots", ())

    def source(self) -> None:
        if self.graph.number_of_edges():
            old, node, data = self.pick(self.graph.edges(data=True))
            new = self.pick(self.graph)
            if new != node and not nx.has_path(self.graph, node, new) and not self.graph.has_edge(new, node):
                self.graph.remove_edge(old, node)
                self.graph.add_edge(new, node, **data)

    def node(self) -> None:
        name = self.pick(self.graph)
        if self.random.integers(2):
            self.graph.remove_node(name)
        else:
            self.graph.nodes[name]["type"] = self.pick(["relu", "neg", "abs", "identity", "output"])

    def annotation(self) -> None:
        data = self.graph.nodes[self.pick(self.graph)]
        data[self.pick(["note", "backend", "index", "low"])] = self.pick(["gpu", "cpu", 0, 1, 2.5])


@settings(max_examples=2 * settings().max_examples)
@given(
    graphs().flatmap(lambda g: st.tuples(st.just(g), inputs_for(g))),
    st.booleans(),
    st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=6),
)
def test_a_change_in_place_is_noticed(case: Any, is_plain: bool, seeds: list[int]) -> None:
    graph, inputs = case
    check(plain(graph) if is_plain else graph, inputs, seeds)


def check(graph: nx.DiGraph, inputs: Any, seeds: list[int]) -> None:
    for seed in (None, None, *seeds):
        if seed is not None and len(graph) > 1:
            Change(graph, seed)
        assert outcome(graph, inputs) == outcome(copy.deepcopy(graph), inputs)


@given(networks(), st.integers(0, 2**32 - 1))
def test_all_evaluations_are_rounded_alike(graph: Graph, seed: int) -> None:
    kind = graph.result_type("x")
    for batch in (3, 16, 37):
        x = np.random.default_rng(seed).normal(size=(batch, *kind.shape[1:]))
        found = [outcome(graph, {"x": x}) for _ in range(3)]
        program = compile_graph(graph)
        with np.errstate(all="ignore"):
            wanted = {n: (str(a.dtype), a.shape, a.tobytes()) for n, a in program({"x": x}).items()}
        assert found == [wanted] * 3


@given(integer_graphs(), st.integers(0, 2**32 - 1))
def test_whole_numbers_are_translated_in_the_second_evaluation(graph: Graph, seed: int) -> None:
    inputs = inputs_of(graph, 3, seed)
    first = outcome(graph, inputs)
    assert not program_in(graph).instructions
    assert outcome(graph, inputs) == first
    program = program_in(graph)
    assert program.instructions
    assert {type(step) for step, _ in program.steps} == {type(step) for step, _ in compile_graph(graph).steps}
    assert outcome(graph, inputs) == first
    assert program_in(graph) is program


def program_in(graph: nx.DiGraph) -> Any:
    ((_, _, program),) = vars(graph)["_programs"].programs.values()
    return program


# ------------------------------------------------------------------ single changes, each of which has been missed once


def clipped() -> Graph:
    return Graph.parse("graph g\nx = input() : f32[N,2]\nr = clip(x, low=0.0)\ny = output(r)")


@pytest.fixture(params=[False, True], ids=["Graph", "DiGraph"])
def kind(request: pytest.FixtureRequest) -> Callable[[Graph], nx.DiGraph]:
    return plain if request.param else Graph


X = {"x": np.float32([[-1.0, 2.0]])}


def test_an_unchanged_graph_keeps_its_program(kind: Callable[[Graph], nx.DiGraph]) -> None:
    graph = kind(clipped())
    first = program_of(graph, None, (), 1).translated
    assert all(program_of(graph, None, (), frames) is first for frames in (1, 2, 1000))
    graph.nodes["r"]["note"] = "anything"
    assert program_of(graph, None, (), 1) is not first


@pytest.mark.parametrize(("old", "new"), [(0.0, -0.0), (1, True), (1, 1.0), (1.0, np.float64(1.0))])
def test_equal_values_may_differ(old: Any, new: Any, kind: Callable[[Graph], nx.DiGraph]) -> None:
    graph = kind(clipped())
    graph.nodes["r"]["low"] = old
    snapshot = Snapshot(graph)
    assert snapshot.holds(graph)
    graph.nodes["r"]["low"] = new
    assert not snapshot.holds(graph)


def test_numbers_written_into_an_array_are_noticed(kind: Callable[[Graph], nx.DiGraph]) -> None:
    g = Graph("g")
    g.output("y", op.add(g.input("x", Tensor("f32", ("N", 2))), np.float32([1, 2])))
    graph = kind(g)
    mine = np.float32([1, 2])
    graph.nodes["constant_1"]["value"] = mine
    for step in range(3):
        assert evaluate(graph, X)["y"].tolist() == [[step, 4]]
        mine[0] += 1
    base = np.float32([5, 5, 5, 5])
    view = base[::2]
    view.flags.writeable = False
    graph.nodes["constant_1"]["value"] = view
    assert evaluate(graph, X)["y"].tolist() == [[4, 7]]
    base[2] = -2
    assert evaluate(graph, X)["y"].tolist() == [[4, 0]]


def test_another_form_of_a_read_only_array_is_noticed() -> None:
    graph = clipped()
    array = graph.nodes["r"]["note"] = np.arange(6)
    array.flags.writeable = False
    snapshot = Snapshot(graph)
    assert snapshot.holds(graph)
    array.shape = (2, 3)
    assert not snapshot.holds(graph)
    array.shape = (6,)
    assert snapshot.holds(graph)
    array.flags.writeable = True
    assert not snapshot.holds(graph)


@pytest.mark.parametrize("how", ["list", "dictionary", "set", "tuple", "itself"])
def test_changes_in_nested_values_are_noticed(how: str, kind: Callable[[Graph], nx.DiGraph]) -> None:
    graph = kind(clipped())
    inner: list[Any] = [1, [2]]
    value = {"list": inner, "dictionary": {"a": {"b": inner}}, "set": {3}, "tuple": (1, (inner,)), "itself": inner}[how]
    if how == "itself":
        inner.append(inner)
    graph.nodes["r"]["note"] = value
    snapshot = Snapshot(graph)
    assert snapshot.holds(graph)
    if isinstance(value, set):
        value.add(4)
    else:
        inner[1][0] = 3
    assert not snapshot.holds(graph)


def test_what_may_change_unseen_keeps_no_program() -> None:
    graph = clipped()
    graph.nodes["r"]["note"] = SimpleNamespace(a=1)
    evaluate(graph, X)
    assert "_programs" not in vars(graph)
    del graph.nodes["r"]["note"]
    evaluate(graph, X)
    assert "_programs" in vars(graph)


def test_a_renamed_attribute_and_a_moved_one_are_noticed() -> None:
    graph = clipped()
    assert evaluate(graph, X)["y"].tolist() == [[0, 2]]
    graph.nodes["r"]["high"] = graph.nodes["r"].pop("low")
    assert evaluate(graph, X)["y"].tolist() == [[-1, 0]]


def test_graphs_in_a_graph_are_looked_into() -> None:
    block = Graph.parse("graph block\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    g = Graph("g")
    g.output("y", graph_op(block)(g.input("x", Tensor("f32", ("N", 2)))))
    assert evaluate(g, X)["y"].tolist() == [[0, 2]]
    g.op("block_1").body.nodes["r"]["type"] = "neg"
    assert evaluate(g, X)["y"].tolist() == [[1, -2]]


def test_bodies_are_looked_into() -> None:
    double = Graph.parse("graph double\nx = input() : f32[N]\nr = add(x, x)\ny = output(r)")
    negative = Graph.parse("graph negative\nx = input() : f32[N]\nr = neg(x)\ny = output(r)")
    g = Graph("g")
    flag = g.input("flag", Tensor("bool", ()))
    g.output("y", op.cond(flag, g.input("x", Tensor("f32", (2,))), then=double, otherwise=negative))
    inputs = {"flag": True, "x": [1, 2]}
    assert [evaluate(g, inputs)["y"].tolist() for _ in range(2)] == [[2, 4]] * 2
    g.nodes["cond_1"]["then"].nodes["r"]["type"] = "mul"
    assert evaluate(g, inputs)["y"].tolist() == [1, 4]


def test_graphs_of_the_module_are_looked_into_where_a_node_names_one() -> None:
    module = Module("net")
    module["main"] = Graph.parse("graph main\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    module["fast"] = Graph.parse("graph fast\nx = input() : f32[M,2]\na = abs(x)\ny = output(a)")
    main = module["main"]
    assert evaluate(main, X)["y"].tolist() == [[0, 2]]
    main.nodes["r"]["implementation"] = "fast"
    assert [evaluate(main, X)["y"].tolist() for _ in range(2)] == [[[1, 2]]] * 2
    module["fast"].nodes["a"]["type"] = "neg"
    assert evaluate(main, X)["y"].tolist() == [[1, -2]]
    module["fast"] = Graph.parse("graph fast\nx = input() : f32[M,2]\na = exp(x)\ny = output(a)")
    np.testing.assert_allclose(evaluate(main, X)["y"], np.exp(X["x"]), rtol=1e-6)
    del module["fast"]
    with pytest.raises(GraphRewriteError, match="fast"):
        evaluate(main, X)


def test_implementations_by_name_are_looked_into() -> None:
    graph = clipped()
    graph.nodes["r"]["implementation"] = "fast"
    fast = Graph.parse("graph fast\nx = input() : f32[M,2]\na = abs(x)\ny = output(a)")
    library = {"fast": fast}
    assert [evaluate(graph, X, implementations=library)["y"].tolist() for _ in range(2)] == [[[1, 2]]] * 2
    fast.nodes["a"]["type"] = "neg"
    assert evaluate(graph, X, implementations=library)["y"].tolist() == [[1, -2]]
    library["fast"] = Graph.parse("graph fast\nx = input() : f32[M,2]\na = relu(x)\ny = output(a)")
    assert evaluate(graph, X, implementations=library)["y"].tolist() == [[0, 2]]


def test_each_list_of_implementations_has_its_program() -> None:
    graph = clipped()
    plus = [Implementation(op.clip, lambda x, n=n, **_: x + np.float32(n)) for n in range(8)]
    for _ in range(2):
        for n in (0, 1, 1, 7, 2, 3, 4, 5, 6):
            assert evaluate(graph, X, implementations=[plus[n]])["y"].tolist() == [[n - 1, n + 2]]
            assert evaluate(graph, X, implementations=iter([plus[n]]))["y"].tolist() == [[n - 1, n + 2]]
        assert evaluate(graph, X)["y"].tolist() == [[0, 2]]
        assert evaluate(graph, X, implementations=None)["y"].tolist() == [[0, 2]]
    assert len(vars(graph)["_programs"].programs) <= kept_programs._PROGRAMS


def test_a_redefined_op_is_noticed() -> None:
    def swirl(turns: int) -> Any:
        @define_op(infer=lambda x: x, name="swirl")
        def function(x: np.ndarray) -> np.ndarray:
            return x + np.float32(turns)

        return function

    graph = Graph.parse("graph g\nx = input() : f32[N,2]\nr = swirl(x)\ny = output(r)", ops=[swirl(1)])
    assert evaluate(graph, X)["y"].tolist() == [[0, 3]]
    graph.ops["swirl"] = swirl(2)
    assert evaluate(graph, X)["y"].tolist() == [[1, 4]]


def test_nodes_that_are_asked_for_have_their_own_programs() -> None:
    graph = clipped()
    for _ in range(2):
        for nodes in (["r"], ["x", "r"], ["r", "x"], None):
            assert list(evaluate_nodes(graph, X, nodes)) == (nodes or ["y"])


def test_the_property_finds_changes_that_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Snapshot, "holds", lambda *_: True)
    with pytest.raises(AssertionError):
        check(clipped(), X, list(range(40)))


# ------------------------------------------------------------------ keeping


def test_a_graph_that_nobody_has_any_more_takes_its_programs_along() -> None:
    graph = clipped()
    evaluate(graph, X)
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None


def test_only_some_graphs_keep_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_programs, "_GRAPHS", 3)
    many = [clipped() for _ in range(6)]
    for _ in range(2):
        for graph in many:
            assert evaluate(graph, X)["y"].tolist() == [[0, 2]]
    assert sum("_programs" in vars(graph) for graph in many) == 3


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g)), lambda g: g.copy()]
)
def test_a_copy_is_evaluated_by_itself(copied: Callable[[Any], Any], kind: Callable[[Graph], nx.DiGraph]) -> None:
    graph = kind(clipped())
    evaluate(graph, X)
    new = copied(graph)
    new.nodes["r"]["low"] = -7.0
    for _ in range(2):
        assert evaluate(new, X)["y"].tolist() == [[-1, 2]]
        assert outcome(graph, X) == outcome(copy.deepcopy(graph), X)


def test_sizes_may_differ_from_call_to_call() -> None:
    graph = Graph.parse("graph g\nx = input() : f32[N,seq]\nr = softmax(x, axis=-1)\ny = output(r)")
    for shape in ((1, 2), (40, 3), (2, 5), (1, 2), (0, 4)):
        assert evaluate(graph, np.ones(shape))["y"].shape == shape


def test_errors_come_again_and_go_when_the_graph_is_mended() -> None:
    graph = clipped()
    assert evaluate(graph, X)["y"].tolist() == [[0, 2]]
    graph.nodes["r"]["backend"] = "gpu"
    for _ in range(2):
        with pytest.raises(EvaluationError, match="backend 'gpu'"):
            evaluate(graph, X)
    del graph.nodes["r"]["backend"]
    assert evaluate(graph, X)["y"].tolist() == [[0, 2]]
    for _ in range(2):
        with pytest.raises(EvaluationError, match="there is no input 'z'"):
            evaluate(graph, {"x": X["x"], "z": 1})


# ------------------------------------------------------------------ threads


def deep() -> Graph:
    random = np.random.default_rng(0)
    g = Graph("deep")
    x = g.input("x", Tensor("f32", ("N", 2, 6, 6)))
    for _ in range(3):
        x = op.relu(op.conv(x, random.normal(size=(2, 2, 3, 3)).astype(np.float32), pads=(1, 1, 1, 1)))
    fixed = op.to_fixed(x, element=FixedPoint(True, 8, 4))
    g.output("y", op.requantise(fixed, shift=2, element=FixedPoint(True, 6, 2)))
    return g


@pytest.mark.parametrize("batch", [1, 40])
def test_threads_evaluate_one_graph_and_one_program(batch: int) -> None:
    graph = deep()
    program = compile_graph(graph)
    assert any(isinstance(step, Kernel) for step, _ in program.steps)
    xs = [np.random.default_rng(seed).normal(size=(batch + seed % 3, 2, 6, 6)).astype(np.float32) for seed in range(8)]
    wanted = [compile_graph(graph)({"x": x})["y"] for x in xs]
    wrong: list[Exception] = []
    start = threading.Barrier(len(xs))

    def work(index: int) -> None:
        start.wait()
        try:
            for _ in range(15):
                for found in (evaluate(graph, xs[index]), program(xs[index])):
                    assert found["y"].tobytes() == wanted[index].tobytes()
        except Exception as error:  # reported below
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(xs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_memory_that_another_thread_has_taken_meanwhile_is_made_anew() -> None:
    class Taken(list[Any]):
        def __bool__(self) -> bool:
            return True  # as it was when this thread looked

    program = compile_graph(deep())
    x = {"x": np.ones((3, 2, 6, 6))}
    wanted = program(x)["y"].tobytes()
    kernels = [step for step, _ in program.steps if isinstance(step, Kernel)]
    assert kernels
    for kernel in kernels:
        kernel.workspaces._free = Taken(kernel.workspaces._free[:0])
    assert program(x)["y"].tobytes() == wanted
    assert all(kernel.workspaces is kernels[0].workspaces for kernel in kernels)
