"""Designs in C, several compiled into one program, and what they compute."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from graphrewrite.hdl import Design
from graphrewrite.runtime.process import run_program

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O0")
TRAPPING = ("-fsanitize=undefined,bounds", "-fsanitize-undefined-trap-on-error")
"""Undefined behaviour ends the program."""
CC = shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None, reason="there is no C compiler, cc")


def computed(
    cases: Sequence[tuple[Design, Mapping[str, np.ndarray]]], folder: Path, *options: str
) -> list[dict[str, np.ndarray] | None]:
    """Return the outputs of each design for one frame; None where it ended early. Names of designs are distinct."""
    runs = []
    for design, _ in cases:
        for path, text in design.files.items():
            if path != "main.c":
                (folder / path).write_text(text)
        runs.append(design.files["main.c"].replace("int main(void)", f"static int run_{design.name}(void)"))
    entries = [f'if (!strcmp(v[1], "{design.name}")) return run_{design.name}();' for design, _ in cases]
    main = "int main(int n, char **v) { if (n < 2) return 2;\n" + "\n".join(entries) + "\nreturn 2; }\n"
    (folder / "all.c").write_text("#include <string.h>\n" + "".join(runs) + main)
    sources = [f"{design.name}.c" for design, _ in cases]
    ended = run_program([str(CC), *STRICT, *options, "-o", "all", "all.c", *sources, "-lm"], cwd=folder)
    assert ended.code == 0, ended.errors
    return [outputs(design, inputs, [str(folder / "all"), design.name]) for design, inputs in cases]


def outputs(design: Design, inputs: Mapping[str, np.ndarray], command: Sequence[str]) -> dict[str, np.ndarray] | None:
    """Return what a program gives for one frame."""
    ports = design.description["ports"]
    given = b"".join(
        np.ascontiguousarray(inputs[port["name"]].astype(_dtype(port))).tobytes() or b"\0"
        for port in ports
        if port["direction"] == "in"
    )
    ended = run_program(command, given=given)
    if ended.code:
        return None
    found, start = {}, 0
    for port in ports:
        if port["direction"] == "out":
            count = int(np.prod(port["shape"], dtype=int))
            found[port["name"]] = np.frombuffer(ended.output, _dtype(port), count, start).reshape(port["shape"])
            start += max(count, 1) * _dtype(port).itemsize
    return found


def _dtype(port: Mapping[str, object]) -> np.dtype:
    kinds = {"float": "f4", "double": "f8", "uint8_t": "u1"}
    name = str(port["type"])
    return np.dtype(kinds.get(name, name.removesuffix("_t")))
