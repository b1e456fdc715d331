"""What is built and installed: the package `graphrewrite`, whole and nothing else, with symbolic links and without."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from email.message import Message
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.profiles import some_of

ROOT = Path(__file__).parents[1]
PARTS = ("rules", "lowering", "hdl")
SUFFIXES = {".py", ".pyi", ".vhd", ".j2", ".md", ".onnx", ".npz", ".html", ".css", ".js"}
FILES = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")
SCRIPT = """
# pyright: reportUnnecessaryTypeIgnoreComment=true
from graphrewrite import Constant, Graph, Tensor, evaluate, hdl, lowering, op, rewrite, rule
from graphrewrite.hdl import emit
from graphrewrite.lowering import from_onnx
from graphrewrite.rules import RULES
from graphrewrite.testing import check

@rule
def once(x):
    "Minus minus x is x."
    yield op.neg(op.neg(x))
    return x

@rule
def halve(x, w: Constant, b=None):
    "A convolution of twice the input is one with twice the weights."
    conv = op.conv(op.mul(x, 2), w, b, groups={1, 2})
    yield conv
    return op.conv(x, w * 2, b, like=conv)

g = Graph("g")
x = g.input("x", Tensor("f32", ("N",)))
g.output("y", op.relu(x))
op.conv(x, x, strides=(2, 2), padding=(1, 1, 1, 1))
op.conv(x, x, stides=2)  # type: ignore
op.conv(x)  # type: ignore
op.clip(x, low="a")  # type: ignore
op.batchnorm(x)  # type: ignore
print(rewrite(g, [once, *RULES]), check(once), from_onnx, emit, lowering.to_integer, hdl.predict, evaluate)
"""
"""A program of a user's."""

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(checkout: Path, *targets: str) -> Path:
    """Build into a folder of the checkout, and return it."""
    pytest.importorskip("hatchling")
    options = [option for target in targets for option in ("-t", target)]
    run(sys.executable, "-m", "hatchling", "build", "-d", "out", *options, cwd=checkout)
    return checkout / "out"


def contents(wheel: Path) -> dict[str, int]:
    """The checksum of every file but the list of files."""
    with zipfile.ZipFile(wheel) as archive:
        assert not [i.filename for i in archive.infolist() if (i.external_attr >> 16) & 0o170000 == 0o120000], "links"
        return {i.filename: i.CRC for i in archive.infolist() if not i.filename.endswith("/RECORD")}


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def expected() -> set[str]:
    """Every file of the package, by its path in the checkout."""
    found = {"graphrewrite/py.typed"}
    for top in ("graphrewrite", *PARTS):
        for folder, folders, files in os.walk(ROOT / top):
            folders[:] = [name for name in folders if name != "__pycache__"]
            found |= {
                Path(folder, name).relative_to(ROOT).as_posix() for name in files if Path(name).suffix in SUFFIXES
            }
    return found


