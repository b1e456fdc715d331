"""`graphrewrite profile`: gathered, added, edited, and taken by `compile`."""

from __future__ import annotations

import json

import numpy as np
import pytest

from graphrewrite import load, models, save
from tests.support.cli_commands import done, refused, run


@pytest.fixture
def gathered(tmp_path):
    """The file of a profile of two files of samples, one of which is no more than a single array."""
    samples = np.load(models.path("classes").with_suffix(".npz"))["calibration_x"]
    np.savez(tmp_path / "a.npz", calibration_x=samples[:100])
    np.save(tmp_path / "b.npy", samples[100:])
    told = done("profile", "classes", tmp_path / "a.npz", tmp_path / "b.npy", "-o", tmp_path / "p.json")
    assert told.stdout.startswith("classes: 256 samples\nvalue")
    return tmp_path / "p.json"


def test_it_is_that_of_all_samples(gathered, tmp_path):
    done("profile", "classes", "-o", tmp_path / "q.json", "--html", tmp_path / "q.html")
    values = [json.loads(path.read_text())["values"] for path in (gathered, tmp_path / "q.json")]
    assert values[0].keys() == values[1].keys()
    assert (values[0]["input"], values[0]["/fc1/Gemm"]["zeros"]) == (
        values[1]["input"],
        values[1]["/fc1/Gemm"]["zeros"],
    )
    assert "/fc1/Gemm" in (tmp_path / "q.html").read_text()


def test_it_is_edited_and_compile_takes_it(gathered, tmp_path):
    done("profile", "classes", gathered, "--range", "/fc1/Gemm=0:0.4", "-o", gathered)
    told = json.loads(done("profile", "classes", gathered, "--json", "--sensitivity", 4, "--bits", 6).stdout)
    assert told["values"]["/fc1/Gemm"]["format"] == "u6f7"
    assert len(told["sensitivity"]["layers"]) == 5
    taken = ["compile", "classes", "-o", tmp_path / "out", "--target", "c", "--bits", 8, "--json", "--ranges", "99.9"]
    refused(16, "loses more than 5%", *taken, "--profile", gathered)
    done("profile", "classes", gathered, "--range", "/fc1/Gemm=", "-o", gathered)
    assert json.loads(done(*taken, "--profile", gathered).stdout)["bits"] == 8


@pytest.mark.parametrize(
    ("code", "message", "options"),
    [
        (5, "profile is of 'classes', and has no values", ("profile", "digits", "P")),
        (5, "lower one first", ("profile", "classes", "P", "--range", "input=1:-1")),
        (5, "name .npz files behind the model", ("profile", "NET")),
        (5, "quantised already", ("profile", "QUANTISED")),
        (2, "write NAME=LOW:HIGH", ("profile", "classes", "P", "--range", "input=1")),
        (2, "nor a percentile", ("compile", "classes", "-o", "O", "--ranges", "kl")),
        (2, "drop either", ("compile", "classes", "-o", "O", "--finetune", "x.npz", "--profile", "P")),
        (5, "there is no file", ("compile", "classes", "-o", "O", "--profile", "none.json")),
    ],
)
def test_what_is_wrong_is_said(gathered, tmp_path, code, message, options):
    places = {"P": gathered, "O": tmp_path / "out"}
    for name, call in (("NET", "relu(x)"), ("QUANTISED", "quantise(x, element=u4f2)")):
        places[name] = tmp_path / f"{name}.txt"
        places[name].write_text(f"graph g\nx = input() : f32[N,2]\nr = {call}\ny = output(r)\n")
    arguments = [places.get(each, each) for each in options]
    if code == 2:
        assert message in run(*arguments).stderr
    else:
        refused(code, message, *arguments)


def test_a_saved_network_is_no_file_of_samples(tmp_path):
    (tmp_path / "net.onnx").write_bytes(models.path("digits").read_bytes())
    save(load(tmp_path / "net.onnx"), tmp_path / "net.npz")
    refused(5, "there are no samples", "profile", tmp_path / "net.onnx")
    refused(5, "more than arrays, as a saved network", "profile", tmp_path / "net.onnx", tmp_path / "net.npz")
