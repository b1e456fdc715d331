"""What GHDL says of valid and ready on every stream of a design, cycle by cycle."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphrewrite.hdl import Design
from graphrewrite.hdl.ghdl.simulator import find_ghdl

__all__ = ["signals_of"]


def signals_of(design: Design, folder: Path) -> dict[str, NDArray[np.bool_]]:
    """Return whether each bit of the test bench is 1, by its path, just before each rising edge out of reset."""
    design.write(folder)
    (folder / "work").mkdir()
    common = ["--std=08", "--workdir=work"]
    order = (folder / "compile_order.txt").read_text().split()
    ghdl, bench = str(find_ghdl()), design.description["testbench"]
    subprocess.run([ghdl, "-a", *common, *order], cwd=folder, check=True, timeout=120)
    limits = ["--ieee-asserts=disable-at-0", "--max-stack-alloc=0", "--vcd=waves.vcd"]
    run = [ghdl, "--elab-run", *common, bench, *limits]
    subprocess.run(run, cwd=folder, check=True, capture_output=True, timeout=120)
    head, _, body = (folder / "waves.vcd").read_text().partition("$enddefinitions $end")
    names = dict(_names(head))
    codes = sorted(set(names.values()))
    clock, reset = names[f"{bench}.clk"], names[f"{bench}.rst"]
    now: dict[str, str] = {}
    coming: dict[str, str] = {}
    seen: list[list[bool]] = []
    for line in [*body.splitlines(), "#"]:
        if line.startswith("#"):
            if coming.get(clock) == "1" and now.get(clock) != "1" and now.get(reset) == "0":
                seen.append([now.get(code) == "1" for code in codes])
            now.update(coming)
            coming.clear()
        elif line[:1] in "01UXZWLH-" and line:
            coming[line[1:]] = line[0]
    table = np.array(seen, bool)
    return {name: table[:, codes.index(code)] for name, code in names.items()}


def _names(head: str) -> Iterator[tuple[str, str]]:
    scope: list[str] = []
    for words in map(str.split, head.splitlines()):
        if words[:1] == ["$scope"]:
            scope.append(words[2])
        elif words[:1] == ["$upscope"]:
            scope.pop()
        elif words[:1] == ["$var"] and words[2] == "1":
            yield ".".join([*scope, words[4]]), words[3]
