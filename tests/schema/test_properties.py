"""Properties of typed data over random types and values: what is written is read, what is refused changes nothing."""

from __future__ import annotations

import copy
import enum
import json
import pickle
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite.errors import DataError
from graphrewrite.schema import IrData


class Colour(enum.Enum):
    RED = "red"
    TWO = 2


class Leaf(IrData):
    size: int
    label: str | None = None


Pair = tuple[Any, st.SearchStrategy[Any]]
WRONG = object()

ATOMS: list[Pair] = [
    (int, st.integers()),
    (float, st.floats(allow_nan=False)),
    (str, st.text(max_size=3)),
    (bool, st.booleans()),
    (Colour, st.sampled_from(Colour)),
    (Literal["a", 1], st.sampled_from(["a", 1])),
    (np.dtype, st.sampled_from([np.dtype(t) for t in ("f4", ">i2", "?", "u8")])),
    (Leaf, st.builds(lambda size, label: Leaf(size=size, label=label), st.integers(), st.none() | st.text(max_size=2))),
    (Any, st.recursive(st.none() | st.integers(), lambda inner: st.dictionaries(st.text(max_size=2), inner))),
]


def containers(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    def listed(pair: Pair) -> Pair:
        return list[pair[0]], st.lists(pair[1], max_size=3)  # type: ignore[name-defined]

    def keyed(pair: Pair) -> Pair:
        return dict[str, pair[0]], st.dictionaries(st.text(max_size=2), pair[1], max_size=3)  # type: ignore[name-defined]

    def several(pair: Pair) -> Pair:
        return tuple[pair[0], ...], st.lists(pair[1], max_size=3).map(tuple)  # type: ignore[name-defined]

    def both(a: Pair, b: Pair) -> Pair:
        return tuple[a[0], b[0]], st.tuples(a[1], b[1])  # type: ignore[name-defined]

    def optional(pair: Pair) -> Pair:
        return pair[0] | None if pair[0] is not Any else Any, st.none() | pair[1]

    return st.one_of(inner.map(listed), inner.map(keyed), inner.map(several), st.builds(both, inner, inner),
                     inner.map(optional))  # fmt: skip


PAIRS = st.recursive(st.sampled_from(ATOMS), containers, max_leaves=4)


def class_of(annotation: Any) -> Any:
    return type("Made", (IrData,), {"__annotations__": {"value": annotation}, "__module__": __name__})


@given(st.data(), PAIRS)
def test_what_is_written_is_read_and_is_json(data, pair):
    made = class_of(pair[0])
    value = data.draw(pair[1])
    thing = made(value=value)
    assert thing.value == value
    json.dumps(thing.data)
    for copied in (copy.deepcopy(thing), made.like(thing), made.of(pickle.loads(pickle.dumps(thing.data)))):
        assert copied == thing
        assert copied.value == value
    thing.value = thing.value
    assert thing.value == value
    back = made.of(json.loads(json.dumps(thing.data)))
    assert back.get_missing_required_fields() == {}
    if not contains(pair[0], Any):  # JSON's lists are lists to Any
        assert back.value == value
        assert made.like(back).value == value


def contains(annotation: Any, part: Any) -> bool:
    return annotation is part or any(contains(arg, part) for arg in getattr(annotation, "__args__", ()))


def spoilt(value: Any, data: Any) -> Any:
    """A value in which one part is no data at all."""
    if isinstance(value, list | tuple) and value and data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(value) - 1))
        return type(value)([*value[:at], spoilt(value[at], data), *value[at + 1 :]])
    if isinstance(value, dict) and value and data.draw(st.booleans()):
        at = data.draw(st.sampled_from(sorted(value)))
        return {**value, at: spoilt(value[at], data)}
    return WRONG


@given(st.data(), PAIRS)
def test_what_is_refused_changes_nothing_and_the_path_is_named(data, pair):
    made = class_of(pair[0])
    thing = made(value=data.draw(pair[1]))
    before = copy.deepcopy(thing.data)
    wrong = spoilt(data.draw(pair[1]), data)
    with pytest.raises(DataError, match=r"^Made\.value") as caught:
        thing.value = wrong
    assert caught.value.path.startswith("Made.value")
    assert made.of(before) == thing
    assert made.of({}).get_missing_required_fields() == {"value": made._fields["value"].type}


