"""The rewrite viewer in a real browser: slider, keys, filters, jumps, themes; quiet, and without a network."""

from __future__ import annotations

import re
import shutil
from functools import cache
from typing import Any

import nbformat
import pytest

from graphrewrite import Graph, Tensor, op, pass_, rule, trace
from graphrewrite.errors import MissingDependencyError
from graphrewrite.rewriting.traces import Trace
from tests.support.chromium import Opened
from tests.support.notebooks import exported
from tests.view.test_stepper import HOSTILE, chain, drop_double_negation, relu_by_abs

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is missing (Debian: apt-get install graphviz)"),
]


@rule
def abs_by_sigmoid(x):
    "Fires at what relu_by_abs has made."
    yield op.abs(x)
    return op.sigmoid(x)


@pass_
def drop_dead(graph):
    "Takes away what reaches no output."
    dead = sorted(graph.dead_nodes())
    graph.remove_nodes_from(dead)
    return dead


@cache
def sample() -> Trace:
    """Nine steps: relus become sigmoids by way of abs, two negations go, a pass removes what is dead."""
    graph = chain("relu", "relu", "neg", "neg", "relu")
    graph.add(op.exp, [graph.value("x")], name="unread")
    return trace(graph, [relu_by_abs, abs_by_sigmoid, drop_double_negation, drop_dead])


@cache
def page_of_sample() -> str:
    return sample().show().document


def heads(page: Any, side: str, mark: str = "") -> list[str]:
    """What the boxes of a side say first and second, by their mark."""
    found = page.locator(f"#{side} g.box{mark}").all()
    return sorted(" ".join(box.locator("text").all_text_contents()) for box in found)


def position(page: Any) -> str:
    return str(page.locator("#position").text_content())


def test_the_slider_moves_through_the_steps(opened):
    page = opened(page_of_sample())
    steps = sample().steps
    assert page.title() == "chain: 8 → 5 nodes in 8 steps"
    assert page.locator("#slider").get_attribute("max") == str(len(steps) - 1)
    for i, step in enumerate(steps):
        page.locator("#slider").fill(str(i))
        assert position(page) == f"Step {i + 1} of {len(steps)}"
        marks = (("before", ".removed", step.removed), ("after", ".added", step.added))
        for side, mark, nodes in marks:
            told = heads(page, side, mark)
            assert len(told) == len(nodes)
            assert all(any(name in text.split() for text in told) for name in nodes)
        ringed = page.locator("#before .ring").count()
        assert ringed == (len(step.match.nodes) if step.match else 0)
        assert page.locator("#after .ring").count() == 0
        assert page.locator("#rule-name").text_content().endswith(step.rule)
        current = page.locator("#steps [aria-current]")
        assert current.count() == 1
        assert current.locator(".number").text_content() == str(i + 1)


def test_what_stays_stands_at_the_same_place(opened):
    page = opened(page_of_sample())
    boxes = {side: page.locator(f"#{side} svg").get_attribute("viewBox") for side in ("before", "after")}
    assert boxes["before"] == boxes["after"]
    places = [
        {
            box.get_attribute("data-node"): box.locator("rect.shape").evaluate(
                "r => [r.x.baseVal.value, r.y.baseVal.value]"
            )
            for box in page.locator(f"#{side} g.box:not(.removed):not(.added)").all()
        }
        for side in ("before", "after")
    ]
    assert places[0] == places[1] != {}


