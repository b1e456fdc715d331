"""Rules of streams are compared in time: deadlock and interval, in networks in which storage matters."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrewrite import Graph, decline, rule
from graphrewrite.hdl import COMPONENTS, DeadlockError, predict
from graphrewrite.hdl.buffering import insert_fifos, insert_forks
from graphrewrite.hdl.components.fifo import fifo
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.components.refold import refold
from graphrewrite.hdl.components.register import register
from graphrewrite.testing import assert_preserves, check
from graphrewrite.testing.timing import compare_times
from tests.support.growing_designs import network
from tests.support.profiles import fewer_graphs


@rule
def fifo_dropped(x):
    """A network with a longer way beside it stops."""
    yield fifo(x)
    return x


@rule
def half_as_deep(x, d):
    """A frame takes longer."""
    yield fifo(x, depth=d)
    return fifo(x, depth=d // 2) if d > 40 else decline("shallow")


@rule(interval=2)
def narrower(x):
    """One of two rows in a step, as it says."""
    product = matvec(x)
    yield product
    if product.type.lanes != 2 or product.groups > 1:
        return decline("other lanes, or groups")
    return refold(matvec(x, like=product, lanes=1), lanes=2)


@rule
def store_as_a_register(x):
    """A register holds two beats."""
    yield fifo(x, depth=2)
    return register(x)


DEEP = """graph deep
x = input() : stream u4f0[1,24]
waiting = fifo(x, depth=DEPTH) : stream u4f0[1,24]
later = stream_reshape(x, shape=[24]) : stream u4f0[24]
same = stream_reshape(later, shape=[1,24]) : stream u4f0[1,24]
sum = stream_add(waiting, same, element=u5f0) : stream u5f0[1,24]
y = output(sum)
"""


def deep(depth: int) -> Graph:
    return Graph.parse(DEEP.replace("DEPTH", str(depth)), ops=[component.op for component in COMPONENTS])


def test_a_network_that_stops_is_shown():
    report = check(fifo_dropped, on=deep(40), seed=0)
    assert report.verdict == "refuted"
    assert report.counterexample.reason.startswith("a deadlock that was not there: the network stops for good")
    pasted: dict[str, Any] = {}
    exec(report.counterexample.code, pasted)
    with pytest.raises(DeadlockError):
        pasted["test_fifo_dropped"]()


def test_a_frame_that_takes_longer_is_shown():
    graph = deep(44)
    before, after = (predict(insert_forks(deep(depth)), 200).interval for depth in (44, 22))
    with fewer_graphs():
        report = check(half_as_deep, on=graph, seed=0)
    assert before < after
    assert report.verdict == "refuted"
    assert "slower: " in report.counterexample.reason


def test_a_rule_may_say_that_it_is_slower():
    with fewer_graphs():
        assert check(narrower, seed=0)
        stopped = check(fifo_dropped, on=deep(24), interval=math.inf, seed=0)
        with pytest.raises(AssertionError, match=r"slower: \d+ → \d+ cycles a frame"):
            assert_preserves(narrower, interval=1.5)
    assert stopped.counterexample.reason.startswith("a deadlock")


def test_what_is_as_good_stays():
    report = check(store_as_a_register, seed=0)
    assert report
    timed = report.evidence["store_as_a_register"].timed
    assert timed >= 2
    assert f"{timed} of them in time, too" in str(report)


@settings(max_examples=6)
@given(st.integers(0, 2**20))
def test_buffers_only_help(number: int):
    graph, _ = network(1, number, fifos=False)
    buffered = insert_fifos(graph)
    assert compare_times(graph, buffered, None).slower is None
    assert compare_times(buffered, buffered, None) == (0, None)
