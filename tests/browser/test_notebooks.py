"""Committed notebooks, as a reader's browser shows them: what they hold works, keeps its form, and asks nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.notebooks import exported

pytestmark = pytest.mark.browser
NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_viewer_steps_in_the_notebook_about_traces(opened, theme):
    page = opened(exported(NOTEBOOKS / "04_rule_set_and_trace.ipynb", theme=theme), width=1200, theme=theme)
    frame = page.frame_locator("iframe").first
    first = frame.locator("#position").text_content()
    frame.locator("#next").click()
    assert first.startswith("Step 1 of")
    assert frame.locator("#position").text_content() == first.replace("1", "2", 1)
    assert page.locator(".gallery .card").count() > 5
    # Jupyter sets the cells of tables to the right and shades every second row.
    cell = page.locator("td", has_text="fold_batch_norm").first
    assert cell.evaluate("e => getComputedStyle(e).textAlign") in ("left", "start")


@pytest.mark.parametrize("width", [800, 1400])
def test_waveforms_keep_their_size_beside_their_names(opened, width):
    page = opened(exported(NOTEBOOKS / "07_waveforms_and_cycles.ipynb"), width=width)
    waveforms = page.locator(".waveform")
    assert waveforms.count() >= 2
    for wave in waveforms.all():
        names, beats = (wave.locator("svg").nth(k).bounding_box() for k in (0, 1))
        assert names["height"] == pytest.approx(beats["height"], abs=1)
        assert wave.locator(".scroll").evaluate("e => e.scrollWidth >= e.clientWidth")
    assert page.locator("text.name", has_text="matvec_1").first.is_visible()
