"""C of ops with all their attributes: texts that were recorded when compiled programs gave what `evaluate` gives."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graphrewrite import Graph
from graphrewrite.errors import GraphRewriteError
from graphrewrite.execution.program.size_values import sizes_of_inputs
from graphrewrite.lowering import to_c
from tests.lowering.c.test_c_of_ops import check_all
from tests.support.torch_written_cases import inputs_of, written_cases

CASES: dict[str, list[Graph]] = {}
for name, graph in written_cases():
    CASES.setdefault(name.partition(" ")[0], []).append(graph)


def text_of(graph: Graph) -> str:
    """The C of a graph, or why there is none."""
    inputs = inputs_of(graph)
    try:
        design = to_c(graph, name="net", sizes=sizes_of_inputs({n: graph.result_type(n) for n in graph.inputs}, inputs))
    except GraphRewriteError as error:
        return f"{type(error).__name__}: {error}"
    return design.files["net.c"]


@pytest.mark.parametrize("kind", CASES)
def test_the_text_is_what_was_recorded(
    kind: str, same_text: Callable[[str], None], request: pytest.FixtureRequest
) -> None:
    texts = [text_of(graph) for graph in CASES[kind]]
    if request.config.getoption("--record-graphs"):
        check_all([(graph, inputs_of(graph)) for graph in CASES[kind]])
    same_text("\n".join(texts))
