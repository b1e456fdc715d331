"""Verification of GHDL's Verilog against the VHDL: both in the design's test bench, cycle by cycle."""

import re
from collections.abc import Mapping
from pathlib import Path

from graphrewrite.hdl.emission.design import copy_design, read_description
from graphrewrite.hdl.errors import DesignError, SimulatorError, SynthesisError
from graphrewrite.hdl.ghdl import simulator as ghdl
from graphrewrite.hdl.synthesis.verilog import Verilog
from graphrewrite.hdl.synthesis.yosys import run_yosys
from graphrewrite.runtime.progress import progress

__all__ = ["verify"]

_PERIOD = 10  # ns; of the test bench's clock
_CYCLES = 500


def verify(
    verilog: Verilog, folder: Path, scratch: Path, scopes: Mapping[str, str], timeout: float | None = None
) -> int:
    """Compare the Verilog of each instance with the VHDL, and return in how many cycles.

    GHDL writes down what every signal does in the test bench; Yosys simulates each module with what came to its
    inputs, and compares its outputs.
    """
    waves = scratch / "waves.fst"
    copy = scratch / "simulated"
    copy_design(folder, copy)
    try:
        sources = [copy / line for line in (copy / "compile_order.txt").read_text(encoding="utf-8").split()]
        bench = str(read_description(copy)["testbench"])
    except (OSError, KeyError) as error:
        raise DesignError(f"the design is not complete ({error}); compile the model again") from None
    try:
        ghdl.run(sources, bench, folder=copy, timeout=timeout, waves=waves, stop_time=f"{_CYCLES * _PERIOD}ns")
    except SimulatorError as error:
        raise SynthesisError(f"the design's own test bench fails: {error}") from None
    with progress(list(enumerate(scopes.items())), "verifying") as instances:
        for number, (instance, module) in instances:
            work = scratch / f"verified_{number}"
            work.mkdir()
            (work / "source.v").write_text(verilog.closure(module), encoding="utf-8")
            commands = [
                "read_verilog source.v",
                f"hierarchy -check -top {module}",
                "proc",
                "flatten",
                "opt_clean",
                # Signals inside may be called alike and be others: only ports are compared.
                "rename -hide w:* i:* %d o:* %d",
                f"sim -q -clock clk -r {waves} -scope dut.{instance.lower()} -sim-gold",
            ]
            try:
                run_yosys(commands, module, work, where=instance, timeout=timeout)
            except SynthesisError as error:
                if "Signal difference" in str(error):
                    raise SynthesisError(
                        f"{instance}: GHDL's Verilog does something else than the VHDL{_difference(work / 'log')};"
                        " rewrite its template within what GHDL synthesises right"
                    ) from None
                raise
    return _CYCLES


def _difference(log: Path) -> str:
    difference = re.search(r"Signal '([^']+)' in file (\S+) in simulation (.+)", log.read_text(encoding="utf-8"))
    return f" (at {difference[1].rpartition('.')[2]})" if difference else ""
