"""Noted of the values that two graphs compute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np

from graphrewrite.errors import EvaluationError
from graphrewrite.execution.effects import Effect, effects_recorded
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.execution.sequence import evaluate_sequence
from graphrewrite.formats.text import format_exactly
from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import Operand
from graphrewrite.testing.amplification import without_amplified
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.equality import agreeing
from graphrewrite.testing.failure.claims import IN_FORMAT, SAME_EFFECTS
from graphrewrite.testing.failure.formats import has_formats, out_of_format
from graphrewrite.testing.failure.values import is_batched, shown
from graphrewrite.testing.generation.edges import STEPS
from graphrewrite.testing.rows import cycles_for, row_of, rows_of, without_step

__all__ = [
    "RANGE",
    "NoVerdictError",
    "OutputDifference",
    "compare",
    "difference",
    "difference_of_values",
    "evaluable",
    "moderated",
    "rounding_of",
    "undefined",
]

_ROUNDING = 2.0**-23 * 256
"""Relative to the greatest value on any edge: some hundred roundings of float32."""
_COARSE = 8.0
"""Units in the last place of float16, bfloat16 or less: some ten, since after a hundred roundings no digit is right."""
RANGE = 8
"""The greatest number that graphs are compared on where bits may differ."""
_NOT_FINITE = 2
"""The kind of differences in which one of the values is infinite or no number."""
_TRIED = 8
"""Rows that are tried to find one on which a graph can be evaluated."""


class NoVerdictError(Exception):
    """The graph before cannot be evaluated on these inputs, so that they show nothing."""


@dataclass(frozen=True)
class OutputDifference:
    """A difference of the values that two graphs compute.

    Attributes
    ----------
    reason : str
        In one sentence.
    inputs : mapping of str to ndarray
        The row of the batch that shows it; the whole batch where no row does alone, since rows are mixed.
    bound : float or None
        By how much values may differ; None where every bit counts.
    kind : int
        0 of numbers that differ, 1 of zeros of different signs, 2 where one of the values is infinite or no number.
    row : int or None
        Of the batch that was tried, where the first entry is that differs; None where no entry is known.
    claim : str
        What does not hold, where that is not what the outputs are; see `graphrewrite.testing.failure.claims`.
    cycles : int or None
        For how many cycles a graph with state ran; None of one without.
    """

    reason: str
    inputs: Mapping[str, np.ndarray]
    bound: float | None = None
    kind: int = 0
    row: int | None = None
    claim: str = ""
    cycles: int | None = None

    def between(self, before: Graph, after: Graph) -> Counterexample:
        """Return the difference as a counterexample of two graphs."""
        return Counterexample(
            before, after, self.reason, self.inputs, bound=self.bound, claim=self.claim, cycles=self.cycles
        )


def compare(
    before: Graph, after: Graph, inputs: Mapping[str, np.ndarray], *, keeps: str, tolerance: float | None
) -> Counterexample | None:
    """Evaluate two graphs on one batch and return the first difference, if there is one."""
    difference_ = difference(before, after, inputs, keeps=keeps, tolerance=tolerance)
    return None if difference_ is None else difference_.between(before, after)


def difference(
    before: Graph, after: Graph, inputs: Mapping[str, np.ndarray], *, keeps: str, tolerance: float | None
) -> OutputDifference | None:
    """Evaluate two graphs on those rows of a batch that the first can take; return the first difference, if any.

    Raises
    ------
    NoVerdictError
        If the first cannot be evaluated on any row, or an op keeps a state of which nobody knows the cycles.
    """
    if name := without_step(before) or without_step(after):
        raise NoVerdictError(f"the op {name!r} keeps a state without a step; give it one: define_op(step=...)")
    cycles = cycles_for(before, after, inputs)
    try:
        difference_ = _differing(before, after, inputs, keeps=keeps, tolerance=tolerance, cycles=cycles)
    except NoVerdictError:
        defined = None if cycles is not None else evaluable(before, inputs)
        if defined is None:
            raise
        inputs = defined
        difference_ = _differing(before, after, inputs, keeps=keeps, tolerance=tolerance)
    if difference_ is None or difference_.row is None or cycles is not None:
        return difference_ and replace(difference_, cycles=cycles)
    row = row_of(before, inputs, difference_.row)
    if all(row[name].shape == array.shape for name, array in inputs.items()):
        return difference_
    try:
        alone = _differing(before, after, row, keeps=keeps, tolerance=tolerance)
    except NoVerdictError:
        return difference_
    return difference_ if alone is None or alone.kind > difference_.kind else alone


def undefined(graph: Any, inputs: Mapping[str, np.ndarray]) -> str:
    r"""Return why a graph without a state has no values at all: what a rule makes of it does not matter then.

    Examples
    --------
    >>> text = "graph g\nx = input() : f32[4]\ni = constant(value=9) : i64[]\na = gather(x, i) : f32[]\ny = output(a)"
    >>> undefined(Graph.parse(text), {"x": np.ones(4)})
    "node 'a': gather(float32[4], int64[]) failed: the index 9 is outside of axis 0 of size 4; give one from -4 to 3"
    """
    reason = ""
    if not isinstance(graph, Graph) or graph.has_state:
        return reason
    for batch in (inputs, moderated(inputs)):
        try:
            difference(graph, graph, batch, keeps="exact", tolerance=None)
        except NoVerdictError as error:
            reason = str(error)
        else:
            return ""
    return reason


def evaluable(graph: Graph, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray] | None:
    r"""Return those rows of a batch on which a graph can be evaluated; None if there are none among the first.

    Examples
    --------
    >>> text = "graph g\nx = input() : f32[4]\ni = input() : i64[N]\na = gather(x, i) : f32[N]\ny = output(a)"
    >>> inputs = {"x": np.arange(4, dtype=np.float32), "i": np.array([0, 9, 3])}
    >>> evaluable(Graph.parse(text), inputs)["i"].tolist()
    [0, 3]
    """
    rows = max((len(inputs[name]) for name in graph.inputs if is_batched(graph, Operand(name))), default=0)
    defined: list[int] = []
    for row in range(rows):
        try:
            with np.errstate(all="ignore"):
                evaluate_nodes(graph, row_of(graph, inputs, row))
        except Exception:
            if row >= _TRIED and not defined:
                break
        else:
            defined.append(row)
    return rows_of(graph, inputs, defined) if 0 < len(defined) < rows else None


def _differing(
    before: Graph,
    after: Graph,
    inputs: Mapping[str, np.ndarray],
    *,
    keeps: str,
    tolerance: float | None,
    cycles: int | None = None,
) -> OutputDifference | None:
    """Return the first difference on a batch, with its row; or on a sequence of frames, for a number of cycles."""
    relative = tolerance is None and keeps != "exact"
    inside = relative or has_formats(after)
    with np.errstate(all="ignore"):
        try:
            old = _values(before, inputs, inside=relative, cycles=cycles)
        except Exception as error:  # of an op, perhaps a user's
            raise NoVerdictError(_message(error)) from None
        try:
            new = _values(after, inputs, inside=inside, cycles=cycles)
        except Exception as error:  # of an op, perhaps a user's
            if cycles is not None:
                return OutputDifference(f"the result cannot be evaluated: {_message(error)}", inputs)
            failure = OutputDifference(f"the result cannot be evaluated: {_message(error)}", inputs)
            return _unless_undefined(before, after, failure, keeps=keeps, tolerance=tolerance)
    # Rounding errors scale with the greatest values inside of the graphs, also if outputs are small.
    bound = rounding_of(before, after, (*old.values(), *new.values())) if relative else tolerance
    clearest = difference_of_values(before, old, new, inputs, bound, cycles=cycles)
    if clearest is not None and relative and bound is not None and cycles is None:
        steady = without_amplified(before, after, inputs, old, new, bound)
        clearest = difference_of_values(before, old, steady, inputs, bound)
    if clearest is not None and clearest.kind == _NOT_FINITE and bound is not None and cycles is None:
        return _unless_undefined(before, after, clearest, keeps=keeps, tolerance=tolerance)
    if clearest is not None:
        return clearest
    effects = _of_effects(before, after, inputs, bound) if cycles is None else None
    return effects or _beyond(before, after, inputs, new, cycles)


def rounding_of(before: Graph, after: Graph, values: Iterable[np.ndarray]) -> float:
    """Return by how much values of two graphs may differ that were rounded differently."""
    coarsest = max(_coarsest(before), _coarsest(after))
    return max(_ROUNDING, _COARSE * coarsest) * max(map(_greatest, values), default=1.0)


def difference_of_values(
    before: Graph,
    old: Mapping[str, np.ndarray],
    new: Mapping[str, np.ndarray],
    inputs: Mapping[str, np.ndarray],
    bound: float | None,
    *,
    cycles: int | None = None,
) -> OutputDifference | None:
    """Return the clearest difference of outputs, whoever computed them."""
    clearest: OutputDifference | None = None
    for name in before.outputs:
        a, b = old[name], new[name]
        if a.shape != b.shape or a.dtype != b.dtype:
            shapes = f"was {a.dtype}{list(a.shape)} and became {b.dtype}{list(b.shape)}"
            return OutputDifference(f"output {name!r} {shapes}", inputs, bound)
        same = agreeing(a, b, bound)
        if same.all():
            continue
        kinds = np.where(same, 3, _kinds(a, b))  # 3: no difference
        kind = int(kinds.min())
        if clearest is None or kind < clearest.kind:
            position = tuple(int(i) for i in np.argwhere(kinds == kind)[0])
            batched = is_batched(before, Operand(name))
            cycle, place = (f" in cycle {position[0]}", position[1:]) if cycles is not None else ("", position)
            index = place[1:] if batched and a.shape[len(position) - len(place)] == 1 else place
            where = f"{name}[{', '.join(map(str, index))}]" if index else name
            limit = "" if bound is None else f" (they may differ by {bound:.3g})"
            reason = f"output {where}{cycle} was {shown(a[position])} and became {shown(b[position])}{limit}"
            clearest = OutputDifference(reason, inputs, bound, kind, position[0] if batched else 0)
    return clearest


def _of_effects(
    before: Graph, after: Graph, inputs: Mapping[str, np.ndarray], bound: float | None
) -> OutputDifference | None:
    """Return the first difference of what the graphs do beside computing outputs."""
    if not (before.has_effects or after.has_effects):
        return None
    old, new = _effects(before, inputs), _effects(after, inputs)
    for number, (was, became) in enumerate(zip_longest(old, new), start=1):
        if was is None or became is None or not _same_effect(was, became, bound):
            reason = f"effect {number} was {was or 'not there'} and became {became or 'nothing'}"
            return OutputDifference(reason, inputs, bound, claim=SAME_EFFECTS)
    return None


def _effects(graph: Graph, inputs: Mapping[str, np.ndarray]) -> list[Effect]:
    with np.errstate(all="ignore"), effects_recorded() as effects:
        evaluate_nodes(graph, inputs)
    return effects


def _same_effect(a: Effect, b: Effect, bound: float | None) -> bool:
    """Tell whether two nodes do the same: names of nodes do not matter."""
    return (
        (a.op, format_exactly(dict(a.attributes))) == (b.op, format_exactly(dict(b.attributes)))
        and len(a.operands) == len(b.operands)
        and all(x.shape == y.shape and x.dtype == y.dtype for x, y in zip(a.operands, b.operands, strict=True))
        and all(agreeing(x, y, bound).all() for x, y in zip(a.operands, b.operands, strict=True))
    )


def _beyond(
    before: Graph,
    after: Graph,
    inputs: Mapping[str, np.ndarray],
    values: Mapping[str, np.ndarray],
    cycles: int | None,
) -> OutputDifference | None:
    """Return the first mantissa beyond its format, if the outputs agree only because numpy's integers are wider."""
    message = out_of_format(after, values)
    if message is None:
        return None
    with np.errstate(all="ignore"):
        values_before = _values(before, inputs, inside=True, cycles=cycles)
    return OutputDifference(message, inputs, claim=IN_FORMAT) if out_of_format(before, values_before) is None else None


