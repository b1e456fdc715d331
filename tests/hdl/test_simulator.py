"""What GHDL is asked, and what is made of its answer; a program stands in for it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphrewrite.hdl.checking import simulation
from graphrewrite.hdl.checking.simulation import StoppedError, simulate_cases
from graphrewrite.hdl.errors import GhdlMissingError, SimulatorError
from graphrewrite.hdl.ghdl import simulator
from graphrewrite.runtime.process import Ended
from tests.hdl.configurations import cases


class Program:
    """GHDL as `run_program` starts it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[list[str], dict[str, Any]]] = []
        self.ended = Ended(0, b"said\n", "warned\n")
        monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
        monkeypatch.setattr(simulator, "run_program", self)

    def __call__(self, arguments: list[str], **options: Any) -> Ended:
        self.calls.append((arguments, options))
        return self.ended


@pytest.fixture
def ghdl(monkeypatch: pytest.MonkeyPatch) -> Program:
    return Program(monkeypatch)


def test_files_are_analysed_into_a_library_and_the_entity_runs(ghdl: Program, tmp_path: Path) -> None:
    def done() -> int:
        return 3

    told = simulator.run(
        ["a.vhd", tmp_path / "b.vhd"], "top", library="lib", folder=tmp_path, stop_time="5ns", timeout=7.0,
        waves="w.fst", done=done, total=9,
    )  # fmt: skip
    assert told == "said\nwarned\n"
    (analysed, how), (ran, options) = ghdl.calls
    work = next(part.partition("=")[2] for part in analysed if part.startswith("--workdir="))
    assert not Path(work).exists(), "the library goes with the run"
    files = [str(Path("a.vhd").resolve()), str(tmp_path / "b.vhd")]
    assert analysed == ["/bin/ghdl", "-a", "--std=08", "--work=lib", f"--workdir={work}", *files]
    assert how == {"cwd": None, "timeout": None}
    assert ran == [
        "/bin/ghdl", "--elab-run", "--std=08", "--work=lib", f"--workdir={work}", "top",
        "--ieee-asserts=disable-at-0", "--max-stack-alloc=0", "--stop-time=5ns", f"--fst={Path('w.fst').resolve()}",
    ]  # fmt: skip
    assert options == {"cwd": tmp_path, "timeout": 7.0, "label": "simulating", "done": done, "total": 9}


def test_a_run_without_options_stands_in_its_own_library(ghdl: Program) -> None:
    simulator.run([], "top")
    (analysed, _), (ran, options) = ghdl.calls
    assert analysed[3] == ran[3] == "--work=work"
    assert not any(part.startswith(("--stop-time", "--fst")) for part in ran)
    assert f"--workdir={options['cwd']}" in ran
    assert (options["timeout"], options["done"], options["total"]) == (None, None, None)


@pytest.mark.parametrize("language", ["vhdl", "verilog"])
def test_of_a_synthesis_only_the_netlist_is_returned(ghdl: Program, language: Any) -> None:
    assert simulator.synthesise(["a.vhd"], "top", language=language, timeout=7.0) == "said\n"
    ((arguments, options),) = ghdl.calls
    wanted = ["/bin/ghdl", "--synth", "--std=08", f"--workdir={options['cwd']}", f"--out={language}"]
    assert arguments == [*wanted, str(Path("a.vhd").resolve()), "-e", "top"]
    assert options["timeout"] == 7.0


def test_the_language_of_a_netlist_is_vhdl_unless_another_is_asked_for(ghdl: Program) -> None:
    simulator.synthesise([], "top")
    assert "--out=vhdl" in ghdl.calls[0][0]
    assert ghdl.calls[0][1]["timeout"] is None


def test_what_ghdl_says_of_an_error_is_told_from_both_of_its_outputs(ghdl: Program) -> None:
    ghdl.ended = Ended(1, b"a.vhd:1:2: assertion\n", " a.vhd:3:4: error \n")
    with pytest.raises(SimulatorError) as caught:
        simulator.analyse(["a.vhd"], "work")
    first = "ghdl -a failed; correct the design where GHDL points:"
    assert str(caught.value) == f"{first}\na.vhd:3:4: error\na.vhd:1:2: assertion"
    ghdl.ended = Ended(1, b"x" * 5000, "")
    with pytest.raises(SimulatorError) as caught:
        simulator.analyse(["a.vhd"], "work")
    assert str(caught.value) == f"{first}\n{'x' * 4000}"


def test_time_is_up(monkeypatch: pytest.MonkeyPatch, ghdl: Program) -> None:
    def run_program(arguments: list[str], *, timeout: float | None, **options: Any) -> Ended:
        if timeout is None:
            return Ended(0, b"", "")
        raise subprocess.TimeoutExpired(arguments, timeout)

    monkeypatch.setattr(simulator, "run_program", run_program)
    with pytest.raises(SimulatorError, match=r"^ghdl --elab-run did not end within 0.5 s; raise `timeout`$"):
        simulator.run([], "top", timeout=0.5)


