"""GHDL against the prediction: equal where it is, the first difference where not, and no trust in changed files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphrewrite import Graph
from graphrewrite.hdl import Design, cosimulate, emit
from graphrewrite.hdl.components.add import add
from graphrewrite.hdl.components.clip import clip
from graphrewrite.hdl.components.fork import fork
from graphrewrite.hdl.errors import DesignError, GhdlMissingError, SimulatorError
from graphrewrite.hdl.ghdl import cosimulation
from graphrewrite.hdl.ghdl.cosimulation import CosimulationReport, Difference
from graphrewrite.types import FixedPoint, Stream
from tests.support.designs import rectify, residual


@pytest.fixture(scope="module")
def design() -> Design:
    return emit(residual(), frames=3)


@pytest.fixture
def folder(design: Design, tmp_path: Path) -> Path:
    return design.write(tmp_path / "design")


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def change_beat(folder: Path, beat: int, *, cycle: int = 0, payload: str | None = None) -> str:
    """Change what is expected of a beat of ``y``; return the line that was there."""
    file = folder / "vectors" / "y.txt"
    lines = file.read_text().splitlines()
    old = lines[beat]
    when, word = old.split()
    lines[beat] = f"{int(when) + cycle} {payload or word}"
    file.write_text("".join(f"{line}\n" for line in lines))
    return old


@pytest.mark.ghdl
class TestEqual:
    def test_design_and_folder(self, design: Design, folder: Path) -> None:
        before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        for given in (design, folder, str(folder)):
            report = cosimulate(given)
            assert report.equal, report
            assert report.difference is None
            assert (report.frames, report.beats) == (3, 48)
            assert str(report).startswith("equal: values and cycles of 48 beats in 3 frames")
        assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before

    def test_without_stalls_and_with_a_side_that_is_nearly_closed(self) -> None:
        for gates in ({}, {"x": [0] * 9 + [1]}, {"y": [0] * 9 + [1]}, {"x": [1, 0], "y": [0, 0, 1]}):
            assert cosimulate(emit(residual(), frames=2, gates=gates)).equal

    def test_several_inputs_and_outputs(self) -> None:
        g = Graph("several")
        a, b = (g.input(name, Stream(FixedPoint(True, 6, 2), (2, 3))) for name in ("a", "b"))
        left, right = fork(a)
        g.output("late", add(clip(left, low=0, high=9), b, element=FixedPoint(True, 7, 2)))
        g.output("early", clip(right, low=-1, high=1))
        report = cosimulate(emit(g, frames=5))
        assert report.equal, report
        assert (report.frames, report.beats) == (5, 30)

    def test_hostile_names(self) -> None:
        names = ("signal", "SIGNAL", "../../x", 'a"b\n-- ', "n" * 300)
        assert cosimulate(emit(residual("end", names), frames=1)).equal
        assert cosimulate(emit(rectify("名", x="Out", y="out", node="it's\n"), frames=1)).equal


@pytest.mark.ghdl
class TestDifferent:
    def test_a_value(self, folder: Path) -> None:
        old = change_beat(folder, 21, payload="00000")
        report = cosimulate(folder)
        assert not report.equal
        assert report.difference is not None
        assert (report.difference.port, report.difference.frame, report.difference.beat) == ("y", 1, 5)
        cycle, word = old.split()
        assert str(report).startswith(
            f"not equal: y, frame 1, beat 5: expected 00000 in cycle {cycle}, got {word} in cycle {cycle}"
        )
        assert json.loads(json.dumps(report.as_dict()))["difference"]["beat"] == 5

    def test_a_cycle(self, folder: Path) -> None:
        change_beat(folder, 0, cycle=-1)
        report = cosimulate(folder)
        assert report.difference is not None
        assert (report.difference.frame, report.difference.beat) == (0, 0)

    def test_a_beat_too_many(self, folder: Path) -> None:
        file = folder / "vectors" / "y.txt"
        file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))
        report = cosimulate(folder)
        assert report.difference is not None
        assert report.difference.expected == "nothing"
        assert "was not expected" in report.message

    def test_a_beat_too_few(self, folder: Path) -> None:
        with (folder / "vectors" / "y.txt").open("a") as file:
            file.write("900 00000\n")
        report = cosimulate(folder)
        assert report.difference is not None
        assert report.difference.actual == "nothing"
        assert "beats are missing" in report.message

    def test_the_hardware(self, tmp_path: Path) -> None:
        folder = emit(rectify(), frames=9).write(tmp_path / "d")
        change(folder / "rectify.vhd", "HIGH => 127", "HIGH => 63")
        report = cosimulate(folder)
        assert not report.equal
        assert "beats differ" in report.message


@pytest.mark.ghdl
class TestStopped:
    def test_a_broken_contract_is_told_in_the_words_of_the_checker(self, folder: Path) -> None:
        top = folder / "residual.vhd"
        change(top, "end architecture;", "  x_ready <= 'X';\nend architecture;")
        with pytest.raises(SimulatorError, match="x: ready is neither 0 nor 1"):
            cosimulate(folder)

    def test_a_bound_check_is_told_in_the_words_of_ghdl(self, folder: Path) -> None:
        top = folder / "residual.vhd"
        text = (
            "  process (clk)\n    variable n : natural range 0 to 50 := 0;\n  begin\n    n := n + 1;\n  end process;\n"
        )
        change(top, "end architecture;", f"{text}end architecture;")
        with pytest.raises(SimulatorError, match="bound check failure") as found:
            cosimulate(folder)
        assert "residual.vhd" in str(found.value)
        assert "/tmp" not in str(found.value)

    def test_a_wrong_beat_before_the_stop_is_told_with_it(self, folder: Path) -> None:
        change_beat(folder, 0, payload="00000")
        top = folder / "residual.vhd"
        text = (
            "  process (clk)\n    variable n : natural range 0 to 400 := 0;\n  begin\n    n := n + 1;\n  end process;\n"
        )
        change(top, "end architecture;", f"{text}end architecture;")
        report = cosimulate(folder)
        assert report.difference is not None
        assert report.difference.beat == 0
        assert "bound check failure" in str(report)

    def test_a_file_that_ghdl_refuses(self, folder: Path) -> None:
        change(folder / "residual.vhd", "end entity;", "end entiti;")
        with pytest.raises(SimulatorError, match=r"residual.vhd:\d+"):
            cosimulate(folder)

    def test_time_is_up(self, folder: Path) -> None:
        change(folder / "testbench" / "residual_testbench.vhd", "assert cycle <", "assert true or cycle <")
        change(folder / "testbench" / "vector_sink.vhd", "accepts <= '1';", "accepts <= '0';")
        with pytest.raises(SimulatorError, match=r"did not end within 0\.5 s"):
            cosimulate(folder, timeout=0.5)


class TestRefused:
    """What is wrong with a folder is found before GHDL is asked."""

    @pytest.fixture(autouse=True)
    def _no_simulation(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def run(*_: object, **__: object) -> str:
            pytest.fail("GHDL was run")

        monkeypatch.setattr("graphrewrite.hdl.ghdl.simulator.run", run)

    def test_no_folder_and_a_foreign_one(self, tmp_path: Path) -> None:
        for given in (tmp_path / "nothing", tmp_path):
            with pytest.raises(DesignError, match=r"holds no design.*compile a model"):
                cosimulate(given)

    @pytest.mark.parametrize("name", ["compile_order.txt", "vectors/y.txt", "components/add.vhd"])
    def test_a_missing_file_is_named(self, folder: Path, name: str) -> None:
        (folder / name).unlink()
        with pytest.raises(DesignError, match=rf"{name}.*compile the model again"):
            cosimulate(folder)

    @pytest.mark.parametrize("line", ["../secret.vhd", "/etc/passwd", "components/../../secret.vhd", "..", "/"])
    def test_sources_outside_are_refused(self, folder: Path, line: str) -> None:
        (folder.parent / "secret.vhd").write_text("entity secret is end;")
        with (folder / "compile_order.txt").open("a") as file:
            file.write(f"{line}\n")
        with pytest.raises(DesignError, match="outside of the design"):
            cosimulate(folder)

    def test_an_empty_order_is_refused(self, folder: Path) -> None:
        (folder / "compile_order.txt").write_text("")
        with pytest.raises(DesignError, match="compile the model again"):
            cosimulate(folder)

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("testbench", "--vpi=evil.so"),
            ("testbench", 3),
            ("testbench", "a b"),
            ("frames", "many"),
            ("ports", []),
            ("ports", 5),
            ("ports", [{"name": "../../etc/passwd", "direction": "out", "beats": 1}]),
            ("ports", [{"name": "y", "direction": "out", "beats": 0}]),
            ("ports", [{"direction": "out"}]),
        ],
    )
    def test_a_changed_description_is_refused(self, folder: Path, key: str, value: object) -> None:
        description = json.loads((folder / "design.json").read_text())
        (folder / "design.json").write_text(json.dumps({**description, key: value}))
        with pytest.raises(DesignError, match="compile the model again"):
            cosimulate(folder)

    @pytest.mark.parametrize("text", ["12\n", "x 00\n", "1 2 3\n"])
    def test_broken_vectors_are_refused(self, folder: Path, text: str) -> None:
        (folder / "vectors" / "y.txt").write_text(text)
        with pytest.raises(DesignError, match="compile the model again"):
            cosimulate(folder)

    @pytest.mark.parametrize("file", ["compile_order.txt", "design.json", "vectors/y.txt"])
    def test_a_file_that_is_no_text_is_refused(self, folder: Path, file: str) -> None:
        (folder / file).write_bytes(b"\xff\xfe")
        with pytest.raises(DesignError, match="compile"):
            cosimulate(folder)

    def test_a_link_that_leads_nowhere(self, folder: Path) -> None:
        (folder / "vectors" / "broken").symlink_to("nowhere")
        with pytest.raises(DesignError, match=r"cannot be read: .*No such file or directory.*; compile again"):
            cosimulate(folder)


@pytest.mark.parametrize(("error", "told"), [(OSError("odd"), "odd"), (OSError(5, "a disk fault"), "a disk fault")])
def test_a_folder_that_cannot_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, told: str) -> None:
    def copy(*_: object) -> None:
        raise error

    monkeypatch.setattr(shutil, "copy", copy)
    with pytest.raises(DesignError, match=f"cannot be read: {told}; compile again"):
        cosimulate(folder)


def test_ghdl_missing_says_how_to_get_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(GhdlMissingError, match="apt-get install ghdl"):
        cosimulate(folder)


def test_a_result_that_breaks_off_in_a_line_is_read_up_to_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, folder: Path, **__: object) -> str:
        expected = (folder / "vectors" / "y.txt").read_text()
        (folder / "y_results.txt").write_text(expected[: expected.index("\n") + 4])
        raise SimulatorError("ghdl --elab-run failed:\nbench.vhd:1:2:(assertion failure): FAIL: beats are missing")

    monkeypatch.setattr("graphrewrite.hdl.ghdl.simulator.run", run)
    report = cosimulate(folder)
    assert report.difference is not None
    assert (report.difference.beat, report.difference.actual) == (1, "nothing")


def test_report_as_text() -> None:
    found = CosimulationReport(False, 1, 2, 3, 0.5, Difference("y", 0, 1, "a in cycle 2", "nothing"), "it stopped")
    wanted = "not equal: y, frame 0, beat 1: expected a in cycle 2, got nothing; GHDL says: it stopped"
    assert str(found) == wanted


@pytest.mark.parametrize(
    ("change", "failure", "told"),
    [
        (lambda text: text, None, "equal"),
        (lambda text: text, "no memory", "raised"),
        (lambda text: text.replace("\n", "0\n", 1), None, "another beat"),
        (lambda text: text.replace("\n", "0\n", 1), "x\nerror: stopped", "another beat"),
        (lambda text: text[: text.index("\n") + 1], "no memory", "raised"),
        (lambda text: text[: text.index("\n") + 3], "no memory", "raised"),
        (lambda text: text[: text.index("\n") + 1], f"x\nerror: {cosimulation._VERDICT}y", "nothing"),
    ],
)
def test_what_a_simulation_leaves(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str], failure: str | None, told: str
) -> None:
    """What stands in for GHDL writes the beats that are due, with a change, and fails or does not."""

    def run(sources: list[Path], bench: str, *, folder: Path, **options: Any) -> None:
        assert [path.relative_to(folder).as_posix() for path in sources] == design.files["compile_order.txt"].split()
        description = design.description
        assert (bench, options["library"]) == (description["testbench"], description["library"])
        assert (options["timeout"], options["total"], options["done"]()) == (7.0, 6, 0)
        text = change((folder / "vectors" / "y.txt").read_text())
        (folder / "y_results.txt").write_text(text)
        assert options["done"]() == text.count("\n")
        if failure is not None:
            raise SimulatorError(failure)

    monkeypatch.setattr(cosimulation.ghdl, "run", run)
    design = emit(rectify(), frames=2)
    if told == "raised":
        with pytest.raises(SimulatorError, match=failure):
            cosimulate(design, timeout=7.0)
        return
    report = cosimulate(design, timeout=7.0)
    assert (report.equal, report.frames, report.beats) == (told == "equal", 2, 6)
    last = design.files["vectors/y.txt"].splitlines()[-1]
    assert report.cycles == int(last.split()[0]) + 1
    assert (report.difference is None) == report.equal
    if report.difference is not None:
        assert (report.difference.actual == "nothing") == (told == "nothing")
        assert (report.difference.port, report.difference.frame) == ("y", 0)
    assert report.message == ("; ".join((failure or "").splitlines()[1:]))
