"""Results whose size the data decides, against numpy and by their definitions; in graphs, and through ONNX."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphrewrite import Graph, Tensor, evaluate, op, verify
from graphrewrite.lowering import from_onnx, to_onnx

arrays = hnp.arrays(
    np.int64, hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3), elements=st.integers(0, 2)
)


@given(arrays)
def test_positions_are_where_entries_are_not_zero(x):
    at = op.nonzero(x)
    assert at.shape[0] == x.ndim
    mask = np.zeros(x.shape, bool)
    mask[tuple(at)] = True
    assert np.array_equal(mask, x != 0)


@given(arrays, st.data())
def test_unique_entries_make_the_operand_again(x, data):
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]) if x.size else st.none())
    in_order = data.draw(st.booleans())
    values, first, which, counts = op.unique(x, axis=axis, sorted=in_order)
    again = np.take(values, which, axis=axis or 0)
    assert np.array_equal(again.reshape(x.shape) if axis is None else again, x)
    assert np.array_equal(np.take(x if axis is not None else x.ravel(), first, axis=axis or 0), values)
    assert np.array_equal(counts, np.bincount(which, minlength=len(first)))
    assert in_order or np.array_equal(first, np.sort(first))


@given(arrays, st.lists(st.booleans(), max_size=4))
def test_chosen_slices_are_those_of_which_the_condition_holds(x, chosen):
    found = op.compress(x, np.array(chosen, bool), axis=0)
    assert np.array_equal(found, x[[i for i, keep in enumerate(chosen[: len(x)]) if keep]])


@given(st.integers(0, 2**32 - 1).map(np.random.default_rng), st.floats(0, 1), st.booleans())
def test_the_boxes_that_are_kept_are_the_best_that_hardly_overlap(rng, threshold, centred):
    boxes, scores = rng.uniform(0, 3, (1, 6, 4)), rng.choice([0.1, 0.5, 0.9], (1, 1, 6))
    limits = {"max_output_boxes_per_class": 6, "iou_threshold": threshold, "score_threshold": 0.1}
    found = op.non_max_suppression(boxes, scores, center_point_box=centred, **limits)
    if centred:
        boxes = np.concatenate([boxes[..., :2] - boxes[..., 2:] / 2, boxes[..., :2] + boxes[..., 2:] / 2], -1)
    kept: list[int] = []
    for box in sorted(range(6), key=lambda box: (-scores[0, 0, box], box)):
        if scores[0, 0, box] > 0.1 and all(overlap(boxes[0, box], boxes[0, other]) <= threshold for other in kept):
            kept.append(box)
    assert found.tolist() == [[0, 0, box] for box in kept]


def overlap(a, b):
    areas = [abs((box[2] - box[0]) * (box[3] - box[1])) for box in (a, b)]
    low = np.maximum(np.minimum(a[:2], a[2:]), np.minimum(b[:2], b[2:]))
    high = np.minimum(np.maximum(a[:2], a[2:]), np.maximum(b[:2], b[2:]))
    common = np.prod(np.maximum(high - low, 0))
    return common / (sum(areas) - common) if common else 0


@pytest.mark.parametrize("count", [0, 2])
def test_what_the_data_decides_goes_on_in_a_graph(count):
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 3)))
    at = op.nonzero(op.greater(x, 0.0))
    values, _, which, counts = op.unique(op.gather_nd(x, op.transpose(at, perm=(1, 0))))
    g.output("values", op.relu(values))
    g.output("counts", op.add(counts, counts))
    g.output("which", which)
    verify(g)
    assert values.type.shape == counts.type.shape != which.type.shape == at.type.shape[1:]
    given_x = np.float32([[1, -2, 1], [5, -6, -7]])[:count]
    wanted = {"values": [1.0, 5.0], "counts": [4, 2], "which": [0, 0, 1]}
    for graph in (g, Graph.parse(str(g)), from_onnx(to_onnx(g))):
        found = {name: array.tolist() for name, array in evaluate(graph, {"x": given_x}).items()}
        assert found == (wanted if count else {key: [] for key in wanted})
