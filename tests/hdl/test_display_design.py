"""A design as a page: its instances, what they come from and cost, and its files."""

from __future__ import annotations

import json
import sys

import pytest

from graphrewrite import show
from graphrewrite.hdl import Design, emit
from graphrewrite.view.design import show_design
from tests.support.designs import rectify, residual
from tests.support.hostile_names import HOSTILE, Page


@pytest.fixture(scope="module")
def design() -> Design:
    return emit(residual(), frames=2)


def test_parts(design: Design) -> None:
    data = show(design).data
    assert [part.name for part in data.parts] == [each["instance"] for each in design.description["components"]]
    part = next(part for part in data.parts if part.entity == "matvec")
    assert (part.origin, part.node) == (("sum",), "matvec_1")
    assert part.streams == "s8f0[18,4,4] → s16f0[2,4,4] 1 lanes"
    assert dict(part.generics)["INPUTS"] == "18"
    assert dict(part.generics)["WEIGHTS"] == "residual_rom_sum_matvec_weights"
    assert (part.steps, part.latency) == ("32", "2")
    assert data.totals == tuple(
        design.description["resources"][word] for word in ("multipliers", "adders", "registers", "memory_bits")
    )
    layers = {layer.name: [name for name, _ in layer.parts] for layer in data.layers}
    assert layers["round"] == ["round_requantise_i", "round_refold_i"]
    assert set(layers) == {"split", "scan", "sum", "round", "join"}


def test_an_instance_its_code_its_component_and_back(design: Design) -> None:
    data = design.show().data
    top, *others = data.files
    assert top.path == "residual.vhd"
    by_anchor = {section.anchor: section for section in top.sections}
    for part in data.parts:
        section = by_anchor[part.code]
        assert f"{part.name} : entity work.{part.entity}" in section.code
        assert section.code.count(": entity") == 1
        assert f"from {', '.join(part.origin)}" in section.code
        assert section.back == part.anchor
        file = next(file for file in others if file.anchor == part.source)
        assert file.path == f"components/{part.entity}.vhd"
        assert (part.name, part.anchor) in file.users
    whole = "\n".join(section.code.strip("\n") for section in top.sections)
    assert "".join(whole.split()) == "".join(design.files["residual.vhd"].split())  # nothing is lost


def test_page(design: Design) -> None:
    page = Page(design.show().document)
    places = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    links = [str(attributes["href"])[1:] for tag, attributes in page.tags if tag == "a"]
    assert len(places) == len(set(places))
    assert set(links) <= set(places)
    assert len(links) > 3 * len(design.description["components"])
    assert sum(tag == "details" for tag, _ in page.tags) > 10
    assert page.classes("keyword") > 50
    assert "sum_matvec_i" in page.text
    assert len(design.show().html) < 500_000


def test_two_designs_on_one_page_have_places_of_their_own(design: Design) -> None:
    pages = [Page(each.show().html) for each in (design, emit(rectify(), frames=1))]
    first, second = ({a["id"] for _, a in page.tags if "id" in a} for page in pages)
    assert not first & second


def test_text(design: Design) -> None:
    assert repr(design) == f"<Design 'residual': 7 instances, {len(design.files)} files>"
    lines = str(design).splitlines()
    latency, interval = design.description["latency"], design.description["interval"]
    assert lines[0] == f"residual: latency {latency} cycles, interval {interval} cycles, 7 instances"
    assert lines[-1].startswith("files: components/lanes.vhd, ")
    assert next(line for line in lines if line.startswith("all ")).split()[1:] == [
        f"{total:,}" for total in design.show().data.totals
    ]


def test_a_design_without_a_description() -> None:
    page = Page(show(Design("top", {"top.vhd": "entity top is end;", "notes.txt": "a\nb"}, {})).document)
    assert "0 instances" in page.text
    assert "notes.txt 2" in page.text


def test_long_files_are_cut() -> None:
    long = "\n".join(f"-- line {i}" for i in range(20_000))
    files = {f"rom/{i}.vhd": long for i in range(30)}
    shown = show_design("top", files, {})
    assert len(shown.html) < 2_000_000
    code = shown.data.files[0].sections[0].code
    assert code.startswith("-- line 0\n")
    assert code.endswith("-- line 19999")
    left = int(code.split("-- … ")[1].split(" ")[0].replace(",", ""))
    assert left + code.count("\n") == 20_000
    assert shown.data.files[-1].sections[0].code == "-- … 20,000 lines are not shown …"


def test_without_pygments_and_without_jinja2(design: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    from graphrewrite.view import highlight, page

    monkeypatch.setitem(sys.modules, "pygments.lexers", None)
    highlight._lexer.cache_clear()
    try:
        shown = Page(design.show().html)
        assert shown.classes("keyword") == 0
        assert "entity work.matvec" in shown.text
    finally:
        highlight._lexer.cache_clear()
    page.environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    try:
        found = Page(design._repr_html_())
        assert "sum_matvec_i" in found.text
        assert "pip install 'graphrewrite[view]'" in found.text
    finally:
        page.environment.cache_clear()


def test_a_model_with_hostile_names() -> None:
    names = [*HOSTILE.values()]
    design = emit(residual(names[0], tuple(names[1:6])), frames=1)
    shown = design.show()
    assert "<script>alert(1)</script>" in Page(shown.document).text
    assert len(shown.html) < 800_000
    assert all(line.isprintable() for line in shown.text.splitlines())


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_description_may_be_anybodys(name: str) -> None:
    files = {f"{name}.vhd": name, name: name}
    part = {"instance": name, "entity": name, "node": name, "origin": [name], "generics": {name: name}}
    shown = show_design(name, files, {"components": [part], "latency": name})
    Page(shown.document)
    assert all(line.isprintable() for line in shown.text.splitlines())


def test_the_description_holds_what_is_shown(design: Design) -> None:
    found = json.loads(design.files["design.json"])["components"]
    assert all({"generics", "steps", "latency"} <= set(each) for each in found)
