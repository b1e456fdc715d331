"""``graphrewrite trace``: steps in a pipe, the viewer in a file, and what is refused."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from graphrewrite import Graph, trace
from graphrewrite.rules import RULES
from tests.support.cli_commands import done, own_module, refused

TEXT = """graph g
x = input() : f32[N,4]
a = identity(x) : f32[N,4]
b = relu(a) : f32[N,4]
c = relu(b) : f32[N,4]
y = output(c)
"""

MINE = """
from graphrewrite import Pipeline, op, rule

@rule
def relu_by_abs(x):
    "Another op."
    yield op.relu(x)
    return op.abs(x)

def as_it_is(graph):
    "Changes nothing."
    return graph

def fails(graph):
    "Is wrong."
    raise ValueError("no such thing")

BOTH = Pipeline((relu_by_abs,), as_it_is)
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    file = tmp_path / "net.txt"
    file.write_text(TEXT)
    return file


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of somebody's own in the current folder."""
    return own_module("my_own_rules", MINE, tmp_path, monkeypatch)


def test_a_pipe_gets_the_steps_and_the_table(model):
    told = done("trace", model).stdout
    found = trace(Graph.parse(TEXT), RULES)
    assert told.startswith(f"{found}\n\nrule ")
    assert "\x1b" not in told


def test_rules_of_one_s_own_several_and_pipelines(model, mine):
    told = done("trace", model, "--rules", f"{mine}:relu_by_abs", "--rules", "graphrewrite.rules:drop_identity").stdout
    assert told.startswith("5 -> 4 nodes in 3 steps")
    assert done("trace", model, "--rules", f"{mine}:BOTH").stdout.startswith("5 -> 5 nodes in 2 steps")
    assert done("trace", model, "--rules", f"{mine}:as_it_is").stdout.startswith("5 -> 5 nodes in 0 steps")


def test_the_viewer_goes_to_a_file(model, tmp_path):
    told = done("trace", model, "-o", tmp_path / "trace.html").stdout
    assert "2 steps" in told
    assert (tmp_path / "trace.html").read_text().startswith("<!DOCTYPE html>")
    done("trace", model, "-o", tmp_path / "trace.txt")
    assert (tmp_path / "trace.txt").read_text() == f"{trace(Graph.parse(TEXT), RULES)}\n"


def test_a_terminal_gets_colour(model, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    told = done("trace", model).stdout
    assert "\x1b[31m   - a = identity(x) : f32[N,4]" in told
    assert "drop_identity" in told


def test_what_is_refused(model, tmp_path):
    refused(3, "no file", "trace", tmp_path / "none.onnx")
    refused(2, "did you mean 'RULES'", "trace", model, "--rules", "graphrewrite.rules:RULLES")


def test_a_function_that_fails_is_one_line(model, mine):
    refused(11, r"my_own_rules:fails: ValueError: no such thing \(.*my_own_rules.py:16\)", "trace", model, "--rules",
            f"{mine}:fails")  # fmt: skip


def test_what_is_being_done_is_told_in_the_letters_of_the_terminal():
    from graphrewrite.cli.terminal import spinner

    for encoding, shown in (("utf-8", "✓ writing [b]x[/c].html"), ("ascii", "* writing [b]x[/c].html")):
        file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict")
        console = Console(file=file, force_terminal=True, color_system=None, width=80)
        with spinner(console, "writing [b]x[/c].html"):
            pass
        file.flush()
        assert shown in file.buffer.getvalue().decode(encoding)
