"""Choose a folding for each layer: by hand, for an interval or a latency, or within a budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from graphrewrite import Graph
from graphrewrite.errors import did_you_mean
from graphrewrite.hdl.buffering import insert_forks
from graphrewrite.hdl.component import Component, Resources, Site, streams
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.hdl.netlist import netlist
from graphrewrite.hdl.simulation.simulation import predict
from graphrewrite.hdl.timing.cycles import predict_cycles
from graphrewrite.hierarchy.blocks import Use, blocks_of, innermost, names_of, uses_of
from graphrewrite.lowering.errors import ParallelismError, origins_text
from graphrewrite.lowering.folding.folding_report import FoldingReport, LayerReport, Price
from graphrewrite.lowering.folding.latency_search import Choice, fewest_multipliers, weighted
from graphrewrite.lowering.folding.matrix_foldings import Folding, foldings
from graphrewrite.lowering.folding.refolding import LAYERS, Choose, refold_graph
from graphrewrite.types import Stream

__all__ = ["Limits", "fold"]

_CORRECTIONS = 8
"""Searches within a latency, each with another allowance for what is not estimated."""
_SLOWEST = 3
Parallelism = str | int | Mapping[str, str | int]


@dataclass(frozen=True)
class Limits:
    """Limits on cost, interval and latency of a design, all layers together.

    Attributes
    ----------
    interval : int, optional
        Cycles from frame to frame to reach, with as few multipliers as possible.
    multipliers, memory_bits : int, optional
        Budgets; the interval is as short as they allow.
    latency : int, optional
        Cycles from the first beat of a frame to the last of its result, with as few multipliers as are found.
    """

    interval: int | None = None
    multipliers: int | None = None
    memory_bits: int | None = None
    latency: int | None = None

    @property
    def any_set(self) -> bool:
        """Whether any limit is set."""
        return self != Limits()


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
    choice : mapping of str to Folding
        By layer.
    """

    graph: Graph
    steps: Mapping[str, int] = field(repr=False)
    cost: Resources
    choice: Choice = field(repr=False)

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
    finish: Callable[[Graph], Graph] = insert_forks,
) -> tuple[Graph, FoldingReport]:
    """Return a stream graph with a folding chosen for each matrix product, and a report of the choice.

    ``finish`` makes a design of the result: its latency is what a limit is about. Raise `ParallelismError` if the
    limits cannot be met, naming the nearest that can.
    """
    folder = _Folder(graph, parallelism, components, finish)
    built = folder.choose(limits)
    return built.graph, folder.report(built, limits)


