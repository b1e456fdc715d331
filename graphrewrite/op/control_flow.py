"""Control flow: a choice between two graphs, and a graph that is repeated or runs along sequences.

Its graphs are attributes. They read nothing from around them: what they need is an operand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.body import Body
from graphrewrite.op.define import define_op
from graphrewrite.types import Dimension, Tensor, Type, element_dtype
from graphrewrite.types.size import Size, symbols

__all__ = ["ENDLESS", "cond", "loop", "scan"]

ENDLESS = 2**63 - 1
"""The count of a loop that only its condition ends."""

_LOCAL = re.compile(r"\?[a-z]")
"""An unknown size of an op's own results."""


def _run(body: Body, arrays: Sequence[Any]) -> tuple[np.ndarray, ...]:
    results = body.evaluate(dict(zip(body.inputs, arrays, strict=True)))
    return tuple(results[name] for name in body.outputs)


def _check_body(body: Any, what: str, operands: int) -> None:
    if not isinstance(body, Body):
        raise TypeMismatchError(f"its {what} must be a Graph, got {body!r}")
    if len(body.inputs) != operands:
        raise TypeMismatchError(
            f"its {what} has the inputs {', '.join(body.inputs) or '(none)'}, and {operands} values are given for them"
        )


def _check_single(type: Type, element: str, what: str) -> None:
    if not isinstance(type, Tensor) or type.element != element or any(size != 1 for size in type.shape):
        hint = {"i64": "; a number is written as np.int64(10)", "bool": "; a constant is written as np.bool_(True)"}
        raise TypeMismatchError(f"{what} must be one entry of {element}, got {type}{hint[element]}")


class _Unknown:
    """Unknown sizes of results, by what determines them: one unknown for equal ones."""

    def __init__(self) -> None:
        self.found: dict[Any, Size] = {}

    def of(self, key: Any) -> Size:
        """Return the unknown of a key."""
        return self.found.setdefault(key, Size.unknown(len(self.found)))


def _is_open(size: Dimension, varying: frozenset[str] = frozenset()) -> bool:
    """Tell whether a body alone knows a size, or it depends on one that varies."""
    return isinstance(size, str) and (bool(_LOCAL.search(size)) or not varying.isdisjoint(symbols(size)))


# ---------------------------------------------------------------------- a choice


def _infer_cond(condition: Type, *operands: Type, then: Body, otherwise: Body) -> tuple[Type, ...]:
    _check_single(condition, "bool", "the condition")
    for body, what in ((then, "then"), (otherwise, "otherwise")):
        _check_body(body, what, len(operands))
    results, others = then.output_types(*operands), otherwise.output_types(*operands)
    if len(results) != len(others):
        raise TypeMismatchError(f"then gives {len(results)} results, and otherwise {len(others)}")
    unknown = _Unknown()
    return tuple(_either(a, b, unknown) for a, b in zip(results, others, strict=True))


def _either(a: Type, b: Type, unknown: _Unknown) -> Type:
    """Return the type of a value that has one type or another; where sizes differ, the size is unknown."""
    if type(a) is not type(b) or a.element != b.element or len(a.shape) != len(b.shape):
        raise TypeMismatchError(f"a result of then is {a}, and that of otherwise {b}; elements and ranks must agree")
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        return a
    sizes = zip(a.shape, b.shape, strict=True)
    shape = tuple(unknown.of((x, y)) if x != y or _is_open(x) else x for x, y in sizes)
    return Tensor(a.element, shape, a.layout if a.layout == b.layout else None)


@define_op(infer=_infer_cond, results=lambda attributes: len(attributes["then"].outputs))
def cond(condition: Any, *values: Any, then: Body, otherwise: Body) -> Any:
    """The results of one graph where a condition is true, of another where it is false (ONNX specification, If).

    Parameters
    ----------
    condition
        One bool.
    *values
        Inputs of both graphs.
    then
        The graph where it is true.
    otherwise
        The graph where it is false; its results are of the same elements and ranks.

    Examples
    --------
    >>> from graphrewrite import Graph, op
    >>> double = Graph.parse('''graph double
    ... x = input() : f32[N]
    ... y = add(x, x)
    ... d = output(y)''')
    >>> negative = Graph.parse('''graph negative
    ... x = input() : f32[N]
    ... y = neg(x)
    ... n = output(y)''')
    >>> op.cond(np.array(True), np.float32([1, 2]), then=double, otherwise=negative).tolist()
    [2.0, 4.0]
    """
    results = _run(then if np.asarray(condition).item() else otherwise, values)
    return results[0] if len(results) == 1 else results


