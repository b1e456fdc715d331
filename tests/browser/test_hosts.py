"""Displays in what holds them, JupyterLab and VS Code: their themes, styles, keys, links, and what they let through."""

from __future__ import annotations

import shutil
from functools import cache
from typing import Any

import pytest

from graphrewrite import Graph, Tensor, op, rule, show, trace
from graphrewrite.hdl import emit, simulate
from graphrewrite.hdl.emission.vectors import random_frames
from graphrewrite.hdl.netlist import netlist
from graphrewrite.testing import check
from tests.support.designs import residual
from tests.support.notebook_sanitiser import sanitised

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is missing (Debian: apt-get install graphviz)"),
]

GRAPH = Graph.parse("graph g\nx = input() : f32[N,4]\nr = relu(x)\nn = neg(r)\ny = output(n)")


@rule
def relu_by_abs(x):
    "Is wrong."
    yield op.relu(x)
    return op.abs(x)


@cache
def viewer() -> str:
    return trace(GRAPH, [relu_by_abs]).show().html


@cache
def design() -> str:
    return emit(residual(), frames=1).show().html


def is_dark(place: Any, ink: str = "color") -> bool:
    """If letters are light."""
    read = "(e, ink) => getComputedStyle(e)[ink].match(/\\d+/g).slice(0, 3).every((n) => n > 128)"
    return bool(place.evaluate(read, ink))


@pytest.mark.parametrize("system", ["light", "dark"])
def test_the_theme_is_that_of_what_is_around_and_may_change(opened, system):
    page = opened(f"<!DOCTYPE html><body>{viewer()}{show(GRAPH).html}", theme=system)
    head, told = page.locator(".trace-head h1"), page.frame_locator("iframe").locator("#position")
    letters = page.locator("svg.gr-picture text").first
    for name, value, dark in (
        ("data-jp-theme-light", "true", False),
        ("data-jp-theme-light", "false", True),
        ("class", "vscode-light", False),
        ("class", "vscode-dark", True),
        ("class", "vscode-high-contrast", True),
        ("class", "vscode-high-contrast vscode-high-contrast-light", False),
    ):
        page.evaluate("([name, value]) => document.body.setAttribute(name, value)", [name, value])
        page.wait_for_timeout(20)
        assert (is_dark(head), is_dark(told), is_dark(letters, "fill")) == (dark, dark, dark), value
        page.evaluate("(name) => document.body.removeAttribute(name)", name)


def test_styles_of_notebooks_leave_code_as_it_is(opened):
    theirs = """.jp-ThemedContainer .jp-RenderedHTMLCommon pre, .jp-ThemedContainer .jp-RenderedHTMLCommon code {
        background: rgb(1, 2, 3); border: 0; padding: 0; white-space: pre-wrap; font-size: 30px }"""
    around = '<div class="jp-ThemedContainer"><div class="jp-RenderedHTMLCommon">'
    bare = opened(f"<!DOCTYPE html><body>{show(relu_by_abs).html}{design()}")
    held = opened(f"<!DOCTYPE html><style>{theirs}</style><body>{around}{show(relu_by_abs).html}{design()}")
    read = """() => [...document.querySelectorAll('.gr pre')].map((e) => { const s = getComputedStyle(e);
        return [s.backgroundColor, s.padding, s.borderWidth, s.whiteSpace, s.fontSize, s.color, s.fontFamily] })"""
    assert held.evaluate(read) == bare.evaluate(read) != []


def test_chords_are_the_notebook_s_and_escape_leads_back_to_it(opened):
    page = opened(f'<!DOCTYPE html><body><div id="cell" tabindex="-1">{viewer()}</div>')
    page.evaluate(
        """() => { window.heard = []; document.addEventListener("keydown", (event) => {
            window.heard.push(`${event.ctrlKey ? "Ctrl " : ""}${event.key} ${event.keyCode} ${event.target.tagName}`);
            if (event.ctrlKey) event.preventDefault();
        }) }"""
    )
    frame = page.frame_locator("iframe")
    frame.locator("#status").evaluate(
        "() => addEventListener('keydown', (e) => { window.last = [e.key, e.defaultPrevented] })"
    )
    frame.locator("figcaption").first.click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("d")
    assert page.evaluate("heard") == []
    page.keyboard.press("Control+s")
    assert page.evaluate("heard.splice(0)").pop() == "Ctrl s 83 IFRAME"
    assert frame.locator("#status").evaluate("() => window.last") == ["s", True], (
        "the browser does not save the page too"
    )
    frame.locator("#search").fill("relu")
    page.keyboard.press("Control+a")
    assert not [key for key in page.evaluate("heard.splice(0)") if key.startswith("Ctrl a")]
    page.keyboard.press("Escape")
    assert frame.locator("#search").input_value() == ""
    frame.locator("#before g.box").first.click()
    page.keyboard.press("Escape")
    assert frame.locator("#node").is_hidden()
    assert page.evaluate("document.activeElement.tagName") == "IFRAME", "the node's card is closed first"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "cell"


