"""Run the VHDL simulator GHDL: find it, analyse, elaborate and run a design in a work library of its own."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from graphrewrite.hdl.errors import GhdlMissingError, SimulatorError
from graphrewrite.runtime.process import run_program
from graphrewrite.runtime.scratch import scratch_folder

__all__ = ["GHDL_HINT", "analyse", "find_ghdl", "run", "synthesise"]

GHDL_HINT = (
    "GHDL is not installed: apt-get install ghdl-mcode (Debian, Ubuntu), dnf install ghdl (Fedora), "
    "brew install --cask ghdl (macOS), or an archive from https://github.com/ghdl/ghdl/releases"
)
"""One line that says how to get the simulator."""

_STANDARD = "--std=08"


def find_ghdl() -> str | None:
    """Return the path of the ``ghdl`` on the search path, or None.

    Examples
    --------
    >>> path = find_ghdl()
    >>> path is None or path.endswith("ghdl")
    True
    """
    return shutil.which("ghdl")


def analyse(sources: Iterable[str | os.PathLike[str]], work: str | os.PathLike[str], library: str = "work") -> str:
    """Analyse VHDL-2008 files, in the order given, into a library, which is the work library of each."""
    return _call(
        ["-a", _STANDARD, f"--work={library}", f"--workdir={work}", *(os.fspath(source) for source in sources)]
    )


def run(
    sources: Iterable[str | os.PathLike[str]],
    top: str,
    *,
    library: str = "work",
    folder: str | os.PathLike[str] | None = None,
    stop_time: str | None = None,
    timeout: float | None = None,
    waves: str | os.PathLike[str] | None = None,
    done: Callable[[], int] | None = None,
    total: int | None = None,
) -> str:
    """Analyse files, elaborate an entity and simulate it, in a temporary library."""
    files = [Path(source).resolve() for source in sources]
    with scratch_folder() as work:
        analyse(files, work, library)
        stop = [] if stop_time is None else [f"--stop-time={stop_time}"]
        options = [_STANDARD, f"--work={library}", f"--workdir={work}"]
        # A large read-only memory is computed by a function, beyond the 128 kB that GHDL allows for a variable.
        limits = ["--ieee-asserts=disable-at-0", "--max-stack-alloc=0"]
        traced = [] if waves is None else [f"--fst={Path(waves).resolve()}"]
        progress = {"label": "simulating", "done": done, "total": total}
        arguments = ["--elab-run", *options, top, *limits, *stop, *traced]
        return _call(arguments, cwd=folder or work, timeout=timeout, progress=progress)


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
    timeout : float, optional
        Seconds after which to give up.

    Returns
    -------
    str
        A netlist in that language: a unit for each configuration of an entity.
    """
    files = [Path(source).resolve() for source in sources]
    with scratch_folder() as work:
        options = [_STANDARD, f"--workdir={work}", f"--out={language}"]
        return _call(["--synth", *options, *map(str, files), "-e", top], cwd=work, timeout=timeout)


def _call(
    arguments: Sequence[str],
    cwd: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    progress: Mapping[str, Any] | None = None,
) -> str:
    ghdl = find_ghdl()
    if ghdl is None:
        raise GhdlMissingError(GHDL_HINT)
    try:
        ended = run_program([ghdl, *arguments], cwd=cwd, timeout=timeout, **(progress or {}))
    except subprocess.TimeoutExpired:
        raise SimulatorError(f"ghdl {arguments[0]} did not end within {timeout} s; raise `timeout`") from None
    if ended.code:
        # The messages come first: GHDL reports assertions on the standard output, its own errors on the other.
        message = (ended.errors.strip() + "\n" + ended.text.strip()).strip()
        raise SimulatorError(f"ghdl {arguments[0]} failed; correct the design where GHDL points:\n{message[-4000:]}")
    return ended.text if arguments[0] == "--synth" else ended.text + ended.errors
