"""Test vectors: what goes in, when each side stalls, and what must come out in which cycle."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.graph import Graph
from graphrewrite.hdl.component import Component
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.hdl.netlist import Netlist
from graphrewrite.hdl.simulation.simulation import Gates, Simulation, simulate
from graphrewrite.types import Stream

__all__ = ["Vectors", "make_vectors", "packed", "payloads", "random_frames", "random_gates"]

_PATTERN = 61  # cycles of a stall pattern: prime, so that it drifts against the period of every frame


@dataclass(frozen=True)
class Vectors:
    """Inputs, stall patterns, and what a design does with them.

    Attributes
    ----------
    inputs : dict of str to ndarray
        Mantissas by input, shape [N, *shape].
    gates : dict of str to tuple of int
        Stall pattern by port.
    expected : Simulation
        Values and cycles.
    """

    inputs: dict[str, NDArray[np.integer]]
    gates: dict[str, tuple[int, ...]]
    expected: Simulation

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(next(iter(self.inputs.values())))


def make_vectors(
    graph: Graph,
    net: Netlist,
    inputs: Mapping[str, ArrayLike] | None,
    gates: Gates | None,
    frames: int,
    seed: int,
    components: tuple[Component, ...] = COMPONENTS,
) -> Vectors:
    """Return test vectors; what is not given is random, and depends on the seed and the design only."""
    arrays = random_frames(net, frames, seed) if inputs is None else {n: np.asarray(v) for n, v in inputs.items()}
    patterns = random_gates(net, seed) if gates is None else {n: tuple(int(bit) for bit in g) for n, g in gates.items()}
    full = {**dict.fromkeys((*net.inputs, *net.outputs), (1,)), **patterns}
    return Vectors(arrays, full, simulate(graph, arrays, gates=full, components=components))


def _random(seed: int, what: str) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(sha256(f"{seed} {what}".encode()).digest()[:8], "big"))


def random_frames(net: Netlist, frames: int, seed: int) -> dict[str, NDArray[np.integer]]:
    """Return random mantissas over the whole range of each input."""
    return {
        name: _random(seed, f"input {i}").integers(
            stream.element.minimum, stream.element.maximum, (frames, *stream.shape), endpoint=True, dtype=np.int64
        )
        for i, (name, stream) in enumerate(net.inputs.items())
    }


def random_gates(net: Netlist, seed: int) -> dict[str, tuple[int, ...]]:
    """Return a random stall pattern for each port: open in about half to nine tenths of the cycles."""
    gates = {}
    for i, name in enumerate((*net.inputs, *net.outputs)):
        random = _random(seed, f"gate {i}")
        bits = (random.random(_PATTERN) < random.uniform(0.5, 0.9)).astype(int)
        # A gate that never opens would be a deadlock.
        bits[random.integers(_PATTERN)] = 1
        gates[name] = tuple(bits.tolist())
    return gates


def packed(stream: Stream, values: NDArray[np.integer]) -> list[int]:
    """Return each beat of a batch as one number, lane 0 in the lowest bits.

    Examples
    --------
    >>> from graphrewrite.types import FixedPoint
    >>> packed(Stream(FixedPoint(True, 4), (2,)), np.array([[1, -1]]))
    [241]
    """
    width, mask = stream.element.width, (1 << stream.element.width) - 1
    beats = stream.to_beats(values).reshape(-1, stream.lanes).tolist()
    # Python's integers: a payload is as wide as all lanes together.
    return [sum((number & mask) << (lane * width) for lane, number in enumerate(beat)) for beat in beats]


def payloads(stream: Stream, values: NDArray[np.integer]) -> list[str]:
    """Return each beat of a batch in hexadecimal digits, as the test benches read and write them.

    Examples
    --------
    >>> from graphrewrite.types import FixedPoint
    >>> payloads(Stream(FixedPoint(True, 4), (3,)), np.array([[1, -1, 0]]))
    ['0f1']
    """
    digits = (stream.payload_width + 3) // 4
    return [f"{payload:0{digits}x}" for payload in packed(stream, values)]
