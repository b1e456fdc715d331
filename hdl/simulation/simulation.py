"""Values and cycles of a stream graph, in numpy, as the VHDL gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.errors import EvaluationError, did_you_mean
from graphrewrite.execution.evaluator import evaluate
from graphrewrite.execution.program import compile_graph
from graphrewrite.graph import Graph
from graphrewrite.hdl.component import Component
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.hdl.errors import NetlistError
from graphrewrite.hdl.netlist import Netlist, netlist, stream_graph
from graphrewrite.hdl.port_encoding import Encoding
from graphrewrite.hdl.simulation.recording import Recording
from graphrewrite.hdl.timing.cycles import Cycles, predict_cycles
from graphrewrite.hdl.timing.network import Link
from graphrewrite.runtime.display import Displayed
from graphrewrite.types import Stream

__all__ = ["Gates", "Simulation", "predict", "simulate"]

Gates = Mapping[str, Sequence[int]]
"""Patterns of the cycles in which ports may move: bit t mod length for cycle t. Others never stall."""


@dataclass(frozen=True, repr=False)
class Simulation(Displayed, shown_by="simulation.show_simulation"):
    """Values and cycles of a design for a batch of frames.

    Attributes
    ----------
    values : dict of str to ndarray
        By output: mantissas, shape [N, *shape].
    cycles : dict of str to ndarray
        By port, inputs too: the cycle in which each beat is transferred, shape [N, beats].
    timing : Cycles
        Latency, interval, occupation, high-water marks.
    recording : Recording
        What was simulated, from which `show` computes what is inside.
    encodings : mapping of str to Encoding
        What the integers of ports stand for, as far as `simulate` was told.

    Examples
    --------
    >>> from graphrewrite.hdl.components.clip import clip
    >>> from graphrewrite.types import FixedPoint, Stream
    >>> g = Graph("rectify")
    >>> _ = g.output("y", clip(g.input("x", Stream(FixedPoint(True, 8), (1, 3))), low=0, high=127))
    >>> print(simulate(g, {"x": [[[-1, 2, 3]]]}, gates={"y": [1, 1, 1, 0]}).show(cycles=6))
    rectify: cycles 0 to 5 of 6
    cycle            0   1   2   3   4   5
    x        valid   ____‾‾‾‾‾‾‾‾‾‾‾‾________
    ...
    """

    values: dict[str, NDArray[np.integer]]
    cycles: dict[str, NDArray[np.int64]]
    timing: Cycles
    recording: Recording
    encodings: Mapping[str, Encoding] = field(default_factory=dict)

    @property
    def numbers(self) -> dict[str, NDArray[Any]]:
        """What the values stand for, by output whose encoding is known, before what the host computes of it.

        What that is, `Encoding.host` says; ``Partition.decode`` computes it.
        """
        return {name: self.encodings[name].decode(v) for name, v in self.values.items() if name in self.encodings}

    def __str__(self) -> str:
        return str(self.show())

    def __repr__(self) -> str:
        frames, timing = self.timing.frames, self.timing
        batch = f"{frames} frame{'s' if frames != 1 else ''}"
        return (
            f"<Simulation of {self.recording.name!r}: {batch}, latency {timing.empty_latency},"
            f" interval {timing.interval:g} cycles>"
        )


def predict(
    graph: Graph | Netlist, frames: int, *, gates: Gates | None = None, components: tuple[Component, ...] = COMPONENTS
) -> Cycles:
    """Return the cycle of every event for a number of frames; values do not matter for it.

    Parameters
    ----------
    graph : Graph or Netlist
        Level ``stream``.
    frames : int
        How many, at least 1.
    gates : mapping of str to sequence of 0 and 1, optional
        When each port may move: an input raises valid, an output is ready.
    components : tuple of Component
        What nodes may be: ``(*COMPONENTS, yours)`` with components of your own.

    Examples
    --------
    >>> from graphrewrite.hdl.components.clip import clip
    >>> from graphrewrite.types import FixedPoint, Stream
    >>> g = Graph("g")
    >>> _ = g.output("y", clip(g.input("x", Stream(FixedPoint(True, 8), (2, 5))), low=0, high=127))
    >>> predict(g, 3).interval
    5.0
    """
    net = graph if isinstance(graph, Netlist) else netlist(graph, components)
    patterns = dict(gates or {})
    inputs = {n: patterns.pop(n) for n in net.inputs if n in patterns}
    outputs = {n: patterns.pop(n) for n in net.outputs if n in patterns}
    if patterns:
        raise EvaluationError(
            f"gates name {', '.join(patterns)}, which are no ports; ports are {', '.join([*net.inputs, *net.outputs])}"
        )
    return predict_cycles(net.network, frames, source_gates=inputs, sink_gates=outputs)


def simulate(
    graph: Graph,
    inputs: Mapping[str, ArrayLike],
    *,
    gates: Gates | None = None,
    encodings: Mapping[str, Encoding] | None = None,
    components: tuple[Component, ...] = COMPONENTS,
) -> Simulation:
    """Return what a design gives for a batch of frames, and when: bit for bit and cycle for cycle what the VHDL does.

    Parameters
    ----------
    graph : Graph
        Level ``stream``.
    inputs : mapping of str to array, shape [N, *shape]
        Mantissas; or floats, which are the model's numbers where an encoding says what they become.
    gates : mapping of str to sequence of 0 and 1, optional
        When each port may move.
    encodings : mapping of str to Encoding, optional
        What the integers of ports stand for, as ``lowering.port_encodings`` says. The result has `numbers` then, too.
    components : tuple of Component
        What nodes may be: ``(*COMPONENTS, yours)`` with components of your own.

    Examples
    --------
    >>> from graphrewrite.hdl.components.clip import clip
    >>> from graphrewrite.types import FixedPoint, Stream
    >>> g = Graph("g")
    >>> _ = g.output("y", clip(g.input("x", Stream(FixedPoint(True, 8), (1, 3))), low=0, high=127))
    >>> simulation = simulate(g, {"x": [[[-1, 2, 3]]]})
    >>> simulation.values["y"].tolist(), simulation.cycles["y"].tolist()
    ([[[0, 2, 3]]], [[2, 3, 4]])
    """
    graph = stream_graph(graph, components)
    net = netlist(graph, components)
    if not isinstance(inputs, Mapping):
        raise EvaluationError(
            f"inputs are {type(inputs).__name__}; give a mapping from {', '.join(net.inputs)} to frames"
        )
    known = check_encodings({**net.inputs, **net.outputs}, encodings or {})
    inputs = {name: _mantissas(known.get(name), array) for name, array in inputs.items()}
    for name, stream in net.inputs.items():
        if name in inputs:
            _check_range(name, stream, np.asarray(inputs[name]))
    values = evaluate(graph, inputs, implementations=None)
    frames = len(next(iter(values.values())))
    timing = predict(net, frames, gates=gates)
    program = compile_graph(graph, instructions=False, implementations=None)
    arrays = {name: np.array(array) for name, array in inputs.items()}  # the caller may change them afterwards
    recording = Recording(net.name, program, arrays, net.streams, dict(gates or {}))
    return Simulation(values, port_cycles(net, timing), timing, recording, known)


def check_encodings(streams: Mapping[str, Stream], encodings: Mapping[str, Encoding]) -> dict[str, Encoding]:
    """Return encodings of a design's ports, each of which fits its stream."""
    for name, encoding in encodings.items():
        if name not in streams:
            raise NetlistError(f"encodings name {name!r}, which is no port{did_you_mean(name, streams)}")
        stream, element = streams[name], streams[name].element
        is_within = element.minimum <= encoding.low <= encoding.high <= element.maximum
        if encoding.port_shape != stream.shape or not is_within:
            raise NetlistError(
                f"its encoding gives {encoding.low} to {encoding.high} of the shape {list(encoding.port_shape)}, and"
                f" the port carries {stream}; give the encodings of the same network",
                node=name,
            )
    return dict(encodings)


