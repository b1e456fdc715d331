"""The record of a simulation's inner streams, computed when they are looked at."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import EvaluationError, did_you_mean
from graphrewrite.execution.program import Program
from graphrewrite.hdl.timing.network import Link
from graphrewrite.types import Stream

__all__ = ["Recording"]

_MOST_STREAMS = 12
"""So many are shown where none are chosen; of larger designs the ports."""


@dataclass(frozen=True, eq=False)
class Recording:
    """A design, and what it was given.

    Attributes
    ----------
    name : str
        Of the design.
    program : Program
        Gives the values of all nodes.
    inputs : mapping of str to ndarray
        The frames.
    streams : mapping of Link to Stream
        The stream of each link.
    gates : mapping of str to sequence of int
        When ports may move.
    """

    name: str
    program: Program
    inputs: Mapping[str, NDArray[Any]]
    streams: Mapping[Link, Stream]
    gates: Mapping[str, Sequence[int]]

    def chosen(self, names: str | Iterable[str] | None) -> list[Link]:
        """Return the streams that nodes and inputs of some names give, or that go to outputs of these names."""
        sources = {end for link in self.streams for end in (link.source, link.sink)}
        inner = {link.source for link in self.streams} & {link.sink for link in self.streams}
        if names is None:
            at_ports = [link for link in self.streams if not {link.source, link.sink} <= inner]
            return list(self.streams) if len(self.streams) <= _MOST_STREAMS else at_ports
        links: dict[Link, None] = {}
        for name in [names] if isinstance(names, str) else names:
            named = [k for k in self.streams if k.source == name] or [k for k in self.streams if k.sink == name]
            if not named:
                raise EvaluationError(
                    f"no stream comes from {name!r}{did_you_mean(str(name), sources)}; some come from"
                    f" {', '.join(sorted(sources)[:20])}"
                )
            links.update(dict.fromkeys(named))
        return list(links)

    def values(self, links: Iterable[Link], first: int, end: int) -> dict[Link, NDArray[Any]]:
        """Return what streams carry in the frames from `first` to before `end`: mantissas, shape [frames, *shape]."""
        by_port = {(link.source, link.source_port): link for link in links}
        frames = {name: np.asarray(array)[first:end] for name, array in self.inputs.items()}
        values = {}
        for node, results in self.program.watch(frames):
            for port, array in enumerate(results):
                if (node, port) in by_port:
                    values[by_port[node, port]] = array
        return values
