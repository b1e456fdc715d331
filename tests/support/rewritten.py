"""What rules leave of a short expression, and whether it has the same values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from graphrewrite import Graph, Tensor, evaluate, op, rewrite
from graphrewrite.types import element_dtype, parse_type

__all__ = ["graph_of", "left"]

SPECIAL = (0.0, -0.0, 1.0, -1.0, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-3, 300.0, -7.0)


def graph_of(body: Callable[..., Any], *types: str) -> Graph:
    """Return the graph of an expression in inputs of some types, as in ``"f32[N,4]"``."""
    graph = Graph("short")
    graph.output("y", body(*[graph.input(f"x{i}", parse_type(kind)) for i, kind in enumerate(types)]))
    return graph


def left(body: Callable[..., Any], types: Iterable[str], rules: Any, *, tame: bool = False) -> list[str]:
    """Return the ops that rules leave of an expression, without constants; its values are the same.

    They are the same bits, with NaN, infinities and -0 among the inputs; or, of ``tame`` inputs, within rounding.
    """
    before = graph_of(body, *types)
    after = rewrite(before, rules, verify=True)
    given = {name: _numbers(before.result_type(name), i, tame) for i, name in enumerate(before.inputs)}
    with np.errstate(all="ignore"):
        wanted, found = evaluate(before, given)["y"], evaluate(after, given)["y"]
    assert found.dtype == wanted.dtype
    if tame:
        np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=1e-5, atol=1e-5)
    else:
        assert str(found.tolist()) == str(wanted.tolist())
    assert rewrite(after, rules) == after
    kinds = [after.nodes[node]["type"] for node in after.in_order()]
    return [kind for kind in kinds if kind not in ("input", "output", "constant")]


def _numbers(kind: Tensor, seed: int, tame: bool) -> np.ndarray:
    random = np.random.default_rng(seed)
    shape = [3 if isinstance(size, str) else size for size in kind.shape]
    if tame:
        return random.uniform(0.5, 3, shape).astype(element_dtype(kind.element))
    with np.errstate(invalid="ignore"):
        return op.cast(random.choice(SPECIAL, shape), element=kind.element)
