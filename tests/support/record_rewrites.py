"""Record what rules of the lowerings make of graphs: ``python -m tests.support.record_rewrites [PART OF A NAME …]``.

Of the graphs that are drawn for a rule, some are kept, and those that run other lines of the lowerings than these.
Values of each graph before and after are compared; gradients have a test of their own for that.
"""

from __future__ import annotations

import json
import lzma
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from graphrewrite import Graph, Rule, rewrite
from graphrewrite.errors import GraphRewriteError
from graphrewrite.formats import to_text
from graphrewrite.testing import graphs, inputs_for
from graphrewrite.testing.comparison import NoVerdictError, difference
from tests.support.derivatives import derivatives
from tests.support.lowering_rules import OPS, RULES

FILE = Path(__file__).parents[1] / "lowering" / "recorded_rewrites.json.xz"
LOWERINGS = str(Path(__file__).resolve().parents[2] / "lowering")
DRAWN = 10
"""So many graphs are drawn for a rule."""
LEAST, MOST = 5, 10
"""Graphs of a rule that are kept, the further ones if they run other lines."""
LONGEST = 6000
"""Letters of a graph."""


class Lines:
    """Which lines of the lowerings run after which others."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, int, int]] = set()

    def __enter__(self) -> Lines:
        sys.settrace(self._called)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        name = frame.f_code.co_filename
        if "lowering" not in name or not str(Path(name).resolve()).startswith(LOWERINGS):
            return None
        last = [0]

        def follow(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                self.seen.add((name, last[0], frame.f_lineno))
                last[0] = frame.f_lineno
            return follow

        return follow


def drawn(strategy: st.SearchStrategy[Graph]) -> list[tuple[Graph, dict[str, np.ndarray]]]:
    """Graphs with inputs."""
    found = []

    @seed(0)
    @settings(
        max_examples=DRAWN, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.data())
    def draw(data: st.DataObject) -> None:
        graph = data.draw(strategy)
        found.append((graph, data.draw(inputs_for(graph, moderate=True))))

    with suppress(GraphRewriteError):
        draw()
    return found


def candidates(name: str, rule: Rule) -> list[tuple[Graph, dict[str, np.ndarray]]]:
    """Graphs that a rule is tried on, with inputs."""
    from tests.rules.test_all_rules import ON

    if name.startswith("gradients."):
        return drawn(derivatives(rule))
    on = next((each for key, each in ON.items() if key.endswith(name)), None)
    return drawn(graphs(containing=rule) if on is None else on)


def compare(name: str, rule: Rule, before: Graph, after: Graph, inputs: dict[str, np.ndarray]) -> None:
    """Raise if values differ."""
    if name.startswith("gradients."):
        return
    with suppress(NoVerdictError):
        if (found := difference(before, after, inputs, keeps=rule.keeps, tolerance=None)) is not None:
            raise AssertionError(f"{name}: {found}\n{before}\n{after}")


def recorded(name: str, rule: Rule) -> list[tuple[str, str]]:
    """Graphs before and after, none where a rule declines."""
    kept: list[tuple[str, str]] = []
    met: set[tuple[str, int, int]] = set()
    for graph, inputs in candidates(name, rule):
        text = to_text(graph, whole=True)
        if len(text) > LONGEST or len(kept) >= MOST:
            continue
        again = Graph.parse(text, ops=OPS)
        try:
            with Lines() as lines:
                made = rewrite(again, [rule])
        except GraphRewriteError as error:
            print("FAILS", name, error, text, sep="\n")
            continue
        if lines.seen <= met and len(kept) >= LEAST:
            continue
        after = to_text(made, whole=True)
        if made != again:
            compare(name, rule, graph, made, inputs)
        if (text, after) not in kept and len(after) <= LONGEST:
            kept.append((text, "" if after == text else after))
            met |= lines.seen
    return kept


def main() -> None:
    """Record all rules, or those whose names have one of some parts."""
    parts = sys.argv[1:]
    told = json.loads(lzma.decompress(FILE.read_bytes())) if FILE.exists() else {}
    told = {name: pairs for name, pairs in told.items() if name in RULES}
    for name, rule in RULES.items():
        if (not parts and name not in told) or any(part in name for part in parts):
            try:
                told[name] = recorded(name, rule)
            except AssertionError as error:
                print("WRONG", name, str(error)[:3000])
                continue
            print(name, len(told[name]), sum(bool(after) for _, after in told[name]), flush=True)
            FILE.write_bytes(lzma.compress(json.dumps(dict(sorted(told.items()))).encode()))


if __name__ == "__main__":
    main()
