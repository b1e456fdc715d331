"""Recurrent layers: ONNX's cases, ONNX Runtime, and what lengths, directions and layouts mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from graphrewrite import Graph, Tensor, evaluate, op, rewrite, rule
from graphrewrite.errors import TypeMismatchError
from graphrewrite.summary import multiply_accumulates
from tests.support.node_cases import cases_of
from tests.support.sessions import session_of

LAYERS = {"RNN": (op.rnn, 1, 1), "GRU": (op.gru, 3, 2), "LSTM": (op.lstm, 4, 3)}
"""The op, its gates and its activations."""
ALPHAS = {"Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu"}
BETAS = {"Affine", "ScaledTanh", "HardSigmoid"}
ACTIVATIONS = sorted({*ALPHAS, "Relu", "Tanh", "Sigmoid", "Softsign", "Softplus"})


def operands_of(kind: str, given_: list[Any]) -> list[Any]:
    """Ours of ONNX's: the lengths come last, and what is left out is None."""
    x, w, r, b, lengths, h, c, p = [*given_, *[None] * (8 - len(given_))]
    return [x, w, r, b, h, *([c, p] if kind == "LSTM" else []), lengths]


@pytest.mark.parametrize("kind", LAYERS)
def test_onnx_s_cases(kind):
    for case in cases_of(kind):
        tested = LAYERS[kind][0]
        attributes = {k: v.decode() if isinstance(v, bytes) else v for k, v in case.attributes.items()}
        operands = tested.completed(operands_of(kind, case.operands), attributes)
        found = tested(*operands, **attributes)
        kinds = tested.infer(
            *(Tensor("i32" if x.dtype == np.int32 else "f32", x.shape) for x in operands), **attributes
        )
        assert [(kind.shape, "f32") for kind in kinds] == [
            (y.shape, kind.element) for y, kind in zip(found, kinds, strict=True)
        ]
        # Cases name the results that they have; a result of three axes is the last output or the last cell.
        for wanted in case.results:
            near = [y for y in found if y.shape == wanted.shape and np.allclose(y, wanted, rtol=1e-3, atol=1e-7)]
            assert near
            assert near[0].dtype == wanted.dtype


@st.composite
def layers(draw):
    """A layer with everything that ONNX lets it have."""
    kind = draw(st.sampled_from(sorted(LAYERS)))
    _, gates, functions = LAYERS[kind]
    steps, batch, inputs, hidden = (draw(st.integers(1, 4)) for _ in range(4))
    direction = draw(st.sampled_from(["forward", "reverse", "bidirectional"]))
    count = 2 if direction == "bidirectional" else 1
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shapes = {
        "x": (steps, batch, inputs),
        "w": (count, gates * hidden, inputs),
        "r": (count, gates * hidden, hidden),
        "b": (count, 2 * gates * hidden),
        "lens": (batch,),
        "h": (count, batch, hidden),
    }
    if kind == "LSTM":
        shapes.update(c=(count, batch, hidden), p=(count, 3 * hidden))
    arrays = {name: rng.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    arrays["lens"] = rng.integers(1, steps + 1, batch).astype(np.int32) if draw(st.booleans()) else None
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
    if draw(st.booleans()):
        names = draw(st.lists(st.sampled_from(ACTIVATIONS), min_size=functions * count, max_size=functions * count))
        attributes["activations"] = names
        for key, takers in (("activation_alpha", ALPHAS), ("activation_beta", BETAS)):
            values = [draw(st.sampled_from([0.25, 0.5, 1.0])) for name in names if name in takers]
            attributes.update({key: values} if values else {})
    if draw(st.booleans()):
        attributes["clip"] = draw(st.sampled_from([0.5, 1.0]))
    extra = {"GRU": "linear_before_reset", "LSTM": "input_forget"}.get(kind)
    if extra and draw(st.booleans()):
        attributes[extra] = 1
    return kind, arrays, attributes


def by_onnx_runtime(kind: str, arrays: dict[str, Any], attributes: dict[str, Any]) -> list[np.ndarray]:
    """All results."""
    outputs = ["y", "last", *(["cell"] if kind == "LSTM" else [])]
    node = helper.make_node(kind, [n if a is not None else "" for n, a in arrays.items()], outputs, **attributes)
    present = {name: array for name, array in arrays.items() if array is not None}
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in present.items()
    ]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    model = helper.make_model(
        helper.make_graph([node], "g", inputs, results), opset_imports=[helper.make_opsetid("", 14)], ir_version=8
    )
    return session_of(model.SerializeToString()).run(None, present)


@given(layers())
def test_onnx_runtime_agrees(layer):
    kind, arrays, attributes = layer
    operands = operands_of(kind, [*arrays.values()])
    found = LAYERS[kind][0](*operands, **attributes)
    for ours, theirs in zip(found, by_onnx_runtime(kind, arrays, attributes), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=1e-4)


