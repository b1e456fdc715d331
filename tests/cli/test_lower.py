"""``graphrewrite lower``: a program that can be read again, and what it takes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from graphrewrite import Graph, evaluate
from graphrewrite.formats import load
from graphrewrite.memory import parse_program
from tests.support.cli_commands import refused, run

TEXT = """graph g
x = input() : f32[N,4]
s = input() : f32[N,4]
a = relu(x) : f32[N,4]
b = add(a, s) : f32[N,4]
c = concat(a, b, axis=0)
y = output(c)
t = output(b)
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    file = tmp_path / "net.txt"
    file.write_text(TEXT)
    return file


@pytest.mark.parametrize("options", [(), ("--plain",), ("--as-given",), ("--inout", "s=t"), ("--align", 64)])
def test_the_program_gives_what_the_model_gives(model, tmp_path, options):
    told = run("lower", model, "--to", "memory", "--size", "N=2", "-o", tmp_path / "p.txt", *options)
    assert told.exit_code == 0, told.output
    assert "instructions" in told.stderr
    program = parse_program((tmp_path / "p.txt").read_text())
    given = {name: np.arange(-4, 4, dtype=np.float32).reshape(2, 4) for name in "xs"}
    wanted = evaluate(Graph.parse(TEXT), given)
    for name, array in evaluate(program, given).items():
        np.testing.assert_array_equal(array, wanted[name])


def test_it_is_printed_or_stored_as_a_graph(model, tmp_path):
    told = run("lower", model)
    assert told.stdout.startswith("program g\ndeclare {\n  @in x : f32[1,4]\n")
    assert run("lower", model, "-o", tmp_path / "p.json", "--plain").exit_code == 0
    graph = load(tmp_path / "p.json")
    assert {graph.op(node).level for node in graph} == {"memory", "structure"}
    found = json.loads(run("lower", model, "--json").stdout)
    assert found["bytes"] == found["bound"] == sum(each["size"] for each in found["regions"].values())


def test_what_is_wrong_is_said(model):
    refused(11, "capacity", "lower", model, "--plain", "--capacity", 3)
    refused(6, "no input has; did you mean 'N'|sizes names", "lower", model, "--size", "M=3")
    for wrong, told in (("N", "is no size"), ("N=two", "is no size"), ("N=2 N=3", "is given twice")):
        options = [part for each in wrong.split() for part in ("--size", each)]
        assert told in run("lower", model, *options).stderr
