"""``graphrewrite optimise``: the model after is smaller and computes the same, or nothing is written."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from graphrewrite import Graph, evaluate
from graphrewrite.formats import load, read_text
from graphrewrite.lowering import from_onnx
from tests.support.cli_commands import done, own_module, refused, run

TEXT = """graph g
x = input() : f32[N,4]
a = identity(x) : f32[N,4]
b = relu(a) : f32[N,4]
c = relu(b) : f32[N,4]
y = output(c)
"""
WRONG = '''
from graphrewrite import op, rule

@rule
def relu_by_abs(x):
    """Is wrong."""
    yield op.relu(x)
    return op.abs(x)

def unknown(graph):
    """Fails."""
    raise ValueError("no such thing")
'''


@pytest.fixture
def model(tmp_path: Path) -> Path:
    file = tmp_path / "net.txt"
    file.write_text(TEXT)
    return file


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    return own_module("rules_of_a_test", WRONG, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("name", "read"), [("out.onnx", from_onnx), ("out.ONNX", from_onnx), ("out.txt", read_text), ("out.json", load)]
)
def test_the_result_is_smaller_and_computes_the_same(model, tmp_path, name, read):
    told = done("optimise", model, "-o", tmp_path / name).stdout
    assert "5 -> 3 nodes in 2 steps" in told
    assert "equal bit for bit: y, on generated x [28, 4]" in told
    result = read(tmp_path / name)
    samples = {"x": np.array([[-1, 0, 2, np.inf]], np.float32)}
    assert len(result) == 3
    np.testing.assert_array_equal(evaluate(result, samples)["y"], evaluate(Graph.parse(TEXT), samples)["y"])


def test_a_trained_network_is_folded_and_keeps_its_free_batch(tmp_path):
    out = tmp_path / "smaller.onnx"
    data = json.loads(done("optimise", "digits", "-o", out, "--approximate", "--json").stdout)
    assert data["equal"] is True
    assert data["rules"]["fold_batch_norm"] == 2
    assert data["after"] < data["before"]
    assert from_onnx(out).result_type("input").shape == ("N", 1, 8, 8)


def test_what_a_target_lacks_is_written_by_other_ops(tmp_path, monkeypatch):
    name = own_module(
        "targets_of_a_test",
        "from graphrewrite.lowering import Target\nPLAIN = Target('plain', ops=frozenset({'neg', 'maximum'}))",
        tmp_path,
        monkeypatch,
    )
    file = tmp_path / "net.txt"
    file.write_text(TEXT)
    told = done("optimise", file, "-o", tmp_path / "out.txt", "--target", f"{name}:PLAIN", "--report").stdout
    assert "left: 1 maximum" in told


def test_two_targets_are_refused(tmp_path):
    out = tmp_path / "out.onnx"
    told = run("optimise", "digits", "-o", out, "--target", "onnx", "--target", "integer")
    assert told.exit_code == 2
    assert "there are several targets, onnx and integer; give one" in told.stderr
    assert not out.exists()


def test_sizes_and_reasons_are_reported(tmp_path):
    out = tmp_path / "smaller.onnx"
    told = done("optimise", "digits", "-o", out, "--approximate", "--check", "3", "--report").stdout
    for line in ("multiply-accumulates", "peak memory, bytes", "left: 2 relu", "declined"):
        assert line in told
    data = json.loads(done("optimise", "digits", "-o", out, "--approximate", "--json").stdout)
    assert data["sizes"]["operations"] == [10, 8]
    assert data["left"]["conv"] == 2


def test_a_wrong_rule_writes_nothing(model, mine, tmp_path):
    out = tmp_path / "out.onnx"
    result = run("optimise", model, "-o", out, "--rules", f"{mine}:relu_by_abs")
    assert result.exit_code == 1
    assert "the outputs differ, and nothing is written: output y" in result.stdout
    assert "seed 0" in result.stdout
    assert not out.exists()
    told = done("optimise", model, "-o", out, "--rules", f"{mine}:relu_by_abs", "--check", "0").stdout
    assert "outputs were not compared" in told
    assert out.exists()


def test_a_model_that_cannot_be_evaluated_is_written_and_said_not_to_be_compared(tmp_path):
    file = tmp_path / "net.txt"
    file.write_text(TEXT.replace("b = relu(a)", "b = ?Swirl(a)"))
    data = json.loads(done("optimise", file, "-o", tmp_path / "out.txt", "--json").stdout)
    assert data["equal"] is None
    assert "not compared: the model cannot be evaluated" in data["compared"]
    assert "Swirl" in data["compared"]


@pytest.mark.parametrize("name", ["out.onnx", "out.txt", "out.json"])
@pytest.mark.parametrize("is_moved", [False, True])
def test_an_interrupt_while_the_result_is_written_leaves_all_of_it_or_none(
    model, tmp_path, monkeypatch, name, is_moved
):
    folder = tmp_path / "results"
    folder.mkdir()
    (out := folder / name).write_text("as it was")

    def interrupted(step):
        def then(*arguments, **options):
            found = step(*arguments, **options)
            signal.raise_signal(signal.SIGINT)
            return found

        return then

    # All bytes are in a file beside it, or that has just taken its place.
    owner, step = (Path, "replace") if is_moved else (os, "fsync")
    monkeypatch.setattr(owner, step, interrupted(getattr(owner, step)))
    assert run("optimise", model, "-o", out).exit_code == 130
    assert [each.name for each in folder.iterdir()] == [name]
    if is_moved:
        assert len({"onnx": from_onnx, "txt": read_text, "json": load}[name.rpartition(".")[2]](out)) == 3
    else:
        assert out.read_text() == "as it was"


def test_refusals(model, mine, tmp_path):
    refused(2, "no such thing|unknown", "optimise", model, "-o", tmp_path / "o.txt", "--rules", f"{mine}:unknow")
    refused(11, "ValueError: no such thing", "optimise", model, "-o", tmp_path / "o.txt", "--rules", f"{mine}:unknown")
    refused(3, "no file", "optimise", tmp_path / "nte.txt", "-o", tmp_path / "o.txt")
    assert run("optimise", model, "-o", tmp_path / "o.txt", "--rules", "a:B", "--approximate").exit_code == 2
    refused(2, "did you mean 'onnx'", "optimise", model, "-o", tmp_path / "o.txt", "--target", "onx")
    refused(2, "is a int, no", "optimise", model, "-o", tmp_path / "o.txt", "--target", "os:O_RDONLY")
    assert not (tmp_path / "o.txt").exists()
    assert run("optimise", model, "-o", tmp_path / "o.svg").exit_code == 2
    assert run("optimise", model).exit_code == 2
