"""Designs, waveforms and evaluations in a browser: links lead somewhere, windows scroll, themes can be told apart."""

from __future__ import annotations

import pytest

from graphrewrite import Graph, evaluation
from graphrewrite.hdl import emit, simulate
from graphrewrite.hdl.emission.vectors import random_frames
from graphrewrite.hdl.netlist import netlist
from tests.support.designs import residual
from tests.support.hostile_names import HOSTILE

pytestmark = pytest.mark.browser


def test_a_link_opens_the_file_and_another_leads_back(opened):
    page = opened(emit(residual(), frames=1).show().document)
    code = page.locator(".piece", has_text="sum_matvec_i : entity")
    assert not code.is_visible()
    page.get_by_role("link", name="sum_matvec_i", exact=True).first.click()
    assert code.is_visible()
    assert code.evaluate("part => part.getBoundingClientRect().top < innerHeight")
    code.get_by_role("link", name="↑ sum_matvec_i").click()
    row = page.locator("tr:target")
    assert "sum_matvec_i" in row.inner_text()
    assert row.is_visible()
    page.get_by_role("link", name="matvec", exact=True).click()
    assert page.locator("summary:target").inner_text().startswith("components/matvec.vhd")


@pytest.mark.parametrize("width", [700, 1400])
def test_a_waveform_scrolls_and_the_page_does_not(opened, width):
    graph = residual()
    shown = simulate(graph, random_frames(netlist(graph), 4, 0)).show(cycles=150)
    page = opened(shown.document, width=width)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    window = page.locator(".waveform .scroll")
    last = page.get_by_text("149", exact=True)
    assert not last.evaluate("text => text.getBoundingClientRect().right < innerWidth")
    window.evaluate("part => part.scrollLeft = part.scrollWidth")
    assert last.evaluate("text => text.getBoundingClientRect().right < innerWidth")
    assert page.locator(".waveform .names").evaluate("part => part.getBoundingClientRect().left >= 0")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_evaluation_follows_the_theme(opened, theme):
    graph = Graph.parse("graph g\nx = input() : s8f4[N,2]\nr = requantise(x, shift=2, element=u4f2)\ny = output(r)")
    page = opened(evaluation(graph, {"x": [[6, 10], [-1, 127]]}, graph).show().document, theme=theme, width=700)
    light = page.evaluate("getComputedStyle(document.querySelector('td')).color.match(/\\d+/g).every(n => n > 128)")
    assert light == (theme == "dark")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_hostile_names_run_nothing(opened):
    names = list(HOSTILE.values())
    graph = residual(names[0], tuple(names[:5]))
    opened(emit(graph, frames=1).show().document)
    opened(simulate(graph, random_frames(netlist(graph), 1, 0)).show().document)