def checkout_at(folder: Path, *, links: bool) -> Path:
    """Copy what is built into a checkout of its own; without links, Git and ZIP archives leave files of text."""
    folder.mkdir()
    for name in ("graphrewrite", *PARTS, ".build"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    for name in PARTS:
        (folder / "graphrewrite" / name).unlink()
        if links:
            (folder / "graphrewrite" / name).symlink_to(Path("..", name))
        else:
            (folder / "graphrewrite" / name).write_text(f"../{name}", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout whose wheel, source archive and editable wheel are built."""
    checkout = checkout_at(tmp_path_factory.mktemp("linked") / "checkout", links=True)
    build(checkout, "sdist", "wheel:standard")
    return checkout


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without symbolic links."""
    checkout = checkout_at(tmp_path_factory.mktemp("plain") / "checkout", links=False)
    build(checkout, "sdist", "wheel:standard")
    return checkout


@pytest.fixture(scope="module")
def wheel(linked: Path) -> Path:
    return next((linked / "out").glob("*.whl"))


@pytest.fixture(scope="module", params=["linked", "plain"])
def editable(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment in which a checkout is installed to be edited; what it needs is found as well."""
    checkout: Path = request.getfixturevalue(request.param)
    run(sys.executable, "-m", "hatchling", "build", "-d", "out_editable", "-t", "wheel:editable", cwd=checkout)
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=os.name != "nt")
    paths = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", paths))
    with zipfile.ZipFile(next((checkout / "out_editable").glob("*.whl"))) as archive:
        archive.extractall(packages)
    # Behind the package's own entry; entries of the folder that it names do not count.
    (packages / "zz_requirements.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return Path(sysconfig.get_path("scripts", "venv", paths)) / Path(sys.executable).name


def sources(checkout: Path) -> set[str]:
    """The files of the source archive."""
    with tarfile.open(next((checkout / "out").glob("*.tar.gz"))) as archive:
        assert [member.name for member in archive.getmembers() if not member.isfile()] == []
        return {name.split("/", 1)[1] for name in archive.getnames()}


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    installed = {name for name in contents(wheel) if ".dist-info/" not in name}
    assert {name.split("/")[0] for name in installed} == {"graphrewrite"}
    assert {name if name.startswith("graphrewrite/") else f"graphrewrite/{name}" for name in expected()} <= installed


def test_the_source_archive_holds_every_file_once(linked: Path) -> None:
    packed = sources(linked)
    assert expected() | {*FILES, ".build/hooks.py", "PKG-INFO"} <= packed
    assert not [name for name in packed if name.startswith(tuple(f"graphrewrite/{part}" for part in PARTS))]


def test_the_wheel_of_the_source_archive_is_the_same(linked: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(next((linked / "out").glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    again = next(build(unpacked, "wheel:standard").glob("*.whl"))
    assert contents(again) == contents(wheel)


def test_a_checkout_without_links_builds_the_same(linked: Path, plain: Path, wheel: Path) -> None:
    assert contents(next((plain / "out").glob("*.whl"))) == contents(wheel)
    assert sources(plain) == sources(linked)


def test_a_checkout_without_links_is_imported_in_place(plain: Path) -> None:
    code = "import graphrewrite.rules, graphrewrite.lowering, graphrewrite.hdl as h; print(h.__file__)"
    assert Path(run(sys.executable, "-c", code, cwd=plain).strip()) == plain / "hdl" / "__init__.py"


def test_nothing_is_built_without_a_folder(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    checkout = checkout_at(tmp_path / "checkout", links=False)
    shutil.rmtree(checkout / "lowering")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel:standard"]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode != 0
    assert "graphrewrite cannot be built without its folders lowering" in done.stdout + done.stderr
    assert not (checkout / "dist").exists() or not [*(checkout / "dist").iterdir()]


def test_the_wheel_works_where_it_is_unpacked(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = (
        "import pathlib, sys; sys.path.insert(0, sys.argv[1]); import graphrewrite, graphrewrite.models as m;"
        "import graphrewrite.rules, graphrewrite.lowering, graphrewrite.hdl;"
        "assert pathlib.Path(graphrewrite.__file__).is_relative_to(sys.argv[1]), graphrewrite.__file__;"
        "assert all(m.path(n).exists() and m.path(n).with_suffix('.npz').exists() for n in m.NAMES)"
    )
    run(sys.executable, "-P", "-c", code, tmp_path, cwd=tmp_path)


@pytest.mark.slow(cases=1)
def test_an_editable_install_brings_the_package_alone(editable: Path, tmp_path: Path) -> None:
    code = (
        "import importlib.util as u, graphrewrite.rules, graphrewrite.lowering, graphrewrite.hdl;"
        "print([name for name in ('rules', 'lowering', 'hdl', 'tests', 'notebooks') if u.find_spec(name)])"
    )
    assert run(editable, "-c", code, cwd=tmp_path).strip() == "[]"


@pytest.mark.slow(cases=1)
def test_a_users_folders_are_not_shadowed(editable: Path, tmp_path: Path) -> None:
    for name in ("tests", "rules"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "own.py").write_text("")
    run(editable, "-c", "import graphrewrite.rules, tests.own, rules.own", cwd=tmp_path)


# Each way of an installation is read by one type checker, in the slow profile by both.
@pytest.mark.slow(cases=0)
@pytest.mark.parametrize("editable", some_of(["plain", "linked"], 2), indirect=True)
def test_mypy_resolves_an_editable_install(editable: Path, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "user.py").write_text(SCRIPT)
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\nwarn_unused_ignores = True\ncheck_untyped_defs = True\n"
    )  # this checkout's does not count
    command = [sys.executable, "-m", "mypy", "--python-executable", editable, "user.py"]
    assert "Success" in run(*command, cwd=tmp_path, MYPYPATH="")


@pytest.mark.slow(cases=0)
@pytest.mark.parametrize("editable", some_of(["linked", "plain"], 2), indirect=True)
def test_pyright_resolves_an_editable_install(editable: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyright")
    fetched = subprocess.run(
        [sys.executable, "-m", "pyright", "--version"], capture_output=True, text=True, check=False, timeout=120
    )
    if fetched.returncode != 0:
        pytest.skip(f"pyright cannot be fetched: {(fetched.stderr.strip().splitlines() or ['no message'])[-1]}")
    (tmp_path / "user.py").write_text(SCRIPT)
    found = run(sys.executable, "-m", "pyright", "--pythonpath", editable, "user.py", cwd=tmp_path)
    assert found.splitlines()[-1].startswith("0 errors, 0 warnings"), found


def test_project_urls_are_addresses(wheel: Path) -> None:
    urls = dict(entry.split(", ") for entry in metadata(wheel).get_all("Project-URL", []))
    assert {"Homepage", "Repository", "Documentation", "Changelog"} <= urls.keys()
    for url in urls.values():
        parts = urlsplit(url)
        assert parts.scheme == "https", url
        assert "." in parts.netloc, url


def test_the_long_description_has_no_relative_paths(wheel: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = metadata(wheel).get_payload()
    images = re.findall(r'<img\s[^>]*src="([^"]*)"|!\[[^\]]*\]\(([^)\s]*)', text)
    shown = [first or second for first, second in images]
    base = f"{project['urls']['Repository']}/raw/v{project['version']}/"
    assert shown
    for address in shown:
        assert address.startswith(base), address
        assert (ROOT / address.removeprefix(base)).is_file(), address
    links = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```|(?<!\[)`[^`\n]+`", "", text, flags=re.DOTALL))
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
