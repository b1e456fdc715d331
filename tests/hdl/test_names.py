"""Names: legal VHDL whatever the model calls things, no two alike, the same in every run."""

import re
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphrewrite.hdl.emission.host_code import _about
from graphrewrite.hdl.emission.names import KEYWORDS, NameTable, comment, identifier
from graphrewrite.hdl.port_encoding import Encoding

# IEEE 1076-2008, 15.4.2: letter { [ underline ] letter_or_digit }.
BASIC = re.compile(r"[a-z](_?[a-z0-9])*")
HOSTILE = [
    "signal",
    "Entity",
    "a b",
    "A_B",
    "a__b",
    "_x_",
    "9lives",
    "../../x",
    'quo"te',
    "it's",
    "line\nbreak",
    "\x00",
    "näme",
    "名前",
    "",
    " ",
    "x" * 300,
    "-- comment",
    "x;y",
    "clk",
    "rst",
    "std_logic",
    "İ",
    "\u017f",
    "\ud800",
]
names = st.one_of(st.text(max_size=80), st.sampled_from(HOSTILE), st.sampled_from(sorted(KEYWORDS)))


@given(names)
def test_an_identifier_is_legal(name: str) -> None:
    found = identifier(name)
    assert BASIC.fullmatch(found)
    assert found not in KEYWORDS
    assert len(found) <= 50


@given(st.lists(names, max_size=30))
def test_a_table_gives_legal_names_that_differ_by_more_than_case(given_names: list[str]) -> None:
    table = NameTable(["top", "clk"])
    found = [table.give(name) for name in given_names]
    assert all(BASIC.fullmatch(name) and name not in KEYWORDS for name in found)
    assert len({name.lower() for name in found}) == len(found)
    assert not {"top", "clk"} & set(found)
    again = NameTable(["clk", "TOP"])
    assert [again.give(name) for name in given_names] == found


@given(st.text())
def test_a_comment_cannot_leave_its_line(text: str) -> None:
    found = comment(text)
    assert len(found) <= 200
    assert all(" " <= letter <= "~" for letter in found)


@pytest.mark.parametrize("name", ["conv1", "a_b", "x1"])
def test_a_good_name_is_kept(name: str) -> None:
    assert identifier(name) == name


def test_numbers_count_up_in_the_order_of_the_calls() -> None:
    table = NameTable()
    assert [table.give(name) for name in ("a", "A", "a_2", "a")] == ["a", "a_2", "a_2_2", "a_3"]


def test_long_names_stay_different() -> None:
    table = NameTable()
    found = {table.give("layer_" * 50 + str(number)) for number in range(20)}
    assert len(found) == 20


@example("näme\x00\\*/\"'")
@given(names)
def test_names_in_comments_of_host_code_end_neither_a_comment_nor_a_text(name: str) -> None:
    encoding = Encoding(name, "float32", (3,), (3,), 0, 255, ())
    told = _about(SimpleNamespace(encoding=encoding))
    assert told.endswith(", float32 [N, 3]")
    shown = told.removesuffix(", float32 [N, 3]")
    assert len(shown) == len(name)
    assert re.fullmatch(r"[ -~]*", shown)
    assert not set(shown) & set("\\*/\"'")
    assert all(a == b for a, b in zip(shown, name, strict=True) if re.fullmatch(r"[\w \-.;:,]", b, re.ASCII))