@given(layers())
@settings(max_examples=20)
def test_the_batch_may_come_first_and_states_may_be_one_for_all(layer):
    kind, arrays, attributes = layer
    tested = LAYERS[kind][0]
    states = [name for name in ("h", "c") if name in arrays]
    first = {n: np.swapaxes(a, 0, 1) if n in ("x", *states) else a for n, a in arrays.items()}
    plain = tested(*operands_of(kind, [*arrays.values()]), **attributes)
    found = tested(*operands_of(kind, [*first.values()]), **attributes, layout=1)
    np.testing.assert_allclose(found[0], np.transpose(plain[0], (2, 0, 1, 3)), rtol=1e-5, atol=1e-6)
    for last, same in zip(found[1:], plain[1:], strict=True):
        np.testing.assert_allclose(last, np.swapaxes(same, 0, 1), rtol=1e-5, atol=1e-6)
    one = {n: a[:, :1] if n in states else a for n, a in arrays.items()}
    all_ = {n: np.repeat(a, arrays["x"].shape[1], 1) if n in states else a for n, a in one.items()}
    pair = [tested(*operands_of(kind, [*v.values()]), **attributes) for v in (one, all_)]
    np.testing.assert_array_equal(pair[0][0], pair[1][0])


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_a_short_sequence_is_one_by_itself_with_zeros_behind(kind, direction):
    tested, gates, _ = LAYERS[kind]
    count, rng = 2 if direction == "bidirectional" else 1, np.random.default_rng(0)
    shapes = [(5, 3, 2), (count, gates * 4, 2), (count, gates * 4, 4), (count, 8 * gates), None, (count, 3, 4)]
    given_ = [None if shape is None else rng.normal(size=shape) for shape in shapes]
    operands = tested.completed(operands_of(kind, given_), {})
    lengths = np.array([5, 2, 0])
    y, last, *_ = tested(*operands, lengths, direction=direction)
    alone, alone_last, *_ = tested(
        operands[0][:2, 1:2], *operands[1:4], operands[4][:, 1:2], *operands[5:], direction=direction
    )
    np.testing.assert_allclose(y[:2, :, 1:2], alone)
    np.testing.assert_allclose(last[:, 1:2], alone_last)
    assert not y[2:, :, 1].any()
    assert not y[:, :, 2].any()
    np.testing.assert_array_equal(last[:, 2], operands[4][:, 2])


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("element", ["f16", "bf16", "f64"])
def test_in_a_graph_with_a_batch_that_run_time_tells(kind, element):
    tested, gates, _ = LAYERS[kind]
    g = Graph("g")
    x = g.input("x", Tensor(element, (3, "N", 2)))
    shapes = [(1, gates * 4, 2), (1, gates * 4, 4), (1, 8 * gates), (1, 1, 4)]
    shapes += [(1, 1, 4), (1, 12)] if kind == "LSTM" else []
    rng = np.random.default_rng(0)
    parameters = [
        g.constant(rng.normal(size=s).astype(np.float16).astype(float), type=Tensor("f64", s)) for s in shapes
    ]
    parameters = [op.cast(p, element=element) for p in parameters] if element != "f64" else parameters
    made = tested(x, *parameters)
    for i, value in enumerate(made):
        g.output(f"y{i}", value)
    assert made[0].type == Tensor(element, (3, 1, "N", 4))
    assert {m.type for m in made[1:]} == {Tensor(element, (1, "N", 4))}
    found = evaluate(g, {"x": np.ones((3, 5, 2))})
    assert found["y0"].shape == (3, 1, 5, 4)
    assert np.isfinite(found["y1"]).all()
    assert multiply_accumulates(g, made[0].node) == 3 * gates * 4 * (2 + 4)


def test_nothing_to_do_gives_the_initial_state():
    w, r, b, h = np.ones((1, 2, 3)), np.ones((1, 2, 2)), np.ones((1, 4)), np.full((1, 5, 2), 7.0)
    y, last = op.rnn(np.zeros((0, 5, 3)), w, r, b, h)
    assert y.shape == (0, 1, 5, 2)
    np.testing.assert_array_equal(last, h)
    y, last = op.rnn(np.zeros((4, 0, 3)), w, r, b, h[:, :1])
    assert (y.shape, last.shape) == ((4, 1, 0, 2), (1, 0, 2))


def test_activations_of_one_direction_are_those_of_both():
    rng = np.random.default_rng(0)
    shapes = [(3, 2, 2), (2, 2, 2), (2, 2, 2), (2, 4), (2, 2, 2)]
    operands = [rng.normal(size=shape) for shape in shapes]
    both = {"direction": "bidirectional"}
    once = op.rnn(*operands, **both, activations=("leaky_relu",), activation_alpha=(0.5,))
    twice = op.rnn(*operands, **both, activations=("LeakyRelu", "leakyrelu"), activation_alpha=(0.5, 0.5))
    np.testing.assert_array_equal(once[0], twice[0])


