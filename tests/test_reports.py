"""A report is true if and only if what was asked turned out well; the convention stands in ARCHITECTURE.md."""

from __future__ import annotations

import dataclasses
import pkgutil
import re
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import graphrewrite
from graphrewrite import Graph, diff, evaluation, op, rule, trace
from graphrewrite.cli.equality import Compared
from graphrewrite.cli.pipeline import Compiled
from graphrewrite.hdl import CheckReport, CosimulationReport, SynthesisReport
from graphrewrite.hdl.ghdl.cosimulation import Difference
from graphrewrite.lowering import FoldingReport
from graphrewrite.lowering.folding.folding_report import LayerReport, Price
from graphrewrite.lowering.quantisation.agreement import Agreement
from graphrewrite.testing import Report
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.evidence import Evidence
from graphrewrite.testing.proof.proof import Instance, Proof

NAMES = r"(Report|Proof|Comparison|Agreement|Explanation|Evaluation|Trace|Diff|Verdict)$"
WORDS = {"equal", "verdict", "counterexample", "is_match", "is_good", "findings", "cosimulation"}
"""What a class is called, or the name of an attribute of it, if it reports."""

GRAPH = Graph.parse("graph g\nx = input() : f32[N]\nn = neg(x)\nm = neg(n)\ny = output(m)")
OTHER = Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")
WRONG = Counterexample(GRAPH, OTHER, "other values")
UNEQUAL = CosimulationReport(False, 1, 2, 3, 0.1, Difference("y", 0, 1, "0a in cycle 7", "nothing"))
EQUAL = CosimulationReport(True, 1, 2, 3, 0.1)


@rule
def drop_double_negation(x):
    """Two negations are none."""
    yield op.neg(op.neg(x))
    return x


JUDGING: dict[type, tuple[list[Any], list[Any]]] = {
    CosimulationReport: ([EQUAL], [UNEQUAL]),
    Compiled: (
        [Compiled("m", Path(), exact=True), Compiled("m", Path(), exact=True, cosimulation=EQUAL)],
        [Compiled("m", Path()), Compiled("m", Path(), exact=True, cosimulation=UNEQUAL)],
    ),
    Report: (
        [Report("r", ("r",), 3, Counter(r=2), evidence={"r": each}) for each in (Evidence(2), Evidence(formed=2))],
        [
            Report("r", ("r",), 3),
            Report("r", ("r",), 3, Counter(r=2)),
            Report("r", ("r",), 3, Counter(r=2), counterexample=WRONG, evidence={"r": Evidence(2)}),
        ],
    ),
    Proof: (
        [Proof("r", [Instance(GRAPH, "proved")])],
        [Proof("r", [Instance(GRAPH, "refuted")]), Proof("r", [], why="there is no graph")],
    ),
    Compared: (
        [Compared(None, "equal", is_equal=True)],
        [Compared("y differs", "they differ", is_equal=False), Compared(None, "not compared")],
    ),
    Instance: ([Instance(GRAPH, "proved")], [Instance(GRAPH, "refuted"), Instance(GRAPH, "unknown")]),
    type(drop_double_negation.explain(GRAPH, at="m")): (
        [drop_double_negation.explain(GRAPH, at="m")],
        [drop_double_negation.explain(GRAPH, at="n")],
    ),
}
"""Reports with a verdict: good ones, and bad ones."""

DIFFERENCES = (diff(GRAPH, OTHER), diff(graphrewrite.Module([GRAPH]), graphrewrite.Module([OTHER])))
SAYING: tuple[Any, ...] = (
    trace(OTHER, [drop_double_negation]),
    evaluation(GRAPH, {"x": [1.0]}),
    CheckReport("fifo", 3, 4, 5, 0, 0.1),
    SynthesisReport("design", "ecp5", ()),
    FoldingReport(Price(1, 1, 0), "fc", {}),
    LayerReport(1, 1, 1, 1),
    Agreement("y", "classes", 0.5, equal=0.5),
)
"""Reports without a verdict, however little they say: a check that finds a difference raises."""
OUTSIDE = {"PartReport", "NodeDiff", "ReportPage", "ProofPage", "ExplanationPage", "Failure"}
"""Parts of reports, and what the view makes of them."""


@cache
def reports() -> frozenset[type]:
    """Every class of the package that reports."""
    found = set()
    for module in pkgutil.walk_packages(graphrewrite.__path__, "graphrewrite."):
        if module.name.endswith(("__main__", ".worker")):
            continue
        for name, each in vars(import_module(module.name)).items():
            if not isinstance(each, type) or each.__module__ != module.name or name.startswith("_"):
                continue
            fields = {field.name for field in dataclasses.fields(each)} if dataclasses.is_dataclass(each) else set()
            if re.search(NAMES, name) or WORDS & (fields | set(vars(each))):
                found.add(each)
    return frozenset(found)


def test_every_report_is_asked_here() -> None:
    asked = {*JUDGING, *map(type, DIFFERENCES), *map(type, SAYING)}
    assert {each.__name__ for each in reports() - asked} - OUTSIDE == set()
    assert asked <= reports()


@pytest.mark.parametrize("kind", JUDGING, ids=lambda kind: kind.__name__)
def test_it_is_true_if_and_only_if_all_is_well(kind: type) -> None:
    good, bad = JUDGING[kind]
    assert {*map(type, good), *map(type, bad)} == {kind}
    assert [bool(each) for each in good] == [True] * len(good)
    assert [bool(each) for each in bad] == [False] * len(bad)


def test_differences_are_a_collection_of_them() -> None:
    assert all(DIFFERENCES)
    assert not diff(GRAPH, GRAPH)
    assert not diff(graphrewrite.Module([GRAPH]), graphrewrite.Module([GRAPH]))


def test_what_has_no_verdict_is_there() -> None:
    assert all(SAYING)
