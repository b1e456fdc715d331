"""E8, E12: mypy accepts correct use of typed data and rejects wrong use, line by line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mypy import api

HERE = Path(__file__).parent
MARK = re.compile(r"# error: (.*)")
FOUND = re.compile(r"^(.*?):(\d+): error: .*\[(\S+)\]$")


@pytest.mark.slow
def test_mypy_finds_exactly_the_marked_errors():
    files = [HERE / "typing_good.py", HERE / "typing_bad.py"]
    marked = {
        (path.name, number, code)
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for mark in MARK.findall(line)
        for code in re.findall(r"\[(\S+)\]", mark)
    }
    settings = ["--config-file", str(HERE.parents[1] / "pyproject.toml"), "--no-error-summary", "--hide-error-context"]
    report, complaints, _ = api.run([*settings, *map(str, files)])
    assert not complaints
    found = [FOUND.match(line) for line in report.splitlines() if ": error:" in line]
    ours = {(Path(match[1]).name, int(match[2]), match[3]) for match in found if match}
    assert {error for error in ours if error[0].startswith("typing_")} == marked
    assert len(marked) > 20
