"""Generic data: what stands in the brackets is asked for wherever the class is used."""

from __future__ import annotations

import copy
import enum
import pickle
from typing import Generic, Literal, TypeVar

import pytest

from graphrewrite.errors import DataError
from graphrewrite.schema import IrData, field

T = TypeVar("T")
S = TypeVar("S")


class Inner(IrData):
    a: int


class Box(IrData, Generic[T]):
    item: T
    others: list[T] = []  # noqa: RUF012  # each object gets its own


class Row(Box[list[T]], Generic[T]):
    """The variable has the same name as that of its parent, and stands for something else."""


class Pair(IrData, Generic[S, T]):
    first: Box[S]
    second: Box[list[T]]


class Half(Pair[int, T], Generic[T]):
    pass


def test_the_constructor_of_a_class_with_types_in_brackets_checks_them():
    with pytest.raises(DataError, match=r"Box\[int\].item: expected int, got str 'x'"):
        Box[int](item="x")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"Box\[int\].item: expected int, got str 'x'"):
        _ = Box[int].of({"item": "x"}).item
    box = Box[Inner](item=Inner(a=1))
    box.item.a = 4
    box.others.append(Inner(a=2))
    assert box.data == {"item": {"a": 4}, "others": [{"a": 2}]}
    with pytest.raises(DataError, match=r"Box\[Literal\['a'\]\].item: .* it is one of 'a'$"):
        Box[Literal["a"]](item="b")  # type: ignore[arg-type]


def test_it_is_one_class_however_often_it_is_written():
    assert Box[int] is Box[int]
    assert isinstance(Box[int](item=1), Box)
    assert Box[int].__name__ == "Box[int]"
    with pytest.raises(TypeError, match="Inner has no type variables"):
        Inner[int]  # type: ignore[misc]


def test_variables_of_parents_and_of_parts():
    assert Row[int](item=[1]).item == [1]
    with pytest.raises(DataError, match=r"Row\[int\].item\[1\]: expected int, got str 'x'"):
        Row[int](item=[1, "x"])  # type: ignore[list-item]
    assert Row(item=["of", 2, "kinds"]).item == ["of", 2, "kinds"]
    half = Half[str](first=Box(item=1), second=Box(item=["x"]))
    with pytest.raises(DataError, match=r"Half\[str\].second.item\[0\]: expected str, got int 3"):
        half.second.item[0] = 3  # type: ignore[call-overload]
    with pytest.raises(DataError, match=r"Half\[str\].first.item: expected int, got str 'x'"):
        half.first.item = "x"  # type: ignore[assignment]


def test_copies_and_pickles():
    box = Box[int](item=1)
    for again in (pickle.loads(pickle.dumps(box)), copy.deepcopy(box), copy.copy(box)):
        assert type(again) is Box[int]
        assert again == box
        assert again.data is not box.data


def test_what_setdefault_returns_writes_through():
    class Ports(IrData):
        widths: dict[str, list[Inner]] = field(factory=dict)

    ports = Ports()
    ports.widths.setdefault("x", []).append(Inner(a=1))
    ports.widths.setdefault("x", []).append(Inner(a=2))
    assert ports.data == {"widths": {"x": [{"a": 1}, {"a": 2}]}}
    with pytest.raises(DataError, match=r"Ports.widths\['y'\]: expected list\[Inner\], got None"):
        ports.widths.setdefault("y")
    assert "y" not in ports.widths


def test_members_of_an_enum_are_named_where_they_print_as_their_values():
    class Level(enum.IntEnum):
        LOW = 1
        HIGH = 2

    class Unit(IrData):
        level: Level

    with pytest.raises(DataError, match=r"expected Level, got int 2; it is one of Level.LOW, Level.HIGH"):
        Unit(level=2)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"expected Level, got int 7; it is one of 1, 2"):
        _ = Unit.of({"level": 7}).level


def test_two_fields_with_one_key_are_refused():
    with pytest.raises(DataError, match=r"Wrong.b: has the key 'z', as 'a' has; .* init=False"):

        class Wrong(IrData):
            a: int = field(key="z")
            b: str = field(key="z")

    class Twice(IrData):
        a: int
        also: int = field(key="a", init=False)

    assert Twice(a=3).also == 3


def test_what_a_field_cannot_be_told():
    with pytest.raises(DataError, match=r"has no option 'default_factory' .*; did you mean 'factory'\?"):
        field(default_factory=list)  # type: ignore[call-overload]
    assert repr(Inner.a) == "<field Inner.a: int>"
