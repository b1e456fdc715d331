"""FPGA families: how Yosys synthesises for them, and what its cells count as."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from graphrewrite.errors import did_you_mean
from graphrewrite.hdl.errors import SynthesisError

__all__ = ["FAMILIES", "Family", "Usage", "family_of"]


class Usage(NamedTuple):
    """The use of an FPGA by a part.

    Attributes
    ----------
    lut : int
        Look-up tables that compute.
    ff : int
        Flip-flops.
    dsp : int
        Multiplier blocks.
    bram : float
        Block memories; on xc7 in units of a RAMB36, so that a RAMB18 is a half.
    lutram : int
        Look-up tables that are memories or shift registers.
    carry : int
        Carry cells: CARRY4, CCU2C (each takes the place of two look-up tables), SB_CARRY.

    Examples
    --------
    >>> Usage(lut=3, ff=2).plus(Usage(lut=1, bram=0.5))
    Usage(lut=4, ff=2, dsp=0, bram=0.5, lutram=0, carry=0)
    """

    lut: int = 0
    ff: int = 0
    dsp: int = 0
    bram: float = 0
    lutram: int = 0
    carry: int = 0

    def plus(self, other: "Usage") -> "Usage":
        """Return the sum, kind by kind."""
        return Usage._make(one + another for one, another in zip(self, other, strict=True))

    def times(self, number: int) -> "Usage":
        """Return what so many of it take."""
        return Usage._make(count * number for count in self)


@dataclass(frozen=True)
class Family:
    """A family of FPGAs.

    Attributes
    ----------
    name, title : str
        Short name, and what people call it.
    command : str
        Yosys' command.
    memories : str
        The step of it that maps memories: before it, additions are arithmetic.
    dsp, without_dsp : str
        Options for circuits that multiply numbers that change, and for the others: products by constants are sums.
    cells : tuple of (str, str, float)
        Pattern of a cell's name, the kind of `Usage` that it counts as, and as how much.
    """

    name: str
    title: str
    command: str
    memories: str
    dsp: str
    without_dsp: str
    cells: tuple[tuple[str, str, float], ...]

    def usage(self, cells: Mapping[str, int]) -> Usage:
        """Return what cells count as.

        Examples
        --------
        >>> FAMILIES["xc7"].usage({"LUT2": 3, "LUT6": 1, "FDRE": 8, "RAMB18E1": 1, "MUXF7": 2})
        Usage(lut=4, ff=8, dsp=0, bram=0.5, lutram=0, carry=0)
        """
        totals: dict[str, float] = {}
        for cell, count in cells.items():
            for pattern, kind, amount in self.cells:
                if re.fullmatch(pattern, cell):
                    totals[kind] = totals.get(kind, 0) + amount * count
        return Usage(**{kind: amount if kind == "bram" else int(amount) for kind, amount in totals.items()})  # type: ignore[arg-type]


FAMILIES = {
    family.name: family
    for family in (
        Family(
            "ice40",
            "Lattice iCE40 UltraPlus",
            "synth_ice40 -device u",
            "map_ram",
            "-dsp",
            "",
            (
                ("SB_LUT4", "lut", 1),
                ("SB_DFF.*", "ff", 1),
                ("SB_MAC16", "dsp", 1),
                ("SB_RAM40_4K.*", "bram", 1),
                ("SB_CARRY", "carry", 1),
            ),
        ),
        Family(
            "ecp5",
            "Lattice ECP5",
            "synth_ecp5",
            "map_ram",
            "",
            "-nodsp",
            (
                ("LUT4", "lut", 1),
                ("TRELLIS_FF", "ff", 1),
                ("MULT18X18D", "dsp", 1),
                ("DP16KD|PDPW16KD", "bram", 1),
                ("TRELLIS_DPR16X4", "lutram", 4),
                ("CCU2C", "carry", 1),
            ),
        ),
        Family(
            "xc7",
            "AMD series 7",
            "synth_xilinx -family xc7 -flatten -noiopad -noclkbuf",
            "map_memory",
            "",
            "-nodsp",
            (
                ("LUT[1-6]", "lut", 1),
                ("FD[RSCP]E(_1)?", "ff", 1),
                ("DSP48E1", "dsp", 1),
                ("RAMB18E1", "bram", 0.5),
                ("RAMB36E1", "bram", 1),
                ("RAM(32|64)M", "lutram", 4),
                ("RAM(32|64)X1D", "lutram", 2),
                ("RAM128X1D", "lutram", 4),
                ("RAM(32|64)X1S", "lutram", 1),
                ("RAM128X1S", "lutram", 2),
                ("RAM256X1S", "lutram", 4),
                ("SRL16E|SRLC32E", "lutram", 1),
                ("CARRY4", "carry", 1),
            ),
        ),
    )
}
"""The families, by name."""


def family_of(name: str) -> Family:
    """Return the family of a name.

    Examples
    --------
    >>> family_of("ecp5").title
    'Lattice ECP5'
    """
    if name not in FAMILIES:
        raise SynthesisError(f"{name!r} is no family{did_you_mean(name, FAMILIES)}; give {', '.join(FAMILIES)}")
    return FAMILIES[name]