def test_keys_step(opened):
    page = opened(page_of_sample())
    last = len(sample().steps)
    for key, wanted in (
        ("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("End", last), ("ArrowRight", last), ("Home", 1),
        ("ArrowLeft", 1), ("]", 3), ("[", 1), ("PageDown", last), ("PageUp", 1),
    ):  # fmt: skip
        page.keyboard.press(key)
        assert position(page) == f"Step {wanted} of {last}", key
    page.keyboard.press("Tab")
    page.locator("#slider").focus()
    page.keyboard.press("ArrowRight")
    assert position(page) == f"Step 2 of {last}", "the slider's own keys step once"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("relu_3")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#search").input_value() == "relu_3"
    page.keyboard.press("Escape")
    assert page.locator("#search").input_value() == ""


def test_a_long_list_shows_where_it_is(opened):
    page = opened(trace(chain(*["relu"] * 80), [relu_by_abs]).show().document)
    for key in ("End", "Home", "PageDown"):
        page.keyboard.press(key)
        page.wait_for_timeout(50)
        places = [page.locator(wanted).bounding_box() for wanted in ("nav", "#steps [aria-current]")]
        assert places[0]["y"] <= places[1]["y"]
        assert places[1]["y"] + places[1]["height"] <= places[0]["y"] + places[0]["height"]


def test_buttons_step(opened):
    page = opened(page_of_sample(), at="#3")
    last = len(sample().steps)
    for name, wanted in (("next", 4), ("previous", 3), ("last", last), ("first", 1)):
        page.locator(f"#{name}").click()
        assert position(page) == f"Step {wanted} of {last}"
    assert page.locator("#first").is_disabled()


def test_filters_filter(opened):
    page = opened(page_of_sample())
    steps = sample().steps

    def shown() -> list[int]:
        return [int(t) for t in page.locator("#steps li:not([hidden]) .number").all_text_contents()]

    def wanted(has: Any) -> list[int]:
        return [i for i, step in enumerate(steps, start=1) if has(step)]

    assert shown() == wanted(lambda step: True)
    page.locator("#kinds").select_option(label="relu_by_abs (3)")
    assert shown() == wanted(lambda step: step.rule == "relu_by_abs")
    page.keyboard.press("End")
    assert "(3 of 3 shown)" in position(page)
    page.locator("#kinds").select_option("pass")
    assert shown() == wanted(lambda step: step.match is None)
    assert page.locator("#rule-name").text_content() == "Pass drop_dead"
    page.locator("#kinds").select_option("rule")
    assert shown() == wanted(lambda step: step.match is not None)
    page.locator("#kinds").select_option("all")
    page.locator("#search").fill("ABS_1")
    assert shown() == wanted(lambda step: "abs_1" in {**step.removed, **step.added})
    assert page.locator("#finds .chip").all_text_contents() == ["abs_1"]
    page.locator("#search").fill("no such node")
    assert shown() == []
    assert page.locator("#none").is_visible()
    page.locator("#search").fill("")
    assert shown() == wanted(lambda step: True)


def test_a_click_on_a_node_leads_to_what_made_and_what_removed_it(opened):
    page = opened(page_of_sample())
    steps = sample().steps
    made = next(i for i, step in enumerate(steps, start=1) if "abs_2" in step.added)
    gone = next(i for i, step in enumerate(steps, start=1) if "abs_2" in step.removed)
    page.locator("#slider").fill(str(made - 1))
    page.locator("#after g.box.added").click()
    card = page.locator("#node")
    assert card.locator("h2").text_content().startswith("Node abs_2")
    card.get_by_text(f"removed by step {gone}").click()
    assert position(page).startswith(f"Step {gone} of")
    page.locator("#before g.box.removed").dblclick()
    assert position(page).startswith(f"Step {made} of"), "a double click leads to what made it"
    card.get_by_text("only its steps").click()
    assert page.locator("#steps li:not([hidden])").count() == 2
    page.locator("#search").fill("relu_3")
    page.locator("#finds .chip", has_text="relu_3").click()
    card.get_by_text("removed by").click()
    assert page.locator("#before g.box.removed .below").text_content() == "relu_3"
    page.keyboard.press("Escape")
    assert card.is_hidden()


def test_texts_are_those_of_the_step(opened):
    page = opened(page_of_sample())
    frame = sample().show().data.frames[0]
    told = page.locator("#diff .line").all_text_contents()
    assert [line.rstrip("\n") for line in told] == [f"{line.sign} {line.text}" for line in frame.diff]
    assert page.locator("#bindings th").all_text_contents() == [b.name for b in frame.bindings]
    assert page.locator("#rule-source .keyword").first.text_content() == "def"
    assert "yield op.relu(x)" in page.locator("#rule-source").text_content()
    assert page.locator("#rule-doc").text_content() == "Stands for any rule."
    assert re.search(r"test_stepper\.py:\d+", page.locator("#rule-place").text_content())


@pytest.mark.parametrize("width", [700, 1400])
def test_themes_and_widths(opened, width):
    papers = {}
    for theme in ("light", "dark"):
        page = opened(page_of_sample(), theme=theme, width=width)
        papers[theme] = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off on the right"
        for side in ("before", "after"):
            assert page.locator(f"#{side} svg").bounding_box()["width"] > 200
    assert papers["light"] != papers["dark"]


def test_zooming_moves_both_sides(opened):
    page = opened(page_of_sample())
    views = [page.locator("#before svg").get_attribute("viewBox")]
    box = page.locator("#after svg").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 45, box["y"] + 25, steps=3)
    page.mouse.up()
    views.append(page.locator("#before svg").get_attribute("viewBox"))
    page.keyboard.press("+")
    views.append(page.locator("#before svg").get_attribute("viewBox"))
    assert len(set(views)) == 3
    assert page.locator("#after svg").get_attribute("viewBox") == views[-1]


