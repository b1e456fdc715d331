"""Guards: a rule declines by the tests below its yield alone, with the same outcome as by its function."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import pytest

from graphrewrite import Graph, Tensor, decline, op, rewrite, rule
from graphrewrite.errors import RuleError
from graphrewrite.rewriting.engine.engine import Engine
from graphrewrite.rewriting.fused import computed
from graphrewrite.rewriting.rule.guard import guard_of

told: list[str] = []
"""The nodes at which a refusal was written."""


def note(value: Any) -> Any:
    told.append(value.node)
    return value


@rule
def drop_short(x):
    """A rule with two tests, an assignment between them, and a choice at the end."""
    same = op.relu(x)
    yield same
    if x.op_name == "tanh":
        return decline("reads a tanh", at=note(same))
    length = x.shape[0]
    if length > 3:
        return decline("is long", at=note(same))
    return x if x.op_name == "neg" else decline("reads no neg", at=note(same))


@rule
def drop_of_another(x):
    """By the yield, `x` stands for a term, and a name is bound that is none."""
    x = op.relu(x)
    most = 3
    yield op.neg(x)
    if x.op_name != "relu":
        return decline("x is not the term", at=note(x))
    if x.shape[0] > most:
        return decline("is long", at=note(x))
    return op.neg(x.replay.bound(x.graph.operands(x.node)[0]))


@rule
def ask_amiss(x):
    """A test that fails where the value has no constant's numbers."""
    yield op.abs(x)
    if x.value.size == 1:
        return decline("it is one number")
    return x


@pytest.fixture
def at_once(monkeypatch) -> None:
    """Generate functions and guards at the first match; nothing is known of earlier ones."""
    monkeypatch.setattr(computed, "_REFUSALS", 1)
    monkeypatch.setattr(Engine, "patience", 1)
    for each in (drop_short, drop_of_another, ask_amiss):
        each.definition._fused.clear()
    told.clear()


def chain(size: int, *kinds: str) -> Graph:
    """A graph of ops in a row."""
    graph = Graph("g")
    value = graph.input("x", Tensor("f32", (size,)))
    for kind in kinds:
        value = getattr(op, kind)(value)
    graph.output("y", value)
    return graph


@pytest.mark.usefixtures("at_once")
def test_a_guard_declines_what_the_function_would_and_tells_no_reason():
    graph = chain(3, "exp", "relu", "tanh", "relu", "tanh", "relu", "neg", "relu", "exp", "relu", "tanh", "relu")
    found = rewrite(graph, [drop_short])
    assert [data["type"] for _, data in found.nodes(data=True)].count("relu") == 5
    assert "neg_1" in found.pred["exp_2"]
    assert len(told) < 5  # of the first matches, until there is a guard
    told.clear()
    assert rewrite(chain(4, *["neg", "relu"] * 5), [drop_short]) == chain(4, *["neg", "relu"] * 5)
    assert not told


@pytest.mark.usefixtures("at_once")
def test_a_guard_knows_what_names_stand_for_at_the_yield():
    rewrite(chain(4, *["relu", "neg"] * 3), [drop_of_another])
    told.clear()
    graph = chain(4, *["relu", "neg"] * 3)
    assert rewrite(graph, [drop_of_another]) == graph
    asked, guard = guard_of(drop_of_another.function, ["x"], ["x"]) or ([], None)
    assert asked == ["x"]
    assert guard is not None
    assert guard_of(drop_of_another.function, ["x"], []) is None


@pytest.mark.usefixtures("at_once")
def test_what_a_guard_raises_is_told_as_of_the_function():
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", (1,)))
    ones = [op.abs(graph.constant([1.0], type=Tensor("f32", (1,)))) for _ in range(4)]
    graph.output("y", op.sum(*ones, op.abs(x)))
    with pytest.raises(RuleError, match=r"ask_amiss.*'abs_5'.*has no value to read"):
        rewrite(graph, [ask_amiss])


def made_of(text: str, name: str) -> Callable[..., Any]:
    """A function whose source is known under a name."""
    scope: dict[str, Any] = {"op": op, "decline": decline}
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), scope)
    function: Callable[..., Any] = scope["f"]
    return function


def test_a_guard_is_made_of_the_source_that_runs():
    text = "def f(x):\n    y = op.relu(x)\n    yield y\n"
    text += "    if x.op_name == 'neg':\n        return decline('no')\n    return x\n"
    function = made_of(text, "<own>")
    assert (guard_of(function, ["x"], ["y"]) or [None])[0] == ["x"]
    linecache.cache["<own>"] = (0, None, text.replace("==", "!=").splitlines(keepends=True), "<own>")
    assert guard_of(function, ["x"], ["y"]) is None  # the file has changed since
    del linecache.cache["<own>"]
    assert guard_of(function, ["x"], ["y"]) is None


@pytest.mark.parametrize(
    "below", ["z = x.shape\n    return x", "return x", "if x.shape:\n        return x\n    return decline('no')"]
)
def test_without_a_test_there_is_no_guard(below):
    function = made_of(f"def f(x):\n    y = op.relu(x)\n    yield y\n    {below}\n", "<none>")
    assert guard_of(function, ["x"], ["y"]) is None
