"""Run configurations in GHDL, and say which one broke what when it stops."""

import re
from collections.abc import Sequence
from pathlib import Path

from graphrewrite.hdl.checking.bench import write_bench
from graphrewrite.hdl.checking.case import Beat, Case
from graphrewrite.hdl.emission.entity import ports
from graphrewrite.hdl.errors import ContractError, SimulatorError
from graphrewrite.hdl.ghdl import simulator as ghdl
from graphrewrite.runtime.scratch import scratch_folder

__all__ = ["StoppedError", "simulate_cases"]

_BROKEN = re.compile(r"case_(\d+)_(x|y|z\d?): (.*?), run (\d+), cycle (\d+)")
_CASE = re.compile(r"\bcase_(\d+)\b")


class StoppedError(ContractError):
    """A configuration stopped the simulation; `number` is its index among those that were run, None if unknown."""

    def __init__(self, message: str, number: int | None) -> None:
        self.number = number
        super().__init__(message)


def simulate_cases(
    cases: Sequence[Case], *, entities: Sequence[str] = (), extra: Sequence[Path] = (), timeout: float | None = None
) -> list[dict[str, list[list[Beat]]]]:
    """Run all configurations in one simulation; return for each, by port, the beats of each run.

    ``entities`` without generics, of the files ``extra``, run in place of the components.
    """
    with scratch_folder() as folder:
        sources = write_bench(cases, folder, entities, extra)
        try:
            ghdl.run(sources, "bench", folder=folder, timeout=timeout)
        except SimulatorError as error:
            lines = str(error).replace(f"{folder}/", "").splitlines()
            message = "\n".join(line for line in lines if "(assertion warning)" not in line)
            if broken := _BROKEN.search(message):
                number, port, rule, run, cycle = broken.groups()
                raise StoppedError(
                    f"{port} breaks the stream contract in cycle {cycle} after reset {run}: {rule}", int(number)
                ) from None
            if case := _CASE.search(message):
                raise StoppedError(f"GHDL stops in it; correct the VHDL:\n{message}", int(case[1])) from None
            raise SimulatorError(message) from None
        return [
            {name: _log(folder / f"case_{number}_{name}_log.txt") for name, _, _ in ports(case.site)}
            for number, case in enumerate(cases)
        ]


def _log(path: Path) -> list[list[Beat]]:
    runs: list[list[Beat]] = [[]]
    for line in path.read_text().splitlines():
        if line:
            cycle, payload = line.split()
            runs[-1].append((int(cycle), int(payload, 16)))
        else:
            runs.append([])
    return runs
