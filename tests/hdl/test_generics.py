"""Templates refuse generics that contradict each other, with a message, before anything else is made of them."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite.hdl.component import Generic
from graphrewrite.hdl.emission.entity import read_entity
from graphrewrite.hdl.errors import SimulatorError
from graphrewrite.hdl.generics import literal
from graphrewrite.hdl.ghdl import simulator as ghdl
from tests.hdl.configurations import BY_NAME, configurations_of
from tests.support.hdl_bench import SHARED, TEMPLATES

V = np.array
Values = dict[str, Generic | str]

COMPONENTS: dict[str, tuple[Values, str]] = {
    "add": ({"Z_WIDTH": 1, "X_SHIFT": 1}, "Z_WIDTH must hold both shifted operands"),
    "adder_graph": ({"OFFSET": V([1] * 99)}, "OFFSET must have OUTPUTS numbers"),
    "affine": ({"STAGES": 4}, "STAGES must be at most 3"),
    "argmax": ({"CHANNELS": 9, "LANES": 3, "Z_WIDTH": 3}, "Z_WIDTH must hold an index"),
    "clip": ({"LOW": 5, "HIGH": 4}, "LOW must not exceed HIGH"),
    "concat": ({"X_BEATS": 0, "Y_BEATS": 3}, "payloads must lie side by side, or be equal and come in turn"),
    "constant": ({"VALUES": V([1] * 99)}, r"VALUES must have LANES \* BEATS numbers"),
    "delay": ({"BEATS": 3, "DELAYED": 3}, "DELAYED must be less than BEATS"),
    "interpolate": ({"X_WIDTH": 3, "REST": 3}, "REST must be less than X_WIDTH"),
    "lookup": ({"WORDS": V([1] * 99)}, r"WORDS must have TABLES \* 2 \*\* X_WIDTH numbers"),
    "matvec": ({"WEIGHTS": V([1] * 99)}, "WEIGHTS must have OUTPUTS .* numbers"),
    "maximum": ({"X_WIDTH": 3, "Z_WIDTH": 4, "IS_SUM": False}, "Z_WIDTH must hold a lane of x, and equal X_WIDTH"),
    "multiply": ({"STAGES": 4}, "STAGES must be at most 3"),
    "pad": ({"ELEMENT_WIDTH": 49}, "ELEMENT_WIDTH must be at most 48"),
    "popcount": ({"X_LANES": 5, "INPUTS": 7, "GROUPS": 1}, "X_LANES and Z_LANES must divide a group"),
    "refold": ({"X_LANES": 3, "Z_LANES": 2}, "one of X_LANES and Z_LANES must divide the other"),
    "requantise": ({"ROUNDING": 4}, "ROUNDING must be at most 3"),
    "reshape": ({"X_POSITIONS": 99}, "a frame of z must have as many numbers as one of x"),
    "select_lanes": ({"X_LANES": 2, "Z_LANES": 1, "ORDER": V([2])}, "ORDER must hold lanes of x"),
    "softmax": ({"Z_WIDTH": 3, "Z_FRACTION": 4}, "Z_WIDTH must be at least Z_FRACTION"),
    "split": ({"Z0_BEATS": 0, "Z1_BEATS": 3}, "payloads must lie side by side, or be equal and come in turn"),
    "threshold": ({"SEARCH": True, "COUNT": 2, "ROWS": 1, "LEVELS": V([0, 1])}, "COUNT must be one less"),
    "window": ({"LANES": 4, "GROUP_SIZE": 3}, "GROUP_SIZE must divide LANES"),
}
PARTS: dict[str, tuple[Values, str]] = {
    "accumulator": ({"LANES": 2, "RESULTS": 2, "WIDTH": 8, "BIAS": V([1, 2, 3])}, r"BIAS must have LANES \* RESULTS"),
    "bench_clock": ({"RESETS": V([1]), "CYCLES": V([5, 5])}, "RESETS and CYCLES must have a number for each run"),
    "matrix_steps": ({"BEAT_WIDTH": 8, "PARTS": 2, "PASSES": 2, "STEPS": 6}, "STEPS must be a multiple"),
    "stream_sink": ({"GATE": V([1, 2])}, "GATE must hold zeros and ones"),
    "stream_source": ({"WIDTH": 8, "FILE_NAME": '"x"', "GATE": V([1, 2])}, "GATE must hold zeros and ones"),
    "vector_sink": (
        {"NAME": '"x"', "WIDTH": 8, "EXPECTED": '"x"', "RESULTS": '"y"', "GATE": V([1, 2])},
        "GATE must hold zeros and ones",
    ),
}
POSITIVE = ("fifo", "fork", "repeat", "stream_buffer", "stream_checker", "stream_monitor")
"""Templates without a relation between generics: those of type positive are refused by GHDL itself."""


def _with_values(text: str, values: Values) -> str:
    """The entity with the values as defaults of its generics."""
    for name, value in values.items():
        default = value if isinstance(value, str) else literal(value)
        pattern = rf"(?m)^(    {name}\s*: \w+)( := .*?)?(;?)$"
        text, found = re.subn(pattern, lambda line, d=default: f"{line[1]} := {d}{line[3]}", text, count=1)
        assert found, f"there is no generic {name}"
    return text


def _elaborate(template: Path, values: Values, folder: Path) -> None:
    path = folder / template.name
    path.write_text(_with_values(template.read_text(), values))
    ghdl.run([*(shared for shared in SHARED if shared != template), path], template.stem, stop_time="0ns")


def _values(name: str) -> Values:
    """The generics of a component's first corner case."""
    return dict(BY_NAME[name].generics(next(configurations_of(name).corners())))


