"""One model on the way that a user takes it: load, evaluate, rewrite, save, run what was saved in onnxruntime."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphrewrite import Graph, diff, evaluate, rewrite
from graphrewrite.lowering import from_onnx, to_onnx
from graphrewrite.rules import FOLDING, RULES
from tests.models_roundtrip.references import reference_of
from tests.support.sessions import session_of

__all__ = ["Journey", "JourneyError", "journey"]

TOLERANCE = 1e-5
"""How far two floats may lie apart, as a part of the largest number of the output: sums in another order differ so."""


class JourneyError(AssertionError):
    """A step that went wrong: its name and why."""


@dataclass
class Journey:
    """What was compared on the way of one model."""

    name: str
    nodes: int = 0
    left: int = 0
    """The nodes after rewriting by all rules."""
    shapes: list[str] = field(default_factory=list)
    """The shapes of the inputs in each round."""
    numbers: int = 0
    """How many numbers were compared with those of the model as it came."""
    furthest: float = 0.0
    """The largest difference of two floats, as a part of the largest number of the output."""
    seconds: dict[str, float] = field(default_factory=dict)

    def row(self) -> str:
        far = f"{self.furthest:.0e}" if self.furthest else "equal"
        time = sum(self.seconds.values())
        return f"{self.name:24} {self.nodes:5} {self.left:5} {self.numbers:8} {far:>6} {time:5.1f} s  " + " | ".join(
            self.shapes
        )


def journey(
    file: Path,
    folder: Path,
    *,
    sizes: Mapping[str, Sequence[int]] | None = None,
    below: Mapping[str, int] | None = None,
    tolerance: float = TOLERANCE,
    optimise: bool = True,
) -> Journey:
    """Take a model through the doors; raise JourneyError where a step fails or its numbers are others.

    `sizes` are those of named dimensions in the two rounds, `below` limits of the integers of an input. `optimise`
    lets onnxruntime optimise models, whose quantised kernels then round some numbers elsewhere.
    """
    made = Journey(file.stem)
    with Step(made, "load"):
        graph = from_onnx(file)
    made.nodes = len(graph)
    graphs = {"as loaded": graph}
    for kind, rules in (("RULES", RULES), ("RULES + FOLDING", RULES + FOLDING)):
        with Step(made, f"rewrite by {kind}"):
            graphs[kind] = rewrite(graph, rules)
    made.left = len(graphs["RULES + FOLDING"])
    saved = {}
    for kind, one in graphs.items():
        path = folder / f"{len(saved)}.onnx"
        with Step(made, f"save, {kind}"):
            to_onnx(one, path)
        saved[kind] = path
        with Step(made, f"load what was saved, {kind}"):
            again = from_onnx(path)
        if named(again) != named(one) or not without_origin(again).equals(without_origin(one), names=False):
            raise JourneyError(f"load what was saved, {kind}: another graph:\n{difference(one, again)}")
    reference = reference_of(file, optimise=optimise)
    sessions = {}
    for kind, path in saved.items() if reference.runs else ():
        with Step(made, f"open in onnxruntime what was saved, {kind}"):
            sessions[kind] = session_of(path, optimise=optimise)
    for given in reference.rounds(graph, sizes or {}, below or {}):
        wanted = reference.outputs(graph, given)
        if wanted is None:
            break
        made.shapes.append(" ".join("x".join(map(str, x.shape)) or "1" for x in given.values()))
        compare = Comparison(made, wanted, tolerance)
        found = {}
        for kind, one in graphs.items():
            with Step(made, f"evaluate, {kind}, {made.shapes[-1]}"):
                found[kind] = list(evaluate(one, dict(zip(one.inputs, given.values(), strict=True))).values())
            compare(f"evaluate, {kind}", found[kind])
            if kind in sessions:
                with Step(made, f"onnxruntime on what was saved, {kind}, {made.shapes[-1]}"):
                    names = [entry.name for entry in sessions[kind].get_inputs()]
                    run = sessions[kind].run(None, dict(zip(names, given.values(), strict=True)))
                compare(f"onnxruntime on what was saved, {kind}", run)
        for first, second in zip(found["as loaded"], found["RULES"], strict=True):
            if not np.array_equal(first, second, equal_nan=first.dtype.kind == "f"):
                raise JourneyError("evaluate, RULES: not the same bits as before")
    return made


class Step:
    """A part of the way, timed; what it raises is told with its name."""

    def __init__(self, made: Journey, name: str) -> None:
        self.made, self.name = made, name

    def __enter__(self) -> None:
        self.since = time.perf_counter()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.made.seconds[self.name] = time.perf_counter() - self.since
        if isinstance(error, Exception):
            raise JourneyError(f"{self.name}: {type(error).__name__}: {error}") from error


@dataclass
class Comparison:
    """Outputs against those of the model as it came."""

    made: Journey
    wanted: Sequence[Any]
    tolerance: float

    def __call__(self, what: str, found: Sequence[Any]) -> None:
        for place, (one, other) in enumerate(zip(found, self.wanted, strict=True)):
            name = f"{what}, output {place}"
            if one.shape != other.shape or one.dtype != other.dtype:
                raise JourneyError(f"{name}: {one.dtype}{one.shape}, not {other.dtype}{other.shape}")
            self.made.numbers += other.size
            if one.dtype.kind == "f":
                self.floats(name, one.astype(np.float64), other.astype(np.float64))
            elif not np.array_equal(one, other):
                raise JourneyError(f"{name}: {(one != other).mean():.1%} of the numbers are others")

    def floats(self, name: str, one: np.ndarray, other: np.ndarray) -> None:
        if other.size > 24 and len(np.unique(other)) < 3:
            raise JourneyError(f"{name}: {other.size} numbers of one or two values say nothing; give it other weights")
        scale = np.abs(other[np.isfinite(other)]).max(initial=0) or 1.0
        with np.errstate(invalid="ignore"):
            far = np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0, np.abs(one - other)) / scale
        off = ~(far <= self.tolerance)
        if off.any():
            raise JourneyError(f"{name}: {off.mean():.1%} of the numbers are off, by {far.max():.1e} of the largest")
        self.made.furthest = max(self.made.furthest, float(far.max(initial=0)))


def without_origin(graph: Graph) -> Graph:
    """The graph without the documentation of the model's nodes, which rewriting left behind.

    Names are compared apart: those inside of a loop's body may be others, since ONNX has one scope for all.
    """
    made = graph.copy()
    made.graph.pop("origin", None)
    return made


def named(graph: Graph) -> set[str]:
    """The names of nodes, but of constants, which ONNX leaves out where they are neutral."""
    return {node for node in graph if graph.nodes[node]["type"] != "constant"}


def difference(one: Graph, other: Graph) -> str:
    return "\n".join(str(diff(one, other)).splitlines()[:12])
