"""From a model's file to a folder of VHDL, step by step; each step can be seen and timed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphrewrite import Graph, evaluate, trace
from graphrewrite.cli import samples as sample_files
from graphrewrite.cli.finetuning import training_samples
from graphrewrite.cli.heads import head_notes, headed, with_hardware_head
from graphrewrite.cli.host_ops import cut_for, offering_the_host
from graphrewrite.cli.quantising import causes, check_loss, cleaning, loss_text, quantised, refuse_on_quantised
from graphrewrite.cli.sources import network_in
from graphrewrite.hdl import CosimulationReport, Design, GhdlMissingError, cosimulate, predict
from graphrewrite.hdl.component import Component
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.hdl.emission.design import check_target
from graphrewrite.hdl.emission.vectors import random_gates
from graphrewrite.hdl.netlist import netlist
from graphrewrite.lowering import (
    HARDWARE,
    FoldingReport,
    Partition,
    Target,
    function_bounds,
    partition,
    port_encodings,
    to_integer,
    to_stream,
)
from graphrewrite.lowering.integer.classifier_heads import SOFT
from graphrewrite.lowering.prequantised.quantisers import is_quantised
from graphrewrite.lowering.quantisation.agreement import Agreement, Reference
from graphrewrite.lowering.quantisation.guards import Finding
from graphrewrite.lowering.quantisation.sample_review import doubtful_labels, weak_samples
from graphrewrite.rewriting.traces import Step
from graphrewrite.runtime.plugins import offered

__all__ = ["Compiled", "Options", "compile_model"]

_CONVERTING = frozenset(
    {
        *("input", "output", "constant", "to_fixed", "from_fixed", "identity", "cast", "reshape"),
        *("quantize_linear", "dequantize_linear"),
    }
)
"""Ops with which the host converts numbers to mantissas and back."""
_SCALING = frozenset({"mul", "div"})
"""Ops that do so too where the model is quantised already, and behind the hardware."""

Progress = Callable[[str], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Options:
    """Options of a compilation.

    Attributes
    ----------
    target : Target
        What code is written for.
    bits : int, mapping, str or None
        Word width, 4 to 16; widths by layer, as for `quantise`; or ``"auto"``: as few bits as `max_loss` allows, or
        with `finetune` the best of `budget`, which by ``"learnt"`` are learnt as well. None for 8, and for the model's
        own numbers where the target takes them.
    ranges : str or float
        How ranges of values are chosen, as for `quantise`.
    profile : Path or None
        A file with a profile that they come from.
    finetune : Path or None
        A file of samples to train the network on with before, by widths from 2 on.
    budget : float or None
        How many bits everywhere widths that training chooses may cost; None for 4.
    per_channel : bool
        Whether each output channel of weights has a binary point of its own.
    max_loss : float or None
        The loss on test samples beyond which no hardware is made; None for 0.05, and 0.005 in a search of widths.
    force : bool
        Whether hardware is made in spite of it.
    parallelism : str or int
        ``"full"``, ``"folded"`` or multipliers a layer.
    approximate : bool
        Whether functions of more than 12 bits become straight lines, within a stated bound.
    max_multipliers, max_memory_bits : int or None
        For the whole design.
    interval, latency : int or None
        Cycles between images, and from an image's first beat to its result's last, that are wanted.
    stages : int
        Pipeline stages within each computation.
    shift_add : bool
        Whether unrolled layers do without multipliers.
    head : str
        ``"auto"``: a closing softmax becomes the class; ``"class"``: every vector of scores does, and a single score
        the decision whether it is above 0; ``"scores"``: the hardware gives the scores, and a softmax or the class is
        left to the host; ``"softmax"``: it gives probabilities, the softmax of every vector of scores.
    host : tuple of str
        Nodes that the host computes, with all before them or all behind them; patterns of names.
    plugins : tuple of str
        Plugins whose importers, lowerings and components are used, too.
    frames : int
        Frames of the test bench, from the test samples.
    seed : int
        Of the stall patterns.
    name : str or None
        Of the top entity, or of the function; the model's where not given.
    library : str
        VHDL library that scripts compile into.
    sizes : mapping of str to int
        Numbers for symbolic sizes of the model.
    """

    target: Target = HARDWARE
    bits: int | Mapping[str, Any] | str | None = None
    ranges: str | float = "mse"
    profile: Path | None = None
    finetune: Path | None = None
    budget: float | None = None
    per_channel: bool = False
    max_loss: float | None = None
    force: bool = False
    parallelism: str | int = "full"
    approximate: bool = False
    max_multipliers: int | None = None
    max_memory_bits: int | None = None
    interval: int | None = None
    latency: int | None = None
    stages: int = 1
    shift_add: bool = False
    head: str = "auto"
    host: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    frames: int = 20
    seed: int = 0
    name: str | None = None
    library: str = "work"
    sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass
class Compiled:
    """Result of a compilation; true if the levels agree bit for bit, and GHDL with them where it ran.

    Attributes
    ----------
    model : str
        Name of the design.
    graphs : dict of str to Graph
        By step: ``imported``, ``cleaned``, ``quantised``, ``integer``, ``stream``.
    fired : dict of str to int
        The number of steps of each rule.
    bits : int, dict or None
        The widths; None where the model brings its own.
    agreement : dict of str to tuple of Agreement
        By level, an entry an output.
    loss : str
        What is lost between the float network and the hardware, in words.
    findings : list of Finding
        What quantising lost, by layer, and what samples lack.
    foldings : list of FoldingReport
        The parallelism of each layer, with reasons: one report.
    exact : bool
        Whether integer and stream level agree bit for bit.
    design : Design
        The VHDL project.
    folder : Path
        Its folder.
    seconds : dict of str to float
        Time of each step.
    notes : list of str
        Remarks for the user.
    bounds : dict of str to int
        The greatest error of each function that straight lines replace, in units of the last place.
    cosimulation : CosimulationReport or None
        The result of GHDL; None where it is not installed.
    """

    model: str
    folder: Path
    graphs: dict[str, Graph] = field(default_factory=dict)
    fired: dict[str, int] = field(default_factory=dict)
    bits: Any = None
    agreement: dict[str, tuple[Agreement, ...]] = field(default_factory=dict)
    loss: str = ""
    findings: list[Finding] = field(default_factory=list)
    exact: bool = False
    test_frames: int = 0
    is_held_out: bool = False
    design: Design | None = None
    foldings: list[FoldingReport] = field(default_factory=list)
    timing: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    bounds: dict[str, int] = field(default_factory=dict)
    cosimulation: CosimulationReport | None = None

    def __bool__(self) -> bool:
        return self.exact and (self.cosimulation is None or bool(self.cosimulation))


def compile_model(
    model: Path,
    folder: Path,
    *,
    calibration: Path | None = None,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Compiled:
    """Compile a trained network to VHDL, and check it on the way."""
    chosen = options or Options()
    check_target(folder)  # before minutes of work
    found = Compiled(model.stem, folder)
    run = _Run(found, chosen, progress or (lambda _: nullcontext()))
    with run.step("reading the model"):
        cut, end = cut_for(network_in(model, chosen.plugins), chosen.host, chosen.head, found.notes)
        imported = cut.graph
        if chosen.finetune is not None:
            training_samples(imported, chosen.finetune)  # what is wrong with the file is said before minutes of work
        trained, file = is_quantised(cut.core), calibration or sample_files.beside(model) or chosen.finetune
        if file is None and trained:
            samples = sample_files.random(imported, chosen.frames, chosen.seed)
            found.notes.append("there are no samples: random inputs test the design")
        else:
            samples = sample_files.load(file, imported)
    found.graphs["imported"] = imported
    with run.step("cleaning up"):
        cleaned = run.clean(cut.core, end)
    with run.step("quantising"):
        if trained:
            refuse_on_quantised(chosen)
            fixed = cleaned
            found.notes.append("the model is quantised already: its own grids are kept")
        else:
            inner = samples
            if cut.before or cut.after:  # what is right for the whole network says nothing of this part
                inner = sample_files.Samples(cut.encode(samples.calibration), cut.encode(samples.test))
            fixed, found.bits = quantised(cleaned, inner, chosen, run.steps)
    with run.step("measuring what is lost"):
        real = cut.joined(cleaned)
        whole = real if fixed is cleaned else cut.joined(fixed)
        reference = Reference(real, samples.test, samples.labels or None)
        run.judge(imported, whole, reference, samples)
    with run.step("lowering to integers"):
        integer = with_hardware_head(to_integer(fixed, approximate=chosen.approximate, steps=run.steps), end)
        found.notes.extend(head_notes(cut.core, integer))
        integer = cut.joined(integer)
        run.note_bounds(integer)
    components = (*COMPONENTS, *offered(chosen.plugins, "components"))
    with run.step("lowering to streams"):
        stream = to_stream(
            integer,
            parallelism=chosen.parallelism,
            interval=chosen.interval,
            latency=chosen.latency,
            max_multipliers=chosen.max_multipliers,
            max_memory_bits=chosen.max_memory_bits,
            stages=chosen.stages,
            shift_add=chosen.shift_add,
            plugins=chosen.plugins,
            steps=run.steps,
            reports=found.foldings,
        )
    found.graphs = {"imported": imported, "cleaned": real, "quantised": whole, "integer": integer, "stream": stream}
    found.fired = dict(Counter(step.rule for step in run.steps).most_common())
    # The hardware's part of the graph, between the parts of the host, which encodes inputs and decodes outputs.
    parts = partition(integer)
    run.note_host(parts)
    with run.step("evaluating every level"):
        run.agree(parts, reference, samples)
    with run.step("writing VHDL"):
        assert chosen.target.generate is not None, "the command refuses targets without"
        head = {name: array[: chosen.frames] for name, array in samples.test.items()}
        gates = random_gates(netlist(stream, components), chosen.seed)
        found.design = chosen.target.generate(
            stream,
            name=chosen.name or model.stem,
            library=chosen.library,
            encodings=port_encodings(parts),
            inputs=parts.encode(head),
            gates=gates,
            components=components,
        )
        if chosen.name not in (None, found.design.name):
            found.notes.append(f"the design is called {found.design.name}: VHDL cannot call it {chosen.name!r}")
    with run.step("predicting cycles"):
        run.predict(stream, components)
    found.design.write(folder)  # also where GHDL is missing
    with run.step("cosimulating with GHDL"):
        try:
            found.cosimulation = cosimulate(found.design)
        except GhdlMissingError as error:
            found.notes.append(f"not cosimulated: {error}")
    return found


@dataclass
class _Run:
    found: Compiled
    options: Options
    progress: Progress
    steps: list[Step] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        imported = self.found.graphs.get("imported")
        offer = nullcontext() if imported is None else offering_the_host(imported, self.options.host)
        with self.progress(name), offer:
            yield
        self.found.seconds[name] = round(time.perf_counter() - started, 4)

    def clean(self, graph: Graph, head: str) -> Graph:
        headed_graph = headed(graph, head)
        cleaned = trace(headed_graph, cleaning(graph, self.options))
        self.steps.extend(cleaned.steps)
        return cleaned.graph

    def note_bounds(self, integer: Graph) -> None:
        """Note the errors of straight lines that replace functions."""
        self.found.bounds = function_bounds(integer)
        for bound in sorted({*self.found.bounds.values()}):
            nodes = [node for node, own in self.found.bounds.items() if own == bound]
            self.found.notes.append(
                f"straight lines within {bound} unit{'s' * (bound > 1)} of the last place of the model's own numbers: "
                + ", ".join(f"{node} ({integer.origin(node)[-1]})" for node in nodes)
            )

    def note_host(self, parts: Partition) -> None:
        """Note the ops that remain for the host, other than conversions of numbers."""
        for side, part in (("before", parts.before), ("after", parts.after)):
            kinds = dict.fromkeys(part.nodes[n]["type"] for n in part.in_order())
            is_scaled = side == "after" or is_quantised(self.found.graphs["cleaned"])
            converting = _CONVERTING | SOFT | (_SCALING if is_scaled else frozenset())
            left = [kind for kind in kinds if kind not in converting]
            if left:
                self.found.notes.append(f"the host computes {side} the hardware: {', '.join(left)}")

    def judge(self, imported: Graph, fixed: Graph, reference: Reference, samples: sample_files.Samples) -> None:
        """Find what quantising lost and samples lack; go on only if that is allowed."""
        found, outputs = self.found, evaluate(fixed, samples.test, implementations=None)
        lost = causes(imported, fixed, samples.test, reference.loss(outputs)) if fixed is not reference.graph else ()
        if samples.unused:
            found.notes.append(
                f"not used of the samples' arrays: {', '.join(samples.unused)}; what is right for test samples is in "
                f"{sample_files.names_of_labels(imported)}"
            )
        if found.bits is not None:
            found.findings.extend(weak_samples(imported, samples.calibration, samples.held_out))
        found.findings.extend((*doubtful_labels(reference), *lost))
        if remark := check_loss(reference, outputs, self.options, found.findings):
            found.notes.append(remark)

    def agree(self, parts: Partition, reference: Reference, samples: sample_files.Samples) -> None:
        """Evaluate each level on the test samples, and compare them with the float network."""
        graphs, found = self.found.graphs, self.found
        mantissas = parts.encode(samples.test)
        both = (parts.core, graphs["stream"])
        core, stream = (evaluate(each, mantissas, implementations=None) for each in both)
        found.exact = all(np.array_equal(core[name], stream[name]) for name in core)
        found.test_frames = len(next(iter(samples.test.values())))
        found.is_held_out = samples.held_out is not None
        levels = {
            "float": reference.outputs,
            "quantised": evaluate(graphs["quantised"], samples.test, implementations=None),
            "integer": parts.decode(core),
            "stream": parts.decode(stream),
        }
        found.agreement = {level: reference.agreement(outputs) for level, outputs in levels.items()}
        found.loss = loss_text(found.agreement["stream"])

    def predict(self, stream: Graph, components: tuple[Component, ...]) -> None:
        design = self.found.design
        assert design is not None
        parts = design.description["components"]
        cycles = predict(stream, self.options.frames, components=components)
        out = [link for link in cycles.network.links if link.sink in cycles.network.outputs]
        self.found.timing = {
            "latency": design.description["latency"],
            "interval": design.description["interval"],
            "occupation": {part["instance"]: part["occupation"] for part in parts},
            "high_water": {part["instance"]: max(part["high_water"]) for part in parts},
            "output_cycles": {link.sink: cycles.transfers[link].tolist() for link in out},
        }
