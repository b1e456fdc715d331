"""From a design to its report; GHDL, Yosys and nextpnr are stood in for."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphrewrite import Graph
from graphrewrite.errors import MissingDependencyError
from graphrewrite.hdl import emit
from graphrewrite.hdl.components.fifo import fifo
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.emission.design import Design
from graphrewrite.hdl.errors import DesignError, SynthesisError
from graphrewrite.hdl.synthesis import FAMILIES, Usage, flow, synthesise
from graphrewrite.hdl.synthesis.prediction import predicted_usage
from graphrewrite.hdl.synthesis.report import Clock
from graphrewrite.hdl.synthesis.verilog import Verilog
from graphrewrite.hdl.synthesis.yosys import Netlist
from graphrewrite.types import FixedPoint, Stream

ECP5 = FAMILIES["ecp5"]


def design() -> Design:
    """The same buffer twice, another one, and a matrix with one multiplier."""
    g = Graph("parts")
    x = g.input("x", Stream(FixedPoint(True, 8), (4,), 1))
    for name, depth in (("first", 3), ("again", 3), ("deep", 70)):
        x = g.add(fifo, [x], {"depth": depth}, name=name, origin=(name,))
    weights = np.array([[5, -3, 2, 90], [-7, 1, 11, 3]])
    attributes = {"weights": weights, "bias": [0, 0], "element": FixedPoint(True, 16), "lanes": 1}
    g.output("y", g.add(matvec, [x], attributes, name="dense", origin=("dense",)))
    return emit(g, frames=1)


DESIGN = design()
PARTS = {part["instance"]: part for part in DESIGN.description["components"]}
FIRST, AGAIN, DEEP, DENSE = PARTS
MODULES = {FIRST: "fifo_a", AGAIN: "fifo_a", DEEP: "fifo_b", DENSE: "matvec_c"}


class Tools:
    """What stands in for the tools, and what they were asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.modules: list[tuple[str, dict[str, Any]]] = []
        self.clocked: list[tuple[str, dict[str, Any]]] = []
        self.verified: list[tuple[Any, ...]] = []
        self.sources: list[Path] = []
        self.fails = ""
        for name in ("to_verilog", "synthesise_module", "clock_of", "verify"):
            monkeypatch.setattr(flow, name, getattr(self, name))
        monkeypatch.setattr(flow, "check_yosys", lambda: None)
        monkeypatch.setattr(flow, "check_clock", lambda family: None)

    def to_verilog(self, sources: list[Path], top: str, timeout: float | None) -> Verilog:
        assert (top, timeout) == ("parts", 7.0)
        assert all(source.is_file() for source in sources)
        self.sources = sources
        inside = "\n".join(f"  {module} {instance} (\n    .clk(clk));" for instance, module in MODULES.items())
        leaves = "\n".join(f"module {name}\n  (input clk);\nendmodule" for name in dict.fromkeys(MODULES.values()))
        return Verilog.of(f"{leaves}\nmodule parts\n  (input clk);\n{inside}\nendmodule\n", top)

    def synthesise_module(self, verilog: Verilog, module: str, family: Any, folder: Path, **options: Any) -> Netlist:
        assert (verilog.top, family) == ("parts", ECP5)
        assert folder.is_dir()
        assert not [*folder.iterdir()], "each module has a folder of its own"
        assert not options["stop"].is_set()
        self.modules.append((module, options))
        if module == self.fails:
            raise SynthesisError(f"{options['where']}: a latch")
        (folder / "netlist.json").write_text("{}")
        cells = {"LUT4": 100 + len(module), "MULT18X18D": 1} if options["multiplies"] else {"LUT4": len(module)}
        return Netlist(cells, {"z_payload": 3} if module == "fifo_b" else {}, folder / "netlist.json")

    def clock_of(self, verilog: Verilog, module: str, family: Any, folder: Path, **options: Any) -> Clock:
        assert (verilog.top, family) == ("parts", ECP5)
        assert (folder / "netlist.json").is_file()
        self.clocked.append((module, options))
        return Clock(100.0 + len(module))

    def verify(self, verilog: Verilog, folder: Path, scratch: Path, scopes: Any, timeout: float | None) -> int:
        assert (folder / "design.json").is_file()
        assert scratch.is_dir()
        self.verified.append((verilog.top, dict(scopes), timeout))
        return 500


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Tools:
    return Tools(monkeypatch)


