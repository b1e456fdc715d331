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


X, Y = np.random.default_rng(0).normal(size=(20, 16)).astype("f4"), np.arange(20) % 5


def _compiled(tmp_path: Path, *options: object) -> dict:
    given = _samples(tmp_path, train_x=X, train_y=Y)
    parts = ("compile", path("classes"), "-o", tmp_path / "out", "--json", "--force", "--finetune", given)
    return json.loads(done(*parts, *options).stdout)


def test_training_samples_are_all_that_a_network_of_ones_own_needs(tmp_path):
    model = shutil.copy(path("classes"), tmp_path / "own.onnx")
    given = _samples(tmp_path, train_x=X, train_y=Y)
    found = done("compile", model, "-o", tmp_path / "out", "--json", "--force", "--bits", 3, "--finetune", given)
    told = json.loads(found.stdout)
    assert told["bits"] == {"default": 3, "input": 8}
    assert not any("not used" in note for note in told["notes"])


def test_a_network_is_trained_for_its_widths(tmp_path):
    assert _compiled(tmp_path, "--bits", 3)["bits"] == {"default": 3, "input": 8}


@pytest.mark.parametrize("bits", ["auto", "learnt"])
def test_training_chooses_widths_within_a_budget(tmp_path, bits):
    widths = _compiled(tmp_path, "--bits", bits, "--budget", 2.5, "--target", "c")["bits"]
    assert [*widths] == ["input", *(f"/fc{number}/Gemm" for number in (1, 2, 3, 4))]
    of_weights, of_values = np.transpose([*widths.values()])
    sizes = np.array([16 * 64, 64 * 32, 32 * 32, 32 * 5])
    assert 2**2 < sum(sizes * of_weights[1:] * of_values[:-1]) / sum(sizes) <= 2.5**2


@pytest.mark.parametrize(
    ("arrays", "code", "message"),
    [
        ({"x": X, "train_y": Y}, 11, r"holds x \[20, 16\], train_y \[20\], but no 'train_x'; give an .npz file with"),
        ({"train_x": X[:, :3], "train_y": Y}, 11, r"the data have the shape \[20, 3\]"),
        ({"train_x": X, "train_y": Y + 1}, 11, "labels are classes from 0 to 4"),
        ({}, 5, "there is no file .*none.npz' with samples to train with; give an .npz file with train_x"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, arrays, code, message):
    model = shutil.copy(path("classes"), tmp_path / "own.onnx")  # without samples beside it
    given = _samples(tmp_path, **arrays) if arrays else tmp_path / "none.npz"
    refused(code, message, "compile", model, "-o", tmp_path / "out", "--finetune", given)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--budget", "3", "--bits", "4", "--finetune", "x.npz"), "give --bits auto or learnt, and --finetune"),
        (("--budget", "3", "--bits", "auto"), "give --bits auto or learnt, and --finetune"),
        (("--budget", "1", "--bits", "auto", "--finetune", "x.npz"), "not in the range 2<=x<=8"),
        (("--bits", "learnt"), "--bits learnt is for training; give samples by --finetune"),
        (("--host", "fc1", "--finetune", "x.npz"), "drop either"),
        (("--bits", "fc1=3"), "give samples by --finetune"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(tmp_path, options, message):
    result = run("compile", path("classes"), "-o", tmp_path / "out", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
