"""Attributes that only fit together, such as the starts and the ends of a slice: made together.

What is asked of one attribute at a time finds them seldom. Each table entry makes all of them for a type of the first
operand; the same choice number makes the same ones.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from graphrewrite.op.op import Op
from graphrewrite.testing.generation.arrays import WORDS
from graphrewrite.testing.generation.bodies import bodies, branches
from graphrewrite.testing.generation.kinds import LONG
from graphrewrite.testing.generation.sequences import Recipe, shape_of
from graphrewrite.types import Dimension, FixedPoint, Tensor, Type

__all__ = ["at_times", "governed", "joint_recipes", "together"]

_CHOICES = 48
"""So many choices there are of each op."""
_FAR = 2**31 - 1
_ALONG_LAST = 0.3
"""How often a slice is along the last axis alone, as it is where two of them meet."""
_BEFORE, _BEYOND = 0.05, 0.2
"""How often a slice forwards begins before its axis, and how often it ends beyond it, as those of exporters do."""
_STEPS, _LONG_STEPS = (1, 1, 1, 2, 2, -1, -2), (1, 1, 2, 2, 3, -1, -2)
_REST = 0.5
"""How often a step that would leave no rest is made to leave one: else rounding a count up or down is the same."""


def governed(op: Op) -> tuple[str, ...]:
    """Return the attributes of an op that are made together.

    Examples
    --------
    >>> from graphrewrite import op
    >>> governed(op.split), governed(op.relu)
    (('axis', 'sizes'), ())
    """
    names, _, always = _TABLE.get(op.name, ((), None, False))
    return names if always and set(names) <= op.attributes.keys() else ()


def together(op: Op) -> tuple[str, ...]:
    """Return the attributes of an op that are made together, always or at times."""
    names, _, _ = _TABLE.get(op.name, ((), None, False))
    return names if set(names) <= op.attributes.keys() else ()


def at_times(op: Op) -> bool:
    """Tell whether an op has attributes that are made together at times, and at other times are left to their defaults.

    Examples
    --------
    >>> from graphrewrite import op
    >>> at_times(op.lstm), at_times(op.split)
    (True, False)
    """
    names, _, always = _TABLE.get(op.name, ((), None, True))
    return not always and set(names) <= op.attributes.keys()


def joint_recipes(op: Op) -> Iterator[dict[str, Recipe]]:
    """Yield recipes for the attributes of an op that are made together.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> recipes = next(joint_recipes(op.split))
    >>> {name: recipe.make(Tensor("f32", ("N", 4)), random.Random(0)) for name, recipe in recipes.items()}
    {'axis': 1, 'sizes': (4, 0)}
    """
    names, make, _ = _TABLE[op.name]
    for choice in range(_CHOICES):
        yield {name: Recipe(f"choice {choice}", partial(_one, make, names[0] + str(choice), name)) for name in names}


def _one(make: _Make, choice: str, name: str, kind: Type | None, rng: random.Random) -> Any:
    rng = random.Random(choice)
    found: dict[str, Any] = make(kind, rng) if make is _lines else make(shape_of(kind), rng)
    return found[name]


_Make = Callable[[Any, random.Random], dict[str, Any]]
"""From a shape, but for lines, which depend on all of a type."""


def _known(shape: tuple[Dimension, ...]) -> list[int]:
    """Axes whose sizes are known."""
    return [axis for axis, size in enumerate(shape) if isinstance(size, int)]


def _split(shape: tuple[Dimension, ...], rng: random.Random) -> dict[str, Any]:
    axis = rng.choice(_known(shape)[-2:])
    left, sizes = int(shape[axis]), []
    for _ in range(rng.choice((0, 1, 1, 2))):
        sizes.append(rng.randint(0 if rng.random() < 0.1 else min(1, left), left))
        left -= sizes[-1]
    return {"axis": axis - (len(shape) if rng.random() < 0.3 else 0), "sizes": (*sizes, left)}


def _slice(shape: tuple[Dimension, ...], rng: random.Random) -> dict[str, Any]:
    known = _known(shape)
    if rng.random() < _ALONG_LAST:
        axes = known[-1:]
    else:
        axes = [a for a in range(len(shape)) if rng.random() < 0.6] or [rng.choice(known)]
    cuts = [_cut(shape[axis], rng) for axis in axes]
    starts, ends, steps = zip(*cuts, strict=True)
    rank = len(shape)
    plain = all(step == 1 for step in steps)
    if plain and len(axes) == rank and rng.random() < 0.7:
        return {"starts": starts, "ends": ends, "axes": None, "steps": None}
    named = tuple(a - (rank if rng.random() < 0.3 else 0) for a in axes)
    return {"starts": starts, "ends": ends, "axes": named, "steps": None if plain and rng.random() < 0.5 else steps}


def _cut(size: Dimension, rng: random.Random) -> tuple[int, int, int]:
    if isinstance(size, str):
        return (0, _FAR, 1) if rng.random() < 0.7 else (-1, -_FAR, -1)
    step = rng.choice(_STEPS if size < LONG[0] else _LONG_STEPS)
    cuts = [sorted((rng.randrange(size + 1), rng.randint(0, size + 1))) for _ in range(2)]
    start, end = max(cuts, key=lambda cut: cut[1] - cut[0])  # of long parts, others can take parts
    if step > 0:
        end = max(end, start + 1)
        if step > 1 and (end - start) % step == 0 and rng.random() < _REST:
            end -= 1
        way = rng.random()  # from the end of the axis: where it begins, where it ends, or both
        start = start - size if way < 0.4 and start < size else start
        end = end - size if 0.25 < way < 0.55 and end < size else end
        return -_FAR if rng.random() < _BEFORE else start, _FAR if rng.random() < _BEYOND else end, step
    return rng.choice((end, -1)), rng.choice((start - size - 1, -_FAR)), step


_COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    *("tf_crop_and_resize",) * 3,
)
"""The last has two attributes of its own."""


def _nearly_one(size: Dimension) -> float:
    """A scale with which an axis keeps its size, or has one entry less, and not each entry its place."""
    return 1 + 0.5 / size if isinstance(size, int) and size else 0.75


def _resize(shape: tuple[Dimension, ...], rng: random.Random) -> dict[str, Any]:
    rank = len(shape)
    axes = [a for a in _known(shape) if rng.random() < 0.7] or _known(shape)[-1:]
    every = len(axes) == rank
    by_size = rng.random() < 0.5
    coordinates = rng.choice(_COORDINATES) if rng.random() < 0.5 else "half_pixel"
    roi = None
    if coordinates == "tf_crop_and_resize" or rng.random() < 0.1:
        roi = (*(rng.choice((0.0, 0.25, -0.5)) for _ in axes), *(rng.choice((1.0, 0.75)) for _ in axes))
    return {
        "scales": None if by_size else tuple(rng.choice((2.0, 1.0, 1.5, 1.0, _nearly_one(shape[a]))) for a in axes),
        "sizes": tuple(rng.choice((1, 2, 3, 4)) for _ in axes) if by_size else None,
        "axes": None if every and rng.random() < 0.5 else tuple(axes),
        "coordinate_transformation_mode": coordinates,
        "roi": roi,
        "keep_aspect_ratio_policy": rng.choice(("stretch", "not_larger", "not_smaller")) if by_size else "stretch",
        "extrapolation_value": 0.0 if roi is None else rng.choice((0.0, 0.5, -1.0, 2.0)),
    }


def _stopwords(shape: tuple[Dimension, ...], rng: random.Random) -> dict[str, Any]:
    """Texts that are there, some of them in the other case."""
    words = [str(word) for word in rng.sample(list(WORDS), rng.choice((1, 2, 4)))]
    return {
        "stopwords": tuple(word.swapcase() if rng.random() < 0.5 else word for word in words),
        "is_case_sensitive": rng.random() < 0.5,
    }


_WITH_ALPHA = ("elu", "leaky_relu")
_ACTIVATIONS = ("tanh", "relu", "sigmoid", "softsign", "hard_sigmoid", "affine", *_WITH_ALPHA)


def _recurrent(count: int, shape: tuple[Dimension, ...], rng: random.Random) -> dict[str, Any]:
    direction = rng.choice(("forward", "reverse", "bidirectional"))
    both = direction == "bidirectional" and rng.random() < 0.5
    names = tuple(rng.choice(_ACTIVATIONS) for _ in range(count * (1 + both)))
    if rng.random() < 0.4:
        names = ("affine", *names[1:])
    alphas = sum(name in ("hard_sigmoid", "affine", *_WITH_ALPHA) for name in names)
    betas = sum(name in ("hard_sigmoid", "affine") for name in names)
    given = rng.random() < 0.6
    return {
        "direction": direction,
        "activations": names,
        "activation_alpha": (0.5,) * alphas if given else (),
        "activation_beta": (0.25,) * betas if given else (),
    }


def _blocks(shape: tuple[Dimension, ...], rng: random.Random) -> dict[str, Any]:
    return {"axis": rng.choice(_known(shape)), "block_size": rng.choice((2, 1, 3))}


_IN_RECURRENT = ("direction", "activations", "activation_alpha", "activation_beta")


def _range(shape: tuple[Dimension, ...], rng: random.Random) -> dict[str, Any]:
    start, delta = rng.choice((0, 0, 1, -2)), rng.choice((1, 1, 2, -1))
    element = rng.choice(("i64", "i64", "f32", "i8"))
    return {"start": start, "limit": start + delta * rng.choice((1, 2, 3, 0)), "delta": delta, "element": element}


def _constant_of_shape(shape: tuple[Dimension, ...], rng: random.Random) -> dict[str, Any]:
    sizes = tuple(rng.choice((1, 2, 3)) for _ in range(rng.choice((2, 1, 0, 3))))
    return {"shape": sizes, "value": rng.choice((0, 1, 3)), "element": rng.choice(("f32", "f32", "i64", "u8"))}


def _lines(kind: Type | None, rng: random.Random) -> dict[str, Any]:
    """Segments over all of a format, alike for all channels or a row each."""
    if not isinstance(kind, Tensor) or not isinstance(kind.element, FixedPoint):
        raise TypeError("lines over what is no format")
    given, element = kind.element, FixedPoint(True, 12, rng.choice((0, 3)))
    bits = rng.randint(0, min(2, given.width))
    rows = int(kind.shape[1]) if rng.random() < 0.4 else None
    rest, shift = given.width - bits, rng.choice((0, 1, given.width))
    reach = (900 << shift) >> rest  # of a slope, so that no line leaves the format
    lines = [
        [(rng.randint(-(900 << shift), 900 << shift), rng.randint(-reach, reach)) for _ in range(1 << bits)]
        for _ in range(rows or 1)
    ]
    base, slope = ([tuple(line[i] for line in row) for row in lines] for i in (0, 1))
    each = {"base": base[0], "slope": slope[0]} if rows is None else {"base": tuple(base), "slope": tuple(slope)}
    bound = rng.choice((None, None, 0, 1))
    return {**each, "rest": rest, "shift": shift, "element": element, "low": given.minimum, "bound": bound}


def _fold(shape: tuple[Dimension, ...], rng: random.Random) -> dict[str, Any]:
    """An image of one axis, or of two the first of which has one window; each window touches the next."""
    rows, count = map(int, shape[1:])
    width = rng.choice([k for k in (1, 2, 3) if rows % k == 0])
    step, stride = rng.choice((1, 1, 2)), rng.choice((1, 2))
    pads = rng.choice(((0, 0), (1, 0))) if width > 1 else (0, 0)
    size = (count - 1) * stride + (width - 1) * step + 1 - sum(pads)
    if size < 1:
        raise ValueError("no image is so small")
    flat = {"size": (size,), "kernel": (width,), "strides": (stride,), "pads": pads, "dilations": (step,)}
    if rng.random() < 0.3:
        return flat
    plane = {"size": (1, size), "kernel": (1, width), "strides": (1, stride), "dilations": (1, step)}
    return {**plane, "pads": (0, pads[0], 0, pads[1])}


def _affine_grid(shape: tuple[Dimension, ...], rng: random.Random) -> dict[str, Any]:
    return {"size": (shape[0], 1, *(rng.choice((1, 2, 3)) for _ in range(int(shape[1]))))}


def _heads(shape: tuple[Dimension, ...], rng: random.Random) -> dict[str, Any]:
    heads = rng.choice([count for count in (1, 2, 3, 4) if int(shape[2]) % count == 0])
    shared = rng.choice([count for count in (1, 2, 3, 4) if heads % count == 0])
    rule = rng.choice(("linear", "gated", "delta", "gated_delta"))
    return {"heads": heads, "kv_heads": shared, "update_rule": rule}


def _trees(shape: tuple[Dimension, ...], rng: random.Random) -> dict[str, Any]:
    """Two trees, one of two nodes and one of one node, and a third that is a leaf."""
    features = np.array([rng.randrange(int(shape[1])) for _ in range(3)])
    numbers = [rng.choice((0.0, 0.5, -1.0, 2.0)) for _ in range(11)]
    return {
        "roots": (0, 2, -5),
        "features": features,
        "thresholds": np.array(numbers[:3]),
        "branches": np.array([[1, -1], [-2, -3], [-4, -5]]),
        "leaves": np.array(numbers[:10]).reshape(5, 2) if rng.random() < 0.5 else np.array(numbers[:5])[:, None],
        "comparisons": None if rng.random() < 0.5 else np.array([rng.randrange(6) for _ in range(3)]),
        "missing": None if rng.random() < 0.5 else np.array([True, False, True]),
    }


def _labels(shape: tuple[Dimension, ...], rng: random.Random) -> dict[str, Any]:
    keys = tuple(rng.sample((0, 1, 2, 3), rng.choice((0, 1, 3))))
    values = tuple(rng.choice((0, 1, 5)) for _ in keys)
    return {"keys": keys, "values": values, "default": rng.choice((0, 7)), "element": rng.choice(("i64", "f32"))}


def _mel(shape: tuple[Dimension, ...], rng: random.Random) -> dict[str, Any]:
    return {
        "num_mel_bins": rng.choice((1, 2, 3)),
        "dft_length": rng.choice((2, 4, 8)),
        "sample_rate": 8000,
        "lower_edge": rng.choice((0.0, 500.0)),
        "upper_edge": rng.choice((2000.0, 4000.0)),
        "element": rng.choice(("f32", "f64")),
    }


def _n_grams(shape: tuple[Dimension, ...], rng: random.Random) -> dict[str, Any]:
    """Two words, and a pair of words."""
    longest = rng.choice((1, 2))
    return {
        "pool": (0, 1, 1, 2),
        "starts": (0, 2),
        "indexes": tuple(rng.sample(range(4), 3)),
        "weights": rng.choice((None, (0.5, 2.0, 1.0))),
        "mode": rng.choice(("TF", "IDF", "TFIDF")),
        "shortest": rng.randint(1, longest),
        "longest": longest,
        "skips": rng.choice((0, 1, 2)),
    }


def _cond(shape: tuple[Dimension, ...], rng: random.Random) -> dict[str, Any]:
    """Two graphs of as many inputs."""
    group = rng.choice(branches())
    return {"then": rng.choice(group), "otherwise": rng.choice(group)}


def _scan(shape: tuple[Dimension, ...], rng: random.Random) -> dict[str, Any]:
    """A body of as many inputs as there are carried values and sequences."""
    along = {each.name: each for each in bodies()}
    carried = rng.choice((0, 1)) if shape else 1
    sequences = 1 if carried else rng.choice((1, 2))
    name = ("both" if shape else "sum") if carried + sequences == 2 else rng.choice(("relu", "neg"))
    return {"body": along[name], "carried": carried, "sequences": sequences}


_TABLE: Mapping[str, tuple[tuple[str, ...], _Make, bool]] = {
    "affine_grid": (("size",), _affine_grid, True),
    "cond": (("then", "otherwise"), _cond, True),
    "constant_of_shape": (("shape", "value", "element"), _constant_of_shape, True),
    "dequantize_linear": (("axis", "block_size"), _blocks, False),
    "encode_labels": (("keys", "values", "default", "element"), _labels, True),
    "fold": (("size", "kernel", "strides", "pads", "dilations"), _fold, True),
    "gru": (_IN_RECURRENT, partial(_recurrent, 2), False),
    "integer_interpolate": (("base", "slope", "rest", "shift", "element", "low", "bound"), _lines, True),
    "linear_attention": (("heads", "kv_heads", "update_rule"), _heads, True),
    "lstm": (_IN_RECURRENT, partial(_recurrent, 3), False),
    "mel_weight_matrix": (
        ("num_mel_bins", "dft_length", "sample_rate", "lower_edge", "upper_edge", "element"),
        _mel,
        True,
    ),
    "quantize_linear": (("axis", "block_size"), _blocks, False),
    "range": (("start", "limit", "delta", "element"), _range, True),
    "resize": (
        (
            "scales",
            "sizes",
            "axes",
            "coordinate_transformation_mode",
            "roi",
            "keep_aspect_ratio_policy",
            "extrapolation_value",
        ),
        _resize,
        True,
    ),
    "rnn": (_IN_RECURRENT, partial(_recurrent, 1), False),
    "scan": (("body", "carried", "sequences"), _scan, True),
    "slice": (("starts", "ends", "axes", "steps"), _slice, True),
    "split": (("axis", "sizes"), _split, True),
    "string_normalize": (("stopwords", "is_case_sensitive"), _stopwords, False),
    "tfidf_vectorize": (
        ("pool", "starts", "indexes", "weights", "mode", "shortest", "longest", "skips"),
        _n_grams,
        True,
    ),
    "tree_ensemble": (
        ("roots", "features", "thresholds", "branches", "leaves", "comparisons", "missing"),
        _trees,
        True,
    ),
}
"""By op: names of attributes, what makes them, and whether it always does; else they may be left to their defaults."""
