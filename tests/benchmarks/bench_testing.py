"""The test kit: what the first check costs in a fresh process, and how many graphs a second are drawn and checked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.figures import print_table, scaled

SUBJECTS = {
    "rules": (
        "graphrewrite.rules:drop_identity",
        "graphrewrite.rules:merge_clips",
        "graphrewrite.rules:fold_batch_norm",
        "graphrewrite.rules:eliminate_dead_nodes",
        "graphrewrite.rules:merge_equal_nodes",
    ),
    "lowerings": ("graphrewrite.lowering:LOWER_TO_INTEGER", "graphrewrite.lowering:LOWER_TO_STREAM"),
}
WITHOUT_INSTANCES = ("map_softmax", "lower_qlinear_conv", "lower_qlinear_matmul")
"""Rules that need a table or formats which the generator does not draw; the sets are checked without them."""
HEADS = (
    "subject",
    "import s",
    "first check s",
    "in all s",
    "graphs",
    "nodes each",
    "graphs/s",
    "of 10 nodes/s",
    "verdicts",
)
RUN = """
import json, sys
from importlib import import_module
from time import process_time
start = process_time()
from hypothesis import settings
from graphrewrite.testing import check
settings.register_profile("fixed", derandomize=True, max_examples=int(sys.argv[2]))
settings.load_profile("fixed")
module, _, name = sys.argv[1].partition(":")
rules = getattr(import_module(module), name)
if isinstance(rules, tuple):
    rules = tuple(member for member in rules if member.name not in sys.argv[5:])[:int(sys.argv[4])]
imported = process_time()
first = check(rules)
checked = process_time()
reports = [check(rules, seed=seed) for seed in range(1, int(sys.argv[3]))]
again = process_time() - checked
sizes = [(size, count) for report in reports for size, count in report.sizes.items()]
print(json.dumps({
    "import": imported - start,
    "check": checked - imported,
    "first": first.graphs,
    "again": again,
    "graphs": sum(count for _, count in sizes),
    "nodes": sum(size * count for size, count in sizes),
    "verdicts": sorted({report.verdict for report in (first, *reports)}),
}))
"""


def measured(subject: str) -> dict:
    """The figures of one subject, in seconds of one processor, in a process that knows of no op yet."""
    limits = scaled(("1", "2", "2"), ("100", "4", "1000"))  # graphs a check, seeds, members of the set
    done = subprocess.run(
        [sys.executable, "-c", RUN, subject, *limits, *WITHOUT_INSTANCES],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", SUBJECTS)
def test_checks(kind):
    rows = []
    for subject in scaled(SUBJECTS[kind][:1], SUBJECTS[kind]):
        found = measured(subject)
        rows.append(
            (
                subject.partition(":")[2],
                found["import"],
                found["check"],
                found["import"] + found["check"],
                found["first"],
                found["nodes"] / found["graphs"],
                found["graphs"] / found["again"],
                found["nodes"] / found["again"] / 10,
                ", ".join(found["verdicts"]),
            )
        )
        # Of a long set some rules need graphs that are rare; a single rule fires.
        assert {*found["verdicts"]} <= {"preserved", "weak", *(() if kind == "rules" else ("never fired",))}, subject
    print_table(f"The test kit, {kind}; goals: 200 graphs of 10 nodes a second, a first check in 2 s", HEADS, rows)
