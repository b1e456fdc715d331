"""The report of a synthesis: a row for each instance, and the sum."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

from graphrewrite.hdl.synthesis.family import Usage

__all__ = ["Clock", "PartReport", "SynthesisReport", "deviation"]

_TOLERANCE = 0.15
_SMALL = 16  # a difference of fewer look-up tables says nothing about a model


@dataclass(frozen=True)
class Clock:
    """The highest clock frequency, after placing and routing.

    Attributes
    ----------
    mhz : float
        The greatest frequency.
    path : tuple of str
        The critical path: what drives, and what receives.
    """

    mhz: float
    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class PartReport:
    """One instance of a design, or the whole.

    Attributes
    ----------
    instance, entity, node : str
        Names: in the top entity, of the VHDL, in the stream graph.
    usage : Usage
        What synthesis gives.
    predicted : Usage
        What the component's description predicts.
    cells : dict of str to int
        Cells by type.
    clock : Clock or None
        Where it was asked for.
    notes : tuple of str
        What a reader should know: constant outputs, predictions that are off.
    seconds : float
        Of Yosys; an instance like an earlier one takes none.
    """

    instance: str
    entity: str
    node: str
    usage: Usage
    predicted: Usage
    cells: dict[str, int]
    clock: Clock | None = None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True)
class SynthesisReport:
    """The use of an FPGA by a design.

    Attributes
    ----------
    name, family : str
        The design, and what for.
    parts : tuple of PartReport
        The instances, synthesised apart; or the whole alone.
    whole : bool
        Whether the design was synthesised in one piece.
    seconds : float
        Real time of all of it.
    verified : int
        Cycles in which the Verilog of each instance was compared with the VHDL; 0 where that was not asked for.
    """

    name: str
    family: str
    parts: tuple[PartReport, ...]
    whole: bool = False
    seconds: float = 0.0
    verified: int = 0

    @property
    def total(self) -> Usage:
        """The sum of what synthesis gives."""
        return reduce(Usage.plus, (part.usage for part in self.parts), Usage())

    @property
    def predicted(self) -> Usage:
        """The sum of what the descriptions predict."""
        return reduce(Usage.plus, (part.predicted for part in self.parts), Usage())

    @property
    def clock(self) -> Clock | None:
        """The slowest part's, where it was asked for."""
        return min((part.clock for part in self.parts if part.clock is not None), key=lambda c: c.mhz, default=None)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader, each with its instance."""
        notes = [f"{part.instance}: {note}" for part in self.parts for note in part.notes]
        off = deviation(self.total, self.predicted)
        return (*notes, f"in all, {off}") if off else tuple(notes)

    def as_dict(self) -> dict[str, Any]:
        """Return the report as primitive data."""
        return {
            "name": self.name,
            "family": self.family,
            "whole": self.whole,
            "total": self.total._asdict(),
            "predicted": self.predicted._asdict(),
            "mhz": self.clock.mhz if self.clock else None,
            "verified_cycles": self.verified,
            "notes": list(self.notes),
            "seconds": round(self.seconds, 1),
            "parts": [
                {
                    "instance": part.instance,
                    "entity": part.entity,
                    "node": part.node,
                    "usage": part.usage._asdict(),
                    "predicted": part.predicted._asdict(),
                    "cells": part.cells,
                    "mhz": part.clock.mhz if part.clock else None,
                    "critical_path": list(part.clock.path) if part.clock else [],
                    "notes": list(part.notes),
                    "seconds": round(part.seconds, 1),
                }
                for part in self.parts
            ],
        }

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Yield the cells of a table: headings, a row for each part, and the sum."""
        clocked = self.clock is not None
        yield ("instance", "LUT", "predicted", "FF", "predicted", "DSP", "BRAM", "LUTRAM", "carry") + ("MHz",) * clocked
        for part in self.parts:
            yield _row(part.instance, part.usage, part.predicted, part.clock, clocked)
        if len(self.parts) > 1:
            yield _row("all", self.total, self.predicted, self.clock, clocked)

    def __str__(self) -> str:
        rows = list(self.rows())
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        heading = f"{self.name} for {self.family}" + (", in one piece" if self.whole else "")
        return "\n".join([heading, *(line.rstrip() for line in lines), *(f"note: {note}" for note in self.notes)])


def deviation(usage: Usage, predicted: Usage) -> str:
    """Return where a prediction is off: look-up tables by more than 15 %, DSP and block memories at all.

    Examples
    --------
    >>> deviation(Usage(lut=100, dsp=2), Usage(lut=130, dsp=1))
    'predicted 130 LUT and not 100 (+30 %), 1 DSP and not 2'
    >>> deviation(Usage(lut=100), Usage(lut=110))
    ''
    """
    off = []
    # Of a small part some tables more or less are a large share, and say nothing.
    apart = predicted.lut - usage.lut
    if abs(apart) > max(_TOLERANCE * usage.lut, _SMALL):
        share = f" ({100 * apart / usage.lut:+.0f} %)" if usage.lut else ""
        off.append(f"{predicted.lut} LUT and not {usage.lut}{share}")
    for name, expected, actual in (("DSP", predicted.dsp, usage.dsp), ("BRAM", predicted.bram, usage.bram)):
        if expected != actual:
            off.append(f"{expected:g} {name} and not {actual:g}")
    return f"predicted {', '.join(off)}" if off else ""


def _row(name: str, usage: Usage, predicted: Usage, clock: Clock | None, clocked: bool) -> tuple[str, ...]:
    logic = map(str, (usage.lut, predicted.lut, usage.ff, predicted.ff))
    blocks = (_beside(usage.dsp, predicted.dsp), _beside(usage.bram, predicted.bram))
    frequency = (f"{clock.mhz:.1f}" if clock else "-",) if clocked else ()
    return (name, *logic, *blocks, str(usage.lutram), str(usage.carry), *frequency)


def _beside(actual: float, predicted: float) -> str:
    return f"{actual:g}" if actual == predicted else f"{actual:g} ({predicted:g})"
