"""A search in parts, spread over threads and processes."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_all_start_methods, get_context

import networkx as nx
import pytest

from graphrewrite import op, rule
from graphrewrite.errors import RuleError
from graphrewrite.rules import drop_extreme
from graphrewrite.testing import assert_preserves, check, digraphs, graphs
from tests.quality.wrong_rules.arithmetic import swapped_operands
from tests.support.profiles import fewer_examples, fewer_graphs

TURN = rule.from_graphs(
    nx.DiGraph([("a", "b")]),
    nx.DiGraph([("b", "a")]),
    name="TURN",
    interface=["a", "b"],
    without=[nx.DiGraph([("b", "a")])],
)

RED, BLUE = nx.DiGraph(), nx.DiGraph()
RED.add_node("a", colour="red")
BLUE.add_node("a", colour="blue")
RECOLOUR = rule.from_graphs(RED, BLUE, name="RECOLOUR", interface=["a"])


def sizes(graph):
    """The sizes of all nodes, which have one if the meaning is asked for them."""
    return [data["size"] for _, data in graph.nodes(data=True)]


def told(report):
    found = report.counterexample
    return (
        report.verdict,
        report.graphs,
        report.fired,
        report.ops,
        report.never_run,
        found and (found.reason, found.code),
    )


@pytest.mark.slow(cases=0)
def test_the_report_is_the_same_however_the_search_is_spread():
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        for rule_, executor in ((drop_extreme, processes), (swapped_operands, threads)):
            assert told(check(rule_, seed=3, executor=executor)) == told(check(rule_, seed=3))


@pytest.mark.parametrize(
    ("member", "on"),
    [
        (drop_extreme, graphs(containing=drop_extreme, ops=iter(["neg", "add"]))),
        (drop_extreme, graphs()),
        (TURN, digraphs(containing=TURN, acyclic=True)),
    ],
    ids=["containing", "any", "digraphs"],
)
def test_graphs_that_are_asked_for_are_sent(member, on):
    with ThreadPoolExecutor(2) as threads, fewer_graphs():
        assert told(check(member, on=on, seed=3, executor=threads)) == told(check(member, on=on, seed=3))


def test_a_meaning_is_sent_with_what_keeps_it():
    with ThreadPoolExecutor(2) as threads, fewer_examples():
        here, there = (check(RECOLOUR, meaning=sizes, seed=3, executor=each) for each in (None, threads))
    assert told(here) == told(there)
    assert here.evidence == there.evidence
    assert here.evidence["RECOLOUR"].compared > 10


LATE = """\
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from graphrewrite import op, rule
from graphrewrite.errors import RuleError
from graphrewrite.testing import check


def told(executor):
    try:
        return check(twice, seed=0, executor=executor).verdict
    except RuleError as error:
        return str(error).partition(";")[0]


def running():
    executor = ProcessPoolExecutor(1, mp_context=get_context("fork"))
    executor.submit(abs, 1).result()
    return executor


early = running()

@rule
def twice(x):
    yield op.neg(op.neg(x))
    return x

late = running()
print(told(early))
print(told(late))

@rule
def twice(x):
    yield op.neg(op.neg(x))
    return op.neg(x)

print(told(late))
early.shutdown()
late.shutdown()
"""


@pytest.mark.skipif("fork" not in get_all_start_methods(), reason="processes are not forked here")
def test_a_rule_that_another_process_does_not_know_is_not_tested_there(tmp_path):
    (tmp_path / "late.py").write_text(LATE, encoding="utf-8")
    done = subprocess.run([sys.executable, "late.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    first, second, third = done.stdout.splitlines()
    assert first.startswith("twice cannot be sent to an executor (Can't get attribute 'twice'")
    assert second == "preserved"
    assert third == "twice cannot be sent to an executor (twice has other code in the process that was to run it)"


def test_what_cannot_be_sent_says_what_to_do():
    @rule
    def local(x):
        yield op.neg(op.neg(x))
        return x

    with ThreadPoolExecutor(1) as threads:
        with pytest.raises(RuleError, match=r"local cannot be sent to an executor .* package.module:RULES names it"):
            check(local, executor=threads)
        with pytest.raises(RuleError, match="cannot be sent"):
            check(drop_extreme, on=digraphs().filter(lambda graph: True), executor=threads)
    with pytest.raises(RuleError, match="of int, which has no submit"):
        assert_preserves(drop_extreme, executor=2)
    with pytest.raises(RuleError, match="no engine 'nobody'"):
        assert_preserves(drop_extreme, against="nobody")
    with pytest.raises(RuleError, match="of int, which has no submit"):
        check(drop_extreme, executor=2)