# Each takes a sequence and does the same to a list and to the view of one.
INDICES = st.integers(-4, 4)
NUMBERS = st.lists(st.integers(0, 9), max_size=3)
OPERATIONS: st.SearchStrategy[Callable[[Any], Any]] = st.one_of(
    st.builds(lambda x: lambda s: s.append(x), st.integers()),
    st.builds(lambda i, x: lambda s: s.insert(i, x), INDICES, st.integers()),
    st.builds(lambda i, x: lambda s: s.__setitem__(i, x), INDICES, st.integers()),
    st.builds(lambda i: lambda s: s.__delitem__(i), INDICES),
    st.builds(lambda i: lambda s: s[i], INDICES),
    st.builds(lambda i: lambda s: s.pop(i), INDICES),
    st.builds(lambda x: lambda s: s.remove(x), st.integers(0, 9)),
    st.builds(lambda xs: lambda s: s.extend(xs), NUMBERS),
    st.builds(lambda xs: lambda s: s.__iadd__(xs) == s, NUMBERS),
    st.builds(lambda xs: lambda s: (s + xs, xs + s, s * 2, 2 * s), NUMBERS),
    st.builds(lambda i, j, k: lambda s: s[i:j:k], INDICES, INDICES, st.sampled_from([None, 1, 2, -1])),
    st.builds(lambda i, j, xs: lambda s: s.__setitem__(slice(i, j), xs), INDICES, INDICES, NUMBERS),
    st.builds(lambda i, xs: lambda s: s.__setitem__(slice(None, None, i), xs), st.sampled_from([2, -1]), NUMBERS),
    st.builds(lambda i, j: lambda s: s.__delitem__(slice(i, j)), INDICES, INDICES),
    st.sampled_from([lambda s: s.sort(), lambda s: s.sort(reverse=True), lambda s: s.reverse(), lambda s: s.clear()]),
    st.sampled_from([lambda s: s.copy(), len, sorted, lambda s: s.count(1), lambda s: s.index(1), repr, list]),
)  # fmt: skip


def outcome(action: Callable[[Any], Any], target: Any) -> Any:
    try:
        return action(target)
    except (IndexError, ValueError, KeyError) as error:
        return type(error)


class Lists(IrData):
    numbers: list[int] = []  # noqa: RUF012  # each object gets its own
    ports: dict[str, int] = {}  # noqa: RUF012  # see above


@given(NUMBERS, st.lists(OPERATIONS, max_size=8), st.booleans())
def test_a_view_of_a_list_does_what_a_list_does(start, operations, keeps_view):
    model, thing = list(start), Lists(numbers=start)
    view = thing.numbers
    for operation in operations:
        target = view if keeps_view else thing.numbers
        assert outcome(operation, target) == outcome(operation, model)
        assert thing.data["numbers"] == model
    assert view == model == thing.numbers
    with pytest.raises(DataError, match=r"^Lists.numbers\[\d+\]: expected int"):
        view.extend([1, "x"])
    with pytest.raises(DataError, match=r"^Lists.numbers\[\d+\]: expected int"):
        view[:] = [1, 2, None]
    assert thing.data["numbers"] == model


KEYS = st.sampled_from("abc")
ENTRIES = st.dictionaries(KEYS, st.integers(0, 9), max_size=3)
CHANGES: st.SearchStrategy[Callable[[Any], Any]] = st.one_of(
    st.builds(lambda k, x: lambda d: d.__setitem__(k, x), KEYS, st.integers()),
    st.builds(lambda k: lambda d: d.__delitem__(k), KEYS),
    st.builds(lambda k: lambda d: d[k], KEYS),
    st.builds(lambda k: lambda d: (d.get(k), k in d), KEYS),
    st.builds(lambda k: lambda d: d.pop(k), KEYS),
    st.builds(lambda k, x: lambda d: d.setdefault(k, x), KEYS, st.integers(0, 9)),
    st.builds(lambda more: lambda d: d.update(more), ENTRIES),
    st.builds(lambda more: lambda d: d.__ior__(more) == d, ENTRIES),
    st.builds(lambda more: lambda d: (d | more, more | d), ENTRIES),
    st.sampled_from([lambda d: d.clear(), lambda d: d.copy(), lambda d: d.popitem(), len, repr, list,
                     lambda d: list(reversed(d)), lambda d: list(d.items()), lambda d: d.update(a=1)]),
)  # fmt: skip


@given(ENTRIES, st.lists(CHANGES, max_size=8))
def test_a_view_of_a_dictionary_does_what_a_dictionary_does(start, changes):
    model, thing = dict(start), Lists(ports=start)
    for change in changes:
        found, expected = outcome(change, thing.ports), outcome(change, model)
        assert found == expected
        assert list(thing.data["ports"].items()) == list(model.items())
    with pytest.raises(DataError, match=r"^Lists.ports\['z'\]: expected int"):
        thing.ports.update(a=1, z="x")
    with pytest.raises(DataError, match=r"^Lists.ports\[1\]: its key: expected str"):
        thing.ports[1] = 1  # type: ignore[index]
    assert thing.data["ports"] == model
