"""The notebooks run, and say what they said when they were committed."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("pydot")

# Jupyter's own packages warn about each other.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]
ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LEARNT = re.compile(r"-?\d+\.\d{4,}(e[+-]?\d+)?")
"""Digits of weights that are learnt depend on how the processor adds."""


def texts(notebook):
    """What each cell printed, in one piece: the kernel cuts it as it pleases. Pictures depend on Graphviz' version."""
    said = [
        "".join(out.get("text") or out.get("data", {}).get("text/plain", "") for out in cell.get("outputs", []))
        for cell in notebook.cells
    ]
    trains = any("fit(" in cell.source or "finetune(" in cell.source for cell in notebook.cells)
    return [LEARNT.sub("a number", text) for text in said] if trains else said


def pictures(notebook):
    """Cells that show something drawn: a picture, or a page that holds one."""
    return [
        cell
        for cell in notebook.cells
        if any(
            "image/svg+xml" in (data := out.get("data", {})) or "svg" in data.get("text/html", "")
            for out in cell.get("outputs", [])
        )
    ]


def test_there_are_notebooks():
    assert [path.stem[:2] for path in NOTEBOOKS] == [f"{number:02}" for number in range(1, 13)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_picture_is_on_the_first_screen(path):
    notebook = nbformat.read(path, as_version=4)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert first in pictures(notebook)
    assert sum(cell.source.count("\n") + 1 for cell in notebook.cells[: notebook.cells.index(first) + 1]) < 40


@pytest.mark.slow(cases=2)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_repeats_its_committed_output(path, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    committed = nbformat.read(path, as_version=4)
    if shutil.which("ghdl") is None and any("ghdl" in cell.source for cell in committed.cells):
        pytest.skip("GHDL is missing (Debian: apt-get install ghdl-mcode), and the notebook shows what it says")
    fresh = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        fresh, kernel_name="python3", timeout=300, resources={"metadata": {"path": tmp_path}}
    )
    client.execute()
    assert texts(fresh) == texts(committed)
    if shutil.which("dot") is not None:
        assert len(pictures(fresh)) == len(pictures(committed))
    assert str(ROOT) not in nbformat.writes(committed)
