"""A design in a folder is replaced in one step, and what a user keeps there stays; whatever happens on the way."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from graphrewrite.hdl import Design, DesignError
from graphrewrite.hdl.emission import replacement
from graphrewrite.runtime.file_system import exchange
from tests.support.cli_commands import snapshot

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links and permissions of POSIX")

MARK = json.dumps({"generator": "graphrewrite"})
OLD = Design("d", {"design.json": MARK, "d.vhd": "old", "rom/a.vhd": "a", "rom/deep/b.vhd": "b"}, {})
NEW = Design("d", {"design.json": MARK + "\n", "d.vhd": "new", "components/c.vhd": "c"}, {})


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A design with a user's files among it."""
    out = OLD.write(tmp_path / "out")
    (out / "my_constraints.xdc").write_text("mine")
    (out / "my_constraints.xdc").chmod(0o640)
    (out / "vivado" / "runs").mkdir(parents=True)
    (out / "vivado" / "runs").chmod(0o750)
    (out / "vivado" / "runs" / "log").write_text("long")
    (out / "vivado" / "empty").mkdir()
    (out / "vivado" / "latest").symlink_to("nowhere")
    (out / "vivado" / "current").symlink_to("runs")
    (out / "rom" / "own.vhd").write_text("own")
    out.chmod(0o770)
    return out


def is_exchange_possible(tmp_path: Path) -> bool:
    for name in "ab":
        (tmp_path / name).mkdir()
    return exchange(tmp_path / "a", tmp_path / "b")


def check(out: Path, design: Design) -> None:
    """The folder holds the design, the user's files as they were, and nothing else."""
    assert subprocess.run(["sha256sum", "--quiet", "-c", "manifest.sha256"], cwd=out, check=False).returncode == 0
    files = {path: content for path, content in snapshot(out).items() if content is not None}
    own = {"my_constraints.xdc": b"mine", "vivado/runs/log": b"long", "rom/own.vhd": b"own"}
    listed = {path: text.encode() for path, text in design.files.items()}
    assert {path: content for path, content in files.items() if path != "manifest.sha256"} == own | listed
    assert (out / "vivado" / "latest").readlink() == Path("nowhere")
    assert (out / "vivado" / "current").readlink() == Path("runs")
    assert (out / "vivado" / "empty").is_dir()
    assert stat.S_IMODE((out / "my_constraints.xdc").stat().st_mode) == 0o640
    assert stat.S_IMODE((out / "vivado" / "runs").stat().st_mode) == 0o750
    assert stat.S_IMODE(out.stat().st_mode) == 0o770
    assert [p.name for p in out.parent.iterdir() if p.name.startswith(".")] == []
    assert (out / "rom" / "deep").exists() == ("rom/deep/b.vhd" in design.files)
    assert (out / "components").exists() == ("components/c.vhd" in design.files)


def cannot(*_: object) -> bool:
    return False


def busy(*_: object) -> bool:
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


@pytest.mark.parametrize("system", [None, cannot, busy], ids=["swaps", "renames", "one by one"])
def test_the_users_files_stay(out: Path, monkeypatch: pytest.MonkeyPatch, system: object) -> None:
    if system is not None:
        monkeypatch.setattr(replacement, "exchange", system)
    identity = (out / "vivado" / "runs" / "log").stat().st_ino
    NEW.write(out)
    check(out, NEW)
    assert (out / "vivado" / "runs" / "log").stat().st_ino == identity  # a link and no copy, however large it is
    OLD.write(out)
    check(out, OLD)


@pytest.mark.parametrize("system", [None, cannot, busy], ids=["swaps", "renames", "one by one"])
def test_what_is_written_is_on_the_disk_before_it_takes_its_place(
    out: Path, monkeypatch: pytest.MonkeyPatch, system: object
) -> None:
    waited = list[Path]()
    monkeypatch.setattr(replacement, "sync", waited.append)
    if system is not None:
        monkeypatch.setattr(replacement, "exchange", system)
    NEW.write(out)
    above = out if system is busy else out.parent  # where the folder stays, files wait inside of it
    written = [path for path in waited if path.name == "d.vhd" and path.is_relative_to(above)]
    (place,) = {path.parent for path in written if path.relative_to(above).parts[0].startswith(replacement.STAGING)}
    assert {place / path for path in (*NEW.files, ".", "components")} <= set(waited)
    assert place.parents[1] / ("manifest.sha256" if system is busy else "written") in waited
    assert waited[-1] == (out / "components" if system is busy else out.parent)