def test_refusals():
    x, w, r = Tensor("f32", (3, "N", 2)), Tensor("f32", (1, 4, 2)), Tensor("f32", (1, 4, 4))
    b, h = Tensor("f32", (1, 8)), Tensor("f32", (1, "N", 4))
    infer = op.rnn.infer

    def refuses(words: str, *operands: Tensor, **attributes: Any) -> None:
        with pytest.raises(TypeMismatchError, match=words):
            infer(*operands, **attributes)

    assert infer(x, w, r, b, h, hidden_size=4)[1] == h
    refuses(r"steps of a batch, got f32\[N,2\]", Tensor("f32", ("N", 2)), w, r, b, h)
    refuses("hidden_size=5 is stated, and the operands say 4; leave it out", x, w, r, b, h, hidden_size=5)
    refuses(r"the weights must have the shape \[1,5,2\]", x, w, Tensor("f32", (1, 5, 5)), b, h)
    refuses(r"the weights must have the shape \[2,4,2\]", x, w, r, b, h, direction="bidirectional")
    refuses("got 'backward'", x, w, r, b, h, direction="backward")
    refuses(r"the bias must have the shape \[1,8\]", x, w, r, Tensor("f32", (1, 4)), h)
    refuses(r"an initial state must have the shape \[1,N,4\]", x, w, r, b, Tensor("f32", (1, 3, 4)))
    refuses(r"the lengths must have the shape \[N\]", x, w, r, b, h, Tensor("i32", (3,)))
    refuses("sequence lengths are integers", x, w, r, b, h, Tensor("f32", ("N",)))
    refuses("unknown activation .* 'tahn'; did you mean 'tanh'", x, w, r, b, h, activations=("tahn",))
    refuses("takes 1 activations per direction, got 2", x, w, r, b, h, activations=("tanh", "tanh"))
    refuses(
        "1 numbers in activation_alpha and activation_beta that no activation takes",
        x,
        w,
        r,
        b,
        h,
        activation_alpha=(1.0,),
    )
    refuses("clip is a positive number", x, w, r, b, h, clip=0.0)
    refuses("layout is 0", x, w, r, b, h, layout=2)
    refuses("states of H entries, at least one, got", x, w, Tensor("f32", (1, 4, 0)), b, h)
    refuses("states of H entries, at least one, got", x, w, Tensor("f32", (1, 4, "H")), b, h)
    refuses("gives floats first", *(Tensor("i8", t.shape) for t in (x, w, r, b, h)))
    p = Tensor("f32", (1, 4))
    one, four = Tensor("f32", (1, 1, 1)), Tensor("f32", (1, 4, 1))
    with pytest.raises(TypeMismatchError, match=r"peepholes must have the shape \[1,3\]"):
        op.lstm.infer(one, four, four, b, one, one, p)


@given(st.sampled_from(sorted(LAYERS)), st.lists(st.booleans(), min_size=5, max_size=5), st.sampled_from([0, 1]))
@settings(max_examples=15)
def test_operands_that_are_missing_are_zeros_in_graphs_and_rules(kind, are_missing, layout):
    layer, gates, _ = LAYERS[kind]
    numbers = np.random.default_rng(0)
    shapes = (3, 2, 4), (1, 5 * gates, 4), (1, 5 * gates, 5), (1, 10 * gates)
    x, w, r, b = (numbers.standard_normal(shape).astype(np.float32) for shape in shapes)
    state = np.ones((1, 1, 5), np.float32)
    further = [b, state, *([state, np.ones((1, 15), np.float32)] if kind == "LSTM" else []), np.array([3, 1])]
    if layout:
        further[-1] = np.array([2, 1, 2])
    left = [None if is_missing else array for array, is_missing in zip(further, are_missing, strict=False)]
    zeros = [further[i] * 0 if v is None else v for i, v in enumerate(left[:-1])] + left[-1:]

    @rule
    def build(x):
        """A layer in place of an unknown op."""
        yield op.generic("Layer")(x)
        return layer(x, w, r, *left, layout=layout)[0]

    built, unknown = Graph("built"), Graph("unknown")
    built.output("y", layer(built.input("x", Tensor("f32", x.shape)), w, r, *left, layout=layout)[0])
    wanted = layer(x, w, r, *zeros, layout=layout)[0]
    y = op.generic("Layer")(unknown.input("x", Tensor("f32", x.shape)), result=Tensor("f32", wanted.shape))
    unknown.output("y", y)
    for graph in (built, rewrite(unknown, [build], verify=True)):
        np.testing.assert_array_equal(evaluate(graph, {"x": x})["y"], wanted)


def test_what_stands_in_must_be_known():
    x, w, r = np.ones((3, 2, 4)), np.ones((1, 5, 4)), np.ones((1, 5, 5))
    with pytest.raises(TypeMismatchError, match="rnn needs operand 'r'"):
        op.rnn(x, w)
    with pytest.raises(TypeMismatchError, match="rnn needs operand 'w'"):
        op.rnn(x, None, r)
    with pytest.raises(TypeMismatchError, match=r"needs operand 'b': what is neutral does not follow from .*f64\[5\]"):
        op.rnn(x, w, np.ones(5))