def _mantissas(encoding: Encoding | None, numbers: ArrayLike) -> ArrayLike:
    """Return the mantissas of floats whose encoding is known; all else is mantissas already."""
    if encoding is None or np.asarray(numbers).dtype.kind != "f":
        return numbers
    try:
        return encoding.encode(numbers)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def _check_range(name: str, stream: Stream, frames: NDArray[Any]) -> None:
    element = stream.element
    if frames.dtype.kind not in "biuf" or (frames.dtype.kind == "f" and (frames != np.rint(frames)).any()):
        raise EvaluationError(
            f"the input {name!r} holds {frames.dtype}, not whole numbers; give mantissas, as Partition.encode does, or"
            " encodings=port_encodings(integer)"
        )
    if not frames.shape or not len(frames):
        raise EvaluationError("there is no frame to simulate; give at least one")
    outside = (frames < element.minimum) | (frames > element.maximum)
    if outside.any():
        raise EvaluationError(
            f"the input {name!r} holds {frames[outside].flat[0]}, which is no {element}; give mantissas of"
            f" {element.minimum} to {element.maximum}"
        )


def port_cycles(net: Netlist, timing: Cycles) -> dict[str, NDArray[np.int64]]:
    """Return the cycles of the transfers at each port of a design, shape [N, beats]."""

    def at(port: str) -> Link:
        return next(link for link in net.network.links if port in (link.source, link.sink))

    return {port: timing.transfers[at(port)] for port in (*net.inputs, *net.outputs)}
