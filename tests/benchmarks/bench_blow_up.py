"""What must not blow up: patterns with many ways to fit, and graphs in which one change concerns many."""

from __future__ import annotations

import math
import time

from graphrewrite import rewrite
from tests.benchmarks.blow_up import CASES, READERS
from tests.benchmarks.figures import fastest, print_table, scaled

SIZES = scaled((250, 1_000), (1_000, 4_000, 16_000))


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


def test_growth_with_the_number_of_readers():
    rows = []
    for name, make in READERS.items():
        cases = [make(size) for size in SIZES]
        for case in cases[:1]:
            case.check(rewrite(case.graph, [case.rule]))
        times = fastest(*(lambda c=case: rewrite(c.graph, [c.rule]) for case in cases), seconds=0.1)
        exponent = math.log(times[-1] / times[0]) / math.log(SIZES[-1] / SIZES[0])
        rows.append((name, *(t * 1e3 for t in times), exponent, 1.1))
    heads = ("readers", *(f"{size} ms" for size in SIZES), "exponent", "goal")
    print_table("Growth with the number of readers", heads, rows)
    for name, *_, exponent, goal in rows:
        assert exponent < goal + scaled(0.5, 0.15), f"{name}: grows with the power {exponent:.2f} of the readers"
