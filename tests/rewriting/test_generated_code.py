"""The functions that are written for rules can be debugged: they have a file with lines, as long as they live."""

from __future__ import annotations

import gc
import io
import linecache
import pdb
import sys
import traceback
from typing import Any

import pytest

from graphrewrite import Graph, op, rewrite, rule
from graphrewrite.rewriting.engine.attempt import attempt_of
from graphrewrite.rewriting.engine.rule_index import entries_of
from graphrewrite.rewriting.match import Candidates
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.runtime.generated_code import compile_function

PRODUCT = "graph g\nx = input() : f32[3]\nc = constant(value=7.0) : f32[]\nn = neg(x)\np = mul(n, c)\ny = output(p)"


def files_of(subject: str) -> list[str]:
    return [file for file in linecache.cache if file.startswith(f"<graphrewrite {subject} #")]


def drop_product() -> Rule:
    def drop_product(x):
        yield op.mul(op.neg(x), 7)
        return op.abs(x)

    return rule(drop_product)


def broken_graph() -> Graph:
    """A constant has lost its value."""
    graph = Graph.parse(PRODUCT)
    (constant,) = (name for name, data in graph.nodes(data=True) if data["type"] == "constant")
    del graph.nodes[constant]["value"]
    return graph


def general(graph: Graph, found: Rule) -> Any:
    return lambda node: [str(match) for match in matches_at(graph, found, node)]


def matches_at(graph: Graph, found: Rule, node: str) -> list[Any]:
    """Matches as the general path finds them."""
    (entry,) = entries_of(found)
    return [match for match, _ in attempt_of(entry, graph, Candidates(graph))(node)]


def fast(graph: Graph, found: Rule) -> Any:
    return lambda node: rewrite(graph, found, at=node)


@pytest.mark.parametrize("way", [general, fast])
def test_a_traceback_shows_the_line_of_a_generated_function(way):
    found = drop_product()
    with pytest.raises(KeyError) as failure:
        way(broken_graph(), found)("p")
    for _ in range(2):
        frames = [
            f for f in traceback.extract_tb(failure.value.__traceback__) if f.filename.startswith("<graphrewrite ")
        ]
        assert frames[-1].filename.startswith("<graphrewrite mul(neg(x), 7) #")
        assert "['value']" in frames[-1].line
        linecache.checkcache()  # as tracebacks, debuggers and notebooks do


def test_a_debugger_steps_through_a_generated_function():
    found, graph = drop_product(), Graph.parse(PRODUCT)
    finder = found.definition.finder()
    assert finder is not None
    step = finder.bind(graph, Candidates(graph), lambda *_: None, lambda _: None)
    screen, tracer = io.StringIO(), sys.gettrace()
    commands = "\n".join(["step"] * 3 + ["where", "continue", ""])
    try:
        pdb.Pdb(stdin=io.StringIO(commands), stdout=screen, nosigint=True, readrc=False).runcall(lambda: step("p"))
    finally:
        sys.settrace(tracer)
    assert "<graphrewrite mul(neg(x), 7) #" in screen.getvalue()
    assert "-> def step(n0):" in screen.getvalue()
    assert "-> if len(p" in screen.getvalue()


@pytest.mark.slow
def test_the_source_goes_with_the_function():
    scope: dict[str, Any] = {}
    exec(compile_function("def one():\n    return 1 / zero", "a subject\nof two lines"), scope)
    (file,) = files_of("a subject of two lines")
    gc.collect()
    assert linecache.getline(file, 2) == "    return 1 / zero\n"
    del scope["one"]
    gc.collect()
    assert not files_of("a subject of two lines")


def test_rules_that_go_leave_no_source_behind():
    gc.collect()  # rules of other tests
    before = len(files_of("mul(neg(x), 7)"))
    graph = Graph.parse(PRODUCT)
    for _ in range(5):
        found = drop_product()
        assert "abs_1" in found(graph)
        assert len(list(general(graph, found)("p"))) == 1
    assert len(files_of("mul(neg(x), 7)")) > before
    del found
    gc.collect()
    assert len(files_of("mul(neg(x), 7)")) == before == 0


def test_two_functions_of_one_subject_have_a_file_each():
    codes = [compile_function("def one():\n    return 1", "the same") for _ in range(2)]
    assert len({code.co_filename for code in codes}) == len(files_of("the same")) == 2
    assert max(len(file) for file in (compile_function("def f(): pass", "long " * 99).co_filename,)) < 150
