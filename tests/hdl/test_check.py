"""What a check says of many configurations at once; GHDL is stood in for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphrewrite.hdl.checking import check, check_component
from graphrewrite.hdl.checking.case import Case
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
