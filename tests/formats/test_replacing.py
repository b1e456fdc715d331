"""A file that is saved again holds the old graph or the new one, whatever happens, and nothing is left over."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graphrewrite import Graph
from graphrewrite.formats import files, load, read_text, save, write_text
from graphrewrite.lowering import from_onnx, to_onnx

pytestmark = pytest.mark.skipif(os.name == "nt", reason="forks, signals and limits of POSIX")


def filled(number: int) -> Graph:
    graph = Graph("g")
    graph.output("y", graph.constant(np.full(20_000, number, np.uint8)))
    return graph


OLD, NEW, NEXT = filled(1), filled(2), filled(3)
WAYS = {
    "inline": ("g.json", save, load),
    "npz": ("g.json", lambda graph, path: save(graph, path, arrays="npz"), load),
    "text": ("g.txt", write_text, read_text),
    "onnx": ("g.onnx", lambda graph, path: to_onnx(graph, path, external_data=True), from_onnx),
}

FAULTS = """
import os, resource, signal, sys
from pathlib import Path
from graphrewrite.errors import SerialError
from tests.formats.test_replacing import NEW, NEXT, OLD, WAYS

WATCHED = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.scandir", "sync"}
folder, way, old = Path(sys.argv[1]), *sys.argv[2:4]
name, write, read = WAYS[way]
path = folder / name

def strike():
    if fault == "kill":
        os._exit(9)
    if fault == "interrupt":
        signal.raise_signal(signal.SIGINT)
    if fault == "refuse":
        raise PermissionError(13, "Permission denied")

def child(step):
    if fault in ("cut", "full"):  # in the middle of a write
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL if fault == "cut" else signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (step * 4001, step * 4001))
    left, fsync = 0 if fault in ("cut", "full") else step, os.fsync
    def hook(event, arguments):
        nonlocal left
        if left and event in WATCHED:
            left -= 1
            if not left:
                strike()
    def sync(number):
        hook("sync", ())
        fsync(number)
    os.fsync = sync
    sys.addaudithook(hook)
    try:
        write(NEW, path)
    except (SerialError, KeyboardInterrupt):
        os._exit(1)
    os._exit(0 if left or fault in ("cut", "full") else 2)

def tried(step):
    if old == "none":
        for each in folder.iterdir():
            each.unlink()
    else:
        WAYS[old][1](OLD, path)
    before = {p.name for p in folder.iterdir()}
    if (pid := os.fork()) == 0:
        child(step)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    found = read(path) if path.exists() else None
    assert found in ((None, NEW) if old == "none" else (OLD, NEW)), (step, found)
    after = {p.name for p in folder.iterdir()}
    if code == 1 and found != NEW:
        assert after == before or fault == "refuse", (step, after)
    elif code == 0 or (code in (1, 2) and fault != "refuse"):
        assert len(after) == (1 if way == "inline" else 2), (step, after)
    write(NEXT, path)
    assert read(path) == NEXT
    assert len(list(folder.iterdir())) == (1 if way == "inline" else 2), (step, list(folder.iterdir()))
    return code, "new" if found == NEW else "old"

for fault in ("kill", "interrupt", "refuse", "cut", "full"):
    step, code, states = 0, None, set()
    while code != 0:
        step += 1
        code, state = tried(step)
        states.add(state)
    print(fault, step, *sorted(states))
