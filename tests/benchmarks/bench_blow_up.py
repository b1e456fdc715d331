"""What must not blow up: patterns with many ways to fit, and graphs in which one change concerns many."""

from __future__ import annotations

import time

from graphrewrite import rewrite
from tests.benchmarks.blow_up import CASES
from tests.benchmarks.figures import print_table


def test_no_blow_up():
    rows = []
    for name, make in CASES.items():
        case = make()
        start = time.process_time()
        matches = None if case.matches is None else len(case.rule.find(case.graph))
        middle = time.process_time()
        rewritten = rewrite(case.graph, [case.rule])
        end = time.process_time()
        assert matches == case.matches
        case.check(rewritten)
        finding = "" if matches is None else middle - start
        rows.append((name, len(case.graph), "many" if matches is None else matches, finding, end - middle, "< 2"))
    heads = ("", "nodes", "matches", "find s", "rewrite s", "goal")
    print_table("No blow-up", heads, rows)
