"""A process of its own that runs Yosys: a crash of it, and all that it keeps in memory, stays here."""

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["summary"]


def summary(module: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a synthesised module consists of.

    Examples
    --------
    >>> port = {"direction": "output", "bits": [7, "0", 8, "1"]}
    >>> summary({"cells": {"a": {"type": "LUT4"}, "b": {"type": "LUT4"}}, "ports": {"z": port}})
    {'cells': {'LUT4': 2}, 'constant': {'z': 2}}
    """
    constant = {
        name: sum(isinstance(bit, str) for bit in port["bits"])
        for name, port in module["ports"].items()
        if port["direction"] == "output"
    }
    return {
        "cells": dict(sorted(Counter(cell["type"] for cell in module["cells"].values()).items())),
        "constant": {name: count for name, count in constant.items() if count},
    }


def _main(commands: Path, top: str, netlist: Path, contents: Path) -> None:
    from pyosys import libyosys  # an extra; whoever starts this has looked for it

    design = libyosys.Design()
    for command in commands.read_text(encoding="utf-8").splitlines():
        libyosys.run_pass(command, design)  # Yosys ends the process where it refuses something
    if netlist.is_file():
        module = json.loads(netlist.read_text(encoding="utf-8"))["modules"][top]
        contents.write_text(json.dumps(summary(module)), encoding="utf-8")


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