# ---------------------------------------------------------------------- repetition


def _infer_loop(
    count: Type, condition: Type, *values: Type, body: Body, carried: int | None = None
) -> tuple[Type, ...]:
    _check_single(count, "i64", "the count")
    _check_single(condition, "bool", "the condition")
    number = _number_carried(values, carried)
    _check_body(body, "body", 1 + len(values))
    states, results, varying = _settled(body, number, values)
    unknown = _Unknown()
    length = unknown.of("count")
    shown = [_with_unknown(each, varying, unknown) for each in (*states, *results)]
    return tuple(each if i < number else _stacked(each, length, 0) for i, each in enumerate(shown))


def _number_carried(values: Sequence[Any], carried: int | None) -> int:
    number = len(values) if carried is None else carried
    if not 0 <= number <= len(values):
        raise TypeMismatchError(f"carries {number} values, and {len(values)} are given")
    return number


def _settled(
    body: Body, number: int, values: Sequence[Type]
) -> tuple[tuple[Type, ...], tuple[Type, ...], frozenset[str]]:
    """Return the types of carried values in all iterations, those of the body's other results, and sizes that vary.

    A size that an iteration changes gets a name of its own, until an iteration keeps all types.
    """
    states, captured = tuple(values[:number]), tuple(values[number:])
    taken = {name for each in values for size in each.shape if isinstance(size, str) for name in symbols(size)}
    names = (name for i in range(2**31) if (name := f"size_{i}") not in taken)
    varying: dict[Any, str] = {}
    while True:
        again, *results = body.output_types(Tensor("i64", ()), *states, *captured)
        if len(results) < number:
            raise TypeMismatchError(
                f"the body gives {len(results)} results after the condition, and {number} are carried"
            )
        wider = []
        for i, (before, after) in enumerate(zip(states, results, strict=False)):
            if before.element != after.element or len(before.shape) != len(after.shape):
                raise TypeMismatchError(f"carries value {i} as {before}, and its body makes {after} of it")
            shape = []
            for a, b in zip(before.shape, after.shape, strict=True):
                if a != b and (a, b) not in varying:
                    varying[a, b] = next(names)
                shape.append(a if a == b else Size(varying[a, b]))
            wider.append(replace(before, shape=tuple(shape)) if isinstance(before, Tensor) else before)
        if tuple(wider) == states or len(varying) > 64:
            break
        states = tuple(wider)
    _check_single(again, "bool", "the first result of the body, whether to go on,")
    return states, tuple(results[number:]), frozenset(varying.values())


def _with_unknown(type: Type, varying: frozenset[str], unknown: _Unknown) -> Type:
    """Return a type with sizes that are not known outside of a body as unknown ones."""
    shape = tuple(unknown.of(size) if _is_open(size, varying) else size for size in type.shape)
    return replace(type, shape=shape) if isinstance(type, Tensor) else type


def _stacked(type: Type, length: Dimension, axis: int) -> Type:
    """Return the type of values of a type along a new axis."""
    rank = len(type.shape) + 1
    if not isinstance(type, Tensor) or not -rank <= axis < rank:
        raise TypeMismatchError(f"results of {type} cannot be stacked along the axis {axis}")
    shape: list[Dimension] = list(type.shape)
    shape.insert(axis % rank, length)
    return Tensor(type.element, tuple(shape))