def _kinds(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the kinds of differences: 0 for numbers and objects, 1 for signs of zeros, 2 for infinities and NaN."""
    if a.dtype.kind in "OU":
        return np.zeros(a.shape, int)
    return np.where(np.isfinite(a) & np.isfinite(b), a == b, _NOT_FINITE)


def _unless_undefined(
    before: Graph, after: Graph, whole: OutputDifference, *, keeps: str, tolerance: float | None
) -> OutputDifference | None:
    """Return the difference of a batch, unless NaN or infinities arise beside the change in every row that differs.

    Integers made of them are undefined, and an op on those may raise; within a bound, nothing is said of what becomes
    of them. What arises in nodes that are replaced is part of what they compute.
    """
    inputs = whole.inputs
    rows = max((len(a) for a in inputs.values() if a.ndim), default=1)
    kept = {n for n in before if n in after and before.operands(n) == after.operands(n)}
    kept -= {n for n in kept if before._node[n].get("type") != after._node[n].get("type")}
    defined = [row for row in map(partial(row_of, before, inputs), range(rows)) if _is_defined(before, row, kept)]
    if len(defined) == rows:
        return whole
    for row in defined:
        try:
            _values(after, row, inside=False)
        except Exception as reason:
            return OutputDifference(f"the result cannot be evaluated: {_message(reason)}", row)
        differing = difference(before, after, row, keeps=keeps, tolerance=tolerance)
        if differing is not None:
            return differing
    if not defined:
        raise NoVerdictError(f"NaN or infinities arise in it as it is; {whole.reason}")
    return None


def _is_defined(graph: Graph, inputs: Mapping[str, np.ndarray], nodes: Set[str]) -> bool:
    """Tell whether NaN comes from none of some nodes, nor an infinity but from constants and inputs."""
    try:
        values = _values(graph, inputs, inside=True)
    except Exception:  # a row alone may be none that the graph takes
        return False
    floats = {name: array for name, array in values.items() if np.issubdtype(array.dtype, np.floating)}
    for is_special, sources in ((np.isnan, nodes), (np.isinf, {name for name in nodes if graph.pred[name]})):
        special = {name for name, array in floats.items() if is_special(array).any()}
        if any(special.isdisjoint(graph.pred[name]) for name in special & sources):
            return False
    return True


def _message(error: Exception) -> str:
    return str(error) if isinstance(error, EvaluationError) else f"{type(error).__name__}: {error}"


def _values(
    graph: Graph, inputs: Mapping[str, np.ndarray], *, inside: bool, cycles: int | None = None
) -> dict[str, np.ndarray]:
    """Return the values of the outputs, and with `inside` of all nodes that they depend on."""
    nodes: Iterable[str] = graph.outputs
    if inside:
        needed = set(graph.outputs).union(*(graph.upstream(o) for o in graph.outputs))
        nodes = [n for n in graph.in_order() if n in needed]
    if cycles is not None:
        return evaluate_sequence(graph, inputs, nodes if inside else None, cycles=cycles)
    return evaluate_nodes(graph, inputs, nodes)


def _coarsest(graph: Graph) -> float:
    """Return the distance from 1 to the next number in the coarsest float format of a graph; 0 for 64 bits."""
    kinds = (data.get("result", ()) for data in graph._node.values())
    elements = {k.element for result in kinds for k in (result if isinstance(result, tuple) else (result,))}
    return max((STEPS[name] for name in elements & set(STEPS)), default=0.0)


def _greatest(array: np.ndarray) -> float:
    if not np.issubdtype(array.dtype, np.floating):
        return 0.0
    finite = array[np.isfinite(array)]
    return float(np.abs(finite).max()) if finite.size else 0.0


def moderated(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return inputs whose floats are finite and between -8 and 8.

    Examples
    --------
    >>> moderated({"x": np.array([np.nan, -np.inf, 1.5])})["x"].tolist()
    [0.0, -8.0, 1.5]
    """
    return {n: _tame(a) if np.issubdtype(a.dtype, np.floating) else a for n, a in inputs.items()}


def _tame(array: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(np.nan_to_num(array), -RANGE, RANGE).astype(array.dtype))