def test_a_pipe_of_the_user_is_not_opened(out: Path) -> None:
    os.mkfifo(out / "vivado" / "pipe")
    NEW.write(out)
    assert stat.S_ISFIFO((out / "vivado" / "pipe").stat().st_mode)


def test_what_comes_meanwhile_stays(out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the links and the swap, a tool goes on."""
    (tmp_path / "t").mkdir()
    if not is_exchange_possible(tmp_path / "t"):
        pytest.skip("this system cannot swap folders")

    def late(new: Path, target: Path) -> bool:
        with (out / "vivado" / "runs" / "log").open("a") as log:
            log.write(", longer")
        (out / "vivado" / "late" / "deep").mkdir(parents=True)
        (out / "vivado" / "late" / "deep" / "report").write_text("late")
        (tmp_path / "edited").write_text("edited")
        (tmp_path / "edited").replace(out / "my_constraints.xdc")
        return exchange(new, target)

    monkeypatch.setattr(replacement, "exchange", late)
    NEW.write(out)
    assert (out / "vivado" / "runs" / "log").read_text() == "long, longer"
    assert (out / "vivado" / "late" / "deep" / "report").read_text() == "late"
    assert (out / "my_constraints.xdc").read_text() == "edited"
    assert (out / "d.vhd").read_text() == "new"
    assert {p.name for p in tmp_path.iterdir()} == {"out", "t"}


def test_a_file_system_without_links(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    NEW.write(out)
    check(out, NEW)


@pytest.mark.parametrize("path", ["d.vhd", "design.json", "rom/a.vhd"])
def test_a_changed_file_is_not_replaced(out: Path, path: str) -> None:
    (out / path).write_text((out / path).read_text() + " and mine")
    before = snapshot(out)
    with pytest.raises(DesignError, match=rf"'{path}' in .* changed since .*; move it away, or choose another folder"):
        NEW.write(out)
    assert snapshot(out) == before
    (out / path).rename(out / "vivado" / "runs" / "log")
    NEW.write(out)
    assert (out / "vivado" / "runs" / "log").read_text().endswith(" and mine")


@pytest.mark.parametrize("path", ["components", "components/c.vhd"])
def test_a_file_in_the_way_is_not_replaced(out: Path, path: str) -> None:
    (out / path).parent.mkdir(exist_ok=True)
    (out / path).write_text("mine")
    before = snapshot(out)
    with pytest.raises(DesignError, match=rf"'{path}' in .* would be replaced, .* did not write it; move it away"):
        NEW.write(out)
    assert snapshot(out) == before


def test_a_folder_that_is_a_link_is_no_folder_of_the_design(out: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (out / "components").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DesignError, match=r"'components' in .* would be replaced"):
        NEW.write(out)


def test_a_manifest_that_leads_elsewhere(out: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a")
    text = (out / "manifest.sha256").read_text()
    for path in ("../secret", str(tmp_path / "secret")):
        (out / "manifest.sha256").write_text(text.replace("rom/a.vhd", path))
        with pytest.raises(DesignError, match="does not list the files of a design any more"):
            NEW.write(out)
    (out / "manifest.sha256").unlink()
    with pytest.raises(DesignError, match=r"of an earlier version, .*; move it away"):
        NEW.write(out)


def test_an_empty_folder_is_what_people_call_empty(tmp_path: Path) -> None:
    (tmp_path / "disk" / "lost+found").mkdir(parents=True)
    NEW.write(tmp_path / "disk")
    assert (tmp_path / "disk" / "lost+found").is_dir()


def test_a_folder_with_what_a_killed_run_has_left_is_empty_and_cleared(tmp_path: Path) -> None:
    (tmp_path / "out" / f"{replacement.STAGING}x").mkdir(parents=True)
    NEW.write(tmp_path / "out")
    assert {path for path, content in snapshot(tmp_path / "out").items() if content is not None} == {
        *NEW.files,
        "manifest.sha256",
    }


@pytest.mark.parametrize("is_edited", [False, True])
def test_of_a_former_design_what_a_user_has_edited_stays_where_a_kill_left_it(tmp_path: Path, is_edited: bool) -> None:
    NEW.write(tmp_path / "out")
    before = snapshot(tmp_path / "out")
    staging = tmp_path / f"{replacement.STAGING}x"
    left = OLD.write(staging / "old" / "out")
    NEW.write(staging / "new" / "out")  # it never had its place
    (staging / "log").write_text("ours")
    if is_edited:
        (left / "d.vhd").write_text("edited")
    replacement._clear(staging)
    assert snapshot(tmp_path / "out") == before
    assert staging.exists() == is_edited
    if is_edited:
        found = {path for path in staging.rglob("*") if path.is_file()}
        assert found == {left / "d.vhd", staging / "log"}
        assert (left / "d.vhd").read_text() == "edited"


@pytest.fixture
def disk(tmp_path: Path) -> object:
    """A mount point of 1 MB."""
    (tmp_path / "disk").mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path / "disk")]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("this user may not mount a disk")
    yield tmp_path / "disk"
    subprocess.run(["umount", str(tmp_path / "disk")], check=True)


def test_a_mount_point(disk: Path) -> None:
    for design in (OLD, NEW):
        design.write(disk)
        assert {p for p, content in snapshot(disk).items() if content is not None} == {*design.files, "manifest.sha256"}
    before = snapshot(disk)
    with pytest.raises(DesignError, match="No space left on device; make room, or choose a folder on another disk"):
        Design("d", {**NEW.files, "rom/large.vhd": "x" * (1 << 20)}, {}).write(disk)
    assert snapshot(disk) == before


KILLED = """
import errno, json, os, sys
from pathlib import Path
from graphrewrite.hdl.emission import replacement
from tests.hdl.test_replacement import OLD, NEW, busy, cannot

WATCHED = {"open", "os.rename", "os.link", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "ctypes.dlsym"}
out, system = Path(sys.argv[1]), sys.argv[2]
replacement.sync = lambda path: None  # nobody pulls the plug here
if system != "None":
    replacement.exchange = {"cannot": cannot, "busy": busy}[system]
last, states = int(sys.argv[3]), set()
while True:
    last += 11
    if (child := os.fork()) == 0:
        left = last
        def hook(event, arguments):
            global left
            if event in WATCHED:
                left -= 1
                if not left:
                    os._exit(9)
        sys.addaudithook(hook)
        NEW.write(out)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    files = {p.relative_to(out).as_posix(): p.read_text() for p in out.rglob("*") if p.is_file()
             and not any(part.startswith(".design-") for part in p.relative_to(out).parts)} if out.exists() else {}
    own = {"my_constraints.xdc": "mine", "vivado/runs/log": "long", "rom/own.vhd": "own"}
    aside = not out.exists() and system == "cannot"
    assert aside or own.items() <= files.items(), (last, files)
    rest = {p: t for p, t in files.items() if p not in own and p != "manifest.sha256"}
    whole = rest in (OLD.files, NEW.files)
    assert whole or aside or (system == "busy" and "design.json" not in rest), (last, rest)
    states.add("new" if rest == NEW.files else "old" if whole else "none")
    OLD.write(out)
    left = [p for p in (*out.parent.iterdir(), *out.iterdir()) if p.name.startswith(".design-")]
    assert not left, (last, left)
    assert {p: (out / p).read_text() for p in OLD.files} == OLD.files
    if code == 0:
        break
print(last, *sorted(states))
"""


@pytest.mark.slow(cases=1)
@pytest.mark.parametrize("system", ["None", "cannot", "busy"], ids=["swaps", "renames", "one by one"])
def test_killed_at_every_eleventh_step(out: Path, tmp_path: Path, system: str, hdl_seed: int) -> None:
    """Old or new, and the user's files; between two renames it may be neither, and the next run mends that."""
    (tmp_path / "t").mkdir()
    possible = is_exchange_possible(tmp_path / "t")
    command = [sys.executable, "-c", KILLED, str(out), system, str(hdl_seed % 11)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    steps, *states = ended.stdout.split()
    assert int(steps) > 30
    assert set(states) - {"none"} == {"new", "old"}
    assert "none" not in states or system != "None" or not possible
    check(out, OLD)