@define_op(
    infer=_infer_loop,
    results=lambda attributes: len(attributes["body"].outputs) - 1,
    neutral={"count": lambda *_: np.array(ENDLESS), "condition": lambda *_: np.array(True)},
)
def loop(count: Any, condition: Any, *values: Any, body: Body, carried: int | None = None) -> Any:
    """A graph repeated at most `count` times, as long as a condition is true (ONNX specification, Loop).

    The results are the last values, and other outputs of the body stacked along a new first axis. Without an iteration,
    the values are those that are given.

    Parameters
    ----------
    count
        Greatest number of iterations; no limit if None.
    condition
        One bool, whether to begin; true if None.
    *values
        Inputs of the body after the number of the iteration, which is its first.
    body
        The graph; its outputs are whether to go on, the new values, and any others.
    carried
        Number of values that the body gives anew, the first ones; all if not given.

    Examples
    --------
    >>> from graphrewrite import Graph, op
    >>> body = Graph.parse('''graph body
    ... i = input() : i64[]
    ... x = input() : f32[N]
    ... limit = constant(value=100) : f32[]
    ... double = add(x, x)
    ... sum = reduce_sum(double, axes=[0], keep_dims=False)
    ... again = less(sum, limit)
    ... go_on = output(again)
    ... last = output(double)
    ... all = output(sum)''')
    >>> last, sums = op.loop(np.int64(10), np.array(True), np.float32([1, 2]), body=body)
    >>> last.tolist(), sums.tolist()
    ([64.0, 128.0], [6.0, 12.0, 24.0, 48.0, 96.0, 192.0])
    """
    number = _number_carried(values, carried)
    state, captured = tuple(values[:number]), tuple(values[number:])
    limit, again = np.asarray(count).item(), np.asarray(condition).item()
    rows: list[list[np.ndarray]] = [[] for _ in body.outputs[1 + number :]]
    done = 0
    while again and done < limit:
        going, *results = _run(body, (np.array(done, np.int64), *state, *captured))
        again, state, done = going.item(), tuple(results[:number]), done + 1
        for row, each in zip(rows, results[number:], strict=True):
            row.append(each)
    index = np.array(0, np.int64)
    stacked = [np.stack(row) for row in rows] if done else _nothing(body, (index, *values), 1 + number)
    computed = (*map(np.asarray, state), *stacked)
    return computed[0] if len(computed) == 1 else computed


def _nothing(body: Body, arrays: Sequence[Any], first: int) -> list[np.ndarray]:
    """Return stacks of no results of a body; sizes that only its data decide are 0."""
    types = [
        replace(each, shape=np.shape(array)) if isinstance(each, Tensor) else each
        for each, array in zip(body.input_types, arrays, strict=True)
    ]
    made = body.output_types(*types)[first:]
    shapes = [tuple(size if isinstance(size, int) else 0 for size in each.shape) for each in made]
    return [np.zeros((0, *shape), element_dtype(each.element)) for each, shape in zip(made, shapes, strict=True)]


# ---------------------------------------------------------------------- along sequences


def _each(given: Sequence[Any], count: int, what: str, default: Any) -> list[Any]:
    """Return one setting for each of several values: those given, or the default of each."""
    if given and len(given) != count:
        raise TypeMismatchError(f"gives {len(given)} {what} for {count} values; give one for each")
    return list(given) or [default] * count


