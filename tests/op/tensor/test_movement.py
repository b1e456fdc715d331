"""Ops that cut, repeat, gather, scatter, rearrange and make entries, against loops over single entries."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op, verify
from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.types import Quantised, element_of

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)
FAR = 2**31 - 1


def numbered(shape):
    """An array all of whose entries differ."""
    return np.arange(1.0, 1 + math.prod(shape)).reshape(shape)


def inferred(tested, *arrays, **attributes):
    return [t.shape for t in tested.infer(*(Tensor(element_of(a.dtype), a.shape) for a in arrays), **attributes)]


def checked(tested, *arrays, **attributes):
    """The result, whose shape is the inferred one."""
    found = tested(*arrays, **attributes)
    assert inferred(tested, *arrays, **attributes) == [found.shape]
    return found


@given(shapes, st.data())
def test_a_slice_takes_the_entries_that_onnx_counts(shape, data):
    bounds = st.integers(-7, 7) | st.sampled_from([FAR, -FAR])
    axes = data.draw(st.permutations(range(len(shape)))) if data.draw(st.booleans()) else None
    starts, ends = (tuple(data.draw(bounds) for _ in shape) for _ in range(2))
    steps = tuple(data.draw(st.sampled_from([1, 2, -1, -3])) for _ in shape)
    x = numbered(shape)
    found = checked(op.slice, x, starts=starts, ends=ends, axes=axes, steps=steps)
    picks = [range(size) for size in shape]
    for axis, start, end, step in zip(axes or range(len(shape)), starts, ends, steps, strict=True):
        size = shape[axis]
        low, high = (0, size) if step > 0 else (0, size - 1)
        first = min(max(start + size * (start < 0), low), high)
        least = 0 if step > 0 else -1
        last = min(max(end + size * (end < 0), least), high)
        picks[axis] = range(first, last, step)
    np.testing.assert_array_equal(found, x[np.ix_(*picks)])


def test_what_no_slice_has():
    x = Tensor("f32", ("N", 4), "NC")
    assert str(op.slice.infer(x, starts=(0, 1), ends=(FAR, 3))[0]) == "f32[N,2] NC"
    assert str(op.slice.infer(x, starts=(-1,), ends=(-FAR,), axes=(0,), steps=(-1,))[0]) == "f32[N,4] NC"
    with pytest.raises(TypeMismatchError, match="must not be 0"):
        op.slice.infer(x, starts=(1,), ends=(2,), axes=(1,), steps=(0,))
    with pytest.raises(
        TypeMismatchError, match=r"starts, ends, axes and steps must have the same length, got 1, 2, 1, 1"
    ):
        op.slice.infer(x, starts=(1,), ends=(2, 3))
    with pytest.raises(TypeMismatchError, match=r"contain an axis of .* twice"):
        op.slice.infer(x, starts=(1, 1), ends=(2, 3), axes=(1, -1))


@given(shapes, st.data())
def test_parts_of_a_split_are_one_behind_the_other(shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    cuts = sorted(data.draw(st.lists(st.integers(0, shape[axis]), max_size=3)))
    ends = [0, *cuts, shape[axis]]
    sizes = tuple(b - a for a, b in itertools.pairwise(ends))
    x = numbered(shape)
    parts = op.split(x, axis=axis, sizes=sizes)
    assert inferred(op.split, x, axis=axis, sizes=sizes) == [part.shape for part in parts]
    np.testing.assert_array_equal(np.concatenate(parts, axis), x)


def test_a_split_has_as_many_results_as_sizes():
    g = Graph("g")
    first, second = op.split(g.input("x", Tensor("f32", ("N", 3), "NC")), axis=1, sizes=(1, 2))
    g.output("y", second)
    g.output("z", first)
    verify(g)
    assert Graph.parse(str(g)) == g
    assert evaluate(g, {"x": [[1, 2, 3]]})["y"].tolist() == [[2, 3]]
    for sizes in ((1, 1), (-1, 4), ()):
        with pytest.raises(TypeMismatchError, match="do not add up to the 3 of axis 1"):
            op.split.infer(Tensor("f32", ("N", 3)), axis=1, sizes=sizes)
    with pytest.raises(TypeMismatchError, match="where 'N' is always 3, give that number instead"):
        op.split.infer(Tensor("f32", ("N", 3)), sizes=(1, 2))


@given(shapes, st.data())
def test_repetitions_and_borders_hold_the_entry_at_a_place_that_is_computed(shape, data):
    x = numbered(shape)
    repeats = tuple(data.draw(st.integers(0, 3)) for _ in shape)
    tiled = checked(op.tile, x, repeats=repeats)
    for at in np.ndindex(tiled.shape):
        assert tiled[at] == x[tuple(i % n for i, n in zip(at, shape, strict=True))]
    pads = tuple(data.draw(st.integers(-1, 2 * n)) for n in shape * 2)
    mode = data.draw(st.sampled_from(["constant", "edge", "wrap", "reflect"]))
    begins, ends = pads[: x.ndim], pads[x.ndim :]
    if any(n + min(b, 0) + min(e, 0) <= 0 for n, b, e in zip(shape, begins, ends, strict=True)):
        return
    found = checked(op.pad, x, pads=pads, mode=mode, fill=-1.0)
    for at in np.ndindex(found.shape):
        places = [_inside(i - b, n, b, e, mode) for i, n, b, e in zip(at, shape, begins, ends, strict=True)]
        assert found[at] == (-1.0 if None in places else x[tuple(places)])


def _inside(i, size, begin, end, mode):
    """The place in an axis of what is at a place around it; cropped ends are never there."""
    low, high = max(-begin, 0), size - max(-end, 0)
    width = high - low
    if low <= i < high:
        return i
    if mode == "constant":
        return None
    if mode == "edge":
        return low if i < low else high - 1
    if mode == "wrap":
        return low + (i - low) % width
    period = max(2 * width - 2, 1)
    turn = (i - low) % period
    return low + min(turn, period - turn) if width > 1 else low


def test_what_cannot_be_repeated_or_padded():
    x = Tensor("f32", ("N", 2), "NC")
    assert str(op.expand.infer(Tensor("f32", ("N", 1), "NC"), shape=(1, 3))[0]) == "f32[N,3] NC"
    assert str(op.expand.infer(x, shape=(3, "N", 2))[0]) == "f32[3,N,2]"
    for bad, message in [
        (lambda: op.tile.infer(x, repeats=(1,)), "one per axis"),
        (lambda: op.expand.infer(x, shape=("M", 2)), "do not broadcast"),
        (lambda: op.pad.infer(x, pads=(0, -1, 0, -2)), "crop more than there is"),
        (lambda: op.pad.infer(x, pads=(0, 1, 0, 0), mode="mirror"), "unknown border mode 'mirror'"),
        (lambda: op.pad.infer(x, pads=(0, 1, 0, -2), mode="wrap"), "is left to repeat"),
        (
            lambda: op.tile.infer(Tensor(Quantised("i8", (0.5, 0.25), axis=1), (3, 2)), repeats=(1, 2)),
            "dequantises first",
        ),
    ]:
        with pytest.raises(TypeMismatchError, match=message):
            bad()


@given(shapes, st.data())
def test_gathering_is_a_loop_over_indices(shape, data):
    x, axis = numbered(shape), data.draw(st.integers(-len(shape), len(shape) - 1))
    size, at = shape[axis], axis % len(shape)
    wanted = data.draw(st.lists(st.integers(1, 3), max_size=2).map(tuple))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    indices = rng.integers(-size, size, wanted)
    found = checked(op.gather, x, indices, axis=axis)
    for place in np.ndindex(found.shape):
        before, inner, behind = place[:at], place[at : at + len(wanted)], place[at + len(wanted) :]
        assert found[place] == x[(*before, indices[inner], *behind)]
    like = tuple(int(rng.integers(1, n + 1)) if i != at else 3 for i, n in enumerate(shape))
    each = rng.integers(-size, size, like)
    found = checked(op.gather_elements, x, each, axis=axis)
    for place in np.ndindex(like):
        assert found[place] == x[(*place[:at], each[place], *place[at + 1 :])]
    depth = data.draw(st.integers(1, len(shape)))
    places = np.stack([rng.integers(-n, n, wanted) for n in shape[:depth]], axis=-1)
    found = checked(op.gather_nd, x, places)
    for place in np.ndindex(wanted):
        np.testing.assert_array_equal(found[place], x[tuple(places[place])])


@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 99))
def test_gathering_in_batches(batch, size, seed):
    rng = np.random.default_rng(seed)
    x, indices = numbered((batch, size, 2)), rng.integers(-size, size, (batch, 4, 1))
    found = checked(op.gather_nd, x, indices, batch_dims=1)
    for b, i in np.ndindex(batch, 4):
        np.testing.assert_array_equal(found[b, i], x[b, indices[b, i, 0]])


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@given(shapes, st.integers(0, 99), st.data())
def test_scattering_is_a_loop_over_updates(reduction, shape, seed, data):
    join = {"none": lambda a, b: b, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[reduction]
    rng = np.random.default_rng(seed)
    x, axis = numbered(shape), data.draw(st.integers(-len(shape), len(shape) - 1))
    at = axis % len(shape)
    indices = rng.integers(-shape[axis], shape[axis], shape)
    updates = rng.integers(-4, 5, shape).astype(float)
    expected = x.copy()
    for place in np.ndindex(shape):
        target = (*place[:at], indices[place], *place[at + 1 :])
        expected[target] = join(expected[target], updates[place])
    np.testing.assert_array_equal(
        checked(op.scatter_elements, x, indices, updates, axis=axis, reduction=reduction), expected
    )
    places = rng.integers(-shape[0], shape[0], (5, 1))
    slices = rng.integers(-4, 5, (5, *shape[1:])).astype(float)
    expected = x.copy()
    for place, update in zip(places, slices, strict=True):
        expected[place[0]] = join(expected[place[0]], update)
    np.testing.assert_array_equal(checked(op.scatter_nd, x, places, slices, reduction=reduction), expected)


def test_indices_that_are_outside_say_which_and_of_what():
    g = Graph("g")
    g.output("y", op.gather(g.input("x", Tensor("f32", (3,))), g.input("i", Tensor("i64", ("N",)))))
    with pytest.raises(
        EvaluationError, match=r"node 'gather_1'.*the index -4 is outside of axis 0 of size 3; give one"
    ):
        evaluate(g, {"x": np.zeros(3, np.float32), "i": [0, -4]})
    wide = np.array([2**64 - 1], np.uint64)
    for bad in (
        lambda: op.gather(np.zeros(3), wide),
        lambda: op.gather_elements(np.zeros((2, 2)), np.array([[2, 0]])),
        lambda: op.scatter_nd(np.zeros(2), np.array([[5]]), np.zeros(1)),
    ):
        with pytest.raises(EvaluationError, match="is outside of axis 0"):
            bad()
    with pytest.raises(EvaluationError, match="a length of 4 exceeds sequences of 3 entries; give 0 to 3"):
        op.reverse_sequence(np.zeros((3, 1)), np.array([4]))
    x = Tensor("f32", ("N", 3))
    for refused, message in [
        (lambda: op.gather.infer(x, x), r"indices are integers, got f32; op.cast"),
        (lambda: op.gather_elements.infer(x, Tensor("i64", (2,))), "must have as many axes"),
        (lambda: op.gather_elements.infer(x, Tensor("i64", ("N", 4)), axis=0), "larger than .* on axis 1"),
        (lambda: op.gather_nd.infer(x, Tensor("i64", ("N", 3))), "must have 1 to 2 entries"),
        (lambda: op.gather_nd.infer(x, Tensor("i64", ("M", 1)), batch_dims=1), "do not have 1 first axes in common"),
        (lambda: op.scatter_nd.infer(x, Tensor("i64", (5, 2)), Tensor("f32", (4,))), r"select slices of \[5\]"),
        (lambda: op.scatter_elements.infer(x, Tensor("i64", ("N", 3)), x, reduction="sum"), "unknown reduction"),
    ]:
        with pytest.raises(TypeMismatchError, match=message):
            refused()


@given(st.integers(1, 2), st.integers(1, 3), st.integers(1, 3), st.sampled_from(["DCR", "CRD"]))
def test_blocks_of_positions_and_channels_are_each_other_s_inverse(n, c, b, mode):
    x = numbered((n, c * b * b, 2, 3))
    found = checked(op.depth_to_space, x, block_size=b, mode=mode)
    np.testing.assert_array_equal(checked(op.space_to_depth, found, block_size=b, mode=mode), x)
    for i, k, row, column in np.ndindex(found.shape):
        inner = row % b * b + column % b
        channel = inner * c + k if mode == "DCR" else k * b * b + inner
        assert found[i, k, row, column] == x[i, channel, row // b, column // b]


@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 99))
def test_channels_are_shuffled_and_sequences_reversed(groups, each, seed):
    x = numbered((2, groups * each, 2))
    found = checked(op.channel_shuffle, x, groups=groups)
    for g, i in np.ndindex(groups, each):
        np.testing.assert_array_equal(found[:, i * groups + g], x[:, g * each + i])
    lengths = np.random.default_rng(seed).integers(0, x.shape[1] + 1, 2)
    found = checked(op.reverse_sequence, x, lengths, batch_axis=0, time_axis=1)
    for row, until in enumerate(lengths):
        np.testing.assert_array_equal(found[row], [*x[row, :until][::-1], *x[row, until:]])


@given(st.integers(1, 4), st.integers(1, 4), st.integers(-5, 5), st.booleans())
def test_diagonals(rows, columns, k, upper):
    x = numbered((2, rows, columns))
    found, eye = checked(op.trilu, x, k=k, upper=upper), checked(op.eye_like, x[0], k=k, element="i8")
    for at in np.ndindex(x.shape):
        right = at[2] - at[1]
        assert found[at] == (x[at] if (right >= k if upper else right <= k) else 0)
        assert eye[at[1:]] == (right == k)
    assert eye.dtype == np.int8


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=4), st.integers(0, 4), st.integers(-2, 1), st.booleans())
def test_one_hot_and_numbers_in_a_row(indices, depth, axis, whole):
    given_indices = np.array(indices, np.int8 if whole else np.float32)
    found = checked(op.one_hot, given_indices, np.array([2, 7]), depth=depth, axis=axis)
    rows = found if axis % 2 else found.T
    for row, index in zip(rows, indices, strict=True):
        assert row.tolist() == [7 if index in (place, place - depth) else 2 for place in range(depth)]
    start, limit, delta = indices[0], 5, axis or 3
    assert checked(op.range, start=start, limit=limit, delta=delta).tolist() == [*range(start, limit, delta)]


def test_what_is_made_of_nothing_is_a_node_like_any_other():
    g = Graph("g")
    made = g.add(op.constant_of_shape, [], {"shape": (2,), "value": 3, "element": "i8"})
    g.output("y", op.add(made, g.add(op.range, [], {"limit": 2, "element": "i8"})))
    g.output("s", op.shape(g.input("x", Tensor("f32", ("N", 4))), start=-1))
    g.output("n", op.size(g.value("x")))
    verify(g)
    assert Graph.parse(str(g)) == g
    found = evaluate(g, {"x": np.zeros((3, 4), np.float32)})
    assert {name: array.tolist() for name, array in found.items()} == {"y": [3, 4], "s": [4], "n": 12}
    for refused, message in [
        (lambda: op.range.infer(limit=300, element="i8"), "does not fit into i8"),
        (lambda: op.range.infer(limit=3, delta=0), "is not a range of i64 numbers"),
        (
            lambda: op.constant_of_shape.infer(shape=(2,), value=0.5, element="i8"),
            "the value 0.5 does not fit into i8",
        ),
        (lambda: op.constant_of_shape.infer(shape=(-1,)), "sizes are at least 0"),
        (lambda: op.one_hot.infer(Tensor("i64", ()), Tensor("f32", (3,)), depth=2), "expected two values"),
        (lambda: op.eye_like.infer(Tensor("f32", (3,))), "no diagonal"),
    ]:
        with pytest.raises(TypeMismatchError, match=message):
            refused()


def test_sizes_of_zero_and_axes_that_are_not_named():
    empty = Tensor("f32", (3, 0))
    assert op.reshape.infer(empty, shape=(0, 5), allow_zero=True)[0].shape == (0, 5)
    assert op.reshape(np.zeros((3, 0)), shape=(0, 5), allow_zero=True).shape == (0, 5)
    assert (
        op.reshape(np.zeros(0), shape=(1, 1, 0)).shape
        == op.reshape.infer(Tensor("f32", (0,)), shape=(1, 1, 0))[0].shape
    )
    with pytest.raises(TypeMismatchError, match=r"-1 is undetermined in the shape \[0, -1\]: beside it is a size of 0"):
        op.reshape.infer(empty, shape=(0, -1), allow_zero=True)
    for shape in ((-1,), (0, -1), (-1, 3), (-1, 1, 2)):
        assert op.reshape(np.zeros((3, 0)), shape=shape).shape == op.reshape.infer(empty, shape=shape)[0].shape
    assert op.squeeze.infer(Tensor("f32", (1, 3, 1), "NCW"))[0] == Tensor("f32", (3,), "C")
    assert op.squeeze(np.zeros((1, 3, 1))).shape == (3,)
    with pytest.raises(TypeMismatchError, match=r"a symbolic size .* may be 1 at run time"):
        op.squeeze.infer(Tensor("f32", ("N", 1)))


@pytest.mark.parametrize("shape", [(1, 0), (0,), (0, 1), (1, "N"), (0, 2)])
def test_reshaping_keeps_each_of_several_equal_symbolic_sizes(shape):
    with pytest.raises(TypeMismatchError, match=r"does not reshape to .*: N\*N against"):
        op.reshape.infer(Tensor("f32", ("N", "N")), shape=shape)


@pytest.mark.parametrize(
    ("own", "shape", "expected"),
    [
        (("N", "N"), (0, 0), ("N", "N")),
        (("N", "N"), (-1, 0), ("N", "N")),
        (("N", "N"), (0, 1, "N"), ("N", 1, "N")),
        (("N", "N", 6), (0, 0, -1, 2), ("N", "N", 3, 2)),
        (("N", 6), (-1, 6), ("N", 6)),
        (("N", 0), (0, 0), ("N", 0)),
        (("N", 0), ("N", 0, 4), ("N", 0, 4)),
        (("N", "N"), (-1,), ("N*N",)),
        (("N", "N"), (-1, 2), ("(N*N)//2", 2)),
    ],
)
def test_a_zero_of_a_shape_copies_the_axis_of_its_index(own, shape, expected):
    assert op.reshape.infer(Tensor("f32", own), shape=shape)[0].shape == expected