"""


@pytest.mark.parametrize(
    ("way", "old"),
    [
        ("npz", "npz"),
        *(
            pytest.param(*each, marks=[pytest.mark.slow, pytest.mark.thorough])
            for each in (("inline", "inline"), ("text", "text"), ("npz", "none"), ("onnx", "onnx"))
        ),
    ],
)
def test_old_or_new_after_any_fault(tmp_path: Path, way: str, old: str) -> None:
    command = [sys.executable, "-c", FAULTS, str(tmp_path), way, old]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    for line in ended.stdout.splitlines():
        fault, steps, *states = line.split()
        assert int(steps) > (4 if fault in ("cut", "full") else 10), line
        assert states == ["new", "old"], line


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="names of open files")
def test_the_disk_has_the_arrays_before_the_document_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    path = tmp_path / "g.json"
    save(OLD, path, arrays="npz")
    fsync, replace, unlink = os.fsync, Path.replace, Path.unlink

    def note(what: str, file: Path) -> None:
        name = "folder" if file.is_dir() else "arrays" if file.name.endswith((".npz", "arrays")) else "document"
        steps.append(f"{what} {name}")

    def on_disk(number: int) -> None:
        note("sync", Path(f"/proc/self/fd/{number}").readlink())
        fsync(number)

    def place(new: Path, target: Path) -> None:
        replace(new, target)
        note("place", target)

    def remove(file: Path, missing_ok: bool = False) -> None:
        note("remove", file)
        unlink(file, missing_ok)

    monkeypatch.setattr(os, "fsync", on_disk)
    monkeypatch.setattr(Path, "replace", place)
    monkeypatch.setattr(Path, "unlink", remove)
    save(NEW, path, arrays="npz")
    assert steps == [
        *("sync arrays", "sync document", "place arrays", "sync folder", "place document", "sync folder"),
        "remove arrays",
    ]


def test_files_of_earlier_versions_are_read_and_go(tmp_path: Path) -> None:
    path, early = tmp_path / "g.json", tmp_path / "g.json.npz"
    save(OLD, path, arrays="npz")
    next(tmp_path.glob("*.npz")).rename(early)
    assert load(path) == OLD
    save(NEW, path, arrays="npz")
    assert load(path) == NEW
    assert not early.exists()
    early.write_bytes(b"of somebody else")
    save(NEXT, path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["g.json", "g.json.npz"]


def test_who_saves_at_the_same_time_takes_nothing_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, written = tmp_path / "g.json", files._written
    save(OLD, path, arrays="npz")

    def other(*arguments: object) -> str:
        monkeypatch.undo()
        save(NEXT, path, arrays="npz")
        assert load(path) == NEXT
        return written(*arguments)

    monkeypatch.setattr(files, "_written", other)
    save(NEW, path, arrays="npz")
    assert load(path) == NEW
    save(NEW, path, arrays="npz")
    assert len(list(tmp_path.iterdir())) == 2


def test_what_is_in_use_is_neither_replaced_nor_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, where a mapped file is locked."""
    path = tmp_path / "g.json"
    save(OLD, path, arrays="npz")
    replace, unlink, locked = Path.replace, Path.unlink, set(tmp_path.glob("*.npz"))

    def refusing(target: Path) -> Path:
        if target in locked:
            raise PermissionError(13, "Access is denied")
        return target

    monkeypatch.setattr(Path, "replace", lambda a, b: replace(a, refusing(b)))
    monkeypatch.setattr(Path, "unlink", lambda a, missing_ok=False: unlink(refusing(a), missing_ok))
    for graph in (OLD, NEW, OLD):
        save(graph, path, arrays="npz")
        assert load(path) == graph
    save(NEW, path, arrays="npz")
    locked.clear()
    save(NEW, path, arrays="npz")
    assert len(list(tmp_path.iterdir())) == 2


def test_large_arrays_are_mapped_and_stay_what_they_were(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    large = np.arange(1 << 18, dtype=np.float32).reshape(512, 512)
    graph = Graph("g")
    for array in (large, large.T, np.array([1, 2], np.int8), large.astype(np.int64), large > 3):
        graph.output(graph.fresh("y"), graph.constant(array))
    save(graph, path, arrays="npz")
    again = load(path)
    assert again == graph
    values = [data["value"] for _, data in again.nodes(data=True) if "value" in data]
    assert [value.flags.owndata for value in values] == [False, True, True, False, True]  # the second lies in columns
    assert all(value.flags.aligned for value in values)
    save(NEW, path, arrays="npz")
    assert np.array_equal(values[3], large)
