"""Read calibration and test samples from an .npz file."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from graphrewrite import Graph
from graphrewrite.errors import did_you_mean
from graphrewrite.lowering import QuantisationError
from graphrewrite.types import element_dtype

__all__ = ["Samples", "arrays_of", "beside", "load", "names_of_labels", "random"]

_RANDOM_HINT = "pass an .npz file with --calibration; its array 'calibration_x' holds inputs, batch first"
_BROKEN = (
    *(OSError, ValueError, EOFError, KeyError, SyntaxError, RuntimeError),
    *(tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
"""Errors of numpy about a broken file: its header, its archive, its encryption or compression."""
_ENOUGH = 512
"""Training samples that serve for calibration, as `finetune` takes them."""


@dataclass(frozen=True)
class Samples:
    """Samples for calibrating and testing a network.

    Attributes
    ----------
    calibration : mapping of str to ndarray
        Inputs by name, batch first.
    test : mapping of str to ndarray
        Held-out inputs; the calibration samples where the file has no others.
    labels : mapping of str to ndarray
        What is right for the held-out inputs, by output.
    unused : tuple of str
        Other arrays of the file.
    """

    calibration: Mapping[str, np.ndarray]
    test: Mapping[str, np.ndarray]
    labels: Mapping[str, np.ndarray] = field(default_factory=dict)
    unused: tuple[str, ...] = ()

    @property
    def held_out(self) -> Mapping[str, np.ndarray] | None:
        """The test samples, where these are not the calibration samples."""
        return None if self.test is self.calibration else self.test


def beside(model: Path) -> Path | None:
    """Return the ``.npz`` file of the same name beside a model, if there is one; a saved network is none of samples."""
    found = model.with_suffix(".npz")
    return found if found != model and found.is_file() and not _has_others(found) else None


def _has_others(path: Path) -> bool:
    """Tell whether an archive holds something besides arrays."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(not name.endswith(".npy") for name in archive.namelist())
    except (OSError, ValueError, zipfile.BadZipFile):
        return False


def load(path: Path | None, graph: Graph) -> Samples:
    """Return the samples in a file.

    The file holds ``calibration_x`` and, where there are held-out samples, ``test_x`` and ``test_y``: classes, truth
    values or numbers. For a network with several inputs the arrays have the names of the inputs, and ``test_`` before
    them; with several outputs, labels have the names of the outputs, and ``test_`` before them. Where there are none
    to calibrate by, the first of ``train_x`` are, or those with ``train_`` before the names of inputs.

    Parameters
    ----------
    path : Path or None
        An ``.npz`` file; an ``.npy`` file or an ``.npz`` with one array holds calibration inputs.
    """
    if path is None:
        raise QuantisationError(f"there are no calibration samples; {_RANDOM_HINT}")
    # A single array needs no name. Names of inputs come in where there are several inputs.
    arrays = arrays_of(path)
    if len(arrays) == 1 and len(graph.inputs) == 1:
        arrays = {"calibration_x": next(iter(arrays.values()))}
    single = len(graph.inputs) == 1
    learnt = training_names(graph)
    if not _has_calibration(arrays, graph) and arrays.keys() >= set(learnt.values()):
        arrays |= {"calibration_x" if single else name: arrays[key][:_ENOUGH] for name, key in learnt.items()}
    calibration = _by_input(arrays, graph, "calibration_x" if single else "", path)
    has_test = "test_x" in arrays or any(f"test_{name}" in arrays for name in graph.inputs)
    test, labels = calibration, {}
    if has_test:
        test = _by_input(arrays, graph, "test_x" if single and "test_x" in arrays else "test_", path)
        labels = _labels(arrays, graph, path)
    for name, array in test.items() if has_test else ():
        if array.dtype.kind not in "fiub" or not array.size or not np.isfinite(array).all():
            raise QuantisationError(
                f"{str(path)!r} has test samples for {name!r} that are empty or not finite; correct them"
            )
    used = {id(array) for arrays in (calibration, test, labels) for array in arrays.values()}
    unused = (name for name, array in arrays.items() if id(array) not in used and not name.startswith("train_"))
    return Samples(calibration, test, labels, tuple(unused))


def training_names(graph: Graph) -> dict[str, str]:
    """Return what the arrays of training samples are called, by input."""
    return {name: "train_x" if len(graph.inputs) == 1 else f"train_{name}" for name in graph.inputs}


