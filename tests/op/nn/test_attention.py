"""Attention and rotary embedding: ONNX's cases, and what they are for few keys."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Tensor, op
from graphrewrite.errors import TypeMismatchError
from tests.support.node_cases import Case, assert_case, cases_of

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def is_plain(case: Case) -> bool:
    """Tell whether a case is of four axes, without what came before, a cap, and roundings to bfloat16."""
    q, k, _, *more = case.operands
    whole = not more or more[0] is None or (more[0].ndim > 1 and more[0].shape[-2:] == (q.shape[2], k.shape[2]))
    return (
        q.ndim == 4
        and "bf16" not in case.elements
        and whole
        and len(case.operands) <= 4
        and len(case.results) == 1
        and case.attributes.keys() <= {"scale", "is_causal"}
    )


def test_onnx_s_cases_of_attention():
    for case in filter(is_plain, cases_of("Attention")):
        attributes = {**case.attributes, "is_causal": bool(case.attributes.get("is_causal"))}
        assert_case(op.attention(*case.operands, **attributes), case)


def test_onnx_s_cases_of_rotary_embedding():
    for case in cases_of("RotaryEmbedding"):
        if len(case.operands) != 3:
            continue
        x, cos, sin = case.operands
        heads = case.attributes.get("num_heads", 0)
        if heads:
            x = x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)
        y = op.rotary_embedding(x, cos, sin, interleaved=bool(case.attributes.get("interleaved")))
        assert_case(y.swapaxes(1, 2).reshape(case.operands[0].shape) if heads else y, case)


def given_by_parts(q, k, v, mask, scale, *, causal):
    """Softmax in double precision; zeros where all is hidden."""
    scores = np.einsum("bhqd,bhkd->bhqk", q, k) * scale + mask
    seen = np.isfinite(np.broadcast_to(mask, scores.shape)) & (np.tri(*scores.shape[-2:]) > 0 if causal else True)
    shares = np.where(seen, np.exp(np.where(seen, scores, 0)), 0)
    total = shares.sum(-1, keepdims=True)
    return shares / np.where(total == 0, 1, total) @ v


@given(seeds, st.sampled_from([1, 2]), st.booleans(), st.booleans(), st.sampled_from([None, 0.3]))
def test_heads_may_share_keys_and_queries_may_see_none(rng, groups, causal, as_truth, scale):
    q = rng.normal(size=(2, 2 * groups, 3, 4))
    k, v = rng.normal(size=(2, 2, 5, 4)), rng.normal(size=(2, 2, 5, 3))
    seen = rng.random((2, 1, 3, 5)) < 0.5
    mask = seen if as_truth else np.where(seen, rng.normal(size=seen.shape), -np.inf)
    found = op.attention(q, k, v, mask, scale=scale, is_causal=causal)
    added = np.where(seen, 0 if as_truth else mask, -np.inf)
    each = np.repeat(k, groups, 1), np.repeat(v, groups, 1)
    expected = given_by_parts(q, *each, added, scale or 0.5, causal=causal)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert not found[~(seen & np.tri(3, 5, dtype=bool) if causal else seen).any(-1).repeat(2 * groups, 1)].any()


@given(seeds)
def test_half_precision_is_widened(rng):
    q, k, v = (rng.normal(size=(1, 1, 4, 64)) * 30 for _ in range(3))
    found = op.attention(*(x.astype(np.float16) for x in (q, k, v)))
    wide = op.attention(*(x.astype(np.float16).astype(np.float64) for x in (q, k, v)))
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, wide, rtol=1e-2, atol=1e-2)


@given(seeds, st.booleans())
def test_a_turn_is_that_of_a_complex_number(rng, interleaved):
    x, angle = rng.normal(size=(2, 3, 4, 6)), rng.normal(size=(2, 4, 3))
    y = op.rotary_embedding(x, np.cos(angle), np.sin(angle), interleaved=interleaved)
    pairs = [
        z.reshape(2, 3, 4, *((3, 2) if interleaved else (2, 3))).swapaxes(3, 3 if interleaved else 4) for z in (x, y)
    ]
    before, after = (pair[..., 0] + 1j * pair[..., 1] for pair in pairs)
    np.testing.assert_allclose(after, before * np.exp(1j * angle)[:, None], rtol=1e-9)


@pytest.mark.parametrize("shape", [(0, 2, 3, 4), (2, 0, 3, 4), (2, 2, 0, 4), (2, 2, 3, 0)])
def test_there_may_be_no_entries(shape):
    x = np.ones(shape)
    assert op.attention(x, x, x).shape == shape
    assert not op.attention(np.ones((2, 2, 3, 4)), np.ones((2, 2, 0, 4)), np.ones((2, 2, 0, 1))).any()


def kind(*shape, element="f32"):
    return Tensor(element, shape)


Q = kind("N", 4, "L", 8)


@pytest.mark.parametrize(
    ("kinds", "attributes", "reason"),
    [
        ((kind(2, 3), kind(2, 3), kind(2, 3)), {}, r"are \[N,heads,T,size\]"),
        ((Q, Q, Q), {"scale": 0.0}, "must be above 0"),
        ((Q, Q, Q), {"scale": -1.0}, "must be above 0"),
        ((Q, kind("N", 4, "L", 7), Q), {}, "do not fit to queries"),
        ((Q, Q, kind("N", 2, "L", 8)), {}, "do not fit to queries"),
        ((Q, *[kind("N", 3, "L", 8)] * 2), {}, "4 heads of queries cannot share 3 heads"),
        ((Q, *[kind("N", "H", "L", 8)] * 2), {}, "4 heads of queries cannot share H heads"),
        ((Q, Q, Q, kind("L")), {}, "an entry for each query and key"),
        ((Q, Q, Q, kind("N", 1, 1, "L")), {}, "an entry for each query and key"),
        ((Q, Q, Q, kind(3, "L", "L")), {}, "an entry for each query and key"),
        ((Q, Q, Q, kind("L", "L", element="i64")), {}, "a mask is of bool"),
        ((Q, Q, kind("N", 4, "L", 8, element="f64")), {}, "different element types"),
        (tuple(kind("N", 4, "L", 8, element="i8") for _ in range(3)), {}, "does not compute with i8"),
    ],
)
def test_attention_of_what_does_not_fit(kinds, attributes, reason):
    with pytest.raises(TypeMismatchError, match=reason):
        op.attention.infer(*kinds, **attributes)


@pytest.mark.parametrize(
    ("kinds", "reason"),
    [
        ((kind("N", 8), *[kind("N", "L", 4)] * 2), "the operand is"),
        ((Q, *[kind(1, "L", 4)] * 2), "cosines and sines are"),
        ((Q, kind("N", "L", 4), kind("N", "L", 3)), "cosines and sines are"),
        ((Q, *[kind("N", "L", 5)] * 2), "5 pairs do not fit in 8 entries"),
        ((Q, *[kind("N", "L", "P")] * 2), "P pairs do not fit"),
    ],
)
def test_rotary_embedding_of_what_does_not_fit(kinds, reason):
    with pytest.raises(TypeMismatchError, match=reason):
        op.rotary_embedding.infer(*kinds)


def test_they_infer_their_types():
    assert op.attention.infer(Q, kind("N", 2, "S", 8), kind("N", 2, "S", 5)) == (kind("N", 4, "L", 5),)
    assert op.rotary_embedding.infer(Q, *[kind("N", "L", 3)] * 2) == (Q,)
    assert (
        op.attention.cost((kind("N", 2, 3, 4), *[kind("N", 2, 5, 4)] * 2), kind("N", 2, 3, 4), {}) == 2 * 2 * 3 * 5 * 4
    )
