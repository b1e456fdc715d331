"""Compile a design in C, and run it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphrewrite.errors import EvaluationError, MissingDependencyError, did_you_mean
from graphrewrite.hdl import Design
from graphrewrite.hdl.emission.replacement import write_files
from graphrewrite.runtime.process import run_program
from graphrewrite.runtime.scratch import scratch_folder

__all__ = ["run_c"]

_OPTIONS = ("-std=c99", "-O1", "-ffp-contract=off")


def run_c(design: Design, inputs: Mapping[str, ArrayLike], *, compiler: str = "cc") -> dict[str, np.ndarray]:
    """Compile a design in C for this machine, run it, and return its outputs.

    Parameters
    ----------
    design : Design
        What `to_c` gives.
    inputs : mapping of str to array-like
        One frame for each input, or several, one behind the other along the first axis: as many as its size there is
        contained in the array's.
    compiler : str
        Program that compiles C.

    Returns
    -------
    dict of str to ndarray
        Outputs by name, frames one behind the other.

    Raises
    ------
    MissingDependencyError
        If there is no such compiler.
    EvaluationError
        If inputs are missing or have other shapes, or the compiler or the program fails.

    Examples
    --------
    ``run_c(design, {"x": [[-1, 2, 3], [4, -5, 6]]})["y"]`` has a row for each frame. Without a compiler:

    >>> from graphrewrite import Graph
    >>> from graphrewrite.lowering import to_c
    >>> g = Graph.parse('''graph tiny
    ... x = input() : f32[N,3]
    ... a = relu(x)
    ... y = output(a)''')
    >>> run_c(to_c(g), {"x": [-1, 2, 3]}, compiler="no_cc")
    Traceback (most recent call last):
    graphrewrite.errors.MissingDependencyError: there is no C compiler 'no_cc': install one, ...
    """
    program = shutil.which(compiler)
    if program is None:
        raise MissingDependencyError(f"there is no C compiler {compiler!r}: install one, such as gcc, or name another")
    ports = design.description["ports"]
    taken = [port for port in ports if port["direction"] == "in"]
    given = {port["name"]: _frames(port, inputs) for port in taken}
    counts = {name: len(array) for name, array in given.items()}
    if len(set(counts.values())) > 1:
        raise EvaluationError(f"inputs have different numbers of frames: {counts}")
    count = max(counts.values(), default=1)
    rows = b"".join(given[port["name"]][frame].tobytes() for frame in range(count) for port in taken)
    with scratch_folder() as folder:
        write_files(design.files, folder)
        sources = [path for path in design.files if path.endswith(".c")]
        made = run_program([program, *_OPTIONS, "-o", "program", *sources, "-lm"], cwd=folder)
        if made.code:
            raise EvaluationError(f"{compiler} refuses {design.name}: {(made.errors.splitlines() or ['no reason'])[0]}")
        ran = run_program([str(folder / "program")], given=rows)
    return _outputs(design, ran.output, count)


def _frames(port: Mapping[str, Any], inputs: Mapping[str, ArrayLike]) -> np.ndarray:
    """Return the frames of an input: a row for each, at least one byte long."""
    name, shape = port["name"], tuple(port["shape"])
    if name not in inputs:
        raise EvaluationError(f"the input {name!r} is missing{did_you_mean(name, inputs)}")
    array, dtype = np.asarray(inputs[name]), _dtype(port)
    fits = array.shape[1:] == shape[1:] and (len(array) % shape[0] == 0 if shape and shape[0] else array.shape == shape)
    if not fits:
        raise EvaluationError(f"the input {name!r} has frames of the shape {list(shape)}, got {list(array.shape)}")
    count = len(array) // shape[0] if shape and shape[0] else 1
    size = int(np.prod(shape, dtype=np.int64))
    rows = np.zeros((count, max(size, 1)), dtype)  # C has no arrays without entries
    rows[:, :size] = array.reshape(count, size)
    return rows


def _outputs(design: Design, written: bytes, count: int) -> dict[str, np.ndarray]:
    given = [port for port in design.description["ports"] if port["direction"] == "out"]
    sizes = [int(np.prod(port["shape"], dtype=np.int64)) for port in given]
    fields = [(str(i), _dtype(port), max(size, 1)) for i, (port, size) in enumerate(zip(given, sizes, strict=True))]
    row = np.dtype([(name, dtype, (size,)) for name, dtype, size in fields])
    if len(written) != count * row.itemsize:
        raise EvaluationError(f"the program of {design.name} ended after {len(written)} bytes of its outputs")
    rows, found = np.frombuffer(written, row, count), {}
    for i, (port, size) in enumerate(zip(given, sizes, strict=True)):
        shape = tuple(port["shape"])
        array = rows[str(i)][:, :size].reshape(count, *shape)
        found[port["name"]] = (
            array.reshape(count * shape[0], *shape[1:]) if shape else array[0] if count == 1 else array
        )
    return found


def _dtype(port: Mapping[str, Any]) -> np.dtype:
    named = {"float": "float32", "double": "float64"}.get(port["type"], str(port["type"]).removesuffix("_t"))
    return np.dtype({"bool": "bool", "f16": "float16"}.get(port["element"], named))
