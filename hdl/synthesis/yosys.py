"""Run Yosys on one module, in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from threading import Event

from graphrewrite.errors import MissingDependencyError
from graphrewrite.hdl.errors import SynthesisError
from graphrewrite.hdl.synthesis.family import Family
from graphrewrite.hdl.synthesis.verilog import Verilog
from graphrewrite.runtime.process import run_program

__all__ = ["Netlist", "check_yosys", "run_yosys", "synthesise_module"]

# Widths come first: what `opt_expr` makes of a product by an even negative constant is 32 bits wide for ever.
_CLEAN = ("flatten", "wreduce", "opt_expr", "opt_clean", "wreduce", "peepopt", "opt_clean")
_KEEP_SUMS = (
    # Additions in series would become carry-save adders of two look-up tables a bit, where a carry chain
    # takes one. They stay apart if somebody looks at each sum; one that no other sum reads may go into a DSP block.
    "select -set sums t:$add t:$sub %u",
    "select -set given @sums %co1:+[Y] w:* %i",
    "select -set taken @sums %ci1:+[A,B] w:* %i",
    "select -set between @given @taken %i",
    "setattr -set keep 1 @between",
    "select -clear",
)


@dataclass(frozen=True)
class Netlist:
    """A synthesised module.

    Attributes
    ----------
    cells : dict of str to int
        How many there are by type.
    constant : dict of str to int
        By output, how many of its bits never change.
    path : Path
        The netlist, as Yosys' JSON.
    """

    cells: dict[str, int]
    constant: dict[str, int]
    path: Path = field(repr=False)


def check_yosys() -> None:
    """Raise unless Yosys is installed."""
    if find_spec("pyosys") is None:
        raise MissingDependencyError.of_extra("reports of synthesis", "synth")


def run_yosys(
    commands: Sequence[str],
    top: str,
    folder: Path,
    *,
    where: str,
    timeout: float | None = None,
    stop: Event | None = None,
) -> Netlist:
    """Run commands of Yosys, in a folder, until another thread says stop."""
    check_yosys()
    script, netlist, contents, log = (folder / name for name in ("commands", "netlist.json", "found.json", "log"))
    script.write_text("\n".join(commands), encoding="utf-8")
    worker = [sys.executable, "-m", "graphrewrite.hdl.synthesis.worker"]
    arguments = [*worker, str(script), top, str(netlist), str(contents)]
    try:
        ended = run_program(arguments, cwd=folder, timeout=timeout, stop=stop)
    except subprocess.TimeoutExpired:
        raise SynthesisError(
            f"{where}: Yosys did not end within {timeout:g} s; raise `timeout`, or make the part smaller"
        ) from None
    log.write_text(ended.text + ended.errors, encoding="utf-8")
    if ended.code:
        raise SynthesisError(f"{where}: Yosys refuses it: {_essence(ended.text + ended.errors)}")
    counted = json.loads(contents.read_text(encoding="utf-8")) if contents.is_file() else {"cells": {}, "constant": {}}
    return Netlist(counted["cells"], counted["constant"], netlist)


def synthesise_module(
    verilog: Verilog,
    module: str,
    family: Family,
    folder: Path,
    *,
    where: str,
    multiplies: bool = True,
    extra: str = "",
    timeout: float | None = None,
    stop: Event | None = None,
) -> Netlist:
    """Synthesise a module with its ports as the ports of a chip: nothing outside of it makes anything constant.

    Parameters
    ----------
    multiplies : bool
        Whether it multiplies numbers that change. If not, it gets no DSP blocks: which products by constants would
        take one is the tool's whim.
    timeout : float, optional
        Seconds after which to give up.
    stop : Event, optional
        Another thread sets it to give up.
    """
    source = folder / "source.v"
    own = module if module in verilog.modules else verilog.top
    source.write_text(verilog.closure(own) + extra, encoding="utf-8")
    command = f"{family.command} {family.dsp if multiplies else family.without_dsp} -top {module}"
    commands = [
        f"read_verilog {source.name}",
        f"hierarchy -check -top {module}",
        "proc -latches error",  # synth_xilinx would take a latch without a word
        *_CLEAN,
        *_KEEP_SUMS,
        f"{command} -run begin:{family.memories}",
        "setattr -unset keep w:*",
        "opt_clean",
        f"{command} -run {family.memories}:",
        "write_json netlist.json",
    ]
    return run_yosys(commands, module, folder, where=where, timeout=timeout, stop=stop)


def _essence(log: str) -> str:
    """The error in Yosys' log, or its last words."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("ERROR", "ModuleNotFoundError", "ImportError"))]
    return " ".join(errors[-2:] or lines[-2:])[-400:] or "it stopped without a word; it may have run out of memory"
