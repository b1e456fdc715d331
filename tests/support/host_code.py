"""A design's own host code, run as its user runs it: the Python module alone, and the C header in a program."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from graphrewrite.hdl import Design

__all__ = ["Program", "host_module"]

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")


def host_module(design: Design) -> dict[str, Any]:
    """What the Python module defines; it may import numpy and the standard library only."""
    (text,) = [text for path, text in design.files.items() if path.startswith("host/") and path.endswith(".py")]
    assert "import graphrewrite" not in text
    assert "from graphrewrite" not in text
    scope: dict[str, Any] = {"__name__": "host"}
    exec(compile(text, "host.py", "exec", dont_inherit=True), scope)
    return scope


class Program:
    """The C header of a design of one input and one output, in a program that runs it on one sample at a time."""

    def __init__(self, design: Design, folder: Path, takes: np.dtype[Any], gives: np.dtype[Any]) -> None:
        self.folder, self.gives = folder, gives
        name, names = design.name, [port["name"] for port in design.description["ports"]]
        x, y = (f"{name}_{port}".upper() for port in names)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "host.h").write_text(design.files[f"host/{name}_host.h"])
        (folder / "main.c").write_text(f"""
#include <stdio.h>
#include "host.h"
static {_c_type(takes)} numbers[{x}_NUMBERS];
static uint32_t taken[{x}_BEATS * {x}_WORDS];
static uint32_t words[{y}_BEATS * {y}_WORDS];
static {_c_type(gives)} given[{y}_NUMBERS];
int main(void)
{{
    if (fread(numbers, sizeof numbers, 1, stdin) != 1 || fread(words, sizeof words, 1, stdin) != 1) return 9;
    const int code = {name}_encode_{names[0]}(numbers, taken);
    {name}_decode_{names[1]}(words, given);
    if (fwrite(taken, sizeof taken, 1, stdout) != 1 || fwrite(given, sizeof given, 1, stdout) != 1) return 9;
    return -code;
}}
""")
        subprocess.run(["gcc", *STRICT, "main.c", "-o", "main", "-lm"], cwd=folder, check=True, timeout=60)

    def __call__(self, numbers: np.ndarray, words: np.ndarray, size: int) -> tuple[int, np.ndarray, np.ndarray]:
        """Return what the encoding returns, its so many words, and the numbers that words are decoded to."""
        numbers = numbers.astype(np.intc) if numbers.dtype.kind == "b" else numbers  # C has no arrays of bits
        given = np.ascontiguousarray(numbers).tobytes() + words.astype(np.uint32).tobytes()
        done = subprocess.run([self.folder / "main"], input=given, capture_output=True, timeout=60, check=False)
        assert done.returncode in (0, 1), done
        made = np.frombuffer(done.stdout[: 4 * size], np.uint32)
        gives = np.dtype(np.intc) if self.gives.kind == "b" else self.gives
        return -done.returncode, made, np.frombuffer(done.stdout[4 * size :], gives)


def _c_type(dtype: np.dtype[Any]) -> str:
    return {"float32": "float", "float64": "double", "bool": "int"}.get(dtype.name, f"{dtype.name}_t")
