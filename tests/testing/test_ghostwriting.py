"""Test modules that are begun for rules: they run as they are, and are formatted."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from graphrewrite.cli.commands import app
from graphrewrite.rewriting.rule_sets import named
from graphrewrite.testing.ghostwriting import ghostwritten

RULES = '''
import networkx as nx

from graphrewrite import Pipeline, decline, define_op, op, rule


@define_op
def thrice(x):
    return 3 * x


@rule
def unrolled(x):
    """Three times x is "x + x + x"."""
    yield thrice(x)
    return op.add(op.add(x, x), x)


@rule
def swapped(x, y):
    yield op.sub(x, y)
    return op.sub(y, x)


@rule
def a_rule_that_declines_and_has_a_name_that_is_too_long_for_a_line(x):
    yield op.neg(x)
    return decline('never, "whatever" it is')


short = rule.from_graphs(
    nx.DiGraph([("s", "x"), ("x", "e")]), nx.DiGraph([("s", "e")]), name="short", interface=["s", "e"]
)
RULES = (unrolled, swapped, a_rule_that_declines_and_has_a_name_that_is_too_long_for_a_line, short)
PIPE = Pipeline((unrolled,), name="pipe")
MADE = tuple(rule(each.function) for each in (unrolled,))
'''


@pytest.fixture
def goods(tmp_path, monkeypatch):
    """A folder with a module of rules."""
    (tmp_path / "goods.py").write_text(RULES, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("goods", None)


def test_each_rule_has_a_test_by_its_verdict(goods):
    code = ghostwritten(named(["goods:RULES", "goods:PIPE"]))
    formatter = [sys.executable, "-m", "ruff", "format", "--isolated", "--diff", "--stdin-filename", "t.py"]
    done = subprocess.run([*formatter, "-"], input=code, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    space: dict[str, object] = {}
    exec(compile(code, "test_goods.py", "exec"), space)
    tests = {name: value for name, value in space.items() if name.startswith("test_")}
    marks = {name: [mark.name for mark in getattr(test, "pytestmark", [])] for name, test in tests.items()}
    long = "test_a_rule_that_declines_and_has_a_name_that_is_too_long_for_a_line"
    assert marks == {
        "test_unrolled": [],
        "test_swapped": ["xfail"],
        long: ["skip"],
        "test_short": ["filterwarnings"],
        "test_pipe": [],
    }
    for name in ("test_unrolled", "test_pipe"):
        tests[name]()
    with pytest.raises(AssertionError, match="refuted"):
        tests["test_swapped"]()
    assert code.count("thrice_1 = thrice(x)") == 2


def test_the_command_replaces_no_file_and_says_what_cannot_be_named(goods, monkeypatch):
    monkeypatch.chdir(goods)
    run = CliRunner().invoke
    done = run(app, ["ghostwrite", "graphrewrite.rules:drop_identity", "-o", "test_it.py"])
    assert (done.exit_code, done.output) == (0, ""), done.output
    kept = (goods / "test_it.py").read_text(encoding="utf-8")
    assert kept == run(app, ["ghostwrite", "graphrewrite.rules:drop_identity"]).stdout
    refused = run(app, ["ghostwrite", "goods:RULES", "-o", "test_it.py"])
    assert (refused.exit_code, "'test_it.py' already" in refused.output) == (2, True)
    assert (goods / "test_it.py").read_text(encoding="utf-8") == kept
    wrong = run(app, ["ghostwrite", "goods:RULLES"])
    assert (wrong.exit_code, "did you mean 'RULES'" in wrong.output) == (2, True)
    nameless = run(app, ["ghostwrite", "goods:MADE"])
    assert (nameless.exit_code, "give it a name there" in nameless.output) == (2, True)