class _Folder:
    def __init__(
        self,
        graph: Graph,
        parallelism: Parallelism,
        components: tuple[Component, ...],
        finish: Callable[[Graph], Graph],
    ) -> None:
        self.graph, self.all_components, self.finish = graph, components, finish
        self.components = {component.op.name: component for component in components}
        self.layers = [n for n in graph.in_order() if graph.nodes[n]["type"] in LAYERS]
        self.most = _most(graph, self.layers, parallelism)
        self.options = {n: self._options(n) for n in self.layers}
        self.following = {n: self._following(n) for n in self.layers}
        self.uses = uses_of(graph)
        self.first = self._first_uses()
        self.alike = self._alike()
        self.built: dict[int | None, Built] = {}
        self.chosen: dict[tuple[Folding, ...], Built] = {}
        self.within: dict[tuple[int, int], Built] = {}

    def choose(self, limits: Limits) -> Built:
        if not limits.any_set:
            return self._build(None)
        targets = self._targets()
        reach = self._build if limits.latency is None else partial(self._within, limits.latency)
        fits = [t for t in targets if limits.interval is None or t <= limits.interval]
        if limits.interval is not None and not fits:
            raise ParallelismError(
                f"no folding reaches an interval of {limits.interval} cycles; the shortest is {targets[0]}"
            )
        longest = fits[-1] if limits.interval is None else limits.interval
        cheapest = reach(longest)
        if limits.multipliers is None and limits.memory_bits is None:
            return cheapest
        # The cheapest foldings are those of the longest interval that is allowed: if they cost too much, all do.
        for name, limit, least in (
            ("multipliers", limits.multipliers, cheapest.cost.multipliers),
            ("bits of memory", limits.memory_bits, cheapest.cost.memory_bits),
        ):
            if limit is not None and least > limit:
                speed = "" if limits.interval is None else f" at an interval of {limits.interval} cycles"
                speed += "" if limits.latency is None else f" at a latency of {limits.latency} cycles"
                raise ParallelismError(
                    f"{limit} {name} cannot serve {len(self.layers)} layers{speed}; the smallest budget is {least}"
                )
        # Costs fall as intervals grow: bisection finds the shortest interval that the budget allows.
        multipliers, memory_bits = limits.multipliers or float("inf"), limits.memory_bits or float("inf")
        low, high = 0, len(fits) - 1
        while low < high:
            middle = (low + high) // 2
            cost = reach(fits[middle]).cost
            if cost.multipliers <= multipliers and cost.memory_bits <= memory_bits:
                high = middle
            else:
                low = middle + 1
        return cheapest if fits[low] == fits[-1] else reach(fits[low])

    # ------------------------------------------------------------------ one layer

    def _options(self, node: str) -> list[Folding]:
        attributes = self.graph.attributes(node)
        stream = self._stream(self.graph.operands(node)[0].node, self.graph.operands(node)[0].result)
        outputs, columns = np.shape(attributes["weights"])
        widest = stream.channels if attributes["over"] == "frame" else None
        groups = attributes.get("groups", 1)
        options = foldings(outputs, columns * groups, groups, widest)
        return [f for f in options if f.multipliers <= self.most[node]]

    def _first_uses(self) -> dict[str, str]:
        """Return for each layer the first of those like it in other uses of its nested graph, whose folding it has."""
        firsts: dict[Any, str] = {}
        like = {n: (self.uses.get(n, n), *self.options[n], self._products(n)) for n in self.layers}
        return {n: firsts.setdefault(like[n], n) for n in self.layers}

    def _alike(self) -> dict[str, Use]:
        """Return the uses of nested graphs that are folded alike, as are those of the graphs in them."""
        found: dict[Use, set[str]] = {}
        for node in self.layers:
            if node in self.uses:
                found.setdefault(self.uses[node], set()).add(self.first[node])
        blocks, unlike = blocks_of(self.graph), set[str]()
        for node in {node for firsts in found.values() if len(firsts) > 1 for node in firsts}:
            path = innermost(self.graph.origin(node)[0], blocks)
            while path:
                unlike.add(blocks[path].graph)
                path = innermost(path, blocks)
        return {node: use for node, use in self.uses.items() if use[0] not in unlike}

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
        time = partial(self._time, node)

        def ill_fitting(f: Folding) -> bool:
            return max(f.lanes_in, stream.lanes) % min(f.lanes_in, stream.lanes) != 0

        # Without a target each layer is as fast as it can be; with one, as cheap as that allows.
        if target is None:
            return min(self.options[node], key=lambda f: (time(f), ill_fitting(f), f.multipliers, f.lanes_out))
        return min(self._fast(node, target), key=lambda f: (f.multipliers, ill_fitting(f), f.lanes_out))

    def _time(self, node: str, f: Folding) -> int:
        """Cycles a frame of a layer with a folding, or of the slowest component behind it."""
        rows = len(self.graph.nodes[node]["weights"])
        return max(f.steps * self._products(node), self.following[node] * (rows // f.lanes_out))

    def _fast(self, node: str, target: int) -> list[Folding]:
        """The foldings of a layer that meet an interval, or the fastest one."""
        options = self.options[node]
        fast = [f for f in options if self._time(node, f) <= target]
        return fast or [min(options, key=lambda f: (self._time(node, f), f.multipliers))]

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
            self.built[target] = self._built(partial(self._choose, target))
        return self.built[target]

    def _built(self, choose: Choose) -> Built:
        choice: dict[str, Folding] = {}

        def recorded(node: str, *site: Any) -> Folding:
            first = self.first[node]
            choice[node] = choose(node, *site) if first == node else choice[first]
            return choice[node]

        graph = refold_graph(self.graph, recorded, {}, self.alike)
        # An input that would be refolded at once may as well arrive with those lanes.
        inputs = {
            name: graph.attributes(readers[0].node)["lanes"]
            for name in graph.inputs
            if len(readers := graph.readers(name)) == 1 and graph.nodes[readers[0].node]["type"] == "refold"
        }
        if inputs:
            graph = refold_graph(self.graph, recorded, inputs, self.alike)
        steps, cost = {}, Resources()
        for node in graph.in_order():
            if graph.nodes[node]["type"] in self.components:
                steps[node] = self._steps(graph, node)
                cost = cost.plus(self._cost(graph, node))
        return Built(graph, steps, cost, choice)

    # ------------------------------------------------------------------ within a latency

    def _within(self, latency: int, interval: int) -> Built:
        """A design with few multipliers within a latency and, where that can be reached, an interval."""
        if (latency, interval) in self.within:
            return self.within[latency, interval]
        layers = list(dict.fromkeys(self.first.values()))
        options = {n: self._fast(n, interval) for n in layers}
        unfolded = {n: min(own, key=lambda f: (f.steps, f.lanes_out)) for n, own in self.options.items()}
        fastest = min((self._build(None).choice, unfolded), key=self._latency_of)
        if (least := self._latency_of(fastest)) > latency:
            raise ParallelismError(self._too_slow(latency, least, fastest))
        starts: list[Choice] = [fastest, *(self._build(t).choice for t in self._targets() if t <= interval)]
        starts = [{n: start[n] for n in layers} for start in starts]
        starts += weighted(options, {n: self._products(n) for n in layers})
        # Candidates are measured with unlimited buffers; what real ones and pipeline stages add is corrected for.
        chosen, allowed = fastest, latency
        for _ in range(_CORRECTIONS):
            found = fewest_multipliers(options, starts, self._estimate, allowed)
            if found is None or (excess := self._latency_of(found) - latency) <= 0:
                chosen = found or fastest
                break
            allowed -= excess
        self.within[latency, interval] = self._built_as(chosen)
        return self.within[latency, interval]

    def _built_as(self, choice: Choice) -> Built:
        key = tuple(choice[self.first[n]] for n in self.layers)
        if key not in self.chosen:
            self.chosen[key] = self._built(lambda node, *_: choice[node])
        return self.chosen[key]

    def _estimate(self, choice: Choice) -> tuple[int, int]:
        built = self._built_as(choice)
        network = netlist(insert_forks(built.graph), self.all_components).network
        ports = [(n, i) for n, schedule in network.components.items() for i in range(len(schedule.gives))]
        return predict_cycles(network, 1, unbounded=ports).empty_latency, built.cost.multipliers

    def _latency_of(self, choice: Choice) -> int:
        return predict(self.finish(self._built_as(choice).graph), 1, components=self.all_components).empty_latency

    def _too_slow(self, latency: int, least: int, fastest: Choice) -> str:
        built = self._built_as(fastest)
        slowest = sorted(built.steps, key=lambda n: -built.steps[n])
        parts = dict.fromkeys(f"{origins_text(built.graph, n)} ({built.steps[n]} cycles an image)" for n in slowest)
        return (
            f"no folding reaches a latency of {latency} cycles; the least is {least}; the slowest components: "
            f"{', '.join(list(parts)[:_SLOWEST])}"
        )

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
        if limits.any_set and limits.latency is None:
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
    origins = {n: names_of(graph, n) for n in layers}
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
