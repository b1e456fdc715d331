"""A search in parts, spread over threads and processes."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

from graphrewrite import op, rule
from graphrewrite.errors import RuleError
from graphrewrite.rules import drop_extreme
from graphrewrite.testing import check, digraphs
from tests.quality.wrong_rules.arithmetic import swapped_operands


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


def test_the_report_is_the_same_however_the_search_is_spread():
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        for rule_, executor in ((drop_extreme, processes), (swapped_operands, threads)):
            assert told(check(rule_, seed=3, executor=executor)) == told(check(rule_, seed=3))


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
        check(drop_extreme, executor=2)
