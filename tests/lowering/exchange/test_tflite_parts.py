"""Parts of the importer of TensorFlow Lite, at the limits of what they take."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphrewrite import Graph, Tensor
from graphrewrite.lowering import from_tflite
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.tflite.operands import (
    Operand,
    Result,
    are_hybrid,
    are_stored,
    half_away,
    multipliers,
)
from graphrewrite.lowering.exchange.tflite.recurrent import _check_plain, _filters, lstm, stored_lstm
from graphrewrite.lowering.exchange.tflite.resizing import _weights
from graphrewrite.lowering.exchange.tflite.sixteen import _scaled_operand
from graphrewrite.lowering.exchange.tflite.variables import Variables
from graphrewrite.lowering.exchange.tflite.windows import transposed_window
from graphrewrite.types import Quantised, as_size
from tests.support.tflite_files import Node, T, model
from tests.support.tflite_tensors import ints


@pytest.mark.parametrize(
    ("factors", "numbers", "exponents"),
    [
        (0, 0, 0),
        (1, 1 << 30, 1),
        (0.75, 3 << 29, 0),
        (-0.75, -(3 << 29), 0),
        (1 - 2.0**-40, 1 << 30, 1),
        (2.0**-32, 1 << 30, -31),
        (2.0**-33, 0, 0),
        (0.5 + 2.0**-32, (1 << 30) + 1, 0),
        ([0.5, 0.5], 1 << 30, 0),
        ([0.5, 0, 3], [[[1 << 30]], [[0]], [[3 << 29]]], [[[0]], [[0]], [[2]]]),
        ([], [], []),
    ],
)
def test_factors_are_fractions_of_31_bits_and_exponents(factors: Any, numbers: Any, exponents: Any) -> None:
    found = multipliers(factors, 2)
    assert [each.tolist() for each in found] == [numbers, exponents] if factors != [] else found[0].size == 0
    assert {each.dtype for each in found} == {np.dtype(np.int32)}


@pytest.mark.parametrize(
    ("activation", "scale", "zero", "limits"),
    [
        ("none", 0.5, 3, {}),
        ("relu", 0.5, 3, {"low": 3}),
        ("relu", 0.5, -128, {}),
        ("relu", 0.5, 127, {"low": 127}),
        ("relu_n1_to_1", 0.5, 3, {"low": 1, "high": 5}),
        ("relu6", 0.5, 3, {"low": 3, "high": 15}),
        ("relu6", 0.01, 3, {"low": 3}),
        ("relu6", 6 / 255, -128, {}),
        ("relu_0_to_1", 10.0, 0, {"low": 0, "high": 0}),
    ],
)
def test_activations_limit_stored_numbers(activation: str, scale: float, zero: int, limits: dict[str, int]) -> None:
    result = Result(Tensor(Quantised("i8", scale, zero), (2,)), activation, lambda value, axes: None)
    assert result.limits == limits
    assert (result.scale, result.zero_point) == (scale, zero)


def test_what_has_no_limits() -> None:
    for activation, element, reason in (
        ("tanh", Quantised("i8", 0.5, 0), "fused activation tanh is not supported"),
        ("relu", "f32", "which has no scale"),
        ("relu", Quantised("i8", (0.5, 0.25), (0, 0), axis=0), "a scale for each channel"),
    ):
        with pytest.raises(Unfit, match=reason):
            _ = Result(Tensor(element, (2,)), activation, lambda value, axes: None).limits


def test_halves_are_rounded_away_from_zero() -> None:
    assert half_away(np.array([-1.5, -0.5, -0.4, 0.0, 0.4, 0.5, 2.5])).tolist() == [-2, -1, 0, 0, 0, 1, 3]


STORED, REAL = Quantised("i8", 0.5, 0), "f32"


@pytest.mark.parametrize(
    ("kinds", "to", "hybrid", "stored"),
    [
        ([REAL, STORED], [REAL], True, "its operand is real"),
        ([REAL, STORED, REAL], [REAL], True, "its operand is real"),
        ([REAL, STORED, STORED], [REAL], False, "its operand is real"),
        ([REAL, Quantised("i16", 0.5, 0)], [REAL], False, "its operand is real"),
        ([REAL, STORED], [STORED], False, "its operand is real"),
        ([STORED, STORED], [REAL], False, "operand or result is f32"),
        ([REAL], [REAL], False, "operand or result is f32"),
        ([STORED], [STORED], False, None),
        (["bool"], [STORED], False, None),
        ([STORED], ["bool"], False, None),
        ([Quantised("i16", 0.5, 0)], [STORED], False, "i16 [2]"),
        ([STORED], [Quantised("i8", (0.5, 0.25), (0, 0), axis=0), Quantised("u8", 0.5, 0)], False, "u8 [2]"),
    ],
)
def test_formats_of_operands(kinds: list[Any], to: list[Any], hybrid: bool, stored: str | None) -> None:
    tensors = [Tensor(kind, (2,)) for kind in kinds]
    attributes = {"to": [Tensor(kind, (2,)) for kind in to]}
    assert (are_hybrid(attributes, tensors) is None) == hybrid
    told = are_stored(attributes, tensors)
    assert told is None if stored is None else stored in str(told)


def test_images_are_interpolated_between_entries() -> None:
    half = np.float32(0.5)
    cases = {
        (3, 5, True, False): [[1, 0, 0], [half, half, 0], [0, 1, 0], [0, half, half], [0, 0, 1]],
        (3, 1, True, False): [[1, 0, 0]],
        (4, 2, False, False): [[1, 0, 0, 0], [0, 0, 1, 0]],
        (4, 2, False, True): [[half, half, 0, 0], [0, 0, half, half]],
        (2, 4, False, True): [[1.25, -0.25], [0.75, 0.25], [0.25, 0.75], [0, 1]],
        (2, 4, False, False): [[1, 0], [half, half], [0, 1], [0, 1]],
    }
    for given, wanted in cases.items():
        found = _weights(*given)
        if given == (2, 4, False, True):
            found[0] = [found[0].sum() + 0.25, -0.25]  # outside both weights are of the first entry
        np.testing.assert_array_equal(found, np.float32(wanted), err_msg=str(given))
    with pytest.raises(Unfit, match="4097 positions become 4096, more than"):
        _weights(4097, 4096, False, False)
    assert _weights(4096, 4096, False, False).shape == (4096, 4096)


@pytest.mark.parametrize(
    ("scale", "bits", "found"),
    [
        (2.0**-12, 0, (0, 0)),
        (2.0**-11, 1, (0, 1)),
        (2.0**-11, 0, (24576, 12)),
        (2.0**-13, 0, (24576, 14)),
        (2.0**-13, 1, (24576, 14)),
        (2.0**-10, 1, (24576, 11)),
        (0.001, 1, (25165, 11)),
        (4.0, 1, (49152, 0)),
        (2.0**-50, 1, (0, 31)),
    ],
)
def test_operands_of_curves_are_brought_to_steps(scale: float, bits: int, found: tuple[int, int]) -> None:
    to = SimpleNamespace(scale=1 / 32768)
    assert _scaled_operand(SimpleNamespace(scale=scale), to, bits) == found  # type: ignore[arg-type]
    with pytest.raises(Unfit, match="its result is stored with scale 1, not 1/32768"):
        _scaled_operand(SimpleNamespace(scale=scale), SimpleNamespace(scale=1), bits)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sizes", "parts"), [((2, -1), (2, 3)), ((-1, 0, 1), (4, 0, 1)), ((2, 3), (2, 3)), ((5, -1), (5, 0))]
)
def test_one_size_of_a_split_is_what_is_left(sizes: tuple[int, ...], parts: tuple[int, ...]) -> None:
    results = [T(f"y{i}", (2, size), "f32") for i, size in enumerate(parts)]
    tensors = [T("x", (2, 5), "f32"), T.of("sizes", ints(*sizes)), T.of("axis", np.int32(1)), *results]
    names = [each.name for each in results]
    node = Node("SPLIT_V", ["x", "sizes", "axis"], names, {"num_splits": len(sizes)})
    graph = from_tflite(model(tensors, [node], ["x"], names))
    assert [graph.result_type(*next(iter(graph.operands(name)))).shape[1] for name in names] == [*parts]


def operator(kind: str, *inputs: int, outputs: tuple[int, ...] = (), **options: Any) -> Any:
    return SimpleNamespace(kind=kind, inputs=inputs, outputs=outputs, options=options, label=f"{kind} label")


class TestVariables:
    """Variables that another subgraph initialises."""

    def network(self, *operators: Any) -> Any:
        tensors = [SimpleNamespace(array=None), SimpleNamespace(array=np.float32([3, 4]))]
        return SimpleNamespace(operators=operators, tensors=tensors)

    def variables(self, *operators: Any) -> Variables:
        return Variables(Graph("g"), [self.network(), self.network(*operators)], {"taken", "taken.next"})

    def test_they_are_inputs_and_outputs(self) -> None:
        first = [operator("VAR_HANDLE", outputs=(0,), shared_name="taken"), operator("ASSIGN_VARIABLE", 0, 1)]
        first += [operator("VAR_HANDLE", outputs=(2,)), operator("ASSIGN_VARIABLE", 2, 1)]
        found = self.variables(*first)
        assert found.run(operator("CALL_ONCE", init_subgraph_index=1), [], None) is None
        assert {name: array.tolist() for name, array in found.initial.items()} == {
            "taken": [3, 4],
            "VAR_HANDLE label": [3, 4],
        }
        found.run(operator("VAR_HANDLE", outputs=(5,), shared_name="taken"), [], None)
        found.run(operator("VAR_HANDLE", outputs=(6,)), [], None)
        held = [SimpleNamespace(element="f32", shape=(2,), format=None)] * 2
        read = found.run(operator("READ_VARIABLE", 5, outputs=(0,)), held, None)
        assert read is not None
        assert found.run(operator("READ_VARIABLE", 5, outputs=(1,)), held, None) == read
        given = found.graph.input("x", Tensor("f32", (2,)))
        found.run(operator("ASSIGN_VARIABLE", 6, 1), held, lambda index: given)
        found.finish()
        graph = found.graph
        own = graph.nodes[read.node]
        assert (read.node != "taken", own["initial"].tolist(), own["next"] in graph.outputs) == (True, [3, 4], True)
        assert [*graph.outputs] == [own["next"], "VAR_HANDLE label.next"]
        assert own["next"] != "taken.next"
        assert [next(iter(graph.operands(name))).node for name in graph.outputs] == [read.node, given.node]

    @pytest.mark.parametrize(
        ("operators", "index", "reason"),
        [
            ([], 0, "it calls subgraph 0 of 2"),
            ([], 2, "it calls subgraph 2 of 2"),
            (
                [operator("VAR_HANDLE", outputs=(0,)), operator("ASSIGN_VARIABLE", 0, 0)],
                1,
                "of 'VAR_HANDLE label' is computed",
            ),
            ([operator("ASSIGN_VARIABLE", 0, 1)], 1, "by ASSIGN_VARIABLE is not supported"),
            ([operator("VAR_HANDLE", outputs=(0,)), operator("RELU", 0, 1)], 1, "by RELU is not supported"),
        ],
    )
    def test_initial_values_are_constants(self, operators: list[Any], index: int, reason: str) -> None:
        with pytest.raises(Unfit, match=reason):
            self.variables(*operators).run(operator("CALL_ONCE", init_subgraph_index=index), [], None)

    def test_what_is_no_variable(self) -> None:
        found = self.variables()
        with pytest.raises(Unfit, match="calls subgraph 0"):
            found.run(operator("CALL_ONCE"), [], None)
        with pytest.raises(Unfit, match="the handle is not of a VAR_HANDLE before it"):
            found.run(operator("READ_VARIABLE", 3, outputs=(0,)), [], None)
        found.run(operator("VAR_HANDLE", outputs=(3,)), [], None)
        with pytest.raises(Unfit, match="is of a type that is not supported"):
            found.run(
                operator("READ_VARIABLE", 3, outputs=(0,)), [SimpleNamespace(element="", shape=(), format=None)], None
            )


def shaped(*shape: int) -> Operand:
    value: Any = SimpleNamespace(type=Tensor("f32", shape))
    return Operand(Tensor("f32", shape), lambda: value, None, None, lambda value, axes: None)


def test_shapes_of_layers_with_a_state() -> None:
    w, h, x = shaped(3, 4), shaped(1, 3), shaped(1, 2, 4)
    assert _check_plain(x, (w,) * 4, h, (None,)) == 3
    for given, reason in (
        ((x, (w, None, w, w), h, ()), "gates that share"),
        ((x, (w,) * 4, h, (None, w)), "peepholes"),
        ((shaped(2, 4), (w,) * 4, h, ()), "do not fit"),
        ((x, (w,) * 4, shaped(3), ()), "do not fit"),
        ((x, (w,) * 4, shaped(), ()), "do not fit"),
        ((x, (shaped(3, 5),) * 4, h, ()), "do not fit"),
        ((x, (shaped(2, 4),) * 4, h, ()), "do not fit"),
    ):
        with pytest.raises(Unfit, match=reason):
            _check_plain(*given)
    assert _filters(shaped(2, 5), shaped(6, 5), shaped(6, 3), shaped(2, 18), 2) == (6, 3)
    for shapes, rank in (
        (((2, 5), (6, 5), (6, 3), (2, 18)), 0),
        (((2, 5), (6, 5), (6, 3), (2, 18)), 4),
        (((2, 5), (6, 5), (6, 3), (2, 17)), 2),
        (((2, 5), (6, 5), (6, 3), (1, 18)), 2),
        (((2, 5), (5, 5), (6, 3), (2, 18)), 2),
        (((2, 5, 1), (6, 5), (6, 3), (2, 18)), 2),
        (((2, 5), (6, 5), (6, 0), (2, 0)), 2),
    ):
        with pytest.raises(Unfit, match=f"and rank {rank} do not fit"):
            _filters(*(shaped(*shape) for shape in shapes), rank)


def test_states_and_biases_must_be_there() -> None:
    w, h, x, b = shaped(3, 4), shaped(1, 3), shaped(1, 2, 4), shaped(3)
    whole = [w] * 4 + [shaped(3, 3)] * 4 + [None] * 3 + [b] * 4 + [None] * 2 + [h, h]
    to = (Result(Tensor("f32", (1, 2, 3)), "none", lambda value, axes: None),)
    inside = (Result(to[0].kind, "none", to[0].fix, (to[0].kind,) * 5),)
    for at in (11, 14, 17, 18):
        missing = [None if i == at else each for i, each in enumerate(whole)]
        for layer in (lstm, stored_lstm):
            with pytest.raises(Unfit, match="its states"):
                layer(x, *missing, to=inside)
    with pytest.raises(Unfit, match="or it clips its cells"):
        lstm(x, *whole, to=to, cell_clip=1.0)
    with pytest.raises(Unfit, match="formats of what it computes inside are missing"):
        stored_lstm(x, *whole, to=to)


@pytest.mark.parametrize(
    ("padding", "wanted"), [(0, (7, 6)), (0, (6, 4)), (1, (9, 7)), (1, (7, 5)), (0, (as_size("H"), 6))]
)
def test_images_that_a_transposed_convolution_does_not_give(padding: int, wanted: tuple[Any, ...]) -> None:
    with pytest.raises(Unfit, match=r"an image of \[3, 3\] does not become one of"):
        transposed_window((3, 3), wanted, (3, 3), (2, 2), padding=padding)


def test_borders_of_a_transposed_convolution() -> None:
    found = transposed_window((3, 3), (6, 5), (3, 3), (2, 2), padding=0)
    assert found == {"strides": (2, 2), "pads": (0, 1, 1, 1)}
    found = transposed_window((3, 3), (7, 8), (3, 3), (2, 2), padding=1)
    assert found == {"strides": (2, 2), "pads": (0, 0, 0, 0), "output_padding": (0, 1)}
