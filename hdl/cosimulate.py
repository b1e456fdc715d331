"""Run a design in GHDL, and compare values and cycles with the prediction: equal, without tolerance."""

import os
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from graphrewrite.hdl import ghdl
from graphrewrite.hdl.design import Design, read_description
from graphrewrite.hdl.errors import DesignError, SimulatorError

__all__ = ["Difference", "Report", "cosimulate"]


@dataclass(frozen=True)
class Difference:
    """The first beat of a port that is not as predicted.

    Attributes
    ----------
    port : str
        The output.
    frame, beat : int
        Where, from 0.
    expected, actual : str
        Cycle and payload; "nothing" where no beat is.
    """

    port: str
    frame: int
    beat: int
    expected: str
    actual: str

    def __str__(self) -> str:
        return f"{self.port}, frame {self.frame}, beat {self.beat}: expected {self.expected}, got {self.actual}"


@dataclass(frozen=True)
class Report:
    """What a cosimulation found.

    Attributes
    ----------
    equal : bool
        Whether every value and every cycle is as predicted.
    frames, beats, cycles : int
        How many were compared, over all outputs; cycles until the last beat.
    seconds : float
        Real time of analysis, elaboration and simulation.
    difference : Difference or None
        The first difference.
    """

    equal: bool
    frames: int
    beats: int
    cycles: int
    seconds: float
    difference: Difference | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the report as primitive data."""
        return asdict(self)

    def __str__(self) -> str:
        if self.difference is not None:
            return f"not equal: {self.difference}"
        return f"equal: values and cycles of {self.beats} beats in {self.frames} frames, {self.cycles} cycles, {self.seconds:.1f} s"


def cosimulate(design: Design | str | os.PathLike[str], *, timeout: float | None = 600.0) -> Report:
    """Return whether GHDL gives the predicted values in the predicted cycles for a design's test vectors.

    Parameters
    ----------
    design : Design or path
        A design, or the folder that one was written to; the folder is only read.
    timeout : float or None
        Seconds after which to give up.

    Returns
    -------
    Report

    Raises
    ------
    GhdlMissingError
        If there is no GHDL; says how to get it.
    DesignError
        If the folder holds no design, or files of it are missing.
    SimulatorError
        If GHDL refuses a file, or a stream breaks its contract.
    """
    with tempfile.TemporaryDirectory(prefix="graphrewrite-") as scratch:
        folder = Path(scratch) / "design"
        if isinstance(design, Design):
            design.write(folder)
        else:
            read_description(Path(design))
            shutil.copytree(design, folder)
        return _run(folder, timeout)


def _run(folder: Path, timeout: float | None) -> Report:
    description = read_description(folder)
    started = time.perf_counter()
    try:
        sources = [folder / line for line in (folder / "compile_order.txt").read_text().split()]
        ports = [p for p in description["ports"] if p["direction"] == "out"]
        expected = {p["name"]: _beats(folder / "vectors" / f"{p['name']}.txt") for p in ports}
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise DesignError(f"the design is not complete: {error}; compile the model again") from None
    missing = [s.name for s in sources if not s.is_file()]
    if missing or any(folder.resolve() not in s.resolve().parents for s in sources):
        raise DesignError(
            f"compile_order.txt names {', '.join(missing) or 'files outside of the design'}; compile the model again"
        )
    failure = None
    try:
        ghdl.run(sources, str(description["testbench"]), folder=folder, timeout=timeout)
    except SimulatorError as error:
        failure = error
    actual = {name: _results(folder / f"{name}_results.txt") for name in expected}
    seconds = time.perf_counter() - started
    differences = [d for p in ports if (d := _compare(p, expected[p["name"]], actual[p["name"]])) is not None]
    if failure is not None and not differences:
        raise failure
    beats = sum(map(len, expected.values()))
    cycles = max((cycle for found in expected.values() for cycle, _ in found), default=-1) + 1
    return Report(
        not differences, int(description["frames"]), beats, cycles, seconds, differences[0] if differences else None
    )


def _beats(path: Path) -> list[tuple[int, str]]:
    words = (line.split() for line in path.read_text().splitlines())
    return [(int(cycle), payload.lower()) for cycle, payload in words]


def _results(path: Path) -> list[tuple[int, str]]:
    # A simulation that failed may have stopped in the middle of a line.
    return _beats(path) if path.is_file() else []


def _compare(port: dict[str, Any], expected: list[tuple[int, str]], actual: list[tuple[int, str]]) -> Difference | None:
    for index in range(max(len(expected), len(actual))):
        pair = [
            f"{found[index][1]} in cycle {found[index][0]}" if index < len(found) else "nothing"
            for found in (expected, actual)
        ]
        if pair[0] != pair[1]:
            frame, beat = divmod(index, int(port["beats"]))
            return Difference(str(port["name"]), frame, beat, pair[0], pair[1])
    return None
