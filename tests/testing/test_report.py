"""What a report says, in a terminal and in a notebook."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

import pytest

from graphrewrite import Graph, decline, op, rule
from graphrewrite.testing import Report, check, graphs


@rule
def double_negation(x):
    yield op.neg(op.neg(x))
    return x


@rule
def forget_sign(x):
    yield op.neg(x)
    return op.relu(x)


@rule
def unwilling(x):
    yield op.abs(op.abs(x))
    return decline("it is Monday")


DOUBLE = Graph.parse("""
graph g
x = input() : f32[N,2]
a = neg(x) : f32[N,2]
b = neg(a) : f32[N,2]
y = output(b)
""")


class Page(HTMLParser):
    """The words of a page, each of whose tags must be closed where it should."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def words(html: str) -> str:
    """The text of a page as it is read, without its style sheets."""
    bare = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    return " ".join("".join(Page(bare).text).split())


def test_a_property_that_holds():
    report = check(double_negation, seed=3)
    assert report
    assert (report.verdict, report.idle, report.counterexample) == ("preserved", (), None)
    assert report.fired["double_negation"] <= report.graphs == sum(report.sizes.values())
    assert report.ops["neg"] >= 2 * report.fired["double_negation"]
    first, *rest = str(report).splitlines()
    assert first == (f"double_negation: preserved in {report.graphs} graphs of up to {max(report.sizes)} nodes, seed 3")
    assert [line.split()[0] for line in rest if line[2] != " "] == ["fired", "compared", "sizes", "ops"]
    assert repr(report) == f"<report: double_negation, preserved; {report.graphs} graphs>"
    assert words(report._repr_html_()).startswith(first)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({}, ""),
        ({"keeps": "rounding"}, "within float rounding, of float inputs between -8 and 8"),
        ({"tolerance": 0.5, "against": "onnxruntime"}, "against onnxruntime within 0.5, of float inputs"),
    ],
    ids=["exact", "rounding", "tolerance"],
)
def test_how_values_were_compared_is_said_where_it_is_not_bit_for_bit(how, told):
    text = " ".join(str(check(double_negation, on=DOUBLE, seed=0, **how)).split())
    assert told in text
    assert bool(told) == ("within" in text)


def test_a_refutation_shows_its_counterexample():
    report = check(forget_sign, seed=3)
    assert not report
    assert report.verdict == "refuted"
    assert report.fired == Counter(forget_sign=report.graphs), "what is wrong fired, too"
    assert str(report) == f"forget_sign: refuted: {report.counterexample}"
    told = words(report._repr_html_())
    for part in ("forget_sign: refuted", report.counterexample.reason, "◂ first difference", "def test_forget_sign():"):
        assert part in told
    assert "seed: 3" in told


def test_what_never_fired_says_why():
    report = check(unwilling, seed=3)
    assert not report
    assert (report.verdict, report.idle) == ("never fired", ("unwilling",))
    count = sum(report.declined["unwilling"].values())
    assert report.why_idle("unwilling") == f"it declined {count} matches: 'it is Monday'"
    assert report.headline == f"unwilling: unwilling never fired in {report.graphs} graphs, seed 3"
    assert report.advice[0].startswith("unwilling: it declined")
    assert "repair the pattern" in words(report._repr_html_())


def test_a_pattern_that_matches_nowhere_says_where_it_ended():
    report = check(double_negation, on=graphs(ops=["relu"]), seed=0)
    assert report.idle == ("double_negation",)
    assert report.why_idle("double_negation") == "its pattern matches nowhere: no graph had a node of type 'neg'"


def test_of_several_the_idle_ones_are_named():
    report = check((double_negation, unwilling), seed=1)
    assert report.idle == ("unwilling",)
    assert repr(report).startswith("<report: 2 rules, never fired: unwilling; ")
    assert [line.partition(":")[0] for line in report.advice[:-1]] == ["unwilling"]


def test_nothing_tried_is_no_table():
    report = Report("mine", ("a", "b"))
    assert str(report).splitlines()[0] == "mine: a, b never fired in 0 graphs"
    assert "<table" not in report._repr_html_()


@pytest.mark.parametrize(
    ("sizes", "bars"),
    [({4: 8}, "4 █ 4"), ({4: 1, 6: 8}, "4 ▁ █ 6"), ({1: 2, 2: 1, 40: 1}, "1 █")],
)
def test_sizes_are_drawn(sizes, bars):
    report = Report("mine", ("a",), 9, Counter(a=9), Counter(relu=9), Counter(sizes))
    (line,) = (line for line in str(report).splitlines() if line.startswith("  sizes"))
    assert " ".join(line.split()[1:]).startswith(bars)
