"""Charts of placements and schedules: what is drawn is what is there, in every theme, as text and in files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given

from graphrewrite import Graph, show
from graphrewrite.memory import Placement, Schedule, Span, Step, order, place, schedule
from graphrewrite.view.charts.bars import Bar, Timeline
from graphrewrite.view.charts.drawing import MOST_BARS, MOST_ROWS
from graphrewrite.view.written import PictureError
from tests.memory.test_graph_steps import CONCAT
from tests.memory.test_ordering import Problem, problems
from tests.memory.test_placement import lists_of_spans

SVG = "{http://www.w3.org/2000/svg}"


def rectangles(svg: str) -> list[tuple[str, dict[str, str]]]:
    """Return the tooltip and the attributes of each rectangle."""
    found = []
    for rect in ElementTree.fromstring(svg).iter(f"{SVG}rect"):
        title = rect.find(f"{SVG}title")
        found.append((title.text or "" if title is not None else "", dict(rect.attrib)))
    return found


def words(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@given(lists_of_spans())
def test_rectangles_overlap_only_where_spans_share_their_place(spans: list[Span]) -> None:
    shown = place(spans, steps=0).show()
    again = place(spans, steps=0).show()
    assert shown.svg == again.svg
    if not spans:
        assert (shown.svg, repr(shown)) == ("", "nothing takes memory")
        return
    drawn = rectangles(shown.svg)
    assert len(drawn) == sum(len(span.lives()) for span in spans if span.size)
    for tooltip, _ in drawn:
        index = int(re.match(r"span (\d+): ", tooltip)[1])  # type: ignore[index]
        assert f"{spans[index].size:,} bytes" in tooltip


@given(problems())
def test_the_line_is_the_sum_of_what_lives(problem: Problem) -> None:
    steps, sizes, keep = problem
    found = order(steps, given=sizes, keep=keep)
    shown = found.show()
    assert (found.show().svg, repr(found.show())) == (shown.svg, repr(shown))
    if any(span.size and span.begin < span.end for span in found.spans.values()):
        assert f"peak {found.peak:,} bytes" in repr(shown)


def test_sums_of_bars_are_the_loads_of_a_schedule() -> None:
    found = schedule(CONCAT)
    spans = [span for span in found.spans.values() if span.size]
    offsets = place(spans).offsets
    bars = tuple(Bar("", s.size, o, s.begin, s.end, "") for s, o in zip(spans, offsets, strict=True))
    sums = dict(Timeline("", bars, found.order, 0, 0, 0).loads())
    level, loads = 0, []
    for step in range(len(found.loads)):
        level = sums.get(step, level)
        loads.append(level)
    assert tuple(loads) == found.loads


def test_two_orders_are_seen_side_by_side() -> None:
    before, after = schedule(CONCAT, as_given=True), schedule(CONCAT)
    shown = after.show(before=before, on=CONCAT, titles=("as built", "scheduled"))
    assert repr(shown).splitlines()[0] == "as built: peak 6,592 bytes at step 2 (part), lower bound 6,464 bytes"
    assert "scheduled: peak 6,464 bytes at step 1 (part), optimal" in repr(shown)
    root = ElementTree.fromstring(shown.svg)
    assert root.get("role") == "img"
    assert root.get("aria-label", "").startswith("as built: peak 6,592 bytes")
    tooltips = [tooltip for tooltip, _ in rectangles(shown.svg)]
    assert "turned: 6,400 bytes, steps 0 to 1, last read by part, at 0, transpose : f32[100,4,4]" in tooltips
    assert tooltips.count("turned: runs at step 0") == tooltips.count("turned: runs at step 1") == 1
    assert {"as built", "scheduled", "turned", "y"} <= set(words(shown.svg))
    assert "light-dark(" in shown.svg


def test_any_way_to_show_is_the_same() -> None:
    found = schedule(CONCAT)
    assert show(found).svg == found.show().svg
    assert show(found, on=CONCAT).svg == found.show(on=CONCAT).svg
    assert found._repr_html_() == found.show().html
    assert "<svg" in found._repr_html_()
    placed = place([Span(4, 0, 2)])
    assert show(placed).svg == placed.show().svg
    with pytest.raises(TypeError, match="names"):
        found.show(names=["a"])


def test_pools_and_names() -> None:
    placed = place([Span(4, 0, 2), Span(8, 1, 3, pool="fast"), Span(4, 1, 3, over=0)])
    shown = placed.show(names=["x", "w", "y"], unit="words")
    assert [tooltip for tooltip, _ in rectangles(shown.svg)] == [
        "x: 4 words, steps 0 to 1, at 0",
        "y: 4 words, steps 1 to 2, at 0, over x",
        "w: 8 words, steps 1 to 2, at 0",
    ]
    assert "memory, pool fast: peak 8 words at step 1, optimal" in repr(shown)
    with pytest.raises(PictureError, match="there are 3 spans, and 1 names; give one for each span"):
        placed.show(names=["x"])


def test_of_many_the_largest_are_drawn() -> None:
    many = {f"s{i}": Step(1 + i % 7, (f"s{i - 1}",) if i else ()) for i in range(MOST_BARS + 10)}
    found = order(many)
    shown = found.show()
    assert f"the {MOST_BARS:,} largest of {len(many):,} buffers are drawn" in repr(shown)
    assert f"the lives of the {MOST_ROWS} largest of {len(many):,} nodes are drawn; steps=(first, end)" in repr(shown)
    assert len(rectangles(shown.svg)) == MOST_BARS + 2 * MOST_ROWS
    assert all("drawn" in hint for hint in shown.data.hints)


def test_a_part_is_drawn_by_itself() -> None:
    found = order({f"s{i}": Step(1 + i, (f"s{i - 1}",) if i else ()) for i in range(40)})
    shown = found.show(steps=(10, 13))
    assert {tooltip.partition(":")[0] for tooltip, _ in rectangles(shown.svg)} == {"s9", "s10", "s11", "s12"}
    assert {"10", "11", "12"} <= set(words(shown.svg))
    assert repr(shown) == repr(found.show())
    for _, each in rectangles(shown.svg):
        assert float(each["x"]) >= 126
        assert float(each["x"]) + float(each["width"]) <= 126 + 430 + 0.1
    with pytest.raises(PictureError, match="the first step is before the one after the last"):
        found.show(steps=(3, 3))


@pytest.mark.parametrize("name", ["</svg><script>alert(1)</script>", "\u202eltr", "a\x00b", "x" * 5000, "\ud800"])
def test_names_are_text(name: str) -> None:
    shown = order({name: Step(4), "b": Step(4, (name,))}).show()
    ElementTree.fromstring(shown.svg)
    assert "<script" not in shown.html
    assert "\u202e" not in shown.html


@pytest.mark.parametrize("ending", ["svg", "html", "txt"])
def test_files(tmp_path: Path, ending: str) -> None:
    shown = schedule(CONCAT).show()
    content = shown.save(tmp_path / f"a.{ending}").read_text(encoding="utf-8")
    expected: dict[str, Any] = {"svg": shown.svg, "html": shown.document, "txt": f"{shown.text}\n"}
    assert content == expected[ending]


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PictureError, match=r"a chart's file ends in .svg, .html or .txt"):
        schedule(CONCAT).show().save(tmp_path / "a.png")
    with pytest.raises(PictureError, match="nothing takes memory"):
        place([]).show().save(tmp_path / "a.svg")


def test_nothing_is_shown_as_nothing() -> None:
    empty: list[Placement | Schedule] = [place([]), schedule(Graph("g")), order({})]
    for each in empty:
        assert "<svg" in each._repr_html_() or "nothing takes memory" in each._repr_html_()
        assert repr(each.show())
