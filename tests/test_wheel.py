"""What is installed: the package `graphrewrite`, whole, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SUFFIXES = {".py", ".vhd", ".j2", ".md", ".onnx", ".npz", ".html", ".css", ".js"}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], set[str], Path]:
    """Files of the wheel and of the source archive, and the folder of both; the wheel is built from the archive."""
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        assert not [i.filename for i in wheel.infolist() if (i.external_attr >> 16) & 0o170000 == 0o120000], "links"
        installed = set(wheel.namelist())
    with tarfile.open(next(folder.glob("*.tar.gz"))) as sources:
        assert [m.name for m in sources.getmembers() if not m.isfile()] == []
        packed = {name.split("/", 1)[1] for name in sources.getnames()}
    return installed, packed, folder


def expected() -> set[str]:
    """Every file of the package, links followed."""
    found = set()
    for top in ("graphrewrite", "rules", "lowering", "hdl"):
        inside = Path("graphrewrite") if top == "graphrewrite" else Path("graphrewrite", top)
        for path in (ROOT / top).rglob("*"):
            if path.is_file() and path.suffix in SUFFIXES and "__pycache__" not in path.parts:
                found.add((inside / path.relative_to(ROOT / top)).as_posix())
    return found | {"graphrewrite/py.typed"}


def test_wheel_installs_graphrewrite_only(archives: tuple[set[str], set[str], Path]) -> None:
    tops = {name.split("/")[0] for name in archives[0]}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"graphrewrite"}


def test_wheel_and_sources_hold_every_file(archives: tuple[set[str], set[str], Path]) -> None:
    installed, packed, _ = archives
    assert expected() - installed == set()
    assert expected() - packed == set()


def test_wheel_holds_real_folders(archives: tuple[set[str], set[str], Path]) -> None:
    for folder in ("rules", "lowering", "hdl"):
        assert f"graphrewrite/{folder}/__init__.py" in archives[0]


def test_wheel_works_where_it_is_unpacked(archives: tuple[set[str], set[str], Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(next(archives[2].glob("*.whl"))) as wheel:
        wheel.extractall(tmp_path)
    code = (
        "import pathlib, sys; sys.path.insert(0, sys.argv[1]); import graphrewrite, graphrewrite.models as m;"
        "assert pathlib.Path(graphrewrite.__file__).is_relative_to(sys.argv[1]), graphrewrite.__file__;"
        "assert all(m.path(n).exists() and m.path(n).with_suffix('.npz').exists() for n in m.NAMES)"
    )
    subprocess.run([sys.executable, "-P", "-c", code, str(tmp_path)], check=True, cwd=tmp_path, timeout=60)
