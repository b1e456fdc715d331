"""Designs in C, several compiled into one program, and what they compute."""

from __future__ import annotations

import re
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
needs_cc = pytest.mark.cc

Case = tuple[Design, Mapping[str, np.ndarray]]


def computed(cases: Sequence[Case], folder: Path, *options: str) -> list[dict[str, np.ndarray] | None]:
    """Return the outputs of each design for one frame; None where it ended early. Names of designs are distinct."""
    parts = []
    for design, _ in cases:
        (folder / f"{design.name}.h").write_text(design.files[f"{design.name}.h"])
        parts += [_with_own_names(design), _once(design)]
    calls = [f'if (n < 2 || !strcmp(v[1], "{design.name}")) failed |= run_{design.name}();' for design, _ in cases]
    main = "int main(int n, char **v)\n{ int failed = 0;\n" + "\n".join(calls) + "\nreturn failed; }\n"
    (folder / "all.c").write_text("#include <string.h>\n" + "".join(parts) + main)
    ended = run_program([str(CC), *STRICT, *options, "-o", "all", "all.c", "-lm"], cwd=folder)
    assert ended.code == 0, ended.errors
    program, given = str(folder / "all"), [_given(*case) for case in cases]
    ended = run_program([program], given=b"".join(given))
    if ended.code:  # one of them ended all
        each = [run_program([program, design.name], given=own) for (design, _), own in zip(cases, given, strict=True)]
        return [None if run.code else _taken(design, run.output) for (design, _), run in zip(cases, each, strict=True)]
    found, start = [], 0
    for design, _ in cases:
        found.append(_taken(design, ended.output[start:]))
        start += sum(size for _, _, size in _outputs(design))
    return found


def _with_own_names(design: Design) -> str:
    """The source of a design with names that no other has: a compiler takes longer for many files than for one."""
    text = design.files[f"{design.name}.c"]
    own = {"arena", *re.findall(r"^static (?:const )?\w+ (\w+)[\[(]", text, re.MULTILINE)}
    return re.sub(r"\w+", lambda word: f"{word[0]}_{design.name}" if word[0] in own else word[0], text)


def _once(design: Design) -> str:
    """The main program of a design as a function that runs one frame."""
    text = design.files["main.c"].replace("int main(void)", f"static int run_{design.name}(void)")
    text = text.replace("for (;;)", "for (int once = 0; once < 1; ++once)")
    return text.rstrip().removesuffix("}") + "    return 0;\n}\n"


def _given(design: Design, inputs: Mapping[str, np.ndarray]) -> bytes:
    ports = [port for port in design.description["ports"] if port["direction"] == "in"]
    arrays = [np.ascontiguousarray(inputs[port["name"]].astype(_dtype(port))) for port in ports]
    # C has no arrays without entries.
    return b"".join(array.tobytes() or bytes(array.itemsize) for array in arrays)


def _outputs(design: Design) -> list[tuple[Mapping[str, object], int, int]]:
    """The outputs of a design, with their entries and the bytes of a frame."""
    ports = [port for port in design.description["ports"] if port["direction"] == "out"]
    counts = [int(np.prod(port["shape"], dtype=int)) for port in ports]
    return [(port, n, max(n, 1) * _dtype(port).itemsize) for port, n in zip(ports, counts, strict=True)]


def _taken(design: Design, written: bytes) -> dict[str, np.ndarray]:
    found, start = {}, 0
    for port, count, size in _outputs(design):
        array = np.frombuffer(written, _dtype(port), count, start)
        found[str(port["name"])], start = array.reshape(port["shape"]), start + size
    return found


def _dtype(port: Mapping[str, object]) -> np.dtype:
    kinds = {"float": "f4", "double": "f8", "uint8_t": "u1"}
    name = "f2" if port["element"] == "f16" else str(port["type"])
    return np.dtype(kinds.get(name, name.removesuffix("_t")))
