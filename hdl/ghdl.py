"""Run the VHDL simulator GHDL: find it, analyse, elaborate and run a design in a work library of its own."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from graphrewrite.hdl.errors import GhdlMissingError, SimulatorError
from graphrewrite.hdl.process import run_program

__all__ = ["GHDL_HINT", "analyse", "find_ghdl", "run", "synthesise"]

GHDL_HINT = "GHDL is not installed; get it with `apt install ghdl-mcode`, `brew install ghdl`, or from https://github.com/ghdl/ghdl/releases"
"""One line that says how to get the simulator."""

_STANDARD = "--std=08"


def find_ghdl() -> str | None:
    """Return the path of the ``ghdl`` on the search path, or None.

    Returns
    -------
    str or None

    Examples
    --------
    >>> found = find_ghdl()
    >>> found is None or found.endswith("ghdl")
    True
    """
    return shutil.which("ghdl")


def analyse(sources: Iterable[str | os.PathLike[str]], work: str | os.PathLike[str]) -> str:
    """Analyse VHDL-2008 files, in the order given, into a work library.

    Parameters
    ----------
    sources : paths
        Files, each after those that it uses.
    work : path
        An existing folder that holds the library.

    Returns
    -------
    str
        What GHDL printed: its warnings; empty for a clean design.

    Raises
    ------
    GhdlMissingError
        If there is no GHDL.
    SimulatorError
        If a file is refused; the message holds GHDL's own.
    """
    return _call(["-a", _STANDARD, f"--workdir={work}", *(os.fspath(source) for source in sources)])


def run(
    sources: Iterable[str | os.PathLike[str]],
    top: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    stop_time: str | None = None,
    timeout: float | None = None,
    waves: str | os.PathLike[str] | None = None,
    done: Callable[[], int] | None = None,
    total: int | None = None,
) -> str:
    """Analyse files, elaborate an entity and simulate it, in a temporary work library.

    Parameters
    ----------
    sources : paths
        Files, each after those that it uses.
    top : str
        The entity to simulate.
    folder : path, optional
        Where the simulation runs: relative names in the design start here. Default: the temporary folder.
    stop_time : str, optional
        Simulated time after which to stop, such as ``"100us"``. Default: until the design stops.
    timeout : float, optional
        Seconds of real time after which to give up.
    waves : path, optional
        Where to write what every signal does, in the format FST.
    done : callable, optional
        Says how far the simulation is, while it runs.
    total : int, optional
        What it says at the end.

    Returns
    -------
    str
        What the simulation printed.

    Raises
    ------
    GhdlMissingError
        If there is no GHDL.
    SimulatorError
        If a file is refused, an assertion fails, or the time is up; the message holds GHDL's own.
    """
    files = [Path(source).resolve() for source in sources]
    with tempfile.TemporaryDirectory(prefix="graphrewrite-") as work:
        analyse(files, work)
        stop = [] if stop_time is None else [f"--stop-time={stop_time}"]
        options = [_STANDARD, f"--workdir={work}"]
        # A large read-only memory is computed by a function, beyond the 128 kB that GHDL allows for a variable.
        limits = ["--ieee-asserts=disable-at-0", "--max-stack-alloc=0"]
        traced = [] if waves is None else [f"--fst={Path(waves).resolve()}"]
        shown = {"label": "simulating", "done": done, "total": total}
        arguments = ["--elab-run", *options, top, *limits, *stop, *traced]
        return _call(arguments, cwd=folder or work, timeout=timeout, shown=shown)


def synthesise(
    sources: Iterable[str | os.PathLike[str]],
    top: str,
    *,
    language: Literal["vhdl", "verilog"] = "vhdl",
    timeout: float | None = None,
) -> str:
    """Return GHDL's synthesis of an entity.

    Parameters
    ----------
    sources : paths
        Files, each after those that it uses.
    top : str
        The entity; its generics have defaults.
    language : str
        ``"vhdl"`` or ``"verilog"``.
    timeout : float, optional
        Seconds after which to give up.

    Returns
    -------
    str
        A netlist in that language: a unit for each configuration of an entity.

    Raises
    ------
    GhdlMissingError
        If there is no GHDL.
    SimulatorError
        If it cannot be synthesised.
    """
    files = [Path(source).resolve() for source in sources]
    with tempfile.TemporaryDirectory(prefix="graphrewrite-") as work:
        options = [_STANDARD, f"--workdir={work}", f"--out={language}"]
        return _call(["--synth", *options, *map(str, files), "-e", top], cwd=work, timeout=timeout)


def _call(
    arguments: Sequence[str],
    cwd: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    shown: Mapping[str, Any] | None = None,
) -> str:
    ghdl = find_ghdl()
    if ghdl is None:
        raise GhdlMissingError(GHDL_HINT)
    try:
        ended = run_program([ghdl, *arguments], cwd=cwd, timeout=timeout, **(shown or {}))
    except subprocess.TimeoutExpired:
        raise SimulatorError(f"ghdl {arguments[0]} did not end within {timeout} s; raise `timeout`") from None
    if ended.code:
        # The messages come first: GHDL reports assertions on the standard output, its own errors on the other.
        told = (ended.errors.strip() + "\n" + ended.output.strip()).strip()
        raise SimulatorError(f"ghdl {arguments[0]} failed; correct the design where GHDL points:\n{told[-4000:]}")
    return ended.output if arguments[0] == "--synth" else ended.output + ended.errors
