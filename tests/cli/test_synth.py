"""`graphrewrite synth`: a table, a line for a program, and exit codes; the tools are stood in for."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from graphrewrite.cli.synth import print_synthesis
from graphrewrite.errors import MissingDependencyError
from graphrewrite.hdl import synthesis
from graphrewrite.hdl.errors import SynthesisError
from graphrewrite.hdl.synthesis import Clock, PartReport, SynthesisReport, Usage
from tests.support.cli_commands import done, refused, run


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """The calls of `synthesise`, which says always the same."""
    calls: list[dict[str, object]] = []

    def synthesise(folder: Path, **options: object) -> SynthesisReport:
        calls.append({"folder": folder, **options})
        part = PartReport("conv_i", "matvec", "conv", Usage(90, 20, 1, 0.5), Usage(95, 20, 1, 0.5), {"LUT6": 90})
        clock = PartReport("act_i", "clip", "act", Usage(9), Usage(9), {"LUT6": 9}, Clock(123.4, ("a", "b")))
        return SynthesisReport("net", str(options["family"]), (part, clock), seconds=1.5)

    monkeypatch.setattr(synthesis, "synthesise", synthesise)
    return calls


def test_a_table(asked: list[dict[str, object]]) -> None:
    text = done("synth", "somewhere", "--family", "xc7", "--clock").stdout
    assert asked == [{"folder": Path("somewhere"), "family": "xc7", "whole": False, "clock": True, "verified": False}]
    lines = text.splitlines()
    assert lines[0] == "net for xc7"
    assert lines[1].split()[-1] == "MHz"
    assert lines[-1].split()[:3] == ["all", "99", "104"]
    assert "\x1b" not in text


def test_json(asked: list[dict[str, object]]) -> None:
    found = json.loads(done("synth", "somewhere", "--json", "--whole", "--verify").stdout)
    assert asked[0]["whole"] is asked[0]["verified"] is True
    assert (found["family"], found["total"]["lut"], found["predicted"]["lut"], found["mhz"]) == ("ecp5", 99, 104, 123.4)


@pytest.mark.parametrize(
    ("error", "code"),
    [(MissingDependencyError("pip install graphrewrite[synth]"), 10), (SynthesisError("dense_i: a latch"), 15)],
)
def test_exit_codes(error: Exception, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def synthesise(folder: Path, **options: object) -> SynthesisReport:
        raise error

    monkeypatch.setattr(synthesis, "synthesise", synthesise)
    refused(code, "pip install|a latch", "synth", "somewhere")


def test_an_unknown_family_is_wrong_usage() -> None:
    result = run("synth", "somewhere", "--family", "gowin")
    assert result.exit_code == 2
    assert "'ice40', 'ecp5', 'xc7'" in result.stderr


def test_what_a_terminal_shows() -> None:
    clock = Clock(123.4, ("first_i.x", "second_i.z"))
    first = PartReport("first_i", "matvec", "first", Usage(90, 20, 1, 0.5), Usage(95, 20, 1, 0.5), {}, clock)
    second = PartReport("second_i", "clip", "second", Usage(7), Usage(7), {}, notes=("3 bits never change",))
    report = SynthesisReport("net", "ecp5", (first, second), whole=True, seconds=1.5, verified=500)
    console = Console(file=io.StringIO(), width=120)
    print_synthesis(report, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "net for ecp5, in one piece" in text
    rows = [re.findall(r"[\w.]+", line) for line in text.splitlines()]
    assert [row[:3] for row in rows if row[:1] in (["first_i"], ["second_i"], ["all"])] == [
        ["first_i", "90", "95"],
        ["second_i", "7", "7"],
        ["all", "97", "102"],
    ]
    assert text.splitlines()[-4:] == [
        "note: second_i: 3 bits never change",
        "critical path: first_i.x -> second_i.z",
        "the Verilog does what the VHDL does, in 500 cycles of the test bench",
        "1.5 s",
    ]
