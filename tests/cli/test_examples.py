"""The examples of every `--help` work as they stand, in one folder, on the models that are shipped."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from graphrewrite import rules
from graphrewrite.cli.commands import app
from tests.support.cli_commands import run
from tests.support.profiles import some_of

LAST = ("diff", "cosimulate", "synth", "check")
"""Commands that read what examples of others write, or take longest."""
CODES = {"diff": 1, "explain": 0}
"""Exit codes that are not 0: the models of the example differ."""


def examples() -> dict[str, str]:
    """The example of each command, from its help."""
    found = {}
    for name in app.commands:
        lines = re.findall(r"^ +graphrewrite (.+)$", run(name, "--help").output, re.MULTILINE)
        assert len(lines) == 1, f"{name} --help has {len(lines)} examples"
        found[name] = lines[0]
    return found


def test_every_example_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build").mkdir()
    monkeypatch.setattr(rules, "RULES", some_of(rules.RULES, 120))  # tests/rules has all of those that `check` is given
    left_out = [] if request.config.getoption("--hypothesis-profile") == "slow" else ["synth"]  # takes a minute
    lines = examples()
    for name in sorted(set(lines) - set(left_out), key=lambda name: (LAST.index(name) if name in LAST else -1, name)):
        result = run(*shlex.split(lines[name]))
        assert result.exit_code == CODES.get(name, 0), f"graphrewrite {lines[name]}\n{result.output}"
        for file in re.findall(r"(?:-o|--html) (\S+)", lines[name]):
            assert Path(file).exists(), lines[name]