def test_everything_has_a_name_for_those_who_cannot_see_it(opened):
    page = opened(page_of_sample())
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, svg[role], section")]
            .filter((e) => !(e.textContent.trim() || e.getAttribute("aria-label") || e.labels?.length))
            .map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
    told = page.locator("#before svg > title").text_content()
    assert re.fullmatch(r"Before: \d+ nodes drawn of 8; matched: relu_1; removed: relu_1", told)
    page.keyboard.press("ArrowRight")
    assert "abs_by_sigmoid" in page.locator("#status").text_content()
    assert "abs_by_sigmoid" in page.locator("#slider").get_attribute("aria-valuetext")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_in_a_notebook_it_stands_in_a_frame_in_the_notebook_s_theme(opened, theme):
    output = nbformat.v4.new_output("display_data", {"text/html": sample()._repr_html_(), "text/plain": str(sample())})
    cell = nbformat.v4.new_code_cell("found", outputs=[output])
    notebook = nbformat.v4.new_notebook(cells=[cell])
    # The system's theme is the other one: the notebook's counts.
    page = opened(exported(notebook, theme=theme), theme="dark" if theme == "light" else "light", width=1000)
    frame = page.frame_locator("iframe")
    frame.locator("#next").click()
    assert frame.locator("#position").text_content() == "Step 2 of 8"
    frame.locator("#search").press("Escape")
    frame.locator("body").press("End")
    assert frame.locator("#position").text_content() == "Step 8 of 8"
    paper = frame.locator(".stepper").evaluate("e => getComputedStyle(e).backgroundColor")
    assert (
        sum(map(int, re.findall(r"\d+", paper)[:3])) > 600
        if theme == "light"
        else sum(map(int, re.findall(r"\d+", paper)[:3])) < 200
    )
    assert page.locator(".trace-head h1").text_content() == "chain: 8 → 5 nodes in 8 steps"


def test_hostile_names_run_nothing(opened):
    names = (f"a{HOSTILE}", "b<img src=x onerror=alert(1)>", "c${alert(1)}`'\"")
    graph = Graph(f"g{HOSTILE}")
    value = graph.input("x", Tensor("f32", ("N", 4)))
    for kind, name in zip(("neg", "neg", "relu"), names, strict=True):
        value = graph.add(getattr(op, kind), [value], name=name)
    graph.output("y</title>", value)
    shown = trace(graph, [drop_double_negation, relu_by_abs]).show()
    for page in (opened(shown.document), opened(f"<!DOCTYPE html><body>{shown.html}</body>")):
        scope = page.frame_locator("iframe") if page.locator("iframe").count() else page
        scope.locator("#last").click()
        scope.locator("#search").fill("<img")
        scope.locator("#finds .chip").first.click()
        assert scope.locator("#node h2").text_content().startswith("Node b<img src=x onerror=alert(1)>")
        assert scope.locator("#stepper img").count() == 0
        assert scope.locator("body").evaluate("() => document.scripts.length") == 2


def test_it_is_readable_in_print(opened):
    page = opened(page_of_sample())
    page.emulate_media(media="print")
    page.evaluate("document.querySelector('details').open = false; dispatchEvent(new Event('beforeprint'))")
    for wanted in ("#before svg", "#after svg", "#diff", "#rule-source", "#steps", ".rules table"):
        assert page.locator(wanted).first.is_visible(), wanted
    assert not page.locator("#slider").is_visible()
    clipped = page.evaluate(
        "[...document.querySelectorAll('.about, nav')].filter((e) => e.scrollHeight > e.clientHeight + 2).length"
    )
    assert clipped == 0


def test_without_graphviz_it_still_steps(opened, monkeypatch):
    def missing(*_: object) -> bytes:
        raise MissingDependencyError("pictures need Graphviz' program dot")

    monkeypatch.setattr("graphrewrite.view.stepper.geometry.laid_out", missing)
    page = opened(sample().show().document)
    page.keyboard.press("ArrowRight")
    assert position(page) == "Step 2 of 8"
    assert page.locator(".hint").text_content() == "no graphs are drawn: pictures need Graphviz' program dot"
    assert page.locator("#diff .line").count() > 1
    assert not page.locator(".pictures").is_visible()


def test_a_page_that_is_not_quiet_is_noticed(browser, tmp_path):
    for page in (
        "<img src='http://127.0.0.1:9/a.png'>",
        "<script>console.log(1)</script>",
        "<script>nowhere()</script>",
    ):
        found = Opened(browser, tmp_path)
        found(page).wait_for_timeout(50)
        with pytest.raises(AssertionError, match="no page"):
            found.close()
