"""What a check says of many configurations at once; GHDL is stood in for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphrewrite.hdl.checking import check, check_component
from graphrewrite.hdl.checking.case import Case, _gate
from graphrewrite.hdl.errors import MismatchError
from tests.support.own_components import component, draw


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
