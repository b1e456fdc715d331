"""`graphrewrite compile --target`: C, and targets of one's own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from graphrewrite import Graph, evaluate
from graphrewrite.lowering import from_onnx
from graphrewrite.models import path
from tests.support.c_programs import CC, needs_cc
from tests.support.cli_commands import done, own_module, refused, run

OWN = """
from graphrewrite.hdl import Design
from graphrewrite.lowering import Target

def listed(graph, *, name):
    kinds = [graph.nodes[node]["type"] for node in graph.in_order()]
    return Design(name, {f"{name}.lst": "\\n".join(kinds) + "\\n", "design.json": '{"generator": "graphrewrite"}'}, {})

MINE = Target("mine", ops=frozenset({"conv", "linear", "relu", "max_pool", "softmax", "batch_norm"}), generate=listed)
WHOLE = Target("whole", generate=listed, level="integer")
"""


@needs_cc
@pytest.mark.parametrize(("options", "how"), [((), "within rounding"), (("--bits", "8"), "bit for bit")])
def test_a_model_becomes_a_program_that_was_run(tmp_path, options, how):
    folder = tmp_path / "out"
    report = json.loads(done("compile", "digits", "-o", folder, "--target", "c", "--json", *options).stdout)
    assert report["equal"], report
    assert report["compared"] == f"C gives what the network gives, {how}, on 20 frames"
    assert {"digits.c", "digits.h", "main.c", "design.json", "manifest.sha256"} == {p.name for p in folder.iterdir()}


@needs_cc
def test_the_folder_is_a_program_as_it_stands(tmp_path):
    done("compile", "digits", "-o", tmp_path / "c", "--target", "c", "--name", "read digit")
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "read_digit.c", "main.c", "-o", "run", "-lm"]
    subprocess.run([CC, *strict], cwd=tmp_path / "c", check=True)
    frames = np.load(path("digits").with_suffix(".npz"))["test_x"][:3].astype(np.float32)
    ran = subprocess.run([tmp_path / "c" / "run"], input=frames.tobytes(), capture_output=True, check=True)
    got = np.frombuffer(ran.stdout, np.float32).reshape(3, 10)
    want = evaluate(from_onnx(path("digits")), {"input": frames})["output"]
    np.testing.assert_allclose(got, want, atol=1e-5 * np.abs(want).max())


@needs_cc
def test_what_is_kept_is_compared_from_frame_to_frame(tmp_path):
    text = "graph g\nx = input() : f32[N,3]\nm = input() {next='n', initial=2} : f32[1,3]\nd = delay(x, cycles=2)\n"
    Graph.parse(f"{text}k = mul(m, d)\na = add(k, x)\ny = output(a)\nn = output(d)").save(tmp_path / "kept.json")
    report = json.loads(
        done("compile", tmp_path / "kept.json", "-o", tmp_path / "out", "--target", "c", "--json").stdout
    )
    assert report["compared"] == "C gives what the network gives, bit for bit, on 20 frames"


def test_a_target_of_ones_own_generates_code(tmp_path, monkeypatch):
    name = own_module("my_targets", OWN, tmp_path, monkeypatch)
    done("compile", "digits", "-o", "out", "--target", f"{name}:MINE")
    kinds = Path("out/digits.lst").read_text().split()
    assert "conv" in kinds
    assert "batch_norm" in kinds
    done("compile", "digits", "-o", "out", "--target", f"{name}:WHOLE")
    assert "integer_conv" in Path("out/digits.lst").read_text().split()


def test_sizes_that_are_open_are_given(tmp_path):
    graph = Graph.parse("graph g\nx = input() : f32[N,length]\na = softmax(x)\ny = output(a)")
    graph.save(tmp_path / "g.txt")
    refused(
        5,
        "length is open; give a number by --size length=",
        "compile",
        tmp_path / "g.txt",
        "-o",
        tmp_path / "out",
        "--target",
        "c",
    )
    done("compile", tmp_path / "g.txt", "-o", tmp_path / "out", "--target", "c", "--size", "length=5")
    assert "const float x[5]" in (tmp_path / "out" / "g.h").read_text()


def test_what_makes_no_sense_is_refused(tmp_path):
    out = tmp_path / "out"
    refused(
        2,
        "no code is written for the target 'onnx'.*choose c, hardware",
        "compile",
        "digits",
        "-o",
        out,
        "--target",
        "onnx",
    )
    refused(2, "no target 'cc'", "compile", "digits", "-o", out, "--target", "cc")
    for options in (("--target", "c", "--stages", "2"), ("--size", "N=2")):
        result = run("compile", "digits", "-o", out, *options)
        assert result.exit_code == 2
        assert "means nothing for the target" in result.stderr
    assert not out.exists()


def test_a_design_in_c_is_none_for_ghdl(tmp_path):
    done("compile", "digits", "-o", tmp_path / "out", "--target", "c")
    refused(8, "holds a design in 'c', and VHDL is asked for", "cosimulate", tmp_path / "out")
