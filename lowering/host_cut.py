"""Cut a network where the host shall compute its first or last ops, and join it again after lowering."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from graphrewrite import Graph, evaluate
from graphrewrite.errors import GraphError, did_you_mean
from graphrewrite.graph import Operand
from graphrewrite.hierarchy.composition import compose
from graphrewrite.hierarchy.extraction import Extract, extract
from graphrewrite.hierarchy.region import region
from graphrewrite.lowering.composite.products import LOWER_SUMS
from graphrewrite.lowering.errors import LoweringError
from graphrewrite.lowering.integer.classifier_heads import SOFT
from graphrewrite.lowering.integer.integer_lowering import LOWER_TO_INTEGER
from graphrewrite.lowering.preparation.position_means import BY_WINDOWS, POOL_POSITIONS
from graphrewrite.lowering.prequantised.elementwise_chains import ONE_BY_ONE
from graphrewrite.lowering.prequantised.quantisers import QUANTISED
from graphrewrite.lowering.quantisation.quantiser import CARRIERS, LAYERS
from graphrewrite.op.generic_op import Generic
from graphrewrite.rules import FOLDING

__all__ = ["Cut", "HostCut", "cut_for_host", "cuts", "names_of", "without_hardware"]

_PORTS = frozenset({"input", "output", "constant"})
_WEIGHTED = frozenset(
    {
        *("conv", "linear", "gemm", "matmul", "depthwise_conv", "conv_transpose", "lstm", "gru", "rnn"),
        *("qlinear_conv", "qlinear_matmul", "conv_integer", "matmul_integer"),
    }
)
"""Layers, of which the host computes none that is not named."""
_MOST = 4
"""At most so many names in a message."""


class Cut(NamedTuple):
    """A place where a network can be cut.

    Attributes
    ----------
    values : tuple of str
        The nodes whose results pass the cut; after any of them, the rest is independent of what is before.
    before, after : tuple of str
        Nodes on each side whose ops have no hardware.
    """

    values: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]

    def named(self, graph: Graph) -> str:
        """Return it as text, with the names that its nodes have in the model's file."""
        sides = (("before it", self.before), ("behind it", self.after))
        missing = [f"without hardware {side}: {', '.join(names_of(graph, own))}" for side, own in sides if own]
        return "; ".join([", ".join(names_of(graph, self.values)), *missing])


