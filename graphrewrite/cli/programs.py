"""From a model's file to code for a target that takes graphs as they are, such as C: optimised, written, run."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite import Graph, evaluate, rewrite
from graphrewrite.cli import samples as sample_files
from graphrewrite.cli.pipeline import Options, Progress
from graphrewrite.cli.quantising import check_loss, cleaning, loss_text, quantised, refuse_on_quantised
from graphrewrite.cli.sources import network_in
from graphrewrite.cli.terminal import say
from graphrewrite.errors import EvaluationError
from graphrewrite.execution.program.size_values import sizes_of_inputs
from graphrewrite.execution.sequence import first_value, variables_of
from graphrewrite.hdl import Design
from graphrewrite.hdl.emission.design import check_target
from graphrewrite.lowering import QuantisationError, optimise, run_c, to_integer
from graphrewrite.lowering.memory.states import expose_states
from graphrewrite.lowering.prequantised.quantisers import is_quantised
from graphrewrite.lowering.quantisation.agreement import Reference
from graphrewrite.rewriting.traces import Step
from graphrewrite.testing.comparison import difference_of_values, rounding_of
from graphrewrite.types import symbols

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Program", "compile_program", "print_program"]


@dataclass
class Program:
    """Code that was written, and what running it showed; true unless its results differ from those of the network.

    Attributes
    ----------
    folder : Path
        Where it is.
    design : Design, optional
        The files.
    nodes : dict of str to int
        Nodes of the graph, by step.
    bits : Any
        Widths, where the network was quantised.
    notes : list of str
        Remarks for the user.
    compared : str
        What was compared, and with what result.
    is_equal : bool, optional
        None where nothing was compared.
    seconds : dict of str to float
        Time of each step.
    """

    folder: Path
    design: Design | None = None
    nodes: dict[str, int] = field(default_factory=dict)
    bits: Any = None
    notes: list[str] = field(default_factory=list)
    compared: str = "not run: code of this target has no program to run"
    is_equal: bool | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.is_equal is not False

    def as_dict(self) -> dict[str, Any]:
        """Return it as primitive data."""
        about = self.design.description if self.design else {}
        return {
            "folder": str(self.folder),
            "files": sorted(self.design.files) if self.design else [],
            "arena": about.get("arena"),
            "tables": about.get("tables"),
            "nodes": self.nodes,
            "bits": self.bits,
            "equal": self.is_equal,
            "compared": self.compared,
            "notes": self.notes,
            "seconds": self.seconds,
        }

    @contextmanager
    def step(self, name: str, progress: Progress) -> Iterator[None]:
        """Time a step."""
        started = time.perf_counter()
        with progress(name):
            yield
        self.seconds[name] = round(time.perf_counter() - started, 4)


def compile_program(
    model: Path,
    folder: Path,
    *,
    calibration: Path | None = None,
    options: Options,
    progress: Progress | None = None,
) -> Program:
    """Write code for a network, and check it on samples where it can be run."""
    target, found, show = options.target, Program(folder), progress or (lambda _: nullcontext())
    assert target.generate is not None, "the command refuses targets without"
    check_target(folder)  # before minutes of work
    with found.step("reading the model", show):
        network = network_in(model, options.plugins)
        network = network.with_sizes(options.sizes) if options.sizes else network
        file = calibration or sample_files.beside(model) or options.finetune
        if file is None:
            _check_sizes(network)
        samples = (
            sample_files.load(file, network) if file else sample_files.random(network, options.frames, options.seed)
        )
    graph = network
    if options.bits is not None or options.finetune is not None or target.level == "integer":
        with found.step("quantising", show):
            graph = _integer(network, samples, file, options, found)
    with found.step("optimising", show):
        graph = optimise(graph, target, approximate=options.approximate)
    found.nodes = {"imported": len(network), "optimised": len(graph)}
    with found.step("writing code", show):
        found.design = target.generate(graph, name=options.name or model.stem)
        found.design.write(folder)
    if options.name not in (None, found.design.name):
        found.notes.append(f"it is called {found.design.name}: {options.name!r} is no name there")
    if found.design.description.get("language") == "c":
        with found.step("running", show):
            try:
                _run(found, graph, samples.test, options.frames)
            except EvaluationError as error:
                found.compared = f"not compared: {error}"
    return found


def _check_sizes(network: Graph) -> None:
    """Raise if sizes of the inputs are open, other than that of the batch, so that no samples can be made up."""
    shapes = {name: network.result_type(name).shape[1:] for name in network.inputs}
    for name, shape in shapes.items():
        if opened := sorted({own for size in shape if isinstance(size, str) for own in symbols(size)}):
            raise QuantisationError(
                f"the input {name!r} is {network.result_type(name)}, and {opened[0]} is open; give a number by "
                f"--size {opened[0]}=..., or samples in a file"
            )


def _integer(
    network: Graph, samples: sample_files.Samples, file: Path | None, options: Options, found: Program
) -> Graph:
    """Return a network at the integer level, quantised where it is not yet."""
    trained, steps = is_quantised(network), list[Step]()
    cleaned = rewrite(network, cleaning(network, options))
    if trained:
        refuse_on_quantised(options)
        found.notes.append("the model is quantised already: its own grids are kept")
        return to_integer(cleaned, approximate=options.approximate)
    if file is None:
        sample_files.load(None, network)  # raises, and says what to give
    fixed, found.bits = quantised(cleaned, samples, options, steps)
    reference, outputs = Reference(cleaned, samples.test, samples.labels or None), evaluate(fixed, samples.test)
    if remark := check_loss(reference, outputs, options, []):
        found.notes.append(remark)
    found.notes.append(f"float and integer level: {loss_text(reference.agreement(outputs))}")
    return to_integer(fixed, approximate=options.approximate)


def _run(found: Program, graph: Graph, inputs: Mapping[str, np.ndarray], most: int) -> None:
    """Run a program in C on samples, frame by frame, and compare it with the graph that it was written from."""
    assert found.design is not None
    if shutil.which("cc") is None:
        found.compared = "not run: there is no C compiler, cc"
        return
    ports = {port["name"]: port["shape"] for port in found.design.description["ports"] if port["direction"] == "in"}
    if not all(ports.values()):
        found.compared = "not run: there are no samples for inputs that have no axis for them"
        return
    frames = min([most, *(len(inputs[name]) // shape[0] for name, shape in ports.items())])
    exact, every = True, {name: inputs[name][: frames * n] for name, (n, *_) in ports.items()}
    results = run_c(found.design, every)
    stepped = graph.copy()
    expose_states(stepped)
    kept, state = variables_of(stepped), dict[str, np.ndarray]()
    for index in range(frames):
        frame = {name: array[index * ports[name][0] : (index + 1) * ports[name][0]] for name, array in every.items()}
        sizes = sizes_of_inputs({name: stepped.result_type(name) for name in frame}, frame)
        state = state or {name: first_value(stepped, name, sizes) for name in kept}
        want = evaluate(stepped, {**frame, **state})
        state = {name: want[after] for name, after in kept.items()}
        want = {name: array for name, array in want.items() if name in graph.outputs}
        got = {name: _frame(results[name], index, np.shape(array)) for name, array in want.items() if name in results}
        got = {**want, **got}  # what a variable becomes is seen in the next frame
        exact &= all(np.array_equal(want[name], got[name], equal_nan=want[name].dtype.kind == "f") for name in want)
        values = [np.asarray(each) for each in (*frame.values(), *want.values(), *got.values())]
        unlike = difference_of_values(graph, want, got, frame, rounding_of(graph, graph, values))
        if unlike is not None:
            found.compared, found.is_equal = f"C and the network differ on frame {index}: {unlike.reason}", False
            return
    found.is_equal = True
    how = "bit for bit" if exact else "within rounding"
    found.compared = f"C gives what the network gives, {how}, on {frames} frame{'s' if frames != 1 else ''}"


def _frame(array: np.ndarray, index: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return one of the frames that lie one behind the other."""
    if not shape:
        return array if array.ndim == 0 else array[index]
    return array[index * shape[0] : (index + 1) * shape[0]]


def print_program(program: Program, console: Console) -> None:
    """Print it for people."""
    assert program.design is not None
    about = program.design.description
    for note in program.notes:
        say(console, f"note: {note}")
    if "arena" in about:
        say(console, f"{about['arena']:,} bytes of memory for values, {about['tables']:,} bytes of constants")
    say(console, program.compared, style="bold red" if not program else None)
    files = len(program.design.files)
    say(console, f"{files} files in {program.folder}; {sum(program.seconds.values()):.1f} s")
