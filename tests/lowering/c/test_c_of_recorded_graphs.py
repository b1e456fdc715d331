"""C of graphs that rules of the lowerings were recorded on: every op with its attributes and types, as a text.

Where graphs are added to those of rules, it is recorded anew.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from graphrewrite import Graph
from graphrewrite.lowering.c import C_OPS
from tests.lowering.c.test_c_of_ops import check_all
from tests.lowering.c.test_texts_of_c import text_of
from tests.support.lowering_rules import OPS
from tests.support.record_rewrites import FILE, with_inputs

LEAST = 2
"""So many forms has a graph that no graph before it has."""
ROOMS = ("composite", "gradients", "integer", "pre")


def forms(graph: Graph) -> Iterator[tuple[Any, ...]]:
    """What C is written for: ops, their attributes, the types that they read and give."""
    for node in graph.in_order():
        data = graph.nodes[node]
        kinds = [graph.result_type(*each) for each in graph.operands(node)]
        if data["type"] not in ("input", "output", "constant"):
            yield data["type"], len(kinds), str(getattr(graph.result_type(node), "element", ""))
            for name, value in graph.attributes(node).items():
                yield data["type"], name, value if isinstance(value, bool | str) else type(value).__name__


@cache
def cases(room: str) -> list[str]:
    """Graphs that have something that those before them have not."""
    found, met = [], set[tuple[Any, ...]]()
    for name, pairs in json.loads(lzma.decompress(FILE.read_bytes())).items():
        for text in (text for pair in pairs for text in pair if text and name.startswith(room)):
            if "stream" in text:
                continue
            graph = Graph.parse(text, ops=OPS)
            kinds = {graph.nodes[node]["type"] for node in graph} - {"input", "output", "constant"}
            own = set(forms(graph))
            if kinds <= {*C_OPS} and len(own - met) >= LEAST:
                met |= own
                found.append(text)
    return found


@pytest.mark.slow(cases=2)
@pytest.mark.parametrize("room", ROOMS)
def test_the_text_is_what_was_recorded(
    room: str, same_text: Callable[[str], None], request: pytest.FixtureRequest
) -> None:
    graphs = [Graph.parse(text, ops=OPS) for text in cases(room)]
    if request.config.getoption("--record-graphs"):
        check_all(with_inputs(cases(room)))
    same_text("\n".join(map(text_of, graphs)))
