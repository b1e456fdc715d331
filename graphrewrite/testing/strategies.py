"""Hypothesis strategies: graphs, inputs, attributes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from graphrewrite.graph import Graph
from graphrewrite.op import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.pattern import Pattern
from graphrewrite.rule import Rule
from graphrewrite.testing.context import Builder
from graphrewrite.testing.demand import Demand, Pick, T, Unfit
from graphrewrite.testing.instance import NoInstanceError, feasible_kinds, tensor_of
from graphrewrite.testing.tables import CONTINUOUS, DEFAULT_OPS, kinds_of, meet
from graphrewrite.types import Dimension, FixedPoint, Quantised, Stream, Type, element_dtype, hold

__all__ = ["DEFAULT_OPS", "attributes_of", "graphs", "inputs_for"]


@cache
def _index(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, count - 1)


def _picking(draw: Any) -> Pick:
    def pick(options: Sequence[T]) -> T:
        return options[draw(_index(len(options)))] if len(options) > 1 else options[0]

    return pick


def graphs(
    *, ops: Iterable[Op | str] | None = None, containing: Rule | Pattern | None = None
) -> st.SearchStrategy[Graph]:
    """Return a strategy of well-typed graphs.

    They have several inputs and outputs, shared values, repeated operands, constants, dead and independent nodes.
    Shrinks to few nodes of the first op, sizes of 1, and constants of ones.

    Parameters
    ----------
    ops : iterable of Op or str, optional
        What their nodes may be; the ops of float networks where not given.
    containing : Rule or Pattern, optional
        Every graph has an instance of this pattern, in one of the ways in which it can be read: each op and each option
        in turn, optional operands there or not, none to three values for ``*xs``, chains and groups of several sizes.
        Sometimes inner nodes have readers outside of it; of a rule that refuses those, never in all instances.

    Returns
    -------
    SearchStrategy of Graph

    Raises
    ------
    NoInstanceError
        If no such graph was found, with what hinders it.

    Examples
    --------
    >>> from hypothesis import find
    >>> graph = find(graphs(ops=["add"]), lambda g: any(len(set(g.operands(n))) < len(g.operands(n)) for n in g))
    >>> graph.operands("add_1")
    (Operand(node='x', result=0), Operand(node='x', result=0))
    """
    chosen = tuple(LIBRARY[o] if isinstance(o, str) else o for o in (DEFAULT_OPS if ops is None else ops))
    if containing is None:
        return _plain(chosen)
    pattern = containing.pattern if isinstance(containing, Rule) else containing
    if not isinstance(pattern, Pattern):
        raise NoInstanceError(f"{containing!r} has no pattern of ops; pass a strategy of your own, on=...")
    feasible_kinds(pattern)  # says at once if there is no instance
    return _around(_Surroundings(pattern, [o for o in chosen if ops is not None or o.name in CONTINUOUS], containing))


class _Surroundings:
    """What is put around the instances of a pattern."""

    def __init__(self, pattern: Pattern, ops: list[Op], containing: Rule | Pattern) -> None:
        self.pattern = pattern
        # What must not be there is not put there.
        unwanted = [node.kinds for node in pattern.forbidden]
        self.ops = [op for op in ops if all(kinds and op.name not in kinds for kinds in unwanted)]
        # A rule that refuses nodes with readers outside of the match still finds one instance without.
        self.spoils_first = not isinstance(containing, Rule) or containing.shared != "refuse"

    def __repr__(self) -> str:
        return f"containing {self.pattern}"


@st.composite
def _plain(draw: Any, ops: tuple[Op, ...]) -> Graph:
    pick = _picking(draw)
    builder = Builder(pick, ops)
    for _ in range(pick(range(1, 9))):
        if builder.chance(5):
            builder.repeat()
        else:
            builder.node(pick(ops))
    return builder.finish([])


@st.composite
def _around(draw: Any, site: _Surroundings) -> Graph:
    pick = _picking(draw)
    builder = Builder(pick, site.ops)
    if site.ops:
        for _ in range(pick(range(3))):
            builder.node(pick(site.ops))
    wanted = []
    try:
        for turn in range(pick((1, 1, 1, 2))):
            for root in builder.instance(site.pattern, spoiled=site.spoils_first or turn > 0):
                builder.offer(root)
                wanted.append(builder.read(root) if pick((False, True)) else root)
                if pick((False, False, True)):
                    wanted.append(builder.read(root))
    except Unfit:
        assume(False)
    return builder.finish(wanted)


@st.composite
def attributes_of(draw: Any, op: Op) -> dict[str, Any]:
    """Return a strategy of attributes that fit an op and some operands; shrinks to its defaults.

    Parameters
    ----------
    op : Op
        The op.

    Returns
    -------
    SearchStrategy of dict

    Examples
    --------
    >>> from graphrewrite import op
    >>> from hypothesis import find
    >>> find(attributes_of(op.transpose), lambda found: found["perm"][0] == 1 and len(found["perm"]) == 2)
    {'perm': (1, 0)}
    """
    pick = _picking(draw)
    kinds = kinds_of(op.name)
    for _ in range(20):
        try:
            return meet(Demand(op, tensor_of(*pick(kinds), pick), max(op.required, 1), pick)).attributes
        except Unfit:
            continue
    assume(False)
    raise AssertionError("assume(False) raises")


_ROWS = 24
_WITHOUT_NAN = frozenset({"to_fixed", "quantise", "arg_max", "max_pool", "requantise", "to_quantised"})


def inputs_for(graph: Graph, *, moderate: bool = False) -> st.SearchStrategy[dict[str, np.ndarray]]:
    r"""Return a strategy of batches of inputs for a graph: zeros, small integers, ties of rounding, extremes.

    Floats include NaN and infinities, unless the graph rounds to integers, which have none. Shrinks to the first batch.

    Parameters
    ----------
    graph : Graph
        Any graph.
    moderate : bool
        Whether floats stay between -8 and 8.

    Returns
    -------
    SearchStrategy of dict of str to ndarray

    Examples
    --------
    >>> from hypothesis import find
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\ny = output(x)")
    >>> find(inputs_for(g), lambda inputs: True)["x"][:2].tolist()
    [[0.0, 0.0], [0.0, -2.0]]
    """
    types = {name: graph.result_type(name) for name in graph.inputs}
    tame = moderate or any(data.get("type") in _WITHOUT_NAN for _, data in graph.nodes(data=True))

    def batches(seed: int) -> dict[str, np.ndarray]:
        return {name: _batch(kind, seed + 997 * i, tame) for i, (name, kind) in enumerate(types.items())}

    return st.integers(0, 255).map(batches)


def _batch(kind: Type, seed: int, tame: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shape: tuple[Dimension, ...] = ("N", *kind.shape) if isinstance(kind, Stream) else kind.shape
    frame = tuple(_ROWS if isinstance(d, str) else int(d) for d in shape)
    element, dtype = kind.element, element_dtype(kind.element)
    low, high = (element.minimum, element.maximum) if isinstance(element, FixedPoint | Quantised) else (-3, 3)
    if np.issubdtype(dtype, np.unsignedinteger) or dtype == np.bool_:
        low = 0
    near = rng.integers(max(low, -3), min(high, 3), frame, endpoint=True)
    wide: Any = rng.integers(low, high, frame, endpoint=True)
    edges: list[Any] = [low, high, 0, min(1, high), max(-1, low)]
    if np.issubdtype(dtype, np.floating):
        wide = rng.integers(-64, 65, frame) / 32 + rng.integers(-3, 4, frame)
        edges = [0.0, -0.0, 0.5, 1e30, -1e30, np.inf, -np.inf, np.nan]
        if tame:
            edges = [0.0, -0.0, 0.5, -0.5, 1.5, -0.03125, -8.0, 8.0]
    mixed = _mixed(rng, near, wide, edges)
    return hold(element, mixed.astype(dtype))


def _mixed(rng: np.random.Generator, near: np.ndarray, wide: np.ndarray, edges: Sequence[Any]) -> np.ndarray:
    """Zeros in the first row, then small values, wide values, and extremes sprinkled over the last third."""
    if not near.ndim or len(near) != _ROWS:  # an input without a batch has no rows
        return wide
    sprinkled = np.asarray(edges)[rng.integers(0, len(edges), near.shape)]
    chosen = rng.random(near.shape) < 0.5
    values = np.where(chosen, sprinkled, wide)
    values[0] = 0
    values[1 : _ROWS // 3] = near[1 : _ROWS // 3]
    values[_ROWS // 3 : 2 * _ROWS // 3] = wide[_ROWS // 3 : 2 * _ROWS // 3]
    return values
