"""The check itself: faults planted in the library's own VHDL, each of which must be found and named."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphrewrite.hdl import Component
from graphrewrite.hdl.checking import check_component
from graphrewrite.hdl.checking.case import Beat
from graphrewrite.hdl.checking.comparison import _kind, _shown
from graphrewrite.hdl.emission.entity import source_of
from graphrewrite.hdl.errors import ContractError, MismatchError
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations import BY_NAME, configurations_of

Changes = tuple[tuple[str, str], ...]
OUTPUT = "z_payload => z_payload, z_valid => z_valid, z_ready => z_ready"


def behind(text: str) -> Changes:
    """A fault behind the buffer of a fifo: `count` is how many beats have left it."""
    signals = """signal o_payload : std_logic_vector(z_payload'range);
  signal o_valid, o_ready : std_logic;
  signal count, cycle : natural := 0;
  signal room"""
    counts = """
  process (clk)
  begin
    if rising_edge(clk) then
      cycle <= cycle + 1;
      if rst = '1' then
        count <= 0;
      elsif o_valid = '1' and o_ready = '1' then
        count <= count + 1;
      end if;
    end if;
  end process;
"""
    return (
        (OUTPUT, "z_payload => o_payload, z_valid => o_valid, z_ready => o_ready"),
        ("signal room", signals),
        ("end architecture;", f"{counts}\n  {text}\nend architecture;"),
    )


PASS = "z_payload <= o_payload; z_valid <= o_valid; o_ready <= z_ready;"
TWICE = """z_payload <= o_payload; z_valid <= o_valid; o_ready <= z_ready when again or count mod 5 /= 3 else '0';
  process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' or o_ready = '1' then
        again <= false;
      elsif z_valid = '1' and z_ready = '1' then
        again <= true;
      end if;
    end if;
  end process;"""

FAULTS: dict[str, tuple[str, Changes, type[Exception], str]] = {
    "no fault": ("fifo", behind(PASS), AssertionError, ""),
    "the payload changes while it waits": (
        "fifo",
        behind(PASS.replace("<= o_payload;", "<= o_payload when cycle mod 4 /= 3 else not o_payload;")),
        ContractError,
        r"fifo\(.*: z breaks the stream contract in cycle \d+ after reset \d: the payload changed before the transfer",
    ),
    "valid is dropped": (
        "fifo",
        behind(PASS.replace("<= o_valid;", "<= o_valid when cycle mod 4 /= 3 else '0';")),
        ContractError,
        r"z breaks the stream contract in cycle \d+ after reset \d: valid fell before the transfer",
    ),
    "ready is ignored": (
        "fifo",
        behind(PASS.replace("<= z_ready;", "<= '1';")),
        ContractError,
        r"z breaks the stream contract in cycle \d+ after reset \d: (valid fell|the payload changed) before",
    ),
    "valid rises in the reset": (
        "fifo",
        behind(PASS.replace("<= o_valid;", "<= o_valid or rst;")),
        ContractError,
        "valid in the cycle after a reset edge",
    ),
    "a beat is lost": (
        "fifo",
        behind(
            "z_payload <= o_payload; z_valid <= o_valid when count mod 5 /= 3 else '0';"
            " o_ready <= z_ready when count mod 5 /= 3 else '1';"
        ),
        MismatchError,
        "z, frame .*expected .*, got .*",
    ),
    "a beat comes twice": (
        "fifo",
        (*behind(TWICE), ("signal o_payload", "signal again : boolean := false;\n  signal o_payload")),
        MismatchError,
        "z, frame .*expected .*, got .*",
    ),
    "two lanes are swapped": (
        "fifo",
        behind(PASS.replace("<= o_payload;", "<= o_payload(0) & o_payload(WIDTH - 1 downto 1);")),
        MismatchError,
        r"z, frame \d+, beat \d+.*: expected .*, got .*",
    ),
    "a place too few": (
        "fifo",
        (("CAPACITY => CAPACITY", "CAPACITY => CAPACITY - 1 + boolean'pos(CAPACITY = 1)"),),
        MismatchError,
        r"z, frame .*all values are right, (\d+ cycles? late|in other cycles)",
    ),
    "a place too many": (
        "fifo",
        (("CAPACITY => CAPACITY", "CAPACITY => CAPACITY + 1"),),
        MismatchError,
        r"expected .* in cycle \d+, got .* in cycle \d+",
    ),
    "one reader of two is not waited for": (
        "fork",
        (("room_0 and room_1 and x_valid", "room_0 and x_valid"), ("room_0 and room_1;", "room_0;")),
        ContractError,
        "GHDL stops in it; correct the VHDL:(.|\n)*bound check failure",
    ),
    "a reset forgets the column": (
        "window",
        (("row      <= 0;\n        col      <= 0;", "row      <= 0;"),),
        MismatchError,
        ", after a reset in mid-frame: expected",
    ),
    "a reset forgets when the next row is due": (
        "window",
        (("row_wait <= EXTENT_HEIGHT - 1;\n        col_wait", "col_wait"),),
        MismatchError,
        ", after a reset in mid-frame: expected",
    ),
    "a line memory is one too short": (
        "window",
        (("following <= 0 when word = WORDS - 1", "following <= 0 when word >= WORDS - 2"),),
        MismatchError,
        r"z, frame \d+, beat \d+: expected .*, got .*",
    ),
    "a line memory is read one too late": (
        "window",
        (("above <= memory(following)", "above <= memory(word)"),),
        MismatchError,
        r"z, frame \d+, beat \d+: expected .*, got .*",
    ),
    "a window starts one column late": (
        "window",
        (("col_wait <= EXTENT_WIDTH - 1;", "col_wait <= STRIDE_WIDTH - 1;"),),
        Exception,
        "expected .*, got|bound check failure",
    ),
}


@pytest.mark.ghdl
@pytest.mark.parametrize("fault", FAULTS)
def test_the_check_finds(fault: str, tmp_path: Path) -> None:
    entity, changes, error, told = FAULTS[fault]
    text = source_of(BY_NAME[entity])
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    file = tmp_path / f"{entity}.vhd"
    file.write_text(text)
    planted = Component(BY_NAME[entity].op, file, BY_NAME[entity].generics, BY_NAME[entity].schedule)
    draw = configurations_of(entity).draw
    if error is AssertionError:
        assert check_component(planted, draw, count=30).configurations == 30
        return
    with pytest.raises(error, match=told) as found:
        check_component(planted, draw, count=30)
    assert f"of seed 0, {BY_NAME[entity].op.name}(" in str(found.value)


DUE = [(2 * n, word) for n, word in enumerate([3, 1, 4, 1, 5, 9, 2, 6, 5, 3])]


def beats(*words: int) -> list[Beat]:
    return [(2 * n, word) for n, word in enumerate(words)]


def later(*by: int) -> list[Beat]:
    """All beats, the last ones by some cycles."""
    moved = [0] * (len(DUE) - len(by)) + list(by)
    return [(cycle + late, word) for (cycle, word), late in zip(DUE, moved, strict=True)]


@pytest.mark.parametrize(
    ("actual", "told"),
    [
        (later(1), "all values are right, 1 cycle late"),
        (later(-1, -1, 0), "all values are right, 1 cycle early"),
        (later(2, 2), "all values are right, 2 cycles late"),
        (later(1, 2), "all values are right, in other cycles"),
        ([], "no beat came at all"),
        (DUE[:-1], "the last beat is missing"),
        (DUE[:2], "the last 8 beats are missing"),
        (beats(3, 1, 1, 5, 9, 2, 6, 5, 3), "this beat is lost, the others follow"),
        (beats(3, 1, 1, 5, 9, 2, 6), "this beat is lost, the others follow"),
        (beats(3, 1, 1, 5, 9, 2, 6, 5, 3, 7), ""),
        (beats(1, 4, 1), "this beat is lost, the others follow"),
        ([*DUE, (99, 7)], "a beat too many"),
        ([*DUE, (98, 3), (99, 7)], "2 beats too many"),
        (beats(3, 1, 4, 4, 1, 5, 9, 2, 6, 5, 3), "the beat before came twice"),
        (beats(3, 3, 1, 4, 1, 5, 9), "the beat before came twice"),
        (beats(3, 1, 4, 4, 1, 5, 9, 2, 6, 5, 5), ""),
        (beats(3, 1, 4, 1, 9, 5, 2, 6, 5, 3), "the same beats in another order"),
        ([(cycle + 1, word) for cycle, word in beats(3, 1, 4, 1, 9, 5, 2, 6, 5, 3)], ""),
        (beats(3, 1, 4, 1, 5, 8, 2, 6, 5, 3), ""),
        (beats(3, 1, 4, 1, 5, 8, 2, 6, 5, 3, 3), ""),
        (beats(3, 1, 4, 1, 5, 8), ""),
    ],
)
def test_a_single_fault_that_explains_all_differences_is_named(actual: list[Beat], told: str) -> None:
    at = next(n for n in range(11) if actual[n : n + 1] != DUE[n : n + 1])
    assert _kind(DUE, actual, at) == told


@pytest.mark.parametrize(
    ("element", "lanes", "payload", "told"),
    [
        (FixedPoint(True, 4), 1, 0b0111, "7 in cycle 9"),
        (FixedPoint(True, 4), 1, 0b1000, "-8 in cycle 9"),
        (FixedPoint(False, 4), 1, 0b1000, "8 in cycle 9"),
        (FixedPoint(True, 3), 3, 0b011_111_100, "[-4, -1, 3] in cycle 9"),
    ],
)
def test_a_beat_is_shown_as_numbers(element: FixedPoint, lanes: int, payload: int, told: str) -> None:
    stream = Stream(element, (6,), lanes)
    assert _shown(stream, [(3, 0), (9, payload)], 1) == told
    assert _shown(stream, [(3, 0)], 1) == "nothing"
