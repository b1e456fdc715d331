"""What happens to a command from outside: signals, closed pipes, full disks. Each has its exit code and its remedy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrewrite.hdl import Design, emit
from tests.support.cli_commands import refused, save, snapshot
from tests.support.designs import rectify

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")

MAIN = [
    *(sys.executable, "-c"),
    # Where the tests run in the background, a shell has told them to pass over interrupts.
    "import signal; signal.signal(2, signal.default_int_handler); from graphrewrite.cli import main; main()",
]
WAITING = "sleep 60 & echo $! > {0}/new; mv {0}/new {0}/child; wait"


@pytest.fixture
def design() -> Design:
    return emit(rectify(), frames=1)


@pytest.fixture
def surroundings(tmp_path: Path) -> dict[str, str]:
    """A folder for temporary files, and a GHDL that waits for a program of its own."""
    for name in ("tmp", "bin"):
        (tmp_path / name).mkdir()
    program = tmp_path / "bin" / "ghdl"
    program.write_text(f"#!/bin/sh\n{WAITING.format(tmp_path)}\n")
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{program.parent}:/usr/bin:/bin", "TMPDIR": str(tmp_path / "tmp")}


def wait_until(condition: object) -> None:
    until = time.monotonic() + 20
    while not condition():  # type: ignore[operator]  # a function without arguments
        assert time.monotonic() < until
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return Path("/proc").is_dir() is False


@pytest.mark.slow(cases=1)
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_a_signal_ends_the_children_too(
    design: Design, tmp_path: Path, surroundings: dict[str, str], name: str
) -> None:
    """Whatever the signal: no child is left, no temporary folder, and the design is as it was."""
    folder, number = design.write(tmp_path / "design"), signal.Signals[name]
    before = snapshot(folder)
    command = subprocess.Popen(
        [*MAIN, "cosimulate", str(folder)], env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_until((tmp_path / "child").exists)
    assert list((tmp_path / "tmp").iterdir()) != []
    command.send_signal(number)
    out, err = command.communicate(timeout=20)
    child = int((tmp_path / "child").read_text())
    wait_until(lambda: not is_running(child))
    assert out == ""
    assert snapshot(folder) == before
    if number == signal.SIGKILL:  # the next run finds what it left
        program = tmp_path / "bin" / "ghdl"
        program.write_text("#!/bin/sh\nexit 1\n")
        ended = subprocess.run([*MAIN, "cosimulate", str(folder)], env=surroundings, capture_output=True, check=False)
        assert ended.returncode == 12
    else:
        assert command.returncode == 128 + number
        assert err == "graphrewrite: interrupted; the output folder is complete or as it was\n"
    assert list((tmp_path / "tmp").iterdir()) == []


def test_an_ignored_signal_stays_ignored(design: Design, tmp_path: Path) -> None:
    """As behind ``nohup``."""
    folder = design.write(tmp_path / "design")
    code = (
        "import os, signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "from graphrewrite.cli import main, heed_signals; heed_signals()\n"
        "os.kill(os.getpid(), signal.SIGHUP); main()"
    )
    command = [sys.executable, "-c", code, "cosimulate", str(folder)]
    ended = subprocess.run(command, env={**os.environ, "PATH": ""}, capture_output=True, check=False)
    assert ended.returncode == 9


def unread(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command whose reader has gone before it writes a word."""
    end, pipe = os.pipe()
    os.close(end)
    command = [*MAIN, *map(str, arguments)]
    environment = {**os.environ, "PATH": ""}
    try:
        return subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, env=environment, check=False)
    finally:
        os.close(pipe)


@pytest.mark.slow(cases=1)
@pytest.mark.parametrize("command", ["--help", "compile"])
def test_nobody_reads_the_output(tmp_path: Path, command: str) -> None:
    ended = unread(command, *([save(tmp_path), "-o", tmp_path / "out"] if command == "compile" else []))
    assert ended.stderr.startswith("graphrewrite: nobody reads the output any more; write it to a file")
    assert (ended.returncode, ended.stderr.count("\n")) == (18, 1)
    assert (tmp_path / "out" / "design.json").is_file() == (command == "compile")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_the_disk_of_the_output_is_full(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        command = [*MAIN, "show", str(save(tmp_path))]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 11
    assert (
        ended.stderr
        == "graphrewrite: [Errno 28] No space left on device; make room, or choose other files and folders\n"
    )


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("this user may not mount a disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("code", [0, 1])
def test_the_disk_for_temporary_files_is_full(
    design: Design, tmp_path: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Whether GHDL says so or not: beats that are missing because nobody could write them are no difference."""
    folder = design.write(tmp_path / "design")
    (tmp_path / "ghdl").write_text(f"#!/bin/sh\ncat /dev/zero > {small_disk}/large\nexit {code}\n")
    (tmp_path / "ghdl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    refused(17, f"the disk of '{small_disk}' is full.* set TMPDIR to a folder on another", "cosimulate", folder)
    assert [p.name for p in small_disk.iterdir()] == ["large"]
    refused(17, "the disk of .* is full", "cosimulate", folder)  # before GHDL is asked


def test_no_folder_for_temporary_files(design: Design, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gettempdir() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    folder = design.write(tmp_path / "design")
    monkeypatch.setattr(tempfile, "gettempdir", gettempdir)
    refused(17, "no folder for temporary files can be written; make room, or set TMPDIR", "cosimulate", folder)
