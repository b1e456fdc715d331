"""Order of calls in which less memory is needed at a time, where that of the graph needs more than it must."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import accumulate, pairwise

from graphrewrite.execution.program.call import Call
from graphrewrite.execution.program.reuse import may_overwrite
from graphrewrite.graph import Graph
from graphrewrite.memory.graph_steps import VIEWS, bytes_of
from graphrewrite.memory.list_scheduling import operands_first
from graphrewrite.memory.ordering import best_order
from graphrewrite.memory.running import peak_of
from graphrewrite.memory.step import Steps, Value
from graphrewrite.types import Type

__all__ = ["ordered", "sizes_first"]

_CUTS = 500
"""Cuts of the search for a better order: a few hundredths of a second at most."""
_SMALL = 1 << 12
"""Bytes that are not worth a search: a page of memory, which no order frees."""
_LONG = 2_000
"""Number of calls from which one fast order is tried alone."""
_TRIED = 8
"""Number of calls at the peak of which it is asked whether any order needs less while they run."""


def ordered(calls: Sequence[Call], graph: Graph, wanted: Collection[str]) -> list[Call]:
    r"""Return the calls in an order that needs less memory at a time, or as they are if none is found soon.

    Where all of it is small, no search is made. Sizes without numbers count as 1. Edges of the graph that carry no
    values hold, and effects stay in order.

    Parameters
    ----------
    calls : sequence of Call
        The calls, operands first.
    graph : Graph
        The graph of their nodes.
    wanted : collection of str
        Nodes whose values live to the end.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N,400]
    ... small = relu(x) : f32[N,400]
    ... wide = concat(x, x, x, x, axis=1) : f32[N,1600]
    ... part = slice(wide, starts=(0, 0), ends=("N", 400)) : f32[N,400]
    ... sum = add(small, part) : f32[N,400]
    ... y = output(sum)''')
    >>> [call.node for call in ordered([Call.of(g, n) for n in g if n != "x"], g, "y")]
    ['wide', 'part', 'small', 'sum', 'y']
    """
    if all(call.operands and call.operands[0].node == before.node for before, call in pairwise(calls)):
        return list(calls)  # there is no other order
    values = _Values(calls, wanted)
    loads = values.loads()
    peak = max(loads)
    if peak <= _SMALL:
        return list(calls)
    highest = [index for index, load in enumerate(loads) if load == peak]
    if any(values.least_at(index) == peak for index in highest[:_TRIED]):
        return list(calls)
    steps = values.steps(graph)
    found = operands_first(steps) if len(calls) > _LONG else best_order(steps, _CUTS)[0]
    return [calls[index] for index in found] if peak_of(steps, found) < peak else list(calls)


def sizes_first(calls: Sequence[Call], graph: Graph) -> list[Call]:
    r"""Return the calls in an order in which sizes that only run time tells are found before calls that name them.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... c = input() : bool[N]
    ... ones = constant_of_shape(shape=["?1", 2], value=1.0, element="f32") : f32[?1,2]
    ... at = nonzero(c) : i64[1,?1]
    ... last = cast(at, element="f32")
    ... sums = matmul(last, ones)
    ... y = output(sums)''')
    >>> [call.node for call in sizes_first([Call.of(g, n) for n in ("ones", "at", "last", "sums")], g)]
    ['at', 'ones', 'last', 'sums']
    """
    needed = _sources_of_sizes(calls, graph)
    position = {call.node: index for index, call in enumerate(calls)}
    if all(source < index for index, sources in needed.items() for source in sources):
        return list(calls)
    done: dict[int, None] = {}
    begun: set[int] = set()  # so that it ends where a size is named before anything can tell it, which fails later
    work = [*reversed(range(len(calls)))]
    while work:
        index = work[-1]
        if index in begun:
            done[work.pop()] = None
            continue
        begun.add(index)
        before = [position[o.node] for o in calls[index].operands if o.node in position]
        work += [i for i in (*needed.get(index, ()), *reversed(before)) if i not in begun]
    return [calls[index] for index in done]


def _sources_of_sizes(calls: Sequence[Call], graph: Graph) -> dict[int, list[int]]:
    """Return, of calls that name sizes which only run time tells, the calls that tell them."""
    named = {index: call.names for index, call in enumerate(calls) if call.names}
    if not named:
        return {}
    sources: dict[str, int] = {}
    for index, call in enumerate(calls):
        found = {name for kind in call.results for name in kind.unknowns}
        if found := found - call.names:
            known = {name for o in call.operands for name in graph.result_type(*o).unknowns}
            sources.update({name: index for name in found - known if name not in sources})
    return {index: [sources[name] for name in names if name in sources] for index, names in named.items()}


class _Values:
    """What calls read and write, by index; inputs and constants, which lie elsewhere, are left out."""

    def __init__(self, calls: Sequence[Call], wanted: Collection[str]) -> None:
        self.calls = calls
        self.reads: list[list[int]] = []
        self.writes: list[range] = []
        self.over: list[int | None] = []
        self.sizes: list[int] = []
        self.last: list[int] = []
        """By value, the index of the last call that reads it, or else of the one that writes it."""
        first: dict[str, int] = {}
        roots: list[int] = []  # by value, the one whose memory it is
        known: dict[Type, int] = {}
        sizes, last = self.sizes, self.last
        for index, call in enumerate(calls):
            reads = []
            for source, result in call.operands:
                if source in first:
                    reads.append(value := roots[first[source] + result])
                    last[value] = index
            begin = first[call.node] = len(sizes)
            if len(reads) == 1 and call.op.name in VIEWS:
                sizes.append(0)
                roots += reads
            else:
                for kind in call.results:
                    if kind not in known:
                        known[kind] = bytes_of(kind, {})
                    sizes.append(known[kind])
                if not call.results:
                    sizes.append(0)
                roots += range(begin, len(sizes))
            last += [index] * (len(sizes) - begin)
            self.writes.append(range(begin, len(sizes)))
            self.reads.append(reads)
            is_over = reads and sizes[reads[0]] == sizes[begin] and may_overwrite(call)
            self.over.append(reads[0] if is_over and call.operands[0].node in first else None)
        self.kept = {roots[first[node]] for node in wanted if node in first}
        for value in self.kept:
            last[value] = len(calls)

    def loads(self) -> list[int]:
        """Return what lives while each call runs, in bytes."""
        change = [0] * (len(self.calls) + 2)
        for index, (writes, over) in enumerate(zip(self.writes, self.over, strict=True)):
            for value in writes:
                size = self.sizes[value]
                change[index] += size
                change[self.last[value] + 1] -= size
            if over is not None and self.last[over] == index:  # its memory counts once
                change[index] -= self.sizes[over]
                change[index + 1] += self.sizes[over]
        return list(accumulate(change[:-2]))

    def least_at(self, index: int) -> int:
        """Return what lives while a call runs, in any order."""
        position = {call.node: i for i, call in enumerate(self.calls)}
        before, after = {index}, {index}
        for at in range(index, -1, -1):
            if at in before:
                before.update(position[o.node] for o in self.calls[at].operands if o.node in position)
        for at in range(index + 1, len(self.calls)):
            if any(position.get(o.node) in after for o in self.calls[at].operands):
                after.add(at)
        later = {value for at in after - {index} for value in self.reads[at]} | self.kept
        own = self.writes[index]
        counted = later.union(own, self.reads[index])
        live = sum(self.sizes[v] for at in before for v in self.writes[at] if v in counted)
        over = self.over[index]
        free = over is not None and over not in later
        return live - (self.sizes[own[0]] if free else 0)

    def steps(self, graph: Graph) -> Steps:
        """Return the calls as steps, with the edges of their nodes."""
        position = {call.node: index for index, call in enumerate(self.calls)}
        before = [
            dict.fromkeys(position[node] for node in graph.pred[call.node] if node in position) for call in self.calls
        ]
        for index, sources in _sources_of_sizes(self.calls, graph).items():
            before[index].update(dict.fromkeys(sources))
        effects = [index for index, call in enumerate(self.calls) if call.op.has_effects(call.attributes)]
        for first, second in pairwise(effects):
            before[second][first] = None
        readers: list[dict[int, None]] = [{} for _ in self.sizes]
        for index, reads in enumerate(self.reads):
            for value in reads:
                readers[value][index] = None
        return Steps(
            tuple(map(tuple, before)),
            tuple(tuple(dict.fromkeys(reads)) for reads in self.reads),
            tuple(map(tuple, self.writes)),
            tuple(() if over is None else (over,) for over in self.over),
            tuple(
                Value(size, tuple(each), value in self.kept)
                for value, (size, each) in enumerate(zip(self.sizes, readers, strict=True))
            ),
            (),
        )
