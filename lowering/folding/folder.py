"""Choose a folding for each layer: by hand, for an interval, or within a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphrewrite import Graph
from graphrewrite.errors import did_you_mean
from graphrewrite.hdl.component import Component, Resources, Site, streams
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.lowering.errors import ParallelismError
from graphrewrite.lowering.folding.folding_report import FoldingReport, LayerReport, Price
from graphrewrite.lowering.folding.matrix_foldings import Folding, foldings
from graphrewrite.lowering.folding.refolding import LAYERS, refold_graph
from graphrewrite.types import Stream

__all__ = ["Limits", "fold"]

Parallelism = str | int | Mapping[str, str | int]


@dataclass(frozen=True)
class Limits:
    """Limits on cost and interval of a design, all layers together.

    Attributes
    ----------
    interval : int, optional
        Cycles from frame to frame to reach, with as few multipliers as possible.
    multipliers, memory_bits : int, optional
        Budgets; the interval is as short as they allow.
    """

    interval: int | None = None
    multipliers: int | None = None
    memory_bits: int | None = None

    @property
    def any_set(self) -> bool:
        """Whether any limit is set."""
        return (self.interval, self.multipliers, self.memory_bits) != (None, None, None)


@dataclass(frozen=True)
class Built:
    """A graph with chosen foldings, and its cost.

    Attributes
    ----------
    graph : Graph
    steps : dict of str to int
        Cycles a frame of each component.
    cost : Resources
        Multipliers, constant ones included, and memory.
    """

    graph: Graph
    steps: Mapping[str, int] = field(repr=False)
    cost: Resources

    @property
    def interval(self) -> int:
        """Cycles a frame of the slowest component."""
        return max(self.steps.values(), default=1)

    @property
    def price(self) -> Price:
        """For the report."""
        return Price(self.interval, self.cost.multipliers, self.cost.memory_bits)


def fold(
    graph: Graph,
    *,
    parallelism: Parallelism = "full",
    limits: Limits = Limits(),
    components: tuple[Component, ...] = COMPONENTS,
) -> tuple[Graph, FoldingReport]:
    """Return a stream graph with a folding chosen for each matrix product, and a report of the choice.

    Raise `ParallelismError` if the limits cannot be met, naming the nearest that can.
    """
    folder = _Folder(graph, parallelism, components)
    built = folder.choose(limits)
    return built.graph, folder.report(built, limits)


class _Folder:
    def __init__(self, graph: Graph, parallelism: Parallelism, components: tuple[Component, ...]) -> None:
        self.graph = graph
        self.components = {component.op.name: component for component in components}
        self.layers = [n for n in graph.in_order() if graph.nodes[n]["type"] in LAYERS]
        self.most = _most(graph, self.layers, parallelism)
        self.options = {n: self._options(n) for n in self.layers}
        self.following = {n: self._following(n) for n in self.layers}
        self.built: dict[int | None, Built] = {}

    def choose(self, limits: Limits) -> Built:
        if not limits.any_set:
            return self._build(None)
        targets = self._targets()
        fits = [t for t in targets if limits.interval is None or t <= limits.interval]
        if limits.interval is not None and not fits:
            raise ParallelismError(
                f"no folding reaches an interval of {limits.interval} cycles; the shortest is {targets[0]}"
            )
        if limits.multipliers is None and limits.memory_bits is None:
            return self._build(limits.interval)
        cheapest = self._build(fits[-1] if limits.interval is None else limits.interval)
        # The cheapest foldings are those of the longest interval that is allowed: if they cost too much, all do.
        for name, limit, least in (
            ("multipliers", limits.multipliers, cheapest.cost.multipliers),
            ("bits of memory", limits.memory_bits, cheapest.cost.memory_bits),
        ):
            if limit is not None and least > limit:
                speed = "" if limits.interval is None else f" at an interval of {limits.interval} cycles"
                raise ParallelismError(
                    f"{limit} {name} cannot serve {len(self.layers)} layers{speed}; the smallest budget is {least}"
                )
        # Costs fall as intervals grow: bisection finds the shortest interval that the budget allows.
        multipliers, memory_bits = limits.multipliers or float("inf"), limits.memory_bits or float("inf")
        low, high = 0, len(fits) - 1
        while low < high:
            middle = (low + high) // 2
            cost = self._build(fits[middle]).cost
            if cost.multipliers <= multipliers and cost.memory_bits <= memory_bits:
                high = middle
            else:
                low = middle + 1
        return self._build(fits[low])

    # ------------------------------------------------------------------ one layer

    def _options(self, node: str) -> list[Folding]:
        attributes = self.graph.attributes(node)
        stream = self._stream(self.graph.operands(node)[0].node, self.graph.operands(node)[0].result)
        outputs, columns = np.shape(attributes["weights"])
        widest = stream.channels if attributes["over"] == "frame" else None
        groups = attributes.get("groups", 1)
        options = foldings(outputs, columns * groups, groups, widest)
        return [f for f in options if f.multipliers <= self.most[node]]

    def _products(self, node: str) -> int:
        """Matrix products of one frame."""
        return self._stream(node).positions

    def _following(self, node: str) -> int:
        """Steps of the slowest component after a layer and before the next ones, with all channels side by side."""
        slowest, pending, visited = 1, [node], {node}
        while pending:
            for reader in self.graph.successors(pending.pop()):
                if reader not in visited and self.graph.nodes[reader]["type"] not in (*LAYERS, "output"):
                    visited.add(reader)
                    pending.append(reader)
                    slowest = max(slowest, self._steps(self.graph, reader))
        return slowest

    def _choose(self, target: int | None, node: str, stream: Stream, _: Mapping[str, Any]) -> Folding:
        options, products, rows = self.options[node], self._products(node), len(self.graph.nodes[node]["weights"])

        def time(f: Folding) -> int:
            slowest = self.following[node] * (rows // f.lanes_out)
            return max(f.steps * products, slowest)

        def ill_fitting(f: Folding) -> bool:
            return max(f.lanes_in, stream.lanes) % min(f.lanes_in, stream.lanes) != 0

        # Without a target each layer is as fast as it can be; with one, as cheap as that allows.
        if target is None:
            return min(options, key=lambda f: (time(f), ill_fitting(f), f.multipliers, f.lanes_out))
        fast = [f for f in options if time(f) <= target] or [min(options, key=lambda f: (time(f), f.multipliers))]
        return min(fast, key=lambda f: (f.multipliers, ill_fitting(f), f.lanes_out))

    # ------------------------------------------------------------------ all of them

    def _targets(self) -> list[int]:
        """Every interval that some choice can reach, ascending."""
        least = self._build(0).interval
        intervals = {least}
        for node in self.layers:
            rows = len(self.graph.nodes[node]["weights"])
            intervals.update(f.steps * self._products(node) for f in self.options[node])
            intervals.update(self.following[node] * (rows // f.lanes_out) for f in self.options[node])
        return sorted(t for t in intervals if t >= least)

    def _build(self, target: int | None) -> Built:
        if target not in self.built:
            inputs: dict[str, int] = {}
            graph = refold_graph(self.graph, lambda *site: self._choose(target, *site), inputs)
            # An input that would be refolded at once may as well arrive with those lanes.
            inputs = {
                name: graph.attributes(readers[0].node)["lanes"]
                for name in graph.inputs
                if len(readers := graph.readers(name)) == 1 and graph.nodes[readers[0].node]["type"] == "refold"
            }
            if inputs:
                graph = refold_graph(self.graph, lambda *site: self._choose(target, *site), inputs)
            steps, cost = {}, Resources()
            for node in graph.in_order():
                if graph.nodes[node]["type"] in self.components:
                    steps[node] = self._steps(graph, node)
                    cost = cost.plus(self._cost(graph, node))
            self.built[target] = Built(graph, steps, cost)
        return self.built[target]

    def _steps(self, graph: Graph, node: str) -> int:
        component = self.components[graph.nodes[node]["type"]]
        return component.schedule(self._site(graph, node)).steps

    def _cost(self, graph: Graph, node: str) -> Resources:
        component, site = self.components[graph.nodes[node]["type"]], self._site(graph, node)
        cost = component.resources(site)
        if graph.nodes[node]["type"] == "matvec":
            # Those whose weights are constants are counted too: how many synthesis drops is not known before.
            terms = min(site.operands[0].lanes, np.shape(site.attributes["weights"])[1])
            return cost._replace(multipliers=terms * site.results[0].lanes)
        return cost

    def _site(self, graph: Graph, node: str) -> Site:
        operands = streams(*(graph.result_type(o.node, o.result) for o in graph.operands(node)))
        return Site.of(self.components[graph.nodes[node]["type"]].op, *operands, **graph.attributes(node))

    def _stream(self, node: str, result: int = 0) -> Stream:
        (stream,) = streams(self.graph.result_type(node, result))
        return stream

    # ------------------------------------------------------------------ the report

    def report(self, built: Built, limits: Limits) -> FoldingReport:
        shorter = None
        if limits.any_set:
            below = [t for t in self._targets() if t < built.interval]
            following = self._build(below[-1]).price if below else built.price
            shorter = following if following.interval < built.interval else None
        return FoldingReport(
            built.price,
            max(built.steps, key=lambda n: built.steps[n], default=""),
            {n: self._layer(built, n) for n in self.layers},
            shorter,
        )

    def _layer(self, built: Built, node: str) -> LayerReport:
        site = self._site(built.graph, node)
        multipliers = self._cost(built.graph, node).multipliers
        return LayerReport(site.operands[0].lanes, site.results[0].lanes, multipliers, built.steps[node])


def _most(graph: Graph, layers: list[str], parallelism: Parallelism) -> dict[str, float]:
    table = dict(parallelism) if isinstance(parallelism, Mapping) else {"default": parallelism}
    origins = {n: (n, *graph.origin(n)) for n in layers}
    names = {name for origin in origins.values() for name in origin} | {"default"}
    for name, share in table.items():
        if name not in names:
            raise ParallelismError(f"parallelism names {name!r}, which is not a layer{did_you_mean(name, names)}")
        if share not in ("full", "folded") and (isinstance(share, bool) or not isinstance(share, int) or share < 1):
            raise ParallelismError(
                f"parallelism {share!r} for {name!r} is neither 'full', 'folded' nor a number of multipliers from 1"
            )
    limits = {}
    for node in layers:
        share = next((table[name] for name in origins[node] if name in table), table.get("default", "full"))
        limits[node] = float("inf") if share == "full" else 1.0 if share == "folded" else float(share)
    return limits
