"""`graphrewrite cosimulate`: equal, different, or nothing to simulate."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from graphrewrite.hdl import emit
from tests.support.cli_commands import done, refused, run, snapshot
from tests.support.designs import residual


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return emit(residual(), frames=2).write(tmp_path / "design")


@pytest.mark.ghdl
class TestWithGhdl:
    def test_equal(self, folder: Path) -> None:
        before = snapshot(folder)
        text = done("cosimulate", folder).stdout
        assert text.startswith("equal: values and cycles of 32 beats in 2 frames, ")
        assert text.count("\n") == 1
        assert snapshot(folder) == before

    def test_json(self, folder: Path) -> None:
        found = json.loads(done("cosimulate", folder, "--json").stdout)
        assert found["equal"] is True
        assert (found["frames"], found["beats"], found["difference"]) == (2, 32, None)

    def test_as_a_program(self, folder: Path) -> None:
        command = [sys.executable, "-c", "from graphrewrite.cli import main; main()", "cosimulate", "."]
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout.startswith("equal: ")

    @pytest.mark.parametrize("as_json", [False, True])
    def test_a_changed_vector_is_the_first_difference(self, folder: Path, as_json: bool) -> None:
        file = folder / "vectors" / "y.txt"
        lines = file.read_text().splitlines()
        cycle, word = lines[17].split()
        other = "00000" if word != "00000" else "00001"
        lines[17] = f"{cycle} {other}"
        file.write_text("\n".join(lines) + "\n")
        result = run("cosimulate", folder, *(["--json"] if as_json else []))
        assert result.exit_code == 1
        assert result.stderr == ""
        if as_json:
            found = json.loads(result.stdout)
            assert found["equal"] is False
            assert (found["difference"]["frame"], found["difference"]["beat"]) == (1, 1)
        else:
            wanted = f"not equal: y, frame 1, beat 1: expected {other} in cycle {cycle}, got {word} in cycle {cycle}"
            assert wanted in result.stdout

    def test_refused_by_ghdl(self, folder: Path) -> None:
        (folder / "residual.vhd").write_text("entity residual is")
        told = refused(12, r"ghdl -a failed.*residual.vhd:\d+", "cosimulate", folder)
        assert "/tmp" not in told


def test_no_design(tmp_path: Path) -> None:
    refused(8, "holds no design.*compile a model", "cosimulate", tmp_path)
    refused(8, "holds no design.*compile a model", "cosimulate", tmp_path / "nothing")
    (tmp_path / "design.json").write_text("{}")
    refused(8, "another program.*name a folder", "cosimulate", tmp_path)


def test_incomplete(folder: Path) -> None:
    (folder / "components" / "add.vhd").unlink()
    refused(8, "components/add.vhd.*compile the model again", "cosimulate", folder)


def test_hostile_order(folder: Path) -> None:
    (folder / "compile_order.txt").write_text("../../secret.vhd\n")
    refused(8, "outside of the design", "cosimulate", folder)


def test_without_ghdl(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    refused(9, "GHDL is not installed: apt-get", "cosimulate", folder)


def test_without_ghdl_as_a_program(folder: Path) -> None:
    command = [sys.executable, "-c", "from graphrewrite.cli import main; main()", "cosimulate", str(folder)]
    environment = {**os.environ, "PATH": ""}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 9
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1


def test_interrupt(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("graphrewrite.hdl.cosimulate", interrupt)
    before = snapshot(folder)
    refused(130, "interrupted", "cosimulate", folder)
    assert snapshot(folder) == before


def test_help() -> None:
    text = done("cosimulate", "--help").stdout
    assert "FOLDER" in text
    assert "nothing in the folder is changed" in " ".join(text.split())