@dataclass(frozen=True)
class HostCut:
    """A network in three parts: the host's first ops, the network for the hardware, and the host's last ops.

    Attributes
    ----------
    graph : Graph
        The whole network.
    before, after : tuple of str
        Nodes that the host computes.
    """

    graph: Graph
    before: tuple[str, ...]
    after: tuple[str, ...]

    @cached_property
    def _first(self) -> Extract | None:
        return extract(region(self.graph, "before", self.before)) if self.before else None

    @cached_property
    def _last(self) -> Extract | None:
        return extract(region(self.graph, "after", self.after)) if self.after else None

    @cached_property
    def _middle(self) -> Extract:
        host = {*self.before, *self.after}
        left = [n for n in self.graph.in_order() if n not in host and self.graph.nodes[n]["type"] not in _PORTS]
        return extract(region(self.graph, self.graph.name or "core", left))

    @property
    def core(self) -> Graph:
        """The network for the hardware; its inputs have the names of the values that they were."""
        return self._middle.graph if self.before or self.after else self.graph

    def encode(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return the inputs of the network for the hardware, for inputs of the whole one, batch first."""
        if self._first is None:
            return {name: np.asarray(values) for name, values in inputs.items()}
        given = {name: inputs[name] for name in self._first.graph.inputs if name in inputs}
        values, outputs = evaluate(self._first.graph, given, implementations=None), self._first.outputs
        return {
            port: np.asarray(values[outputs[label]] if label in outputs else inputs[port])
            for label, port in self._middle.inputs.items()
        }

    def joined(self, core: Graph) -> Graph:
        """Return the whole network with another network for the hardware, which has the same ports."""
        return self._joined(core, self._first, self._last) if self.before or self.after else core

    def _joined(self, core: Graph, first: Extract | None, last: Extract | None) -> Graph:
        whole = core.copy() if first is None else self._behind(first, core)
        sources = {label: whole.operands(port)[0] for label, port in self._middle.outputs.items()}
        if last is not None:
            wires = {self._middle.outputs[label]: port for label, port in last.inputs.items()}
            whole = compose(whole, last.graph, wires)
        # A part has one output for each value; others, and those that the host reads as well, are added again.
        left = {o: self.graph.operands(o)[0] for o in self.graph.outputs}
        sources |= {_label(source): whole.operands(o)[0] for o, source in left.items() if o in whole}
        for name, source in left.items():
            if name not in whole and _label(source) in sources:
                whole.output(name, whole.value(*sources[_label(source)]))
        for kind in ("input", "output"):
            own = [n for n in getattr(self.graph, f"{kind}s") if n in whole]
            for index, port in enumerate((*own, *(n for n in getattr(whole, f"{kind}s") if n not in own))):
                whole.nodes[port]["index"] = index
        return whole

    def _behind(self, first: Extract, core: Graph) -> Graph:
        part, wires = first.graph.copy(), dict[str, list[str]]()
        for label, port in self._middle.inputs.items():
            if label in first.outputs:
                wires.setdefault(first.outputs[label], []).append(port)
            elif label in part:  # an input that the host reads as well
                wires[part.output(part.fresh(f"{label}_in"), part.value(label))] = [port]
        return compose(part, core, wires, name=core.name)

    def known(self) -> HostCut:
        """Return the same cut of a smaller network, without ops of the host that are unknown here."""
        lacks_first, lacks_last = (_has_unknown(self.graph, own) for own in (self.before, self.after))
        if not lacks_first and not lacks_last:
            return self
        whole = self._joined(self.core, None if lacks_first else self._first, None if lacks_last else self._last)
        before = () if lacks_first else tuple(n for n in whole.in_order() if n in self.before)
        core = {*self.core, *before} | _fixed(whole)
        return HostCut(whole, before, () if lacks_last else tuple(n for n in whole.in_order() if n not in core))


def _has_unknown(graph: Graph, nodes: Iterable[str]) -> bool:
    return any(isinstance(graph.op(node), Generic) for node in nodes)


def _label(value: Operand) -> str:
    return value.node if not value.result else f"{value.node}:{value.result}"


def cut_for_host(graph: Graph, names: Iterable[str]) -> HostCut:
    r"""Return a network without the ops that the host shall compute: named ones, with all before or all behind them.

    Parameters
    ----------
    graph : Graph
        A network of the level ``nn``.
    names : iterable of str
        Nodes, or origins of nodes, or patterns of them, as ``"Resize*"``. What is nearer to the inputs goes with all
        before it, the rest with all behind it. Layers with weights among these have to be named as well.

    Raises
    ------
    GraphError
        If there is no such node.
    LoweringError
        If the network cannot be cut there; names places where it can.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N,3]
    ... l = log(x)
    ... r = relu(l)
    ... s = softmax(r)
    ... y = output(s)''')
    >>> cut = cut_for_host(g, ["l", "s"])
    >>> print(cut.core)
    graph g
    l = input() : f32[N,3]
    r = relu(l) : f32[N,3]
    r_out = output(r)
    >>> cut.joined(cut.core) == g
    True
    """
    named = _named(graph, names)
    before, after = set[str](), set[str]()
    for node in named:
        first, then = {node, *graph.upstream(node)} - _fixed(graph), {node, *graph.downstream(node)} - _fixed(graph)
        sides = sorted((_weight(graph, side - named), len(side), i) for i, side in enumerate((then, first)))
        (before if sides[0][2] else after).update(first if sides[0][2] else then)
    for side, own, place in (("before", before, "inputs"), ("behind", after, "outputs")):
        if layers := [n for n in graph.in_order() if n in own - named and _weight(graph, {n})]:
            ends = [n for n in graph.in_order() if n in named & own]
            raise LoweringError(
                f"{_listed(graph, ends)} cannot be cut out alone: all {side} it up to the {place} goes with it to the "
                f"host, layers too: --host {','.join(names_of(graph, [*ends, *layers]))}; {_places(graph)}"
            )
    independent = _independent(graph)
    for node in reversed(graph.in_order()):
        if node in independent - _fixed(graph) and after.issuperset(graph.successors(node)):
            after.add(node)  # what only the last ops read
    if before & after or not {*graph} - before - after - independent - _fixed(graph):
        raise LoweringError(f"nothing is left for the hardware between the ops of the host; {_places(graph)}")
    passing = [
        o.node for n in after for o in graph.operands(n) if o.node in before or graph.nodes[o.node]["type"] == "input"
    ]
    passing += [n for n in graph.outputs if graph.operands(n)[0].node in before | set(graph.inputs)]
    if passing:
        raise LoweringError(
            f"{_listed(graph, passing)} is of the host and passes by the hardware, from its first ops to its last; "
            f"{_places(graph)}"
        )
    return HostCut(graph, *(tuple(n for n in graph.in_order() if n in own) for own in (before, after)))


def cuts(graph: Graph, *, most: int = 1) -> tuple[Cut, ...]:
    r"""Return the places where a network can be cut, from its inputs to its outputs.

    Parameters
    ----------
    graph : Graph
        A network of the level ``nn``.
    most : int
        At most so many values pass a cut.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N,3]
    ... l = relu(x)
    ... r = exp(l)
    ... s = trilu(r)
    ... y = output(s)''')
    >>> [cut.named(g) for cut in cuts(g)]
    ['l; without hardware behind it: s', 'r; without hardware behind it: s']
    """
    missing, aside = without_hardware(graph), _fixed(graph) | _independent(graph)
    found: dict[tuple[str, ...], Cut] = {}
    for node in graph.in_order():
        first = {node, *graph.upstream(node)}
        values = tuple(n for n in graph.in_order() if n in first - aside and not first.issuperset(graph.successors(n)))
        is_whole = all(first.issuperset(graph.successors(n)) for n in graph.inputs if n in first)
        if node not in aside and is_whole and 0 < len(values) <= most and not first >= {*graph} - aside:
            sides = (tuple(n for n in missing if (n in first) == is_first) for is_first in (True, False))
            found.setdefault(values, Cut(values, *sides))
    return tuple(found.values())


def without_hardware(graph: Graph) -> tuple[str, ...]:
    """Return the nodes of a network whose ops no rule lowers to hardware, whatever they read."""
    known = {*CARRIERS, *LAYERS, *ONE_BY_ONE, *QUANTISED, *SOFT, *_PORTS, "concat", "arg_max"}
    rules = (*FOLDING, *POOL_POSITIONS, *BY_WINDOWS, *LOWER_SUMS, *LOWER_TO_INTEGER)
    known.update(kind for r in rules for kind in r.definition.root_kinds or ())
    data = graph.nodes
    return tuple(n for n in graph.in_order() if data[n]["type"] not in known or data[n].get("mode") == "cubic")


def _independent(graph: Graph) -> set[str]:
    """Nodes that no input reaches, constants among them."""
    return {*graph} - {n for name in graph.inputs for n in (name, *graph.downstream(name))}


def _fixed(graph: Graph) -> set[str]:
    return {n for n in graph if graph.nodes[n]["type"] in _PORTS}


def _weight(graph: Graph, nodes: set[str]) -> int:
    return sum(graph.nodes[n]["type"] in _WEIGHTED for n in nodes)


def _named(graph: Graph, names: Iterable[str]) -> set[str]:
    known: dict[str, list[str]] = {}
    for node in graph.in_order():
        if graph.nodes[node]["type"] not in _PORTS:
            for name in dict.fromkeys((node, *graph.origin(node))):
                known.setdefault(name, []).append(node)
    found = set[str]()
    for name in names:
        fitting = known.get(name) or [n for key, own in known.items() if fnmatchcase(key, name) for n in own]
        if not fitting:
            raise GraphError(f"there is no node {name!r} that the host could compute{did_you_mean(name, known)}")
        found.update(fitting)
    return found


def names_of(graph: Graph, nodes: Iterable[str]) -> list[str]:
    """Return the names of nodes in the model's file, each once."""
    return list(dict.fromkeys(origin[-1] if (origin := graph.origin(n)) else n for n in nodes))


def _listed(graph: Graph, nodes: Iterable[str]) -> str:
    names = names_of(graph, nodes)
    return ", ".join([*names[:_MOST], *(["..."] if len(names) > _MOST else [])])


def _places(graph: Graph) -> str:
    found = [cut.values[0] for cut in cuts(graph)]
    return f"it can be cut behind {_listed(graph, found)}" if found else "no single value divides it"
