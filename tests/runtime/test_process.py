"""Programs that end with us: after an interruption, an error or a timeout nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphrewrite.hdl import cosimulate, emit
from graphrewrite.runtime.process import run_program
from tests.support.designs import rectify

pytestmark = pytest.mark.slow

CHILD = "sleep 60 & echo $! > child; echo started > started; wait"


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def wait_for(path: Path) -> None:
    until = time.perf_counter() + 20
    while not path.exists():
        assert time.perf_counter() < until
        time.sleep(0.01)


def check_ended(folder: Path) -> None:
    pid, until = int((folder / "child").read_text()), time.perf_counter() + 20
    while is_running(pid):  # killed, and its new parent may take a moment to notice
        assert time.perf_counter() < until
        time.sleep(0.01)


def interrupting(seconds: float, work) -> None:
    old = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def test_what_it_wrote():
    code = "import sys; print('a\\udc80b' if False else 'out'); print('err', file=sys.stderr); sys.exit(3)"
    assert run_program([sys.executable, "-c", code]) == (3, b"out\n", "err\n")
    assert run_program(["sh", "-c", r"printf 'a\377b'"]).text == "a\ufffdb"
    assert run_program(["sh", "-c", "cat"]).output == b""  # nobody types anything
    assert run_program(["sh", "-c", "cat"], given=b"a\377b").output == b"a\377b"


@pytest.mark.parametrize("done", [None, lambda: 1])
def test_an_interruption_ends_all_of_it(tmp_path, done):
    def work():
        run_program(["sh", "-c", CHILD], cwd=tmp_path, done=done, label="waiting")

    interrupting(0.5, work)
    check_ended(tmp_path)


@pytest.mark.parametrize("done", [None, lambda: 1])
def test_a_timeout_ends_all_of_it(tmp_path, done):
    with pytest.raises(subprocess.TimeoutExpired):
        run_program(["sh", "-c", CHILD], cwd=tmp_path, timeout=0.5, done=done)
    wait_for(tmp_path / "started")
    check_ended(tmp_path)


def test_ghdl_ends_and_the_design_is_as_it_was(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "ghdl"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncd {tmp_path}\n{CHILD}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    design = emit(rectify(), frames=1)
    files = dict(design.files)
    interrupting(1.0, lambda: cosimulate(design))
    check_ended(tmp_path)
    assert design.files == files


def test_how_far_it_is(monkeypatch, tmp_path):
    shown = []
    monkeypatch.setattr("graphrewrite.runtime.progress._PATIENCE", 0.0)
    monkeypatch.setattr("graphrewrite.runtime.progress._PAUSE", 0.0)
    monkeypatch.setattr(
        "graphrewrite.runtime.progress._opener",
        lambda: lambda label, total: (shown.append((label, total)), shown.append)[1],
    )
    numbers = iter(range(100))
    run_program(["sleep", "0.35"], label="simulating", done=lambda: next(numbers), total=7)
    assert shown[:3] == [("simulating", 7), 0, 1]
    assert shown[-1] == -1
