"""From a design to what it takes of an FPGA."""

import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from graphrewrite.hdl.emission.design import Design, read_description
from graphrewrite.hdl.emission.replacement import write_files
from graphrewrite.hdl.errors import DesignError, SynthesisError
from graphrewrite.hdl.synthesis.clock import check_clock, clock_of
from graphrewrite.hdl.synthesis.family import Family, Usage, family_of
from graphrewrite.hdl.synthesis.prediction import predicted_usage
from graphrewrite.hdl.synthesis.report import Clock, PartReport, SynthesisReport, deviation
from graphrewrite.hdl.synthesis.verification import verify
from graphrewrite.hdl.synthesis.verilog import Verilog, to_verilog
from graphrewrite.hdl.synthesis.yosys import Netlist, check_yosys, synthesise_module
from graphrewrite.runtime.progress import progress
from graphrewrite.runtime.scratch import scratch_folder

__all__ = ["synthesise"]

_PROCESSES = 2


def synthesise(
    design: Design | str | os.PathLike[str],
    *,
    family: str = "ecp5",
    whole: bool = False,
    clock: bool = False,
    verified: bool = False,
    timeout: float | None = 1800.0,
) -> SynthesisReport:
    """Return what a design takes of an FPGA, beside what the descriptions of its components predict.

    GHDL makes Verilog of it, and Yosys cells. The instances are synthesised apart, each configuration once, with their
    ports as the ports of a chip: what one costs is what it costs anywhere, and nothing becomes constant by chance.

    Parameters
    ----------
    design : Design or path
        A design, or the folder that one was written to; the folder is only read.
    family : str
        ``ice40``, ``ecp5`` or ``xc7``.
    whole : bool
        Synthesise all instances in one piece, which takes longer.
    clock : bool
        Place and route each part, too, and find its highest clock frequency; for ``ice40`` and ``ecp5``.
    verified : bool
        Simulate the Verilog of each instance beside its VHDL in the design's test bench, and compare every cycle.
    timeout : float or None
        Seconds after which to give up, for each run of a tool.

    Raises
    ------
    GhdlMissingError, MissingDependencyError
        If a tool is not installed; says how to get it.
    DesignError
        If the folder holds no design, or files of it are missing.
    SynthesisError
        If a tool refuses a part, needs too long, or gives Verilog that does something else than the VHDL.
    """
    chosen = family_of(family)
    check_yosys()
    if clock:
        check_clock(chosen)
    started = time.perf_counter()
    with _folder_of(design) as folder, scratch_folder() as scratch:
        run = _Run(folder, scratch, chosen, clock, timeout)
        parts = run.parts(whole)
        cycles = verify(run.verilog, folder, scratch, run.scopes(), timeout) if verified else 0
    return SynthesisReport(run.name, family, parts, whole, time.perf_counter() - started, cycles)


class _Run:
    """One synthesis: the design's parts, and what is made of them."""

    def __init__(self, folder: Path, scratch: Path, family: Family, clock: bool, timeout: float | None) -> None:
        self.scratch, self.family, self.clock, self.timeout = scratch, family, clock, timeout
        self.stop = Event()
        try:
            description = read_description(folder)
            self.name = str(description["name"])
            self.components: list[Mapping[str, Any]] = description["components"]
            sources = [folder / str(source) for source in description["sources"]]
        except (KeyError, TypeError) as error:
            raise DesignError(
                f"the design.json is not complete ({error} is missing); compile the model again"
            ) from None
        wrong = [s for s in sources if folder.resolve() not in s.resolve().parents or not s.is_file()]
        if wrong or not sources:
            missing = ", ".join(s.name for s in wrong) or "the list of sources"
            raise DesignError(f"{missing} is missing in the design, or outside of it; compile the model again")
        self.verilog: Verilog = to_verilog(sources, self.name, timeout)
        # Products by constants are sums here: a module with none but these gets no multiplier blocks.
        self.multiplying = {
            name
            for component in self.components
            if predicted_usage(component, family).dsp
            for name in (self.verilog.top, self.module_of(str(component["instance"])))
        }

    def scopes(self) -> dict[str, str]:
        """The instances, each with its module."""
        return {str(c["instance"]): self.module_of(str(c["instance"])) for c in self.components}

    def module_of(self, instance: str) -> str:
        module = self.verilog.module_of(instance)
        if module is None:
            raise SynthesisError(f"GHDL gives no module for {instance}; compile the model again")
        return module

    def parts(self, whole: bool) -> tuple[PartReport, ...]:
        if whole:
            total = Usage()
            for component in self.components:
                total = total.plus(predicted_usage(component, self.family))
            synthesised = self.all_of({self.verilog.top: self.name})[self.verilog.top]
            return (self.part(self.name, self.name, "", total, synthesised),)
        # Equal configurations are one module of the Verilog: each is synthesised once, and named by its first instance.
        modules = {module: instance for instance, module in reversed(self.scopes().items())}
        by_module = self.all_of(modules)
        counted: set[str] = set()
        parts = []
        for component in self.components:
            instance = str(component["instance"])
            module = self.module_of(instance)
            netlist, clock, seconds = by_module[module]
            synthesised = (netlist, clock, 0.0 if module in counted else seconds)
            counted.add(module)
            predicted = predicted_usage(component, self.family)
            parts.append(self.part(instance, str(component["entity"]), str(component["node"]), predicted, synthesised))
        return tuple(parts)

    def part(
        self, instance: str, entity: str, node: str, predicted: Usage, synthesised: tuple[Netlist, Clock | None, float]
    ) -> PartReport:
        netlist, clock, seconds = synthesised
        usage = self.family.usage(netlist.cells)
        notes = [
            f"{count} bits of {port} never change; what they would cost is not counted"
            for port, count in netlist.constant.items()
        ]
        notes += [note] if (note := deviation(usage, predicted)) else []
        return PartReport(instance, entity, node, usage, predicted, netlist.cells, clock, tuple(notes), seconds)

    def all_of(self, modules: Mapping[str, str]) -> dict[str, tuple[Netlist, Clock | None, float]]:
        """Synthesise modules side by side; the values of ``modules`` name them in errors."""
        pool = ThreadPoolExecutor(min(_PROCESSES, os.cpu_count() or 1))
        try:
            jobs = {
                pool.submit(self.one, k, module, where): module for k, (module, where) in enumerate(modules.items())
            }
            with progress(as_completed(jobs), "synthesising", len(jobs)) as done:
                return {jobs[job]: job.result() for job in done}
        finally:
            self.stop.set()  # after an error or an interruption, programs run in other threads
            pool.shutdown(cancel_futures=True)

    def one(self, number: int, module: str, where: str) -> tuple[Netlist, Clock | None, float]:
        started = time.perf_counter()
        folder = self.scratch / f"part_{number}"
        folder.mkdir()
        options: dict[str, Any] = {"where": where, "multiplies": module in self.multiplying}
        options |= {"timeout": self.timeout, "stop": self.stop}
        netlist = synthesise_module(self.verilog, module, self.family, folder, **options)
        seconds = time.perf_counter() - started
        clock = None
        if self.clock:
            clock = clock_of(self.verilog, module, self.family, folder, **options)
        netlist.path.unlink()
        return netlist, clock, seconds


@contextmanager
def _folder_of(design: Design | str | os.PathLike[str]) -> Iterator[Path]:
    if not isinstance(design, Design):
        yield Path(design)
        return
    with scratch_folder() as scratch:
        write_files(design.files, scratch / "design")
        yield scratch / "design"
