"""Threads that share a graph: rewriting copies works, and what would clash with a rewrite in place is refused."""

from __future__ import annotations

import copy
import os
import pickle
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import networkx as nx
import pytest

from graphrewrite import Constant, Graph, GraphRewriteError, Rule, Tensor, decline, evaluate, op, rewrite, rule, verify
from graphrewrite.errors import RewriteError
from graphrewrite.rules import RULES


def chain(length: int = 12) -> Graph:
    graph = Graph("chain")
    x = graph.input("x", Tensor("f32", ("N",)))
    for _ in range(length):
        x = op.identity(op.relu(x) * 2 + x)
    graph.output("y", x)
    return graph


def rules_of(meanwhile: Callable[[Any], object] = lambda value: None) -> list[Rule]:
    """Return rules of several kinds, the first of which does something at each match besides."""

    @rule
    def fuse(x, c: Constant, d):
        """Multiply and add is one."""
        product = op.mul(x, c)
        yield op.add(product, d)
        meanwhile(product)
        return op.fma(x, c.value * 3, d)

    @rule
    def drop(x):
        """The identity is its operand."""
        yield op.identity(x)
        return x if x.op_name != "relu" else decline("kept after a relu")

    return [fuse, drop]


@contextmanager
def rewriting_in_place(graph: Graph, at: int) -> Iterator[None]:
    """Let another thread rewrite a graph in place, which waits at some match until the block ends."""
    count = 0
    met, done = threading.Event(), threading.Event()
    faults: list[BaseException] = []

    def wait(_: object) -> None:
        nonlocal count
        count += 1
        if count == at:
            met.set()
            done.wait(60)

    def work() -> None:
        try:
            rewrite(graph, rules_of(wait), copy=False)
        except BaseException as error:
            faults.append(error)
            met.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert met.wait(60)
    try:
        yield
    finally:
        done.set()
        thread.join()
    assert not faults


REFUSED: dict[str, Callable[[Graph], object]] = {
    "rewritten in place": lambda g: rewrite(g, rules_of(), copy=False),
    "rewritten": lambda g: rewrite(g, rules_of()),
    "copied": lambda g: g.copy(),
    "evaluated": lambda g: evaluate(g, {"x": [1.0]}),
    "verified": verify,
    "built on": lambda g: op.relu(g.value("x")),
    "edited": lambda g: g.remove_nodes_from(["x"]),
}


@pytest.mark.parametrize("at", [1, 10])
def test_what_clashes_with_a_rewrite_in_place_is_refused_until_it_has_ended(at: int) -> None:
    graph = chain()
    wanted = rewrite(graph, rules_of())
    with rewriting_in_place(graph, at):
        for refused in REFUSED.values():
            with pytest.raises(RewriteError, match="rewrite a copy"):
                refused(graph)
    assert graph == wanted
    graph.add_edges_from([])
    assert graph.copy() == rewrite(graph, rules_of(), copy=False)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_process_refuses_a_graph_that_a_thread_was_rewriting() -> None:
    graph = chain()
    with rewriting_in_place(graph, 3):
        child = os.fork()
        if child == 0:
            try:
                rewrite(graph, rules_of())
            except RewriteError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize(
    "edit",
    [
        lambda value: value.graph.remove_node(value.node),
        lambda value: value.graph.add_node("one"),
        lambda value: op.relu(value.graph.value(value.node)),
        lambda value: nx.relabel_nodes(value.graph, {value.node: "one"}, copy=False),
        lambda value: rewrite(value.graph, rules_of(), copy=False),
        lambda value: value.data.update(type="relu"),
    ],
)
@pytest.mark.parametrize("first", [1, 10])
def test_functions_of_rules_cannot_edit_the_graph_that_is_rewritten(edit, first: int, in_place: bool) -> None:
    graph = chain()
    before = graph.copy()
    nodes: dict[str, None] = {}

    def later(value: Any) -> None:
        nodes[value.node] = None
        if len(nodes) >= first:
            edit(value)

    with pytest.raises(GraphRewriteError):
        rewrite(graph, rules_of(later), copy=not in_place)
    assert graph == before
    assert list(graph) == list(before)
    graph.remove_node("y")


def test_a_copy_of_a_graph_that_is_being_rewritten_can_be_edited() -> None:
    copies: list[Graph] = []

    def keep(value: Any) -> None:
        graph = value.graph
        copies.extend([graph.copy(), copy.copy(graph), copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))])

    graph = chain(2)
    rewrite(graph, rules_of(keep), copy=False)
    wanted = rewrite(chain(2), rules_of())
    for each in (graph, *copies):
        assert rewrite(each, rules_of(), copy=False) == wanted
        each.remove_node("y")
    frozen = nx.freeze(chain(2))
    rewrite(frozen, rules_of(), copy=False)
    with pytest.raises(nx.NetworkXError, match=re.escape("Frozen graph can't be modified")):
        frozen.add_node("one")


def test_threads_rewrite_one_graph_and_copies_of_it_by_the_same_rules() -> None:
    graph = chain(20)
    wanted = [rewrite(graph, rules_of()), rewrite(graph, RULES)]
    rules = rules_of()
    start = threading.Barrier(4)
    found: list[Any] = [None] * 4

    def work(index: int) -> None:
        own = graph.copy()
        start.wait()
        found[index] = [rewrite(graph, rules), rewrite(own, rules, copy=False), rewrite(graph, RULES)]

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(each == [wanted[0], wanted[0], wanted[1]] for each in found)
