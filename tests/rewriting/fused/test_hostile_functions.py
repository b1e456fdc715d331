"""Functions of rules that do what they must not: refused alike on both paths, at any match, the graph untouched."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graphrewrite import Constant, Graph, GraphRewriteError, Rule, Tensor, op, rewrite, rule, trace, verify
from graphrewrite.rewriting.engine.engine import Engine
from graphrewrite.rewriting.facts import nonnegative

LENGTH = 10
OTHER = Graph("other")
FOREIGN = op.relu(OTHER.input("x", Tensor("f32", ("N", 2))))
LEAKED: list[Any] = []


@rule
def leaky(x):
    """Its variable gets out."""
    LEAKED.append(x)
    yield op.relu(x)
    return x


def chain() -> Graph:
    graph = Graph("chain")
    x = graph.input("x", Tensor("f32", ("N", 2)))
    for i in range(LENGTH):
        x = op.sub(x * np.full(2, i + 1, np.float32), x)
    graph.output("y", x)
    return graph


def raise_error(error: BaseException) -> Any:
    raise error


def write(array: np.ndarray) -> None:
    array[...] = 0


def kept(memory: list[Any], value: Any) -> Any:
    """The value of the first match."""
    memory.append(value)
    return memory[0]


BODIES: dict[str, Callable[[Any, Any, Any, Any, list[Any]], Any]] = {
    "raises": lambda x, c, d, product, memory: raise_error(ZeroDivisionError("of its own")),
    "ends the process": lambda x, c, d, product, memory: raise_error(SystemExit(3)),
    "stops": lambda x, c, d, product, memory: raise_error(StopIteration()),
    "too deep": lambda x, c, d, product, memory: raise_error(RecursionError("deep")),
    "nothing": lambda x, c, d, product, memory: None,
    "text": lambda x, c, d, product, memory: "relu",
    "generator": lambda x, c, d, product, memory: (each for each in [x]),
    "list": lambda x, c, d, product, memory: [op.relu(x)],
    "two": lambda x, c, d, product, memory: (op.relu(x), op.relu(d)),
    "none of them": lambda x, c, d, product, memory: (),
    "a set": lambda x, c, d, product, memory: {1, 2},
    "op": lambda x, c, d, product, memory: op.relu,
    "rule": lambda x, c, d, product, memory: rule_of(lambda *_: None, 0),
    "node's name": lambda x, c, d, product, memory: x.node,
    "graph": lambda x, c, d, product, memory: x.graph,
    "array of another shape": lambda x, c, d, product, memory: op.add(x, np.zeros((5, 7), np.float32)),
    "array of objects": lambda x, c, d, product, memory: op.add(x, np.array([object(), None])),
    "array for a value": lambda x, c, d, product, memory: np.zeros((3, 2), np.float32),
    "another type": lambda x, c, d, product, memory: op.cast(x, to="i8"),
    "another shape": lambda x, c, d, product, memory: op.reshape(x, shape=(-1,)),
    "foreign value": lambda x, c, d, product, memory: FOREIGN,
    "foreign operand": lambda x, c, d, product, memory: op.add(x, FOREIGN),
    "value of the graph": lambda x, c, d, product, memory: op.add(x, x.graph.value("x")),
    "earlier value": lambda x, c, d, product, memory: kept(memory, x),
    "earlier operand": lambda x, c, d, product, memory: op.add(kept(memory, product), x),
    "earlier constant": lambda x, c, d, product, memory: op.add(x, kept(memory, c)),
    "earlier replacement": lambda x, c, d, product, memory: kept(memory, op.relu(x)),
    "earlier computed constant": lambda x, c, d, product, memory: op.add(x, kept(memory, c * 2)),
    "earlier part": lambda x, c, d, product, memory: op.add(op.relu(kept(memory, op.neg(x))), d),
    "earlier attributes": lambda x, c, d, product, memory: op.relu(x, like=kept(memory, product)),
    "variable of a rule": lambda x, c, d, product, memory: op.add(x, LEAKED[0]),
    "writes data": lambda x, c, d, product, memory: product.data.update(type="add"),
    "deletes data": lambda x, c, d, product, memory: product.data.clear(),
    "writes an array": lambda x, c, d, product, memory: write(c.value),
    "makes an array writeable": lambda x, c, d, product, memory: c.value.setflags(write=True),
    "sets an attribute": lambda x, c, d, product, memory: setattr(c, "value", 3),
    "is another node": lambda x, c, d, product, memory: setattr(x, "node", d.node) or op.relu(x),
    "is another result": lambda x, c, d, product, memory: setattr(x, "result", 1) or op.relu(x),
    "rewrites a copy": lambda x, c, d, product, memory: rewrite(x.graph, [rule_of(lambda *_: None, 99)]) and op.relu(x),
    "rewrites in place": lambda x, c, d, product, memory: rewrite(x.graph, [], copy=False) and op.relu(x),
    "asks elsewhere": lambda x, c, d, product, memory: x.graph.operands("nowhere"),
    "fact of a foreign value": lambda x, c, d, product, memory: nonnegative(FOREIGN),
    "fact of a new value": lambda x, c, d, product, memory: nonnegative(op.relu(x)),
    "fact of an earlier value": lambda x, c, d, product, memory: nonnegative(kept(memory, product)),
    "unknown attribute": lambda x, c, d, product, memory: op.relu(x) if product.nothing else x,
    "its truth": lambda x, c, d, product, memory: op.relu(x) if x > 0 else x,
    "itself": lambda x, c, d, product, memory: op.relu(op.sub(product, x)),
}


def rule_of(body: Callable[..., Any], first: int) -> Rule:
    """Return a rule that does this from so many matches on."""
    places: dict[str, None] = {}
    memory: list[Any] = []

    def hostile(x, c: Constant, d):
        """A difference is one node."""
        product = op.mul(x, c)
        yield op.sub(product, d)
        places[product.node] = None
        if len(places) > first:
            return body(x, c, d, product, memory)
        return op.fma(x, c * 2, d)

    return rule(hostile)


def outcome(call: Callable[[], Any]) -> str:
    """Return what comes of a call: the text of a graph, or an error of this library, or one that is to pass."""
    try:
        return str(call())
    except (GraphRewriteError, SystemExit) as error:
        return f"{type(error).__name__}: {re.sub('0x[0-9a-f]+', '', str(error))}"


@pytest.mark.parametrize("first", [0, LENGTH - 2])
@pytest.mark.parametrize("name", BODIES)
def test_both_paths_refuse_what_functions_must_not_do(name: str, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = chain()
    before = graph.copy()

    def hostile() -> list[Rule]:
        return [rule_of(BODIES[name], first)]

    found = set()
    for patience in (10**9, 1):
        monkeypatch.setattr(Engine, "patience", patience)
        found.add(outcome(lambda: rewrite(graph, hostile(), limit=60)))
        own = graph.copy()
        found.add(outcome(lambda own=own: rewrite(own, hostile(), copy=False, limit=60)))
        assert graph == before
        assert own == before or str(own) in found
    found.add(outcome(lambda: trace(graph, hostile(), limit=60).graph))
    outcome(lambda: hostile()[0].explain(graph, at="sub_1"))
    assert len(found) == 1
    assert graph == before
    if own != before:
        verify(own)
