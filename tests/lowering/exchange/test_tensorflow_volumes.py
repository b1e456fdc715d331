"""Convolutions and pools of volumes in TensorFlow's graphs, compared with their definition in numpy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from graphrewrite.lowering import ModelError
from tests.lowering.exchange.test_tensorflow import computed

RNG = np.random.default_rng(11)
X = RNG.normal(size=(2, 4, 5, 6, 4)).astype(np.float32)
Three = tuple[int, int, int]


def windows(kernel: Three, strides: Three, dilations: Three, padding: str) -> np.ndarray:
    """The windows [N, D, H, W, taps, C] of a volume with channels last; not a number in its border."""
    places = []
    for size, taps, stride, step in zip(X.shape[1:4], kernel, strides, dilations, strict=True):
        reach = (taps - 1) * step + 1
        count = -(-size // stride) if padding == "SAME" else (size - reach) // stride + 1
        before = max((count - 1) * stride + reach - size, 0) // 2 if padding == "SAME" else 0
        places.append(np.arange(count)[:, None] * stride + np.arange(taps) * step - before)
    found = np.full((len(X), *(len(p) for p in places), np.prod(kernel), X.shape[4]), np.nan)
    for at in product(*(range(len(p)) for p in places)):
        for tap, read in enumerate(product(*(p[i] for p, i in zip(places, at, strict=True)))):
            if all(0 <= r < size for r, size in zip(read, X.shape[1:4], strict=True)):
                found[(slice(None), *at, tap)] = X[(slice(None), *read)]
    return found


def of_channels_first(kind: str, *constants: np.ndarray, **attributes: object) -> np.ndarray:
    found = computed(kind, X.transpose(0, 4, 1, 2, 3), *constants, data_format="NCDHW", **attributes)
    return found.transpose(0, 2, 3, 4, 1)


FORMS: dict[str, tuple[Callable[..., np.ndarray], Callable[[Three], tuple[int, ...]]]] = {
    "channels last": (lambda kind, *c, **a: computed(kind, X, *c, **a), lambda each: (1, *each, 1)),
    "channels first": (of_channels_first, lambda each: (1, 1, *each)),
}
WINDOWS: list[tuple[Three, Three, Three, str]] = [
    ((2, 3, 2), (1, 2, 3), (1, 1, 1), "SAME"),
    ((2, 3, 2), (1, 2, 3), (1, 1, 1), "VALID"),
    ((2, 2, 3), (1, 1, 1), (2, 1, 2), "SAME"),
    ((2, 2, 2), (2, 1, 2), (1, 3, 2), "VALID"),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("kernel", "strides", "dilations", "padding"), WINDOWS)
@pytest.mark.parametrize("groups", [1, 2])
def test_a_convolution(form: str, kernel: Three, strides: Three, dilations: Three, padding: str, groups: int) -> None:
    apply, spread = FORMS[form]
    weights = RNG.normal(size=(*kernel, 4 // groups, 6)).astype(np.float32)
    given = {"strides": spread(strides), "dilations": spread(dilations), "padding": padding}
    seen = np.nan_to_num(windows(kernel, strides, dilations, padding))
    taps = weights.reshape(-1, 4 // groups, groups, 6 // groups)
    parts = seen.reshape(*seen.shape[:-1], groups, 4 // groups)
    wanted = np.einsum("ndhwtgc,tcgo->ndhwgo", parts, taps).reshape(*seen.shape[:4], 6)
    np.testing.assert_allclose(apply("Conv3D", weights, **given), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("kernel", "strides", "padding"), [(k, s, p) for k, s, _, p in WINDOWS[:2]])
def test_a_transposed_convolution(kernel: Three, strides: Three, padding: str) -> None:
    """It is the adjoint of the convolution: <conv x, y> = <x, transposed y>."""
    weights = RNG.normal(size=(*kernel, 4, 3)).astype(np.float32)
    given = {"strides": (1, *strides, 1), "padding": padding}
    image = computed("Conv3D", X, weights, **given)
    y = RNG.normal(size=image.shape).astype(np.float32)
    shape = np.array(X.shape, np.int32)
    x = computed("Conv3DBackpropInputV2", y, shape, weights, x_at=2, is_open=False, **given)
    assert x.shape == X.shape
    np.testing.assert_allclose(np.vdot(image, y), np.vdot(X, x), rtol=1e-4)
    with pytest.raises(ModelError, match="is no volume's"):
        computed("Conv3DBackpropInputV2", y, shape[1:], weights, x_at=2, **given)
    with pytest.raises(ModelError, match="dilated windows"):
        computed("Conv3DBackpropInputV2", y, shape, weights, x_at=2, **given, dilations=(1, 1, 2, 1, 1))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("kernel", "strides", "dilations", "padding"), WINDOWS[:2])
@pytest.mark.parametrize(("kind", "over"), [("AvgPool3D", np.nanmean), ("MaxPool3D", np.nanmax)])
def test_a_pool(
    form: str, kernel: Three, strides: Three, dilations: Three, padding: str, kind: str, over: Callable[..., np.ndarray]
) -> None:
    apply, spread = FORMS[form]
    found = apply(kind, ksize=spread(kernel), strides=spread(strides), padding=padding)
    np.testing.assert_allclose(found, over(windows(kernel, strides, dilations, padding), axis=4), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("weights", "attributes", "told"),
    [
        ((2, 2, 2, 4, 6), {"data_format": "DHWNC"}, "'DHWNC' is not supported; there are NDHWC and NCDHW"),
        ((2, 2, 2, 3, 6), {}, "weights .* do not fit"),
        ((2, 2, 2, 0, 6), {}, "weights .* do not fit"),
        ((2, 2, 2, 4, 6), {"strides": (1, 0, 1, 1, 1)}, "strides .* are at least 1"),
        ((2, 2, 2, 4, 6), {"dilations": (1, 1, 0, 1, 1)}, "dilations .* are at least 1"),
    ],
)
def test_what_is_no_convolution_of_volumes(weights: tuple[int, ...], attributes: dict[str, object], told: str) -> None:
    with pytest.raises(ModelError, match=told):
        computed("Conv3D", X, np.ones(weights, np.float32), **{"strides": (1,) * 5, "padding": "SAME", **attributes})