def test_each_configuration_is_synthesised_once_and_each_instance_has_its_part(tools: Tools) -> None:
    report = synthesise(DESIGN, family="ecp5", timeout=7.0)
    asked = {module: (options["where"], options["multiplies"], options["timeout"]) for module, options in tools.modules}
    assert len(tools.modules) == len(asked)
    assert asked == {"fifo_a": (FIRST, False, 7.0), "fifo_b": (DEEP, False, 7.0), "matvec_c": (DENSE, True, 7.0)}
    assert all(options["stop"].is_set() for _, options in tools.modules), "whatever runs in other threads ends"
    assert (tools.clocked, tools.verified) == ([], [])
    assert (report.name, report.family, report.whole, report.verified) == ("parts", "ecp5", False, 0)
    told = [(part.instance, part.entity, part.node, part.usage, part.clock) for part in report.parts]
    assert told == [
        (FIRST, "fifo", "first", Usage(lut=6), None),
        (AGAIN, "fifo", "again", Usage(lut=6), None),
        (DEEP, "fifo", "deep", Usage(lut=6), None),
        (DENSE, "matvec", "dense", Usage(lut=108, dsp=1), None),
    ]
    assert [part.predicted for part in report.parts] == [predicted_usage(part, ECP5) for part in PARTS.values()]
    assert [part.cells for part in report.parts[:2]] == [{"LUT4": 6}] * 2
    seconds = [part.seconds for part in report.parts]
    assert seconds[1] == 0.0 < min(seconds[0], seconds[2], seconds[3])
    assert max(seconds) < report.seconds < 60
    notes = [part.notes for part in report.parts]
    assert notes[0] == notes[1] != ()
    assert notes[2][0] == "3 bits of z_payload never change; what they would cost is not counted"
    assert notes[2][1].startswith("predicted ")
    assert not any((tools.sources[0].parent / f"part_{k}").exists() for k in range(4))


def test_in_one_piece(tools: Tools) -> None:
    report = synthesise(DESIGN, whole=True, timeout=7.0)
    ((module, options),) = tools.modules
    assert (module, options["where"], options["multiplies"]) == ("parts", "parts", True)
    (part,) = report.parts
    assert (part.instance, part.entity, part.node, report.whole) == ("parts", "parts", "", True)
    each = [predicted_usage(component, ECP5) for component in PARTS.values()]
    assert part.predicted == each[0].plus(each[1]).plus(each[2]).plus(each[3])
    assert part.seconds > 0


def test_a_design_that_multiplies_nothing_has_no_blocks(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "predicted_usage", lambda component, family: Usage(lut=1))
    synthesise(DESIGN, whole=True, timeout=7.0)
    assert [options["multiplies"] for _, options in tools.modules] == [False]


def test_the_clock_of_each_module_is_found_before_its_netlist_goes(tools: Tools) -> None:
    report = synthesise(DESIGN, clock=True, timeout=7.0)
    assert sorted(tools.clocked, key=lambda each: each[0]) == sorted(tools.modules, key=lambda each: each[0])
    assert [part.clock for part in report.parts] == [Clock(106.0), Clock(106.0), Clock(106.0), Clock(108.0)]


def test_verilog_is_verified_in_the_written_design(tools: Tools, tmp_path: Path) -> None:
    folder = DESIGN.write(tmp_path / "design")
    report = synthesise(folder, verified=True, timeout=7.0)
    assert report.verified == 500
    assert tools.verified == [("parts", MODULES, 7.0)]
    assert {source.relative_to(folder).as_posix() for source in tools.sources} == set(DESIGN.description["sources"])


def test_an_error_ends_what_else_runs(tools: Tools) -> None:
    tools.fails = "fifo_b"
    with pytest.raises(SynthesisError, match=f"^{DEEP}: a latch$"):
        synthesise(DESIGN, timeout=7.0)
    assert all(options["stop"].is_set() for _, options in tools.modules)


@pytest.mark.parametrize(("processors", "wanted"), [(None, 1), (1, 1), (2, 2), (8, 2)])
def test_no_more_programs_run_at_once_than_there_are_processors(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, processors: int | None, wanted: int
) -> None:
    made = []

    def pool(workers: int) -> ThreadPoolExecutor:
        made.append(workers)
        return ThreadPoolExecutor(workers)

    monkeypatch.setattr(flow, "ThreadPoolExecutor", pool)
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    synthesise(DESIGN, timeout=7.0)
    assert made == [wanted]


def test_an_instance_without_a_module(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        flow, "to_verilog", lambda *given: Verilog.of("module parts\n  (input clk);\nendmodule", "parts")
    )
    with pytest.raises(SynthesisError, match=f"GHDL gives no module for {DENSE}; compile the model again"):
        synthesise(DESIGN, timeout=7.0)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": None}, "'name' is missing"),
        ({"components": None}, "'components' is missing"),
        ({"sources": None}, "'sources' is missing"),
        ({"sources": []}, "the list of sources is missing"),
        ({"sources": ["gone.vhd", "compile_order.txt"]}, "^gone.vhd is missing in the design, or outside of it"),
        ({"sources": ["../other.vhd"]}, "^other.vhd is missing in the design, or outside of it"),
    ],
)
def test_a_design_that_is_not_complete(tools: Tools, tmp_path: Path, change: dict[str, Any], told: str) -> None:
    folder = DESIGN.write(tmp_path / "design")
    (tmp_path / "other.vhd").write_text("entity other is end entity;")
    description = {**DESIGN.description, **change}
    kept = {name: value for name, value in description.items() if value is not None}
    (folder / "design.json").write_text(json.dumps(kept))
    with pytest.raises(DesignError, match=told):
        synthesise(folder, timeout=7.0)


def test_tools_are_looked_for_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise MissingDependencyError("none")

    monkeypatch.setattr(flow, "check_yosys", missing)
    with pytest.raises(MissingDependencyError):
        synthesise("nowhere")
    monkeypatch.setattr(flow, "check_yosys", lambda: None)
    monkeypatch.setattr(flow, "check_clock", missing)
    with pytest.raises(MissingDependencyError):
        synthesise("nowhere", clock=True)
    with pytest.raises(DesignError):
        synthesise("nowhere")
