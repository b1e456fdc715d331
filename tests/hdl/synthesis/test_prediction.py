"""Predictions: the choice of memories is that of Yosys' libraries, and a bad description is still one."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from graphrewrite import Graph
from graphrewrite.hdl import emit
from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.hdl.components.argmax import argmax
from graphrewrite.hdl.components.fifo import fifo
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.components.refold import refold
from graphrewrite.hdl.components.repeat import repeat
from graphrewrite.hdl.synthesis import FAMILIES, PartReport, SynthesisReport, Usage, synthesise
from graphrewrite.hdl.synthesis.memories import memory_usage
from graphrewrite.hdl.synthesis.prediction import predicted_usage
from graphrewrite.hdl.synthesis.report import deviation
from graphrewrite.types import FixedPoint, Stream

# What Yosys 0.70 makes of memories with a registered read: b in blocks, t in look-up tables, - in logic.
FAMILY_NAMES = ("ice40", "ecp5", "xc7")
ROMS = {
    (16, 64): "---", (72, 8): "---", (72, 64): "bb-", (72, 128): "bb-", (160, 64): "bb-", (128, 16): "b--",
    (256, 8): "b--", (288, 32): "bbb", (512, 16): "bb-", (640, 8): "bb-", (1152, 8): "bbb", (1280, 64): "bbb",
    (40, 128): "---", (64, 128): "---", (1024, 8): "bb-", (1032, 8): "bb-",
}  # fmt: skip
RAMS = {
    (16, 8): "btt", (16, 64): "btt", (32, 8): "btt", (32, 32): "btt", (64, 8): "btt", (64, 32): "bbt",
    (160, 8): "bbt", (128, 32): "bbb", (256, 8): "bbt", (256, 32): "bbb", (512, 16): "bbb", (1024, 8): "bbb",
    (64, 72): "bbt", (36, 64): "bbt", (10, 16): "btt",
}  # fmt: skip

S8 = FixedPoint(True, 8)


def beats(bits: int, length: int = 64) -> Stream:
    return Stream(FixedPoint(True, bits), (1, length), 1)


def product(outputs: int, inputs: int, bits: int, x: FixedPoint, element: int, stages: int, seed: int) -> Site:
    """A product by constants."""
    rng = np.random.default_rng(seed)
    most = 2 ** (bits - 1) - 1
    weights = np.clip(np.round(rng.normal(0, 2 ** (bits - 1) / 3.5, (outputs, inputs))), -most, most).astype(int)
    bias = np.random.default_rng(seed + 1).integers(-999, 999, outputs)
    given = {"weights": weights, "bias": bias, "element": FixedPoint(True, element), "stages": stages}
    return Site.of(matvec, Stream(x, (inputs,)), **given)


# What Yosys 0.70 makes of components: look-up tables, flip-flops and block memories for each family.
MEASURED = (
    (fifo, Site.of(fifo, beats(13), depth=13), (73, 63, 1), (69, 43, 0), (43, 43, 0)),
    (fifo, Site.of(fifo, beats(44), depth=10), (137, 156, 3), (89, 105, 0), (72, 105, 0)),
    (fifo, Site.of(fifo, beats(8), depth=200), (110, 68, 1), (125, 67, 1), (63, 49, 0)),
    (fifo, Site.of(fifo, beats(24), depth=100), (128, 111, 2), (159, 110, 1), (65, 53, 0.5)),
    (fifo, Site.of(fifo, beats(12), depth=512), (134, 87, 2), (131, 86, 1), (55, 51, 0.5)),
    (refold, Site.of(refold, Stream(S8, (16, 9), 1), lanes=16), (33, 254, 0), (69, 254, 0), (24, 254, 0)),
    (refold, Site.of(refold, Stream(S8, (32, 9), 4), lanes=16), (11, 228, 0), (14, 228, 0), (9, 228, 0)),
    (argmax, Site.of(argmax, Stream(S8, (5,)), element=FixedPoint(False, 3)), (95, 12, 0), (107, 12, 0), (66, 12, 0)),
    (
        argmax,
        Site.of(argmax, Stream(FixedPoint(True, 12), (10,)), element=FixedPoint(False, 4)),
        (300, 14, 0),
        (319, 14, 0),
        (202, 14, 0),
    ),
    # The factors of ice40 and xc7 were fitted on others, smaller ones.
    (matvec, product(6, 7, 8, S8, 17, 1, 33), (2174, 417, 0), (1650, 417, 0), (1515, 417, 0)),
    (matvec, product(5, 12, 6, S8, 15, 2, 34), (1955, 880, 0), (942, 913, 0), (1315, 913, 0)),
    (repeat, Site.of(repeat, Stream(S8, (1, 28, 28), 1), factors=(2, 2)), (81, 67, 1), (76, 51, 0), (40, 51, 0)),
)


@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_components_take_what_is_predicted(family: str) -> None:
    for op, site, *measured in MEASURED:
        lut, ff, bram = measured[FAMILY_NAMES.index(family)]
        component = next(c for c in COMPONENTS if c.op is op)
        told = {"resources": component.resources(site)._asdict(), "streams_out": list(map(str, site.results))}
        predicted = predicted_usage(told, FAMILIES[family])
        assert not deviation(Usage(lut=lut, bram=bram), predicted), (site, predicted)
        assert abs(predicted.ff - ff) <= 0.05 * ff, (site, predicted)


@pytest.mark.slow(cases=0)
@pytest.mark.ghdl
@pytest.mark.skipif(find_spec("pyosys") is None, reason="pyosys is missing: pip install pyosys")
def test_predictions_are_those_of_this_yosys() -> None:
    """Small parts of another configuration than any that was fitted: synthesis says the same."""
    g = Graph("parts")
    constants = {"weights": [[5, -3, 2], [-7, 1, 11]], "bias": [3, -4], "element": FixedPoint(True, 11)}
    x = g.add(matvec, [g.input("x", Stream(FixedPoint(True, 6), (3,)))], constants, name="product", origin=("product",))
    g.output("y", g.add(fifo, [x], {"depth": 70}, name="deep", origin=("deep",)))
    report = synthesise(emit(g, frames=1), family="ice40")
    assert not report.notes
    assert report.total.bram == 2


@pytest.mark.parametrize("family", FAMILY_NAMES)
@pytest.mark.parametrize(("writable", "choices"), [(False, ROMS), (True, RAMS)], ids=["rom", "ram"])
def test_memories_are_what_yosys_makes_of_them(
    family: str, writable: bool, choices: dict[tuple[int, int], str]
) -> None:
    for (words, width), wanted in choices.items():
        usage = memory_usage(family, words, width, writable=writable)
        kind = "b" if usage.bram else "t" if usage.lutram else "-"
        assert kind == wanted[FAMILY_NAMES.index(family)], (words, width, usage)


@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_a_description_without_pieces_predicts_something(family: str) -> None:
    resources = {"multipliers": 2, "adders": 3, "registers": 40, "memory_bits": 100_000}
    usage = predicted_usage({"resources": resources, "streams_out": ["stream s12f3[4] 2 lanes"]}, FAMILIES[family])
    assert usage.dsp == 2
    assert usage.bram > 0
    assert usage.lut >= 10


@pytest.mark.parametrize(("streams", "width"), [(["stream s12f3[4] 2 lanes", "stream u5f0[4]"], 12), ([], 8)])
@pytest.mark.parametrize("more", [0, 1, 100])
@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_a_description_with_buffers_alone_stands_for_sums_of_numbers_as_wide_as_those_that_leave(
    family: str, more: int, streams: list[str], width: int
) -> None:
    """What is stored, and not in a long buffer, is one more memory."""
    buffers = [["buffer", 2, 13, 5], ["buffer", 3, 12, 4]]
    sums = [["product", 2, width, width], ["add", 3, width], ["logic", 10, 1], ["rom", 1, width, -(-more // width)]]
    told = {"multipliers": 2, "adders": 3, "registers": 40, "memory_bits": 2 * 13 * 5 + more}
    guessed, named = (
        predicted_usage({"resources": told | {"pieces": pieces}, "streams_out": streams}, FAMILIES[family])
        for pieces in (buffers, buffers + sums[: 4 if more else 3])
    )
    assert guessed == named


def test_a_report_says_where_a_prediction_is_off() -> None:
    good = PartReport("a_i", "fifo", "a", Usage(lut=100, ff=8), Usage(lut=110, ff=8), {})
    bad = PartReport("b_i", "matvec", "b", Usage(lut=900, dsp=1), Usage(lut=100, dsp=2), {}, notes=("off",))
    report = SynthesisReport("net", "xc7", (good, bad))
    assert report.total == Usage(1000, 8, 1)
    assert report.notes == ("b_i: off", "in all, predicted 210 LUT and not 1000 (-79 %), 2 DSP and not 1")
    lines = str(report).splitlines()
    assert lines[0] == "net for xc7"
    assert lines[2].split() == ["a_i", "100", "110", "8", "8", "0", "0", "0", "0"]
    assert lines[4].split()[:2] == ["all", "1000"]
