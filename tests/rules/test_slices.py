"""Slices of slices and of concatenations, for all bounds of a short axis, and for axes of any size."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, op, rewrite
from graphrewrite.rules import RULES, concat_of_slices, crop_as_slice, drop_crop, gather_as_slice, merge_slices
from graphrewrite.rules.slices import concat_of_rows, slice_of_concat

FAR = 1 << 31
BOUNDS = [
    (0, 3, 1),
    (1, FAR, 1),
    (-2, FAR, 1),
    (1, -1, 1),
    (4, 0, -1),
    (-1, -FAR, -2),
    (0, FAR, 2),
    (3, 3, 1),
    (-9, 2, 1),
]


def cut(x: Any, bounds: tuple[int, int, int]) -> Any:
    start, end, step = bounds
    return op.slice(x, starts=(start,), ends=(end,), axes=(0,), steps=(step,))


def kinds(graph: Graph) -> list[str]:
    return [graph.nodes[n]["type"] for n in graph.in_order() if n not in {*graph.inputs, *graph.outputs}]


def values(graph: Graph, *sizes: int) -> list[list[Any]]:
    given = {name: np.arange(size) + 100 * i for i, (name, size) in enumerate(zip(graph.inputs, sizes, strict=True))}
    return [array.tolist() for array in evaluate(graph, given).values()]


@pytest.mark.parametrize("size", [5, "N"])
def test_a_slice_of_a_slice_is_one(size):
    merged = 0
    for inner, outer in product(BOUNDS, repeat=2):
        graph = Graph("slices")
        graph.output("y", cut(cut(graph.input("x", Tensor("i64", (size,))), inner), outer))
        after = rewrite(graph, [merge_slices, drop_crop])
        merged += kinds(after) != kinds(graph)
        for actual in [5] if size == 5 else range(8):
            assert values(after, actual) == values(graph, actual), (inner, outer, actual)
    assert merged == len(BOUNDS) ** 2 if size == 5 else merged >= 15


@pytest.mark.parametrize("sizes", [(2, 3, 1), (2, 3, "N")])
def test_a_slice_of_a_concatenation_is_one_of_its_operands(sizes):
    changed = 0
    for start, end, step in product(range(-2, 7), range(-2, 7), [1, 2, -1, -2]):
        graph = Graph("joined")
        joined = op.concat(*[graph.input(f"x{i}", Tensor("i64", (size,))) for i, size in enumerate(sizes)], axis=0)
        graph.output("y", cut(joined, (start, end, step)))
        after = rewrite(graph, slice_of_concat)
        changed += kinds(after) != kinds(graph)
        for actual in [1] if sizes[-1] == 1 else range(3):
            assert values(after, 2, 3, actual) == values(graph, 2, 3, actual), (start, end, step, actual)
    assert changed > 40


@pytest.mark.parametrize("size", [6, "N"])
def test_slices_side_by_side_are_one(size):
    for first, second, third in [
        ((0, 2, 1), (2, 3, 1), (3, FAR, 1)),
        ((0, 2, 1), (2, 4, 1), (5, 6, 1)),
        ((4, 2, -1), (2, 1, -1), (1, -FAR, -1)),
        ((0, 4, 2), (4, FAR, 2), (1, 2, 1)),
        ((0, 3, 1), (3, -1, 1), (2, 1, 1)),
    ]:
        graph = Graph("parts")
        x = graph.input("x", Tensor("i64", (size,)))
        graph.output("y", op.concat(cut(x, first), cut(x, second), cut(x, third), axis=0))
        after = rewrite(graph, (concat_of_slices, *RULES))
        for actual in [6] if size == 6 else range(8):
            assert values(after, actual) == values(graph, actual), (first, second, third, actual)
        if size == 6 and (first, third) == ((0, 2, 1), (3, FAR, 1)):
            assert kinds(after) == []


@pytest.mark.parametrize(("size", "at"), [("N + 2", 2), ("N", "N//2")])
def test_halves_of_an_axis_of_any_size_are_the_whole(size, at):
    graph = Graph("halves")
    x = graph.input("x", Tensor("i64", (size,)))
    halves = [op.slice(x, starts=(0,), ends=(at,), axes=(0,)), op.slice(x, starts=(at,), ends=(FAR,), axes=(0,))]
    graph.output("y", op.concat(*halves, axis=0))
    assert kinds(rewrite(graph, concat_of_slices)) == []


def test_slices_with_other_readers_are_not_cut_again():
    graph = Graph.parse("""
        graph parts
        x = input() : f32[N,6]
        z = input() : f32[N,2]
        a = slice(x, starts=[0], ends=[2], axes=[1])
        b = slice(x, starts=[2], ends=[4], axes=[1])
        c = concat(a, b, z, axis=1)
        d = relu(a)
        e = relu(b)
        y = output(c)
        p = output(d)
        q = output(e)
    """)
    assert rewrite(graph, concat_of_slices) == graph


def test_the_parts_of_a_concatenation_are_its_operands():
    graph = Graph.parse("""
        graph parts
        x = input() : f32[N,2]
        z = input() : f32[N,3]
        c = concat(x, z, axis=-1)
        a = slice(c, starts=[0], ends=[2], axes=[1])
        b = slice(c, starts=[-3], ends=[2147483647], axes=[-1])
        d = slice(c, starts=[4, 1], ends=[2, 2], axes=[1, 0], steps=[-1, 1])
        y = output(a)
        w = output(b)
        v = output(d)
    """)
    after = rewrite(graph, RULES)
    assert kinds(after) == ["slice"]
    assert after.operands("y")[0].node == "x"
    assert after.operands("w")[0].node == "z"


def test_a_constant_index_is_a_slice():
    graph = Graph("gathered")
    x = graph.input("x", Tensor("f32", ("N", 4)))
    graph.output("one", op.gather(x, np.array(-1), axis=1))
    graph.output("back", op.gather(x, np.array([3, 2, 1]), axis=1))
    graph.output("all", op.gather(x, np.arange(4), axis=1))
    graph.output("mixed", op.gather(x, np.array([0, 3, 1]), axis=1))
    graph.output("twice", op.gather(x, np.array([2, 2]), axis=1))
    after = rewrite(graph, (gather_as_slice, *RULES))
    assert sorted(kinds(after)) == ["constant", "constant", "gather", "gather", "reshape", "slice", "slice"]
    assert after.operands("all")[0].node == "x"


def test_a_border_that_only_crops_is_a_slice():
    graph = Graph.parse("""
        graph cropped
        x = input() : f32[N,5]
        a = pad(x, pads=[0, -1, 0, -2])
        b = pad(a, pads=[0, 1, 0, -1])
        y = output(b)
    """)
    after = rewrite(graph, crop_as_slice)
    assert kinds(after) == ["slice", "pad"]
    given = {"x": np.arange(10.0, dtype=np.float32).reshape(2, 5)}
    assert evaluate(after, given)["y"].tolist() == evaluate(graph, given)["y"].tolist() == [[0.0, 1.0], [0.0, 6.0]]


@pytest.mark.parametrize(("along", "axis", "wanted"), [(0, 1, ["reshape"]), (2, 1, ["transpose", "reshape"])])
def test_joined_rows_are_the_value_in_another_shape(along, axis, wanted):
    graph = Graph("rows")
    x = graph.input("x", Tensor("f32", (4, 2, 4)))
    rows = [op.slice(x, starts=(i,), ends=(i + 1,), axes=(along,)) for i in range(4)]
    graph.output("y", op.concat(*rows, axis=axis))
    after = rewrite(graph, (concat_of_rows, *RULES))
    assert kinds(after) == wanted
    given = {"x": np.random.default_rng(0).normal(size=(4, 2, 4)).astype(np.float32)}
    assert np.array_equal(evaluate(after, given)["y"], evaluate(graph, given)["y"])
