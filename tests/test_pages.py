"""The pages: every block of the README and of `docs` runs, in order, and every link leads somewhere."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from tests.support.cli_commands import run

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ALL = [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
OUTSIDE = ("git clone", "cd ", "python3 -m venv", ". .venv", "python -m pip")
"""Beginnings of commands that set up a machine; the tests run on one that is."""


def blocks(page: Path, *languages: str) -> list[str]:
    """The fenced blocks of some languages, without their fences."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [text for language, text in found if language in languages]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_runs_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build").mkdir()
    text = "\n".join(blocks(page, "python"))
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert (len(test.examples) > 0) == ("```python" in page.read_text("utf-8"))
    told: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append)
    assert "".join(told) == ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_is_written_as_a_session(page):
    for block in blocks(page, "python"):
        assert block.startswith(">>> "), f"a block without prompts is not run:\n{block}"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build").mkdir()
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for line in "".join(blocks(page, "sh")).splitlines():
        command = line.partition("#")[0].strip()
        if command.startswith("make "):
            assert command.split()[1] in targets, command
        elif command.startswith("graphrewrite "):
            result = run(*shlex.split(command)[1:])
            no_ghdl = result.exit_code == 9 and "# with GHDL" in line
            assert result.exit_code == 0 or no_ghdl, f"{command}\n{result.output}"
        else:
            assert not command or command.startswith(OUTSIDE), f"nobody knows whether this works: {command}"


def test_a_newcomer_reads_one_short_page():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 250


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$|`[^`\n]+`", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", text):
        path, _, anchor = "".join(link).partition("#")
        if "://" in path:
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {path}"
        assert not anchor or anchor in anchors(target), f"{page.name} links to {path}#{anchor}"


def test_extras_that_are_named_are_there():
    extras = set(re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE))
    text = "\n".join(page.read_text("utf-8") for page in ALL)
    named = re.findall(r"(?:graphrewrite|\.|whl)\[(\w+)\]", text) + re.findall(r"extras? `(\w+)`", text)
    assert named
    assert set(named) <= extras


def test_every_page_is_linked_from_the_readme():
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [page.name for page in PAGES[1:] if f"](docs/{page.name})" not in readme] == []
