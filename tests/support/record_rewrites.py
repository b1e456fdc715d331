"""Record what rules of the lowerings make of graphs: ``python -m tests.support.record_rewrites [PART OF A NAME …]``.

Of the graphs that are recorded, or drawn for a rule, some are kept, and those that run other lines of the lowerings
than these. After ``--of``, tests are named: places of the networks that they lower come first. Values of each graph
before and after are compared, of gradients with difference quotients; approximations have tests of their own for that.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from graphrewrite import Graph, Rule, rewrite
from graphrewrite.errors import GraphRewriteError
from graphrewrite.formats import to_text
from graphrewrite.testing import graphs, inputs_for
from graphrewrite.testing.comparison import NoVerdictError, difference
from tests.quality.grounds import ground_of
from tests.support.derivatives import are_difference_quotients, derivatives
from tests.support.lowering_rules import OPS, RULES
from tests.support.places_of_tests import places_of
from tests.support.traced_lines import Lines

FILE = Path(__file__).parents[1] / "lowering" / "recorded_rewrites.json.xz"
DRAWN = 10
"""So many graphs are drawn for a rule."""
LEAST, MOST = 5, 12
"""Graphs of a rule that are kept, the further ones if they run other lines."""
LONGEST = 6000
"""Letters of a graph."""


def drawn(strategy: st.SearchStrategy[Graph], count: int | None = None) -> list[tuple[Graph, dict[str, np.ndarray]]]:
    """Graphs with inputs."""
    found = []

    @seed(0)
    @settings(
        max_examples=count or DRAWN, deadline=None, database=None, phases=[Phase.generate],
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
    if name.partition(".")[0] in ("prequantised", "streaming"):
        return drawn(ground_of(rule.name, rule) or st.nothing())
    on = next((each for key, each in ON.items() if key.endswith(name)), None)
    return drawn(graphs(containing=rule) if on is None else on)


def with_inputs(texts: Iterable[str]) -> list[tuple[Graph, dict[str, np.ndarray]]]:
    """Graphs with inputs."""
    return [pair for text in texts for pair in drawn(st.just(Graph.parse(text, ops=OPS)), 1)]


def compare(name: str, rule: Rule, before: Graph, after: Graph, inputs: dict[str, np.ndarray]) -> None:
    """Raise if values differ."""
    if name.startswith("prequantised.approximations."):
        return
    if name.startswith("gradients."):
        are_difference_quotients(before, after, inputs)
        return
    with suppress(NoVerdictError):
        if (found := difference(before, after, inputs, keeps=rule.keeps, tolerance=None)) is not None:
            raise AssertionError(f"{name}: {found}\n{before}\n{after}")


def recorded(name: str, rule: Rule, given: Iterable[str]) -> list[tuple[str, str]]:
    """Graphs before and after, none where a rule declines, of given ones and of drawn ones."""
    kept: list[tuple[str, str]] = []
    met: set[tuple[str, int, int]] = set()
    found = with_inputs(given)
    for graph, inputs in found if len(found) >= MOST else [*found, *candidates(name, rule)]:
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help="of names of rules; all if none is given")
    parser.add_argument("--of", nargs="+", default=[], metavar="test", help="tests whose networks are looked at")
    asked = parser.parse_args()
    told = json.loads(lzma.decompress(FILE.read_bytes())) if FILE.exists() else {}
    told = {name: pairs for name, pairs in told.items() if name in RULES}
    places = places_of(asked.of, LONGEST) if asked.of else {}
    for name, rule in RULES.items():
        if (not asked.parts and name not in told) or any(part in name for part in asked.parts):
            before = [text for text, _ in told.get(name, ())]
            try:
                told[name] = recorded(name, rule, dict.fromkeys([*before, *places.get(name, ())]))
            except AssertionError as error:
                print("WRONG", name, str(error)[:3000])
                continue
            print(name, len(told[name]), sum(bool(after) for _, after in told[name]), flush=True)
            FILE.write_bytes(lzma.compress(json.dumps(dict(sorted(told.items()))).encode()))


if __name__ == "__main__":
    main()
