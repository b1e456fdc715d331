"""Types in words, and the layout of their bits."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Stream, Tensor
from graphrewrite.types import NAMES, Quantised, element_dtype, integer_limits
from graphrewrite.view.type_words import type_words

pytest.importorskip("jinja2")
FORMATS = st.builds(FixedPoint, st.booleans(), st.integers(1, 63), st.integers(-20, 80))


@given(FORMATS, st.integers(0))
def test_the_bits_of_a_format_add_up_to_its_numbers(kind, mantissa):
    runs = type_words(kind).bits
    assert sum(run.count for run in runs) == kind.width
    if kind.width > 16:
        return
    weights = [float(weight) for run in runs for weight in run.weights]
    assert len(weights) == kind.width
    mantissa = kind.minimum + mantissa % (kind.maximum - kind.minimum + 1)
    bits = f"{mantissa % 2**kind.width:0{kind.width}b}"
    assert sum(w for w, bit in zip(weights, bits, strict=True) if bit == "1") == pytest.approx(mantissa * kind.step)


def test_runs_are_cut_at_the_sign_and_at_the_binary_point():
    def runs(kind):
        return [(run.kind, run.count) for run in type_words(kind).bits]

    assert runs(FixedPoint(True, 8, 4)) == [("sign", 1), ("whole", 3), ("fraction", 4)]
    assert runs(FixedPoint(False, 8)) == [("whole", 8)]
    assert runs(FixedPoint(True, 4, 9)) == [("sign", 1), ("fraction", 3)]
    assert runs(FixedPoint(True, 4, -2)) == [("sign", 1), ("whole", 3)]
    assert runs(FixedPoint(True, 1, 0)) == [("sign", 1)]


@pytest.mark.parametrize("name", NAMES)
def test_every_element_has_a_range(name):
    facts = dict(type_words(Tensor(name, (3,))).facts.rows)
    limits = integer_limits(name)
    if limits is not None:
        assert facts["range"] == f"{limits[0]:,} to {limits[1]:,}"
    elif name != "bool":
        low, high = map(float, facts["range"].split(" to "))
        assert low < 1 < high
        held = np.asarray([low, high], element_dtype(name))
        assert np.isfinite(held).all()


def test_streams_say_how_a_frame_travels():
    facts = dict(type_words(Stream(FixedPoint(True, 8, 4), (6, 4, 5), lanes=2)).facts.rows)
    assert facts["beats of a frame"] == "60"
    assert facts["payload"] == "16 bits: lane 0 in bits 7 to 0, and so on to lane 1 in bits 15 to 8"
    assert facts["beat"] == "2 of 6 channels of one position, in 3 groups, one after the other"


def test_channels_of_a_quantised_type_have_a_range_together():
    words = type_words(Tensor(Quantised("i8", (0.5, 0.25), (3, 0), axis=1), ("N", 2)))
    facts = dict(words.facts.rows)
    assert (facts["range"], facts["resolution"], facts["zero point"]) == ("-65.5 to 62", "0.25 to 0.5", "0, 3")


def test_types_show_themselves():
    html = Tensor(FixedPoint(True, 8, 4), ("N", 8, 2, 2), "NCHW")._repr_html_()
    cells = re.findall(r'<td class="(\w+)">([^<]+)</td>', html)
    assert cells[:2] == [("sign", "-8"), ("whole", "4")]
    assert "batch N (decided at run time) x channels 8 x height 2 x width 2" in html
    assert repr(FixedPoint(True, 8, 4).show()).startswith("s8f4: signed fixed-point numbers of 8 bits")
