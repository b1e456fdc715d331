"""What a check says of many configurations at once; GHDL is stood in for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphrewrite import FixedPoint
from graphrewrite.hdl.checking import check, check_component
from graphrewrite.hdl.checking.case import Case, _gate
from graphrewrite.hdl.checking.check import draw_cases
from graphrewrite.hdl.checking.simulation import StoppedError
from graphrewrite.hdl.component import Site
from graphrewrite.hdl.errors import ComponentError, ContractError, MismatchError
from graphrewrite.types import Stream
from tests.support.own_components import absolute, component, draw


def test_a_check_tells_the_shortest_configuration_that_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second configuration gives its last beat a cycle late."""
    late = dict[str, int]()

    def simulate_cases(cases: list[Case], **options: Any) -> list[dict[str, list[list[tuple[int, int]]]]]:
        found = [{port: [list(run) for run in runs] for port, runs in case.expected.items()} for case in cases]
        for case, beats in list(zip(cases, found, strict=True))[::2]:
            cycle, payload = beats["z"][0][-1]
            beats["z"][0][-1] = cycle + 1, payload
            late[str(case)] = sum(case.cycles)
        return found

    monkeypatch.setattr(check, "simulate_cases", simulate_cases)
    told = r"configuration \d of seed 4, .*\(5 of 10 configurations differ\)"
    with pytest.raises(MismatchError, match=told) as caught:
        check_component(component(tmp_path), draw, count=10, seed=4)
    assert caught.value.difference.kind == "all values are right, 1 cycle late"
    assert min(late, key=late.__getitem__) in str(caught.value)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, float | None]]:
    """How many configurations each simulation has, and its time; they do what they should."""
    calls: list[tuple[int, float | None]] = []

    def simulate_cases(cases: list[Case], *, timeout: float | None) -> list[dict[str, list[list[tuple[int, int]]]]]:
        calls.append((len(cases), timeout))
        return [case.expected for case in cases]

    monkeypatch.setattr(check, "simulate_cases", simulate_cases)
    return calls


def test_a_report_counts_what_was_compared(tmp_path: Path, asked: list[tuple[int, float | None]]) -> None:
    mine = component(tmp_path)
    corners = [Site.of(absolute, Stream(FixedPoint(True, 4), (1, beats))) for beats in (1, 3)]
    report = check_component(mine, draw, corners=corners, count=401, seed=5, timeout=7.0)
    assert asked == [(200, 7.0), (200, 7.0), (3, 7.0)]
    drawn = list(draw_cases(mine, draw, corners=corners, count=401, seed=5))
    assert [case.site for case in drawn[:2]] == corners
    assert (report.component, report.configurations, report.seed) == ("absolute", 403, 5)
    assert report.beats == sum(len(run) for case in drawn for runs in case.expected.values() for run in runs)
    assert report.cycles == sum(cycles for case in drawn for cycles in case.cycles)
    assert 0 < report.seconds < 60
    told = f"absolute: values and cycles of 403 configurations equal GHDL's (seed 5): {report.beats} beats, "
    assert str(report) == f"{told}{report.cycles} cycles, {report.seconds:.1f} s"


def test_one_configuration_alone_is_the_same_as_among_others(
    tmp_path: Path, asked: list[tuple[int, float | None]]
) -> None:
    mine = component(tmp_path)
    corners = [Site.of(absolute, Stream(FixedPoint(True, 4), (1, 3)))]
    every = list(draw_cases(mine, draw, corners=corners, count=9, seed=5))
    assert len(every) == 10
    for only in (0, 1, 9):
        report = check_component(mine, draw, corners=corners, count=9, seed=5, only=only)
        assert (report.configurations, report.cycles) == (1, sum(every[only].cycles))
    assert asked == [(1, 600.0)] * 3
    assert [str(case) for case in draw_cases(mine, draw, count=10, seed=5)][1:] == [str(case) for case in every][1:]
    assert len(list(draw_cases(mine, None, corners=corners))) == 1
    assert len(list(draw_cases(mine, draw))) == 100


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"count": 0}, "there is nothing to check; give draw"),
        ({"count": 3, "only": 3}, "there is no configuration 3; give draw"),
        ({"count": 3, "only": 0, "draw": None}, "there is no configuration 0; give draw"),
        ({"count": 1, "draw": lambda rng: "a site"}, "a configuration is a Site, not 'a site'"),
        ({"corners": ["a site"]}, "a configuration is a Site, not 'a site'"),
    ],
)
def test_nothing_to_check_is_an_error(
    tmp_path: Path, asked: list[tuple[int, float | None]], options: dict[str, Any], told: str
) -> None:
    with pytest.raises(ComponentError, match=f"absolute: {told}"):
        check_component(component(tmp_path), **{"draw": draw, **options})


@pytest.mark.parametrize("number", [None, 2])
def test_a_simulation_that_stops_is_told_with_its_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int | None
) -> None:
    def simulate_cases(cases: list[Case], **options: Any) -> None:
        raise StoppedError("x breaks it", number)

    monkeypatch.setattr(check, "simulate_cases", simulate_cases)
    mine = component(tmp_path)
    case = list(draw_cases(mine, draw, count=5, seed=3))[2]
    with pytest.raises(ContractError) as caught:
        check_component(mine, draw, count=5, seed=3)
    where = "" if number is None else f"configuration 2 of seed 3, {case}: "
    assert str(caught.value) == f"{where}x breaks it"


def test_what_goes_wrong_at_an_output_is_told_before_what_does_at_an_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even of a longer configuration; and of a single one no share is told."""
    longest: list[int] = []

    def simulate_cases(cases: list[Case], **options: Any) -> list[dict[str, list[list[tuple[int, int]]]]]:
        order = sorted(range(len(cases)), key=lambda k: sum(cases[k].cycles))
        longest.append(order[-1])
        found = [{port: [list(run) for run in runs] for port, runs in case.expected.items()} for case in cases]
        for k, beats in enumerate(found):
            beats["z" if k == order[-1] else "x"][0].pop()
        return found

    monkeypatch.setattr(check, "simulate_cases", simulate_cases)
    mine = component(tmp_path)
    with pytest.raises(MismatchError, match=r"\(6 of 6 configurations differ\)$") as caught:
        check_component(mine, draw, count=6, seed=3)
    assert str(caught.value).startswith(f"configuration {longest[0]} of seed 3, ")
    assert (caught.value.difference.port, caught.value.difference.kind) == ("z", "the last beat is missing")
    with pytest.raises(MismatchError, match=r"the last beat is missing\)$"):
        check_component(mine, draw, count=6, seed=3, only=0)


def test_stalls_of_every_kind_are_drawn_often() -> None:
    """A fault that needs long stalls, or none at all, is found in a few configurations."""
    gates = [np.array(_gate(np.random.default_rng(seed))) for seed in range(400)]
    assert all(set(gate) <= {0, 1} and 1 in gate for gate in gates)
    open_, others = [gate for gate in gates if len(gate) == 1], [gate for gate in gates if len(gate) > 1]
    assert all(gate.tolist() == [1] for gate in open_)
    short = [gate for gate in others if len(gate) < 40]
    closed = [gate for gate in short if gate.mean() < 0.3]
    bursts = [gate for gate in others if len(gate) > 20 and (np.diff(gate) != 0).mean() < 0.25 < gate.mean() < 0.9]
    for kind, least in ((open_, 80), (closed, 50), (bursts, 50)):
        assert least < len(kind) < 150
    flips = np.array([(np.diff(gate) != 0).mean() for gate in others if len(gate) > 20 and gate.mean() > 0.4])
    assert (flips > 0.4).mean() > 0.25