@pytest.mark.ghdl
@pytest.mark.parametrize("name", COMPONENTS)
def test_a_component_refuses(name: str, tmp_path: Path) -> None:
    changed, message = COMPONENTS[name]
    template = TEMPLATES / str(BY_NAME[name].template)
    with pytest.raises(SimulatorError, match=rf"\(assertion failure\): {template.stem}: {message}"):
        _elaborate(template, {**_values(name), **changed}, tmp_path)


@pytest.mark.ghdl
@pytest.mark.parametrize("name", PARTS)
def test_a_part_refuses(name: str, tmp_path: Path) -> None:
    values, message = PARTS[name]
    with pytest.raises(SimulatorError, match=rf"\(assertion failure\): {name}: {message}"):
        _elaborate(TEMPLATES / f"{name}.vhd", values, tmp_path)


@pytest.mark.ghdl
def test_a_width_of_zero_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SimulatorError, match="failure"):
        _elaborate(TEMPLATES / "fifo.vhd", {"WIDTH": 0, "CAPACITY": 1}, tmp_path)


def test_every_template_with_generics_is_tested_and_checks_them() -> None:
    tested = {str(BY_NAME[name].template) for name in COMPONENTS} | {f"{name}.vhd" for name in (*PARTS, *POSITIVE)}
    for path in sorted(TEMPLATES.glob("*.vhd")):
        text = path.read_text()
        if re.search(r"(?m)^entity ", text) and read_entity(text, path.stem).generics:
            assert path.name in tested
            assert "constant LEGAL : boolean := generics_are_legal;" in text
            assert re.search(rf'report "{path.stem}: [^"]+" severity failure;', text)


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=2, max_size=12), st.integers(0, 8), st.integers(-9, 1))
def test_vectors_are_wrapped_where_they_are_too_long(numbers: list[int], indent: int, room: int) -> None:
    whole = f"({', '.join(literal(number) for number in numbers)})"
    width = max(20, len(whole) + indent + room)
    text = literal(np.array(numbers), indent=indent, width=width)
    assert text == whole if len(whole) + indent <= width else max(map(len, text.splitlines())) <= width
    assert " ".join(text.split()).replace("( ", "(").replace(" )", ")") == whole
    for line, following in pairwise(text.splitlines()[1:-1]):  # no line has room for the number that comes next
        number = following.strip().partition(",")[0]
        assert len(line.strip().rstrip(",")) + 2 + len(number) > width - indent - 1