def _infer_scan(
    *values: Type,
    body: Body,
    carried: int = 0,
    sequences: int = 1,
    axes: Sequence[int] = (),
    backwards: Sequence[bool] = (),
    output_axes: Sequence[int] = (),
    output_backwards: Sequence[bool] = (),
) -> tuple[Type, ...]:
    if carried < 0 or sequences < 1 or carried + sequences > len(values):
        raise TypeMismatchError(
            f"carries {carried} values and runs along {sequences}, and {len(values)} are given; it runs along one or "
            "more"
        )
    _check_body(body, "body", len(values))
    _each(backwards, sequences, "directions", False)
    states, along, captured = values[:carried], values[carried : carried + sequences], values[carried + sequences :]
    slices, length = [], None
    for each, axis in zip(along, _each(axes, sequences, "axes", 0), strict=True):
        rank = len(each.shape)
        if not isinstance(each, Tensor) or not -rank <= axis < rank:
            raise TypeMismatchError(f"there is no axis {axis} of {each} to run along")
        own = each.shape[axis % rank]
        length = own if length is None else length
        if own != length:
            raise TypeMismatchError(f"runs along sequences of different lengths, {length} and {own}")
        slices.append(Tensor(each.element, tuple(size for i, size in enumerate(each.shape) if i != axis % rank)))
    results = body.output_types(*states, *slices, *captured)
    if len(results) < carried:
        raise TypeMismatchError(f"the body gives {len(results)} results, and {carried} are carried")
    for i, (before, after) in enumerate(zip(states, results, strict=False)):
        if before.element != after.element or before.shape != after.shape:
            raise TypeMismatchError(f"carries value {i} as {before}, and its body makes {after} of it")
    unknown = _Unknown()
    stacked = [_with_unknown(each, frozenset(), unknown) for each in results[carried:]]
    along_axes = _each(output_axes, len(stacked), "output axes", 0)
    _each(output_backwards, len(stacked), "output directions", False)
    assert length is not None  # there is at least one sequence
    return (*states, *(_stacked(each, length, axis) for each, axis in zip(stacked, along_axes, strict=True)))


@define_op(infer=_infer_scan, results=lambda attributes: len(attributes["body"].outputs))
def scan(
    *values: Any,
    body: Body,
    carried: int = 0,
    sequences: int = 1,
    axes: Sequence[int] = (),
    backwards: Sequence[bool] = (),
    output_axes: Sequence[int] = (),
    output_backwards: Sequence[bool] = (),
) -> Any:
    """A graph that runs along sequences of the same length, step by step (ONNX specification, Scan).

    The results are the last carried values, and the others stacked.

    Parameters
    ----------
    *values
        Those carried from step to step, then the sequences, then any others.
    body
        The graph; its inputs are the values, with one entry of each sequence, its outputs the new carried values, and
        any others.
    carried
        Number of carried values.
    sequences
        Number of sequences.
    axes
        Axis of each sequence; the first if not given.
    backwards
        Whether each sequence is read from its end.
    output_axes
        Axis of each stack; the first if not given.
    output_backwards
        Whether each stack is written from its end.

    Examples
    --------
    >>> from graphrewrite import Graph, op
    >>> body = Graph.parse('''graph body
    ... total = input() : f32[]
    ... x = input() : f32[]
    ... s = add(total, x)
    ... last = output(s)
    ... each = output(s)''')
    >>> last, each = op.scan(np.float32(0), np.float32([1, 2, 3]), body=body, carried=1)
    >>> last.item(), each.tolist()
    (6.0, [1.0, 3.0, 6.0])
    """
    state, captured = tuple(values[:carried]), values[carried + sequences :]
    along = [
        np.moveaxis(np.asarray(x), axis, 0)[:: -1 if back else 1]
        for x, axis, back in zip(
            values[carried : carried + sequences],
            _each(axes, sequences, "axes", 0),
            _each(backwards, sequences, "directions", False),
            strict=True,
        )
    ]
    if len({len(each) for each in along}) > 1:
        raise TypeMismatchError(f"sequences have different lengths, {' and '.join(str(len(each)) for each in along)}")
    rows: list[list[np.ndarray]] = [[] for _ in body.outputs[carried:]]
    for entries in zip(*along, strict=True):
        results = _run(body, (*state, *entries, *captured))
        state = results[:carried]
        for row, each in zip(rows, results[carried:], strict=True):
            row.append(each)
    if len(along[0]):
        stacked = [np.stack(row) for row in rows]
    else:
        one = [np.zeros(each.shape[1:], each.dtype) for each in along]
        stacked = _nothing(body, (*state, *one, *captured), carried)
    directions = _each(output_backwards, len(rows), "output directions", False)
    turned = [each[:: -1 if back else 1] for each, back in zip(stacked, directions, strict=True)]
    positions = _each(output_axes, len(rows), "output axes", 0)
    computed = (
        *map(np.asarray, state),
        *(np.moveaxis(each, 0, axis) for each, axis in zip(turned, positions, strict=True)),
    )
    return computed[0] if len(computed) == 1 else computed
