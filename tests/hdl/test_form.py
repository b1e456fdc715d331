"""Every template has the form that hdl/STREAM_CONTRACT.md states."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphrewrite.hdl.emission.names import KEYWORDS
from tests.support.hdl_bench import TEMPLATES

LOWER = KEYWORDS | {"boolean", "integer", "natural", "positive", "signed", "unsigned", "std_logic", "std_logic_vector"}
FILES = sorted(TEMPLATES.glob("*.vhd"), key=lambda path: path.name)


def code_of(path: Path) -> str:
    """The text without comments and strings."""
    return re.sub(r'--[^\n]*|"[^"\n]*"', "", path.read_text())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
class TestForm:
    def test_lines(self, path: Path) -> None:
        text = path.read_text()
        assert text.isascii()
        assert text.endswith("\n")
        assert not re.search(r"\n\n(\n|$)|\t| $", text, re.MULTILINE)
        for number, line in enumerate(text.splitlines(), 1):
            assert len(line) <= 120, f"line {number}: {line}"
            # A conditional assignment that goes on is aligned with its first operand.
            indent = len(line) - len(line.lstrip())
            assert indent % 2 == 0 or re.match(r"\s+(and|or|[+]|\d+ when|\w+ [+]) ", line), f"line {number}: {line}"

    def test_opens_with_what_it_is(self, path: Path) -> None:
        first, second, *_ = path.read_text().splitlines()
        assert first.startswith(f"-- {path.stem}: ")
        assert second == "--"

    def test_case(self, path: Path) -> None:
        code = code_of(path)
        for word in re.findall(r"\b[A-Za-z]\w*\b", code):
            assert word.isupper() or word.islower(), word
            assert word.lower() not in LOWER or word.islower(), word
        declared = re.findall(r"(?m)^ *constant +(\w+)", code)
        assert all(name.isupper() for name in declared), declared
        lower = re.findall(r"(?m)^ *(?:shared )?(?:signal|variable|function|procedure|type|subtype) +(\w+)", code)
        assert all(name.islower() for name in lower), lower
        types = re.findall(r"(?m)^ *(?:type|subtype) +(\w+)", code)
        assert all(name.endswith("_t") for name in types), types

    def test_one_generic_and_one_port_a_line_with_aligned_colons(self, path: Path) -> None:
        for clause in re.findall(r"(?ms)^  (?:generic|port) \(\n(.*?)^  \);", code_of(path)):
            lines = clause.splitlines()
            assert all(re.match(r"    \w+ *: \w", line) for line in lines), clause
            assert len({line.index(":") for line in lines}) == 1, clause

    def test_ends_say_what_ends(self, path: Path) -> None:
        assert not re.search(r"(?m)^ *end;", code_of(path))
