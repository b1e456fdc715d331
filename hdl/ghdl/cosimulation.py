"""Run a design in GHDL, and compare values and cycles with the prediction: equal, without tolerance."""

import os
import re
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from graphrewrite.hdl.emission.design import Design, copy_design, read_description
from graphrewrite.hdl.emission.replacement import write_files
from graphrewrite.hdl.errors import DesignError, SimulatorError
from graphrewrite.hdl.ghdl import simulator as ghdl
from graphrewrite.runtime.display import Displayed
from graphrewrite.runtime.scratch import check_space, scratch_folder

__all__ = ["CosimulationReport", "Difference", "cosimulate"]

_NOTHING = "nothing"
_BEFORE, _BEHIND = 4, 8  # beats around a difference that are kept to be looked at
_VERDICT = "FAIL: "  # the test bench's own judgement, in contrast to an error that GHDL found


class Near(NamedTuple):
    """A beat near a difference: which, and cycle and payload as expected and as found; None where no beat is."""

    frame: int
    beat: int
    expected: tuple[int, str] | None
    actual: tuple[int, str] | None


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
    near : tuple of Near
        The beats around it.
    """

    port: str
    frame: int
    beat: int
    expected: str
    actual: str
    near: tuple["Near", ...] = ()

    def __str__(self) -> str:
        return f"{self.port}, frame {self.frame}, beat {self.beat}: expected {self.expected}, got {self.actual}"


@dataclass(frozen=True, repr=False)
class CosimulationReport(Displayed, shown_by="cosimulation.show_report"):
    """The result of a cosimulation; true if it was equal.

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
    message : str
        What GHDL said, where it stopped before the end.
    """

    equal: bool
    frames: int
    beats: int
    cycles: int
    seconds: float
    difference: Difference | None = None
    message: str = ""

    def __bool__(self) -> bool:
        return self.equal

    def as_dict(self) -> dict[str, Any]:
        """Return the report as primitive data."""
        return asdict(self)

    def __str__(self) -> str:
        if self.difference is not None:
            return f"not equal: {self.difference}" + (f"; GHDL says: {self.message}" if self.message else "")
        compared = f"{self.beats} beats in {self.frames} frames, {self.cycles} cycles"
        return f"equal: values and cycles of {compared}, {self.seconds:.1f} s"

    def __repr__(self) -> str:
        return f"<CosimulationReport: {self}>"


def cosimulate(design: Design | str | os.PathLike[str], *, timeout: float | None = 600.0) -> CosimulationReport:
    """Return whether GHDL gives the predicted values in the predicted cycles for a design's test vectors.

    Parameters
    ----------
    design : Design or path
        A design, or the folder that one was written to; the folder is only read.
    timeout : float or None
        Seconds after which to give up.

    Raises
    ------
    GhdlMissingError
        If there is no GHDL; says how to get it.
    DesignError
        If it is no design, the folder holds none, or files of it are missing.
    SimulatorError
        If GHDL refuses a file, or a stream breaks its contract.
    """
    if not isinstance(design, Design | str | os.PathLike):
        raise DesignError(f"expected a Design or a folder, got {type(design).__name__}; call hdl.emit(graph) first")
    with scratch_folder() as scratch:
        folder = scratch / "design"
        if isinstance(design, Design):
            write_files(design.files, folder)
        else:
            copy_design(Path(design), folder)
        return _run(folder, timeout)


def _run(folder: Path, timeout: float | None) -> CosimulationReport:
    description = read_description(folder)
    started = time.perf_counter()
    try:
        sources = [folder / line for line in (folder / "compile_order.txt").read_text().split()]
        ports = [p for p in description["ports"] if p["direction"] == "out"]
        if not ports or any(int(p["beats"]) < 1 for p in ports):
            raise ValueError("no outputs with beats are described")
        expected = {_legal(p["name"]): _beats(folder / "vectors" / f"{p['name']}.txt") for p in ports}
        bench, frames = _legal(description["testbench"]), int(description["frames"])
        library = _legal(description.get("library", "work"))  # designs of the first form have none
    except (OSError, KeyError, TypeError, ValueError) as error:
        reason = f"{error.strerror}: {error.filename}" if isinstance(error, OSError) else str(error)
        reason = reason.replace(f"{folder}/", "")
        raise DesignError(f"the design is not complete or was changed ({reason}); compile the model again") from None
    # A folder may come from anywhere: its files reach GHDL only if they lie in it.
    outside = [s for s in sources if folder not in s.resolve().parents]
    if outside or not sources:
        raise DesignError("compile_order.txt names files outside of the design, or none; compile the model again")
    missing = [s.relative_to(folder).as_posix() for s in sources if not s.is_file()]
    if missing:
        raise DesignError(f"{', '.join(missing)} of compile_order.txt are missing; compile the model again")
    results = {name: folder / f"{name}_results.txt" for name in expected}
    failure = None
    try:
        total = sum(map(len, expected.values()))
        ghdl.run(
            sources,
            bench,
            library=library,
            folder=folder,
            timeout=timeout,
            done=lambda: _count(results.values()),
            total=total,
        )
    except SimulatorError as error:
        failure = SimulatorError(str(error).replace(f"{folder}/", ""))
    actual = {name: _results(path) for name, path in results.items()}
    seconds = time.perf_counter() - started
    differences = [d for p in ports if (d := _compare(p, expected[p["name"]], actual[p["name"]])) is not None]
    if differences:
        check_space()
    # Beats that came and differ tell more than those that are missing because GHDL stopped.
    differences.sort(key=lambda d: d.actual == _NOTHING)
    late = failure is not None and _VERDICT in str(failure)
    if failure is not None and (not differences or (differences[0].actual == _NOTHING and not late)):
        raise failure
    return CosimulationReport(
        not differences,
        frames,
        sum(map(len, expected.values())),
        max((cycle for beats in expected.values() for cycle, _ in beats), default=-1) + 1,
        seconds,
        differences[0] if differences else None,
        _essence(str(failure)) if failure is not None else "",
    )


def _legal(name: object) -> str:
    # The name goes to GHDL's command line and into paths.
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise ValueError(f"{name!r} is no name of a port or an entity")
    return name


def _essence(message: str) -> str:
    """The messages in what GHDL printed, on one line."""
    lines = [line.strip() for line in message.splitlines()[1:]]
    return "; ".join([line for line in lines if re.search("error|failure|assertion|FAIL", line)][:3])[:400]


def _beats(path: Path) -> list[tuple[int, str]]:
    return [_beat(line) for line in path.read_text().splitlines()]


def _beat(line: str) -> tuple[int, str]:
    cycle, payload = line.split()
    return int(cycle), payload.lower()


def _results(path: Path) -> list[tuple[int, str]]:
    # A simulation that failed may have stopped in the middle of a line.
    if not path.is_file():
        return []
    return [_beat(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def _count(paths: Iterable[Path]) -> int:
    """The beats that a simulation has written so far."""
    return sum(path.read_bytes().count(b"\n") for path in paths if path.is_file())


def _compare(port: dict[str, Any], expected: list[tuple[int, str]], actual: list[tuple[int, str]]) -> Difference | None:
    for index in range(max(len(expected), len(actual))):
        pair = [
            f"{beats[index][1]} in cycle {beats[index][0]}" if index < len(beats) else _NOTHING
            for beats in (expected, actual)
        ]
        if pair[0] != pair[1]:
            a_frame = int(port["beats"])
            frame, beat = divmod(index, a_frame)
            around = range(max(index - _BEFORE, 0), min(index + _BEHIND + 1, max(len(expected), len(actual))))
            near = tuple(Near(*divmod(at, a_frame), _at(expected, at), _at(actual, at)) for at in around)
            return Difference(str(port["name"]), frame, beat, pair[0], pair[1], near)
    return None


def _at(beats: list[tuple[int, str]], index: int) -> tuple[int, str] | None:
    return beats[index] if index < len(beats) else None