def _has_calibration(arrays: dict[str, np.ndarray], graph: Graph) -> bool:
    """Tell whether there is any array that a network is calibrated by."""
    return any(key in arrays for name in graph.inputs for key in ("calibration_x", name, f"calibration_{name}"))


def random(graph: Graph, frames: int, seed: int) -> Samples:
    """Return random samples: reals from -1 to 1, any whole numbers."""
    generator = np.random.default_rng(seed)
    made = {}
    for name in graph.inputs:
        kind = graph.result_type(name)
        dtype = element_dtype(kind.element)
        if open_sizes := [size for size in kind.shape[1:] if isinstance(size, str)]:
            raise QuantisationError(
                f"the input {name!r} is {kind}, and {open_sizes[0]} is open, so that no samples can be made up; "
                "give samples in a file"
            )
        shape = (frames, *(int(size) for size in kind.shape[1:]))
        if dtype.kind in "iu":  # all values of the type, its ends included
            limits = np.iinfo(dtype)
            made[name] = generator.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
        else:
            made[name] = generator.uniform(-1, 1, shape).astype(dtype)
    return Samples(made, made)


def arrays_of(path: Path, what: str = "calibration samples", hint: str = _RANDOM_HINT) -> dict[str, np.ndarray]:
    """Return the arrays of a file, or raise an error that says what they are and gives a hint."""
    try:
        with path.open("rb") as file:
            found = np.load(file, allow_pickle=False)
            if _has_others(path):
                raise ValueError("it holds more than arrays, as a saved network does")
            return {"calibration_x": found} if isinstance(found, np.ndarray) else {n: found[n] for n in found.files}
    except FileNotFoundError:
        near = did_you_mean(path.name, [p.name for p in path.parent.glob("*.npz")])
        raise QuantisationError(f"there is no file {str(path)!r} with {what}{near}; {hint}") from None
    except _BROKEN as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:80]
        raise QuantisationError(f"{str(path)!r} is no .npz file of numbers ({reason}); {hint}") from None


def _by_input(arrays: dict[str, np.ndarray], graph: Graph, key: str, path: Path) -> dict[str, np.ndarray]:
    if key in arrays and len(graph.inputs) == 1:
        return {graph.inputs[0]: arrays[key]}
    prefix = key if key == "test_" else ""
    if not prefix:  # "calibration_" may stand before the names of inputs, as "test_" does
        longer = {name: f"calibration_{name}" for name in graph.inputs}
        arrays = arrays | {name: arrays[given] for name, given in longer.items() if given in arrays}
    missing = [name for name in graph.inputs if prefix + name not in arrays]
    if missing:
        names = ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items()) or "nothing"
        absent = key if len(graph.inputs) == 1 and key else prefix + missing[0]
        raise QuantisationError(f"{str(path)!r} holds {names}, but no {absent!r}; give {_wanted(graph)}")
    return {name: arrays[prefix + name] for name in graph.inputs}


def names_of_labels(graph: Graph) -> str:
    """Return the names of the arrays of what is right, as text."""
    return ", ".join(f"test_{name}" for name in graph.outputs) if len(graph.outputs) > 1 else "test_y"


def _wanted(graph: Graph) -> str:
    """The arrays that a file of samples holds, with their types."""
    names = {name: "calibration_x" if len(graph.inputs) == 1 else name for name in graph.inputs}
    needed = ", ".join(f"{array} {graph.result_type(name)}" for name, array in names.items())
    tests = ", ".join(f"test_{array.removeprefix('calibration_')}" for array in names.values())
    return f"{needed}; and to test on other samples {tests}, with what is right in {names_of_labels(graph)}"


def _labels(arrays: dict[str, np.ndarray], graph: Graph, path: Path) -> dict[str, np.ndarray]:
    found = {name: arrays[f"test_{name}"] for name in graph.outputs if f"test_{name}" in arrays}
    if "test_y" in arrays and "y" not in graph.outputs and "y" not in graph.inputs:
        if len(graph.outputs) > 1:
            raise QuantisationError(
                f"test_y in {str(path)!r} is of one output, and there are several; call it one of "
                f"{names_of_labels(graph)}"
            )
        found.setdefault(graph.outputs[0], arrays["test_y"])
    return found