def test_no_ghdl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(GhdlMissingError, match="apt-get install"):
        simulator.analyse([], "work")


def test_the_beats_of_each_run_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = cases("fork", count=1)[:2]

    def run(sources: list[Path], bench: str, *, folder: Path, timeout: float | None) -> None:
        assert (bench, timeout) == ("bench", 7.0)
        assert all(source.is_file() for source in sources)
        assert "entity bench is" in sources[-1].read_text()
        for number in range(2):
            for port in ("x", "z0", "z1"):
                text = f"3 {number}f\n17 {port[-1:] if port != 'x' else 'a'}0\n\n\n4 2\n"
                (folder / f"case_{number}_{port}_log.txt").write_text(text)

    monkeypatch.setattr(simulation.ghdl, "run", run)
    found = simulate_cases(drawn, timeout=7.0)
    assert found == [
        {port: [[(3, 16 * number + 15), (17, second)], [], [(4, 2)]] for port, second in wanted.items()}
        for number in range(2)
        for wanted in ({"x": 0xA0, "z0": 0x00, "z1": 0x10},)
    ]


@pytest.mark.parametrize(
    ("said", "number", "told"),
    [
        (
            "bench.vhd:1:2:@3ns:(assertion warning): case_9_x: early, run 1, cycle 2\n"
            "checker.vhd:5:6:@9ns:(assertion failure): case_3_z1: valid fell before the transfer, run 2, cycle 41",
            3,
            "z1 breaks the stream contract in cycle 41 after reset 2: valid fell before the transfer",
        ),
        (
            "a.vhd:1:2:(assertion warning): case_9: metavalue\nbound check failure at a.vhd:5\nin .bench.case_12.dut",
            12,
            "GHDL stops in it; correct the VHDL:\nbound check failure at a.vhd:5\nin .bench.case_12.dut",
        ),
        ("SCRATCH/a.vhd:1:2:(assertion warning): noise\nSCRATCH/a.vhd:3:4: error: no entity", None,
         "a.vhd:3:4: error: no entity"),
    ],
    ids=["contract", "stopped", "refused"],
)  # fmt: skip
def test_a_simulation_that_stops_tells_in_which_configuration(
    monkeypatch: pytest.MonkeyPatch, said: str, number: int | None, told: str
) -> None:
    def run(sources: list[Path], bench: str, *, folder: Path, timeout: float | None) -> None:
        raise SimulatorError(said.replace("SCRATCH", str(folder)))

    monkeypatch.setattr(simulation.ghdl, "run", run)
    with pytest.raises(StoppedError if number is not None else SimulatorError) as caught:
        simulate_cases(cases("fork", count=0)[:1])
    assert getattr(caught.value, "number", None) == number
    assert str(caught.value) == told


def test_entities_of_other_files_run_in_place_of_the_components(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (case,) = cases("fork", count=0)[:1]
    asked: list[list[str]] = []

    def run(sources: list[Path], bench: str, *, folder: Path, timeout: float | None) -> None:
        asked.append([source.stem for source in sources])
        text = sources[-1].read_text()
        assert ("entity work.netlist_0 \n" in text) == ("netlist" in asked[-1])
        assert ("entity work.fork generic map (" in text) == ("netlist" not in asked[-1])
        for port in ("x", "z0", "z1"):
            (folder / f"case_0_{port}_log.txt").write_text("")

    monkeypatch.setattr(simulation.ghdl, "run", run)
    tools = ["bench_clock", "stream_checker", "stream_monitor", "stream_sink", "stream_source", "bench"]
    simulate_cases([case])
    simulate_cases([case], entities=["netlist_0"], extra=[tmp_path / "netlist.vhd"])
    own = asked[0][: -len(tools)]
    assert asked[0][-len(tools) :] == tools
    assert own[-1] == "fork"
    assert asked[1][-len(tools) - 1 :] == ["netlist", *tools]
    assert "fork" not in asked[1]


def test_frames_of_each_run_are_written_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    (case,) = cases("fifo", count=0)[:1]

    def run(sources: list[Path], bench: str, *, folder: Path, timeout: float | None) -> None:
        runs = (folder / "case_0_x.txt").read_text().split("\n\n")
        assert len(runs) == len(case.runs) == 3
        for text, given in zip(runs, case.runs, strict=True):
            beats = [int(word, 16) for word in text.split()]
            stream = case.site.operands[0]
            assert len(beats) == given.frames * stream.beats
            mask = (1 << stream.element.width) - 1
            first = np.moveaxis(given.inputs[0].reshape(given.frames, stream.channels, -1), 1, 2)
            lanes = first.reshape(-1, stream.lanes)
            assert [beat & mask for beat in beats] == [int(number) & mask for number in lanes[:, 0]]
        for port in "xz":
            (folder / f"case_0_{port}_log.txt").write_text("")

    monkeypatch.setattr(simulation.ghdl, "run", run)
    simulate_cases([case])
