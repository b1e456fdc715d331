"""`graphrewrite compile --finetune`: few bits after training, and clear words about a wrong file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from graphrewrite.models import path
from tests.support.cli_commands import done, refused, run


@pytest.fixture(autouse=True)
def _no_ghdl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)


def _samples(folder: Path, **arrays: np.ndarray) -> Path:
    np.savez(folder / "train.npz", **arrays)
    return folder / "train.npz"


X, Y = np.random.default_rng(0).normal(size=(40, 16)).astype("f4"), np.arange(40) % 5


def test_a_network_is_trained_for_its_widths(tmp_path):
    given = _samples(tmp_path, train_x=X, train_y=Y)
    found = done(
        "compile", path("classes"), "-o", tmp_path / "out", "--json", "--force", "--finetune", given, "--bits", 3
    )
    assert json.loads(found.stdout)["bits"] == 3


@pytest.mark.parametrize(
    ("arrays", "code", "message"),
    [
        ({"x": X, "train_y": Y}, 11, r"holds x \[40, 16\], train_y \[40\], but no 'train_x'; give an .npz file with"),
        ({"train_x": X[:, :3], "train_y": Y}, 11, r"the data have the shape \[40, 3\]"),
        ({"train_x": X, "train_y": Y + 1}, 11, "labels are classes from 0 to 4"),
        ({}, 5, "there is no file"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, arrays, code, message):
    given = _samples(tmp_path, **arrays) if arrays else tmp_path / "none.npz"
    refused(code, message, "compile", path("classes"), "-o", tmp_path / "out", "--finetune", given)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--bits", "auto", "--finetune", "x.npz"), "give --bits 4"),
        (("--host", "fc1", "--finetune", "x.npz"), "drop either"),
        (("--bits", "fc1=3"), "give samples by --finetune"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(tmp_path, options, message):
    result = run("compile", path("classes"), "-o", tmp_path / "out", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
