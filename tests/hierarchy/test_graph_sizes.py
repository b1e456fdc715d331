"""Other sizes in all of a graph."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, define_op, evaluate, verify
from graphrewrite.errors import TypeMismatchError
from graphrewrite.types import Dimension


@define_op(infer=lambda x, *, shape: Tensor(x.element, tuple(shape)))
def shaped(x, *, shape: tuple[Dimension, ...]):
    """A reshape that takes numbers only."""
    return np.reshape(x, shape)


TEXT = """graph g
x = input() : f32[N,seq,4]
r = shaped(x, shape=['N*seq', 4]) : f32[N*seq,4]
s = relu(r)
y = output(s)"""


def test_numbers_take_the_place_of_names():
    g = Graph.parse(TEXT, ops=[shaped])
    fixed = g.with_sizes({"seq": 5})
    assert str(fixed.result_type("s")) == "f32[5*N,4]"
    assert fixed.attributes("r")["shape"] == ("5*N", 4)
    assert g == Graph.parse(TEXT, ops=[shaped])
    verify(fixed)
    assert evaluate(fixed, {"x": np.ones((2, 5, 4))})["y"].shape == (10, 4)


def test_names_change_places_all_at_once():
    assert str(Graph.parse(TEXT, ops=[shaped]).with_sizes({"seq": "N", "N": "seq"}).result_type("x")) == "f32[seq,N,4]"
    assert str(Graph.parse(TEXT, ops=[shaped]).with_sizes({"seq": "2*N"}).result_type("r")) == "f32[2*N*N,4]"


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"sec": 5}, "no size 'sec'; did you mean 'seq'.*sizes are N, seq"),
        ({"seq": -1}, "sizes are integers from 0"),
        ({"seq": "2*"}, "is not a size"),
    ],
)
def test_what_cannot_be_is_refused(sizes, message):
    with pytest.raises(TypeMismatchError, match=message):
        Graph.parse(TEXT, ops=[shaped]).with_sizes(sizes)


def test_a_size_of_zero_in_a_shape_keeps_no_axis():
    g = Graph.parse("graph g\nx = input() : f32[4,N]\nr = reshape(x, shape=['N', 4, 1]) : f32[N,4,1]\ny = output(r)")
    empty = g.with_sizes({"N": 0})
    assert empty.result_type("r").shape == (0, 4, 1)
    assert evaluate(empty, {"x": np.ones((4, 0), np.float32)})["y"].shape == (0, 4, 1)


def test_a_size_of_zero_stands_beside_an_axis_that_is_kept():
    g = Graph.parse("graph g\nx = input() : f32[2,3,N]\nr = reshape(x, shape=[0, 'N', 3]) : f32[2,N,3]\ny = output(r)")
    given = {"x": np.ones((2, 3, 0), np.float32)}
    assert evaluate(g.with_sizes({"N": 0}), given)["y"].shape == evaluate(g, given)["y"].shape == (2, 0, 3)
