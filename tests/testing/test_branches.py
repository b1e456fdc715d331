"""Which branches of a rule's code ran, and that nobody else's tracer is displaced."""

# ruff: noqa: E701  # several branches on one line are what is tested

from __future__ import annotations

import pickle
import sys

import pytest

from graphrewrite import decline, op, pass_, rule
from graphrewrite.rules import merge_transposes
from graphrewrite.testing import assert_confluent, assert_idempotent, assert_terminates, check
from graphrewrite.testing.branches import Branches
from graphrewrite.testing.subject import Subject
from tests.support.profiles import fewer_examples

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
    report = check(drop_sums, seed=0)
    assert lines_of(report.never_run) == {"graph.remove_node(node)"}
    assert "never run test_branches.py:" in str(report)
    assert lines_of(check([straight, drop_transpose], seed=0).never_run) == {'return "many"', "return op.relu(turned)"}


# fmt: off
def parts(x, c):
    """Branches that are parts of lines."""
    if c: return x
    y = x or 5
    if 0 < x < 3: y = 2
    z = x and y
    return sorted([x, y], key=lambda v: -v if v else 7), [a for a in (x, y) if a or not z]


def loops(xs):
    """Branches of loops, and expressions on several lines."""
    for x in xs:
        if x is None: continue
        if x == 2: break
    else:
        return 1
    while xs and len(xs) > 1: xs = xs[:-1]
    try:
        if (xs
            and xs[0] == 4): return 5
    except IndexError: return 7
    return (1
        if xs else
        2)
# fmt: on


@pytest.mark.parametrize(
    ("function", "calls", "left"),
    [
        (parts, [(1, True)], ["y = x or 5"]),
        (parts, [(1, False)], ["return x", "5", "7", "z"]),
        (parts, [(7, False)], ["return x", "5", "y = 2", "7", "z"]),
        (parts, [(1, True), (4, False), (2, False)], ["5", "7", "z"]),
        (loops, [([1],)], ["continue", "break", "while xs"]),
        (loops, [([1, 2],)], ["continue", "return 1", "5", "except", "2"]),
        (loops, [([4, 2],)], ["continue", "return 1", "except"]),
        (loops, [([4, 2],), ([None, 2],), ([],)], ["except", "2"]),
    ],
)
def test_parts_of_lines_that_never_ran_are_named(function, calls, left):
    branches = Branches([function])
    for call in calls:
        with branches.measured():
            function(*call)
    found = branches.never_run(branches.take())
    assert len(found) == len(left), found
    assert all(text in place.partition("`")[2] for text, place in zip(left, found, strict=True)), found
    assert all(found.values())


# fmt: off
@rule
def picky(x):
    """Right, and declines what there is not."""
    yield op.neg(op.neg(x))
    if len(x.shape) > 97:
        reason = f"more than {97} axes"
        return decline(reason)
    if len(x.shape) > 98: return rule.decline("more still")
    if len(x.shape) > 99:
        raise ValueError("that is no shape")
    return x if x.shape is not None else decline("none given")
# fmt: on


@rule
def one_line(x):
    """Right, but for a branch on one line that nobody comes to."""
    yield op.neg(op.neg(x))
    return op.relu(x) if len(x.shape) > 99 else x


def test_what_may_change_a_replacement_and_never_ran_is_weak():
    report = check(one_line, seed=0)
    assert (report.verdict, bool(report)) == ("weak", True)
    assert [place.partition(" ")[2] for place in report.never_run] == ["`op.relu(x)`"]
    assert report.gaps[0].startswith("never run: test_branches.py:")
    report = check(picky, seed=0)
    assert len(report.never_run) == 4
    assert not any(report.never_run.values())
    assert report.verdict == "preserved", report


@pytest.mark.parametrize("claim", [assert_confluent, assert_terminates, assert_idempotent])
def test_where_nothing_is_followed_nothing_is_missing(claim):
    with fewer_examples():
        assert claim(merge_transposes, seed=1) is None, "nor a warning of thin evidence, which would be an error here"


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
    assert report.verdict == "preserved", "what was not measured counts for nothing"


def test_a_tracer_that_a_rule_sets_stays():
    def tracer(frame, event, arg):
        return None

    @rule
    def debugged(x):
        yield op.neg(op.neg(x))
        if len(x.shape) > 1:
            sys.settrace(tracer)
        return x

    with fewer_examples():
        report = check(debugged, seed=0)
    assert sys.gettrace() is tracer
    assert report.never_run is None


def test_a_subject_is_pickled_without_what_it_measures():
    subject = pickle.loads(pickle.dumps(Subject([drop_transpose, drop_sums])))
    assert subject.names == ("drop_transpose", "drop_sums")
    assert len(subject.branches.lines) == len(Subject([drop_transpose, drop_sums]).branches.lines)
