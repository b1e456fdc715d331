"""Movement of entries as exporters write it."""

from __future__ import annotations

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
