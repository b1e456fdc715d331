"""Test vectors: within the formats, from the seed alone, and the same words as the streams carry."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite.errors import EvaluationError
from graphrewrite.execution.evaluator import evaluate
from graphrewrite.hdl.emission.vectors import make_vectors, payloads, random_frames, random_gates
from graphrewrite.hdl.netlist import netlist
from graphrewrite.types import FixedPoint, Stream
from tests.support.designs import rectify, residual


@given(st.integers(0, 2**32))
def test_random_frames_and_gates_follow_from_the_seed(seed: int) -> None:
    found = netlist(rectify())
    frames, gates = random_frames(found, 3, seed), random_gates(found, seed)
    assert frames["x"].shape == (3, 2, 3)
    assert set(frames["x"].ravel().tolist()) <= set(range(-128, 128))
    assert set(gates) == {"x", "y"}
    assert all(set(bits) <= {0, 1} and 1 in bits for bits in gates.values())
    np.testing.assert_array_equal(frames["x"], random_frames(found, 3, seed)["x"])
    assert gates == random_gates(found, seed)


def test_seeds_and_ports_differ() -> None:
    found = netlist(rectify())
    assert random_gates(found, 0) != random_gates(found, 1)
    assert random_gates(found, 0)["x"] != random_gates(found, 0)["y"]
    assert (random_frames(found, 3, 0)["x"] != random_frames(found, 3, 1)["x"]).any()


@given(st.booleans(), st.integers(1, 24), st.integers(1, 5), st.data())
def test_a_payload_holds_each_lane_in_its_place(signed: bool, width: int, lanes: int, data: st.DataObject) -> None:
    element = FixedPoint(signed, width)
    number = st.integers(element.minimum, element.maximum)
    beats = data.draw(st.lists(st.lists(number, min_size=lanes, max_size=lanes), min_size=1, max_size=4))
    values = np.array(beats).T[None]
    words = payloads(Stream(element, (lanes, len(beats))), values)
    assert {len(word) for word in words} == {(lanes * width + 3) // 4}
    for word, beat in zip(words, beats, strict=True):
        fields = [(int(word, 16) >> lane * width) & (2**width - 1) for lane in range(lanes)]
        assert fields == [entry % 2**width for entry in beat]


def test_expected_values_are_those_of_the_graph() -> None:
    graph = residual()
    found = make_vectors(graph, netlist(graph), None, None, 4, 7)
    assert found.frames == 4
    np.testing.assert_array_equal(found.expected.values["y"], evaluate(graph, found.inputs)["y"])
    cycles = found.expected.cycles["y"]
    assert cycles.shape == (4, 16)
    assert (np.diff(cycles.ravel()) > 0).all()


def test_given_inputs_and_gates_are_used() -> None:
    graph = rectify()
    x = np.arange(-6, 6).reshape(2, 2, 3)
    before = x.copy()
    found = make_vectors(graph, netlist(graph), {"x": x}, {"y": [0, 1]}, 9, 0)
    assert found.frames == 2
    assert found.gates == {"x": (1,), "y": (0, 1)}
    assert (found.expected.cycles["y"] % 2 == 1).all()
    np.testing.assert_array_equal(x, before)


def test_no_frame_and_a_gate_of_no_port_are_refused() -> None:
    graph = rectify()
    found = netlist(graph)
    with pytest.raises(EvaluationError, match="at least one"):
        make_vectors(graph, found, {"x": np.zeros((0, 2, 3), int)}, {}, 0, 0)
    with pytest.raises(EvaluationError, match=r"gates name z.*ports are x, y"):
        make_vectors(graph, found, None, {"z": [1]}, 2, 0)
