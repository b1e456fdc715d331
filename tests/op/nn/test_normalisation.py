"""Normalisations: ONNX's cases, and what mean, variance and norm of the results are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphrewrite import Graph, Tensor, evaluate, op
from graphrewrite.errors import TypeMismatchError
from tests.support.node_cases import assert_case, cases_of

OURS = {
    "LayerNormalization": op.layer_norm,
    "InstanceNormalization": op.instance_norm,
    "GroupNormalization": op.group_norm,
    "RMSNormalization": op.rms_norm,
    "LpNormalization": op.lp_norm,
    "MeanVarianceNormalization": op.mean_variance_norm,
    "BatchNormalization": op.batch_norm,
}
NAMES = {"num_groups": "groups"}


@pytest.mark.parametrize("kind", OURS)
def test_onnx_s_cases(kind):
    for case in cases_of(kind):
        tested = OURS[kind]
        attributes = {NAMES.get(k, k): v for k, v in case.attributes.items()}
        if attributes.pop("training_mode", 0):
            tested = op.batch_norm_training
        assert_case(tested(*case.operands, **attributes), case)
        kinds = [Tensor("f32", x.shape) for x in case.operands]
        found = tested.infer(*kinds, **attributes)
        assert [kind.shape for kind in found] == [result.shape for result in case.results[: len(found)]]


def numbers(*shape: int) -> st.SearchStrategy[np.ndarray]:
    """Arrays whose entries differ."""
    return st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).normal(2, 3, shape))


@given(numbers(4, 6, 3, 2), numbers(6), numbers(6), st.sampled_from([1, 2, 3, 6]))
def test_groups_are_normalised_by_themselves(x, gain, shift, groups):
    found = op.group_norm(x, gain, shift, groups=groups, epsilon=1e-3)
    for sample, result in zip(x, found, strict=True):
        for part, own in zip(np.split(sample, groups), np.split(np.arange(6), groups), strict=True):
            plain = (part - part.mean()) / np.sqrt(part.var() + 1e-3)
            expected = plain * gain[own, None, None] + shift[own, None, None]
            np.testing.assert_allclose(result[own], expected, rtol=1e-9, atol=1e-9)
    if groups == 6:
        np.testing.assert_allclose(op.instance_norm(x, gain, shift, epsilon=1e-3), found, rtol=1e-9, atol=1e-9)
    if groups == 1:
        gains, shifts = (np.broadcast_to(v[:, None, None], (6, 3, 2)) for v in (gain, shift))
        np.testing.assert_allclose(op.layer_norm(x, gains, shifts, axis=1, epsilon=1e-3), found, rtol=1e-9, atol=1e-9)


@given(numbers(5, 3, 4), numbers(3), numbers(3), numbers(3), st.floats(0, 1))
def test_training_normalises_the_batch_and_keeps_running_statistics(x, gain, shift, mean, momentum):
    var = np.abs(mean)
    y, new_mean, new_var = op.batch_norm_training(x, gain, shift, mean, var, momentum=momentum)
    own = [x[:, c].mean() for c in range(3)], [x[:, c].var() for c in range(3)]
    np.testing.assert_allclose(y, op.batch_norm(x, gain, shift, *map(np.array, own)), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(new_mean, momentum * mean + (1 - momentum) * np.array(own[0]), atol=1e-12)
    np.testing.assert_allclose(new_var, momentum * var + (1 - momentum) * np.array(own[1]), atol=1e-12)


@given(numbers(2, 3, 4), st.integers(-3, 2))
def test_root_mean_squares_and_norms(x, axis):
    axes = tuple(range(axis % 3, 3))
    y = op.rms_norm(x, np.ones(x.shape[axis % 3 :]), axis=axis, epsilon=0.0)
    np.testing.assert_allclose((y**2).mean(axis=axes), 1)
    np.testing.assert_allclose(np.linalg.norm(op.lp_norm(x, axis=axis), axis=axis), 1)
    np.testing.assert_allclose(np.abs(op.lp_norm(x, axis=axis, p=1)).sum(axis=axis), 1)
    z = op.mean_variance_norm(x, axes=(axis,))
    np.testing.assert_allclose(z.mean(axis=axis), 0, atol=1e-9)
    np.testing.assert_allclose(z.var(axis=axis), 1, rtol=1e-3)


CALLS = {
    "layer_norm": lambda x, c: op.layer_norm(x, c[: x.shape[-1]], c[: x.shape[-1]]),
    "rms_norm": lambda x, c: op.rms_norm(x, c[: x.shape[-1]]),
    "instance_norm": lambda x, c: op.instance_norm(x, c, c),
    "group_norm": lambda x, c: op.group_norm(x, c, c, groups=2),
    "lp_norm": lambda x, c: op.lp_norm(x),
    "mean_variance_norm": lambda x, c: op.mean_variance_norm(x, axes=(0, 2)),
    "dropout": lambda x, c: op.dropout(x),
    "batch_norm_training": lambda x, c: op.batch_norm_training(x, c, c, c, c)[0],
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(2, 4, 3), (0, 4, 3), (2, 4, 0), (1, 4, 1)])
def test_types_stay_and_nothing_warns(name, dtype, shape):
    x = np.full(shape, 60000, dtype)
    x[..., :1] = -60000
    found = CALLS[name](x, np.ones(4, dtype))
    assert (found.dtype, found.shape) == (dtype, shape)
    assert np.isfinite(found).all()
    constant = CALLS[name](np.zeros(shape, dtype), np.zeros(4, dtype))
    assert not constant.any()


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "instance_norm", "group_norm"])
def test_the_bits_depend_on_neither_batch_nor_layout(name):
    x = np.random.default_rng(0).normal(0, 3, (20, 8, 300)).astype(np.float32)
    c = np.linspace(-1, 2, 300 if name[0] in "lr" else 8, dtype=np.float32)
    whole = CALLS[name](x, c)
    for other in (CALLS[name](np.asfortranarray(x), c), np.concatenate([CALLS[name](each[None], c) for each in x])):
        np.testing.assert_array_equal(other, whole)


@given(hnp.arrays(np.float32, (2, 6, 5), elements=st.floats(-4, 4, width=32)))
def test_channels_may_come_last(x):
    for tested, more in ((op.instance_norm, {}), (op.group_norm, {"groups": 3})):
        g, parameter = Graph("g"), np.arange(6, dtype=np.float32)
        made = tested(g.input("x", Tensor("f32", ("N", 5, 6), "NWC")), parameter, parameter, **more)
        assert made.type == Tensor("f32", ("N", 5, 6), "NWC")
        g.output("y", made)
        found = evaluate(g, {"x": np.transpose(x, (0, 2, 1))})["y"]
        np.testing.assert_array_equal(np.transpose(found, (0, 2, 1)), tested(x, parameter, parameter, **more))


def test_refusals():
    x, c = Tensor("f32", ("N", 6, 4)), Tensor("f32", (6,))
    with pytest.raises(TypeMismatchError, match=r"6 channels of .* do not split into 4 equal groups"):
        op.group_norm.infer(x, c, c, groups=4)
    with pytest.raises(TypeMismatchError, match="needs one entry per channel"):
        op.instance_norm.infer(x, c, Tensor("f32", (4,)))
    for tested in (op.layer_norm, op.rms_norm):
        with pytest.raises(TypeMismatchError, match=r"does not broadcast to the normalised axes \[6,4\]"):
            tested.infer(x, c, axis=1)
        assert tested.infer(x, Tensor("f32", (6, 1)), axis=1) == (x,)
    with pytest.raises(TypeMismatchError, match="order of the norm is 1 or 2, got 3"):
        op.lp_norm.infer(x, p=3)
    with pytest.raises(TypeMismatchError, match="axis 3 is outside"):
        op.mean_variance_norm.infer(x)
    with pytest.raises(TypeMismatchError, match="the ratio is 0 to 1"):
        op.dropout.infer(x, ratio=2.0)
    with pytest.raises(TypeMismatchError, match="must be its second axis"):
        op.batch_norm_training.infer(Tensor("f32", ("N", 4, 6), "NWC"), c, c, c, c)
    with pytest.raises(TypeMismatchError, match="different element types"):
        op.layer_norm.infer(x, Tensor("f16", (4,)))