def test_links_of_a_design_open_what_they_lead_to_where_a_notebook_takes_them_over(opened):
    page = opened(f"<!DOCTYPE html><body>{design()}")
    page.evaluate(
        """() => { for (const link of document.querySelectorAll("a")) link.addEventListener("click", (event) => {
            event.preventDefault();
            document.getElementById(link.hash.slice(1)).scrollIntoView();
        }) }"""
    )
    code = page.locator(".piece", has_text="sum_matvec_i : entity")
    page.get_by_role("link", name="sum_matvec_i", exact=True).first.click()
    assert code.is_visible()
    assert code.evaluate("part => part.getBoundingClientRect().top < innerHeight")
    code.get_by_role("link", name="↑ sum_matvec_i").click()
    assert "sum_matvec_i" in page.locator("tr.sought").inner_text()
    assert page.locator(".sought").count() == 1


class TestUntrusted:
    """Outputs of notebooks that the reader has not trusted have no style, no script, no frame and no drawing."""

    def test_a_graph_is_a_picture_all_the_same(self, opened):
        page = opened(sanitised(show(GRAPH).html))
        (image,) = page.locator("img").all()
        assert image.evaluate("e => e.decode().then(() => e.naturalWidth > 50 && e.clientWidth > 50)")
        assert page.locator("body").inner_text().strip() == "text", "letters of the drawing are not seen"
        page.locator("summary").click()
        assert page.locator("pre").inner_text() == str(GRAPH)

    def test_a_large_picture_is_not_written_twice(self, opened):
        graph = Graph("g")
        value = graph.input("x", Tensor("f32", ("N",)))
        for _ in range(190):
            value = op.relu(value)
        graph.output("y", value)
        shown = show(graph)
        assert len(shown.html) < 1.2 * len(shown.svg)
        told = opened(sanitised(shown.html)).locator("body").inner_text().split("\n")
        assert told[0] == "A large picture, seen once the notebook is trusted."

    def test_a_rule_has_its_pictures_and_words(self, opened):
        page = opened(sanitised(show(relu_by_abs).html))
        assert all(image.is_visible() for image in page.locator("img").all())
        assert page.locator("img").count() == 2
        told = page.locator("body").inner_text()
        assert "Is wrong." in told
        assert "transformation exact" in told
        assert "abs(x)" not in told

    def test_the_viewer_lists_the_steps(self, opened):
        page = opened(sanitised(viewer()))
        told = page.locator("body").inner_text()
        assert "1 step" in told
        assert "Trust Notebook" in told
        assert page.locator("li").all_inner_texts() == ["relu_by_abs at r"]

    def test_a_waveform_is_text(self, opened):
        graph = residual()
        shown = simulate(graph, random_frames(netlist(graph), 1, 0)).show(cycles=30)
        page = opened(sanitised(shown.html))
        assert page.locator("pre").inner_text().strip() == shown.text.strip()
        assert page.locator("body").inner_text().count("payload") == shown.text.count("payload")

    def test_a_counterexample_stands_side_by_side(self, opened):
        page = opened(sanitised(check(relu_by_abs, seed=0).counterexample.show().html))
        heads = [head.bounding_box() for head in page.locator(".line.head").all()]
        assert heads[0]["y"] == heads[1]["y"]
        assert heads[0]["x"] < heads[1]["x"]

    def test_where_there_is_a_style_nothing_is_seen_twice(self, opened):
        page = opened(f"<!DOCTYPE html><body>{show(GRAPH).html}{show(relu_by_abs).html}{viewer()}")
        assert page.locator(".still").count() > 3
        assert not any(part.is_visible() for part in page.locator(".still").all())
        assert all(part.is_visible() for part in page.locator("svg.gr-picture").all())
