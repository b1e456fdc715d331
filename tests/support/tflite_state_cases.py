"""Models of one operator of TensorFlow Lite each that keeps a state."""

from __future__ import annotations

import numpy as np

from tests.support.tflite_files import Node, T
from tests.support.tflite_tensors import Case, Rng, case, f, ints, q, scale

__all__ = ["lstm", "svdf"]


def svdf(rng: Rng, *, real: bool = False) -> Case:
    """SVDF, whose state is a variable."""
    inputs, units, rank, steps = map(int, rng.integers(1, 5, 4))
    filters = units * rank
    if real:
        x, y, state = f("x", (1, inputs)), f("y", (1, units)), f("state", (1, filters * steps))
        feature = T.of("f", rng.normal(size=(filters, inputs)).astype(np.float32))
        time = T.of("t", rng.normal(size=(filters, steps)).astype(np.float32))
        bias = T.of("b", rng.normal(size=units).astype(np.float32))
    else:
        x, y = q(rng, "x", (1, inputs)), q(rng, "y", (1, units))
        state = T("state", (1, filters * steps), "i16", scale=scale(rng, -9, -5))
        feature = T.of("f", rng.integers(-127, 128, (filters, inputs)).astype(np.int8), scale=scale(rng, -6, -3))
        time = T.of("t", rng.integers(-3000, 3000, (filters, steps)).astype(np.int16), scale=scale(rng, -9, -6))
        bias = T.of("b", ints(*rng.integers(-3000, 3000, units)), scale=state.scale * time.scale)
    state.variable = True
    node = Node("SVDF", ["x", "f", "t", "b", "state"], ["y"], {"rank": rank, "fused_activation_function": 1})
    return case(rng, [x, feature, time, bias, state, y], [node])


def lstm(rng: Rng, *, real: bool = False) -> Case:
    """UNIDIRECTIONAL_SEQUENCE_LSTM with four gates, whose two states are variables."""
    inputs, size, steps = map(int, rng.integers(1, 5, 3))
    is_major = bool(rng.integers(0, 2))
    lead = (steps, 1) if is_major else (1, steps)
    if real:
        x, y, h, c = f("x", (*lead, inputs)), f("y", (*lead, size)), f("h", (1, size)), f("c", (1, size))
        shapes = [(size, inputs)] * 4 + [(size, size)] * 4 + [(size,)] * 4
        held = [T.of(f"w{at}", rng.normal(size=shape).astype(np.float32)) for at, shape in enumerate(shapes)]
        inner = []
    else:
        x, h = q(rng, "x", (*lead, inputs), scale=scale(rng, -4, -2)), q(rng, "h", (1, size), scale=scale(rng, -5, -4))
        y = q(rng, "y", (*lead, size), scale=h.scale, zero=h.zero)
        c = T("c", (1, size), "i16", scale=2.0 ** -int(rng.integers(10, 14)))
        held = []
        for at, shape in enumerate([(size, inputs)] * 4 + [(size, size)] * 4):
            held.append(T.of(f"w{at}", rng.integers(-127, 128, shape).astype(np.int8), scale=scale(rng, -6, -4)))
        held += [T.of(f"w{at}", ints(*rng.integers(-900, 900, size)), scale=0.01) for at in range(8, 12)]
        inner = [T(f"i{at}", (0,), "i16", scale=2.0**-12) for at in range(4)]
        inner.append(T("i4", (0,), "i8", scale=h.scale, zero=h.zero))
    h.variable = c.variable = True
    names = ["x", *(f"w{at}" for at in range(8)), *[None] * 3, *(f"w{at}" for at in range(8, 12)), None, None, "h", "c"]
    clip = float(rng.choice([0.0, 0.0, 0.75])) if not real else 0.0
    options = {"fused_activation_function": 4, "time_major": is_major, "cell_clip": clip}
    node = Node(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", [*names, *[None] * 4], ["y"], options, intermediates=[t.name for t in inner]
    )
    return case(rng, [x, *held, h, c, *inner, y], [node])
