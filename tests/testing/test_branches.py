"""Which branches of a rule's code ran, and that nobody else's tracer is displaced."""

from __future__ import annotations

import pickle
import sys

import pytest

from graphrewrite import decline, op, pass_, rule
from graphrewrite.testing import check
from graphrewrite.testing.branches import Branches
from graphrewrite.testing.subject import Subject

MOST = 17


@pytest.fixture(autouse=True)
def no_tracer():
    """Let nothing trace, whatever runs the tests."""
    tracer = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(tracer)


def _is_odd(number):
    if number > MOST:
        return "many"
    return number % 2 == 1


@rule
def drop_transpose(x):
    turned = op.transpose(x)
    yield turned
    if _is_odd(len(turned.shape)):
        return decline("an odd number of axes")
    if turned.perm is None:
        return op.relu(turned)
    return x if sorted(turned.perm) == list(turned.perm) else decline("other axes")


@pass_
def drop_sums(graph):
    """Looks at sums."""
    for node in graph:
        if graph.nodes[node]["type"] == "add" and len(graph) > 1000:
            graph.remove_node(node)
    return []


@rule
def straight(x):
    yield op.neg(op.neg(x))
    return x


def lines_of(found):
    return {text.partition("`")[2].strip("`") for text in found}


def test_lines_that_never_ran_are_named():
    assert lines_of(check(drop_transpose, seed=0).never_run) == {'return "many"', "return op.relu(turned)"}
    report = check(drop_sums, seed=0)
    assert lines_of(report.never_run) == {"graph.remove_node(node)"}
    assert "never run test_branches.py:" in str(report)
    assert check(straight, seed=0).never_run == ()


def test_only_what_ran_counts():
    branches = Branches([drop_transpose.function, _is_odd])
    assert not branches.never_run(branches.lines)
    with branches.measured():
        _is_odd(3)
        _is_odd(4)
    ran = branches.take()
    assert lines_of(branches.never_run(ran)) >= {"if _is_odd(len(turned.shape)):", 'return "many"'}
    assert "return number % 2 == 1" not in lines_of(branches.never_run(ran))
    with branches.measured():
        _is_odd(MOST + 1)
    assert branches.take().keys() - ran.keys(), "another branch"
    assert not branches.take()


def test_a_tracer_that_is_active_is_left_alone():
    def tracer(frame, event, arg):
        return None

    sys.settrace(tracer)
    try:
        report = check(drop_transpose, seed=0)
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(None)
    assert report.never_run is None
    assert "branches  not measured" in str(report)
    assert report.verdict == check(drop_transpose, seed=0).verdict


def test_a_subject_is_pickled_without_what_it_measures():
    subject = pickle.loads(pickle.dumps(Subject([drop_transpose, drop_sums])))
    assert subject.names == ("drop_transpose", "drop_sums")
    assert len(subject.branches.lines) == len(Subject([drop_transpose, drop_sums]).branches.lines)
