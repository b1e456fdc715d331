"""Movement of entries as exporters write it."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, op
from tests.rules.recognition.recognising import ops, recognised


def shuffled(shape, groups, perm):
    graph = Graph("parts")
    x = graph.input("x", Tensor("f32", shape))
    grouped = op.reshape(x, shape=("N", groups, shape[1] // groups, *shape[2:]))
    graph.output("y", op.reshape(op.transpose(grouped, perm=perm), shape=shape))
    return graph


@pytest.mark.parametrize("positions", [(), (5,), (2, 2), (1, 2, 3)])
def test_a_channel_shuffle_is_recognised(positions):
    perm = (0, 2, 1, *range(3, 3 + len(positions)))
    after = recognised(shuffled(("N", 6, *positions), 2, perm))
    assert ops(after) == ["channel_shuffle"]
    assert after.attributes(after.operands("y")[0].node)["groups"] == 2


@pytest.mark.parametrize("batch", [1, "N"])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    ("of", "perm", "mode"),
    [("bbchw", (0, 3, 4, 1, 5, 2), "DCR"), ("cbbhw", (0, 1, 4, 2, 5, 3), "CRD")],
)
def test_a_pixel_shuffle_is_recognised_and_its_inverse(of, perm, mode, channels, batch):
    sizes = {"b": 2, "c": channels, "h": 4, "w": 5}
    small, large = (batch, 4 * channels, 4, 5), (batch, channels, 8, 10)
    split = (batch, *(sizes[axis] for axis in of))
    for shapes, taken, order in (
        ((small, large), split, perm),
        ((large, small), [split[i] for i in perm], [perm.index(i) for i in range(6)]),
    ):
        graph = Graph("parts")
        moved = op.transpose(op.reshape(graph.input("x", Tensor("f32", shapes[0])), shape=tuple(taken)), perm=order)
        graph.output("y", op.reshape(moved, shape=shapes[1]))
        after = recognised(graph)
        if shapes[0] is large and mode == "CRD" and channels > 1:  # of which ONNX has no such op
            assert "space_to_depth" not in ops(after)
            continue
        assert ops(after) == ["depth_to_space" if shapes[0] is small else "space_to_depth"]
        found = after.attributes(after.operands("y")[0].node)
        assert found["block_size"] == 2
        assert found["mode"] == mode or channels == 1
        x = np.random.default_rng(0).normal(size=(1, *shapes[0][1:])).astype("f4")
        np.testing.assert_array_equal(after(x), graph(x))


def test_blocks_whose_rows_and_columns_change_places_are_none():
    graph = Graph("parts")
    x = graph.input("x", Tensor("f32", ("N", 4, 3, 3)))
    moved = op.transpose(op.reshape(x, shape=("N", 2, 2, 1, 3, 3)), perm=(0, 3, 4, 2, 5, 1))
    graph.output("y", op.reshape(moved, shape=("N", 1, 6, 6)))
    assert "depth_to_space" not in ops(recognised(graph))


def test_another_transpose_is_none():
    graph = shuffled(("N", 4, 2, 2), 2, (0, 1, 2, 4, 3))
    assert "channel_shuffle" not in ops(recognised(graph))


def test_positions_may_be_one_axis_of_rows():
    graph = Graph("parts")
    x = graph.input("x", Tensor("f32", ("N", 6, 2, 5)))
    swapped = op.transpose(op.reshape(x, shape=("N", 2, 3, 10)), perm=(0, 2, 1, 3))
    graph.output("y", op.reshape(swapped, shape=("N", 6, 2, 5)))
    assert ops(recognised(graph)) == ["channel_shuffle"]


def test_channels_may_come_last_behind_a_transpose():
    graph = Graph("parts")
    x = op.transpose(graph.input("x", Tensor("f32", ("N", 6, 2, 5))), perm=(0, 2, 3, 1))
    swapped = op.transpose(op.reshape(x, shape=("N", 2, 5, 2, 3)), perm=(0, 1, 2, 4, 3))
    shuffle = op.reshape(swapped, shape=("N", 2, 5, 6))
    graph.output("y", op.transpose(shuffle, perm=(0, 3, 1, 2)))
    assert ops(recognised(graph)) == ["channel_shuffle"]
