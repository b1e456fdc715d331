"""The clock of a module: nextpnr places and routes it, with shift registers at its ports."""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any

from graphrewrite.errors import MissingDependencyError
from graphrewrite.hdl.errors import SynthesisError
from graphrewrite.hdl.synthesis.family import Family
from graphrewrite.hdl.synthesis.report import Clock
from graphrewrite.hdl.synthesis.verilog import Verilog
from graphrewrite.hdl.synthesis.yosys import synthesise_module
from graphrewrite.runtime.process import run_program

__all__ = ["check_clock", "clock_of", "wrapper"]

_WRAPPER = "graphrewrite_clocked"
_DEVICES = {
    "ecp5": ("--85k", "--package", "CABGA756", "--speed", "6"),
    "ice40": ("--up5k", "--package", "sg48"),
}
_GOAL = "150"  # MHz that the placer works towards


def _command(family: Family) -> list[str] | None:
    """The program that places and routes: the system's, or the one from PyPI."""
    if (own := shutil.which(f"nextpnr-{family.name}")) is not None:
        return [own]
    package = f"yowasp_nextpnr_{family.name}"
    if find_spec(package) is None:
        return None
    start = f"import sys, {package} as p; sys.exit(p.run_nextpnr_{family.name}(sys.argv[1:]))"
    return [sys.executable, "-c", start]


def check_clock(family: Family) -> None:
    """Raise unless the clock frequency of a family can be found.

    Examples
    --------
    >>> from graphrewrite.hdl.synthesis.family import FAMILIES
    >>> check_clock(FAMILIES["xc7"])
    Traceback (most recent call last):
    ...
    graphrewrite.hdl.errors.SynthesisError: there is no open tool for the clock of xc7; give ecp5 or ice40
    """
    if family.name not in _DEVICES:
        raise SynthesisError(f"there is no open tool for the clock of {family.name}; give {' or '.join(_DEVICES)}")
    if _command(family) is None:
        raise MissingDependencyError.of_extra("reports of the clock", "synth")


def wrapper(ports: list[tuple[str, bool, int]], module: str) -> str:
    """Return Verilog that leads the ports of a module to three pins, through registers.

    A shift register feeds the inputs; the outputs are stored, and folded four by four until one bit is left. No path
    of it is longer than one look-up table.

    Examples
    --------
    >>> print(wrapper([("clk", True, 1), ("x", True, 2), ("z", False, 1)], "inner"))
    module graphrewrite_clocked (input clk, input given, output seen);
      reg [1:0] feed;
      wire [0:0] result;
      reg [0:0] stored_0;
      inner inner_i (.clk(clk), .x(feed[1:0]), .z(result[0:0]));
      always @(posedge clk) begin
        feed <= {feed, given};
        stored_0 <= result;
      end
      assign seen = stored_0[0];
    endmodule
    <BLANKLINE>
    """
    wires, at = ["clk"], {True: 0, False: 0}
    pins = [".clk(clk)"]
    for name, is_input, width in ports:
        if name == "clk":
            continue
        source = "feed" if is_input else "result"
        pins.append(f".{name}({source}[{at[is_input] + width - 1}:{at[is_input]}])")
        at[is_input] += width
    # Each stage folds four bits by one look-up table, so that the way to the pin never is the critical path.
    sizes = [at[False]]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // 4))
    wires = [f"  reg [{at[True] - 1}:0] feed;", f"  wire [{at[False] - 1}:0] result;"]
    wires += [f"  reg [{size - 1}:0] stored_{stage};" for stage, size in enumerate(sizes)]
    steps = ["    feed <= {feed, given};", "    stored_0 <= result;"]
    for stage, size in enumerate(sizes[1:], 1):
        last = sizes[stage - 1] - 1
        steps += [
            f"    stored_{stage}[{k}] <= ^stored_{stage - 1}[{min(4 * k + 3, last)}:{4 * k}];" for k in range(size)
        ]
    return "\n".join(
        [
            f"module {_WRAPPER} (input clk, input given, output seen);",
            *wires,
            f"  {module} {module}_i ({', '.join(pins)});",
            "  always @(posedge clk) begin",
            *steps,
            "  end",
            f"  assign seen = stored_{len(sizes) - 1}[0];",
            "endmodule\n",
        ]
    )


def clock_of(
    verilog: Verilog,
    module: str,
    family: Family,
    folder: Path,
    *,
    where: str,
    multiplies: bool = True,
    timeout: float | None = None,
    stop: Event | None = None,
) -> Clock:
    """Return the highest clock frequency of a module."""
    command = _command(family)
    if command is None:
        check_clock(family)
        raise AssertionError  # it has raised
    work = folder / "clock"
    work.mkdir()
    extra = wrapper(verilog.ports(module), module)
    inner = Verilog(_WRAPPER, {_WRAPPER: verilog.closure(module) + extra})
    synthesise_module(inner, _WRAPPER, family, work, where=where, multiplies=multiplies, timeout=timeout, stop=stop)
    arguments = [
        *_DEVICES[family.name],
        *("--json", "netlist.json", "--report", "clock.json", "--freq", _GOAL, "--timing-allow-fail", "--quiet"),
        *("--seed", "1"),
    ]
    try:
        quiet = {**os.environ, "PYTHONWARNINGS": "ignore"}
        ended = run_program([*command, *arguments], cwd=work, env=quiet, timeout=timeout, stop=stop)
    except subprocess.TimeoutExpired:
        raise SynthesisError(f"{where}: nextpnr did not end within {timeout:g} s; raise `timeout`") from None
    report = work / "clock.json"
    if ended.code or not report.is_file():
        message = [line for line in ended.errors.splitlines() if "ERROR" in line] or ended.errors.splitlines()
        raise SynthesisError(f"{where}: nextpnr gives up: {' '.join(message[-2:])[-300:]}")
    timing = json.loads(report.read_text(encoding="utf-8"))
    mhz = max((float(clock["achieved"]) for clock in timing["fmax"].values()), default=0.0)
    return Clock(mhz, _path(timing))


def _path(timing: dict[str, Any]) -> tuple[str, ...]:
    """The cells on the critical path between registers, from the report of nextpnr."""
    for path in timing.get("critical_paths", []):
        if path["from"] == path["to"] or (path["from"].startswith("posedge") and path["to"].startswith("posedge")):
            steps = path["path"]
            names = [str(step["to"]["cell"]) for step in steps if step["type"] == "logic"]
            ends = [str(step["from"]["cell"]) for step in steps[:1]]
            return tuple(dict.fromkeys([*ends, *names]))
    return ()
