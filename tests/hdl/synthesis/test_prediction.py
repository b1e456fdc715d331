"""Predictions: the choice of memories is that of Yosys' libraries, and a bad description is still one."""

from __future__ import annotations

import pytest

from graphrewrite.hdl.synthesis import FAMILIES, PartReport, SynthesisReport, Usage
from graphrewrite.hdl.synthesis.memories import memory_usage
from graphrewrite.hdl.synthesis.prediction import predicted_usage

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
