"""Models of one operator of TensorFlow Lite each that keeps a state."""

from __future__ import annotations

import numpy as np

from tests.support.tflite_files import Node, Part, T, model
from tests.support.tflite_tensors import Case, Rng, case, f, inputs_of, ints, q, scale

__all__ = ["branch", "loop", "lstm", "svdf"]


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


def branch(rng: Rng) -> Case:
    """IF: one of two sums, by an input."""
    ends = [f("x", (2, 3)), f("y", (2, 3))]
    numbers = [T.of("n", np.float32(value)) for value in (2, -3)]
    parts: list[Part] = [
        ([*ends, n], [Node(kind, ["x", "n"], ["y"])], ["x"], ["y"])
        for n, kind in zip(numbers, ("MUL", "ADD"), strict=True)
    ]
    c = T("c", (), "bool")
    node = Node("IF", ["c", "x"], ["y"], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    data = model([c, *ends], [node], ["c", "x"], ["y"], subgraphs=parts)
    return data, inputs_of(rng, [c, ends[0]])


def loop(rng: Rng, *, by_step: bool = False) -> Case:
    """WHILE: so many steps as an input says; or three, with sizes in them that depend on the number of the step."""
    i, x, y = T("i", (), "i32"), f("x", (4, 2)), f("y", (4, 2))
    limit = T.of("n", np.int32(3))
    condition: Part = ([i, x, limit, T("go", (), "bool")], [Node("LESS", ["i", "n"], ["go"])], ["i", "x"], ["go"])
    tensors = [i, x, T.of("one", np.int32(1)), T("i_next", (), "i32"), y, T.of("half", np.float32(0.5))]
    nodes = [Node("ADD", ["i", "one"], ["i_next"])]
    if by_step:  # the first rows are halved, and the others kept
        tensors += [T.of("shape", ints(1)), T.of("tail", ints(-1)), T.of("zeros", ints(0, 0)), T.of("none", ints(0))]
        tensors += [T("row", (1,), "i32"), T("upper", (2,), "i32"), T("lower", (2,), "i32"), T.of("all", ints(-1, -1))]
        tensors += [f("a", (1, 2)), f("b", (1, 2)), f("c", (1, 2))]
        nodes += [
            Node("RESHAPE", ["i", "shape"], ["row"]),
            Node("CONCATENATION", ["row", "tail"], ["upper"]),
            Node("CONCATENATION", ["row", "none"], ["lower"]),
            Node("SLICE", ["x", "zeros", "upper"], ["a"]),
            Node("SLICE", ["x", "lower", "all"], ["b"]),
            Node("MUL", ["a", "half"], ["c"]),
            Node("CONCATENATION", ["c", "b"], ["y"]),
        ]
        for t in tensors[-3:]:
            t.signature = (-1, 2)
    else:
        nodes.append(Node("MUL", ["x", "half"], ["y"]))
    body: Part = (tensors, nodes, ["i", "x"], ["i_next", "y"])
    node = Node("WHILE", ["i", "x"], ["last", "y"], {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    start = T.of("i", np.int32(0)) if by_step else i
    inputs = [x] if by_step else [i, x]
    data = model(
        [start, x, T("last", (), "i32"), y], [node], [t.name for t in inputs], ["y"], subgraphs=[condition, body]
    )
    return data, inputs_of(rng, inputs)
