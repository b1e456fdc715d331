"""Ctrl-C, or the button of a notebook, at any time: what was given is as it was."""

from __future__ import annotations

import gc
import pickle
import signal
import threading
from time import perf_counter

import networkx as nx
import numpy as np
import pytest

from graphrewrite import Graph, op, rewrite, rule, trace
from graphrewrite.runtime.interrupts import deferred_interrupts
from graphrewrite.runtime.progress import progress


@rule
def drop_identity(x):
    yield op.identity(x)
    return x


@rule
def drop_double_negation(x):
    if True:  # what branches is not compiled
        yield op.neg(op.neg(x))
    return x


def chain(length: int, kind: str = "identity") -> Graph:
    lines = ["graph g", "r0 = input() : f32[N,2]", *(f"r{i + 1} = {kind}(r{i})" for i in range(length))]
    return Graph.parse("\n".join([*lines, f"y = output(r{length})"]))


def state(graph: nx.DiGraph) -> bytes:
    """Everything about a graph, orders included."""
    return pickle.dumps((list(graph.nodes(data=True)), list(graph.edges(data=True)), list(graph.pred), graph.graph))


@pytest.fixture(autouse=True)
def _no_callbacks_of_others():
    """Python drops an interruption within a callback of the garbage collector, and Hypothesis has one."""
    others = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks.extend(others)


def interrupted_after(seconds: float, work) -> bool:
    """Whether some work was interrupted by Ctrl-C after some time."""
    armed = [True]
    old = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT) if armed else None)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        work()
        armed.clear()
    except KeyboardInterrupt:
        return True
    finally:
        armed.clear()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    return False


# Python drops an interruption within the callback of a weak reference, too, and says so. The work is done, then.
MAY_BE_DROPPED = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@MAY_BE_DROPPED
@pytest.mark.parametrize("kind", ["identity", "neg"])
@pytest.mark.parametrize("is_copied", [True, False])
def test_at_any_time_the_graph_is_whole(kind, is_copied):
    rules = [drop_identity, drop_double_negation]
    given = chain(600, kind)
    before, started = state(given), perf_counter()
    after = state(rewrite(given, rules))
    whole = perf_counter() - started
    count = 0
    for delay in np.random.default_rng(0).uniform(0.01, 0.9, 40) * whole:
        graph = given.copy()
        assert state(graph) == before
        if interrupted_after(delay, lambda graph=graph: rewrite(graph, rules, copy=is_copied)):
            count += 1
            # An interruption that comes behind the last step finds the work done.
            assert state(graph) in ({before} if is_copied else {before, after})
        assert gc.isenabled()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert count >= 5


@MAY_BE_DROPPED
def test_a_plain_digraph_is_whole():
    given = nx.DiGraph()
    nx.add_path(given, range(400))
    for node in given:
        given.nodes[node]["type"] = "stop" if node % 2 else "go"
    pattern = nx.DiGraph([("a", "b"), ("b", "c")])
    pattern.nodes["b"]["type"] = "stop"
    short = rule.from_graphs(pattern, nx.DiGraph([("a", "c")]), name="short", interface=["a", "c"])
    before, started = state(given), perf_counter()
    after = state(rewrite(given, [short]))
    whole, count = perf_counter() - started, 0
    for delay in np.random.default_rng(1).uniform(0.01, 0.9, 20) * whole:
        graph = given.copy()
        count += interrupted_after(delay, lambda graph=graph: rewrite(graph, [short], copy=False))
        assert state(graph) in (before, after)
    assert count >= 3


@pytest.mark.parametrize("run", [rewrite, trace])
def test_raised_in_the_middle(run):
    graph = chain(20)
    before, seen = state(graph), []

    @rule
    def drop_some(x):
        node = op.identity(x)
        yield node
        seen.append(node)
        if len(seen) == 7:
            raise KeyboardInterrupt
        return x

    with pytest.raises(KeyboardInterrupt):
        run(graph, [drop_some])
    assert state(graph) == before
    seen.clear()
    with pytest.raises(KeyboardInterrupt):
        rewrite(graph, [drop_some], copy=False)
    assert len(seen) == 7
    assert state(graph) == before


def test_a_rule_that_thinks_for_long_is_interrupted():
    graph = Graph.parse("graph g\nx = input() : f32[2]\nc = constant(value=1.0) : f32[]\na = add(x, c)\ny = output(a)")
    before = state(graph)

    @rule
    def think(x, c: rule.Constant):
        yield op.add(x, c)
        until = perf_counter() + 30 * float(c.value)
        while perf_counter() < until:
            pass
        return x

    assert interrupted_after(0.05, lambda: rewrite(graph, [think], copy=False))
    assert state(graph) == before


def test_held_back_and_open():
    done = []

    def work():
        with deferred_interrupts() as hold:
            assert not hold
            signal.raise_signal(signal.SIGINT)
            assert hold
            with pytest.raises(KeyboardInterrupt):
                hold.deliver()
            assert not hold
            done.append("kept on")
            done.extend(hold.interruptible(interrupting()))

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["kept on"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def interrupting():
    signal.raise_signal(signal.SIGINT)
    yield "never"


def test_an_error_is_not_hidden_by_an_interruption():
    def work():
        with deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_threads_and_ignored_interruptions():
    found = []

    def work():
        with deferred_interrupts() as hold:
            found.append(bool(hold))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, old)
    assert found == [False]


def test_progress_is_taken_away(monkeypatch):
    shown = []
    monkeypatch.setattr("graphrewrite.runtime.progress._PATIENCE", 0.0)
    monkeypatch.setattr("graphrewrite.runtime.progress._PAUSE", 0.0)
    monkeypatch.setattr("graphrewrite.runtime.progress._opener", lambda: lambda label, total: shown.append)

    def work():
        with progress(range(5), "work") as items:
            for item in items:
                if item == 2:
                    signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert shown == [0, 1, 2, -1]
