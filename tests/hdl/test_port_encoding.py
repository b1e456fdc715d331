"""How the host's integers lie in words: as beats of the stream do, and back."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite.hdl.emission.host_code import port_of
from graphrewrite.hdl.emission.vectors import packed, payloads
from graphrewrite.hdl.port_encoding import Encoding, Step
from graphrewrite.types import FixedPoint, Stream

STREAMS = [
    Stream(FixedPoint(signed, width), shape, lanes)
    for signed, width in ((True, 1), (False, 1), (True, 5), (False, 13), (True, 32), (False, 33), (True, 48))
    for shape, lanes in (((6,), 2), ((6,), 6), ((4, 3), 1), ((4, 2, 3), 4))
]


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_words_are_the_beats_and_come_back(stream: Stream) -> None:
    port = port_of("x", stream, None)
    low, high = stream.element.minimum, stream.element.maximum
    numbers = np.random.default_rng(0).integers(low, high, (3, *stream.shape), endpoint=True)
    numbers.flat[:2] = low, high
    words = port.encode(numbers)
    assert words.dtype == np.uint32
    assert words.shape == (3, stream.beats, -(-stream.payload_width // 32))
    beats = [sum(word << 32 * k for k, word in enumerate(beat)) for beat in words.reshape(-1, words.shape[-1]).tolist()]
    assert beats == packed(stream, numbers)
    assert port.lines(words) == payloads(stream, numbers)
    np.testing.assert_array_equal(port.decode(words), numbers)


def encoding(**parts: object) -> Encoding:
    return Encoding(**{  # type: ignore[arg-type]  # whichever a test gives
        "tensor": "x", "element": "float32", "shape": (2, 3), "port_shape": (2, 3), "low": -8, "high": 7, **parts
    })  # fmt: skip


@pytest.mark.parametrize(
    ("constant", "wanted"),
    [
        ((0.5,), [[2, 4, 6], [-2, 1, 7]]),
        ((0.5, 0.25), [[2, 4, 6], [-4, 2, 7]]),
        ((1.0, 0.5, 0.25, 1.0, 1.0, 1.0), [[1, 4, 7], [-1, 0, 7]]),
    ],
    ids=["one for all", "one a channel", "one a number"],
)
def test_a_constant_is_for_all_for_a_channel_or_for_a_number(constant: tuple[float, ...], wanted: object) -> None:
    """Rounded half to even, and limited at both ends."""
    port = encoding(steps=(Step("divide", "float32", constant),))
    assert port.encode([[[1, 2, 3], [-1, 0.5, 99]]]).tolist() == [wanted]
    assert port.encode(np.full((1, 2, 3), -99.0)).tolist() == [[[-8] * 3] * 2]


def test_integers_are_taken_as_they_are_up_to_the_ends() -> None:
    port = encoding(element="int64")
    for end in (-8, 7):
        assert port.encode(np.full((1, 2, 3), end)).tolist() == [[[end] * 3] * 2]
    for beyond in (-9, 8):
        with pytest.raises(ValueError, match=r"^integers of x are -8 to 7$"):
            port.encode(np.full((1, 2, 3), beyond))


def test_what_has_no_integer_or_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="x holds NaN"):
        encoding().encode(np.full((1, 2, 3), np.nan))
    assert encoding().encode(np.full((1, 2, 3), np.inf)).tolist() == [[[7] * 3] * 2]
    for wrong in (np.zeros((2, 3)), np.zeros((1, 3, 2)), np.zeros(())):
        with pytest.raises(ValueError, match=r"x has the shape \(.*\); give \[N, 2, 3\]"):
            encoding().encode(wrong)


def test_places_are_read_in_the_order_of_nested_loops() -> None:
    """An image whose channels come last; and its decoding."""
    port = encoding(element="int64", shape=(3, 2), gather=((2, 1), (3, 2)))
    assert port.encode([[[1, 4], [2, 5], [3, 6]]]).tolist() == [[[1, 2, 3], [4, 5, 6]]]
    back = encoding(
        element="float64", shape=(3, 2), gather=((3, 1), (2, 3)), steps=(Step("multiply", "float64", (0.5,)),)
    )
    assert back.decode([[[1, 2, 3], [4, 5, 6]]]).tolist() == [[[0.5, 2.0], [1.0, 2.5], [1.5, 3.0]]]
