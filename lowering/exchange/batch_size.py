"""Generalise a graph from its exported batch size to any."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from graphrewrite import Graph, GraphRewriteError, Tensor
from graphrewrite.errors import TypeMismatchError
from graphrewrite.lowering.exchange.size_agreement import put_in
from graphrewrite.op.generic_op import Generic
from graphrewrite.op.reserved_keys import attributes_in
from graphrewrite.types import Size, Type, substitute, symbols

__all__ = ["free_batch"]

_MOST_TRIALS = 64
"""Most ways that are tried to say which sizes of reshapes have the batch as a factor."""


def free_batch(graph: Graph, batch: str = "N") -> None:
    r"""Generalise a graph, in place, to any batch size: the first size of its first input, by name wherever it occurs.

    A size that has a name already gets another one. A number becomes a name in all inputs that begin with it, and from
    there on by inference; sizes of reshapes that have it as a factor are generalised. The graph stays as it is where
    that contradicts itself, so that the model works for its own batch only, or where another size has the name.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[1,2,3]\nf = flatten(x)\ny = output(f)")
    >>> free_batch(g)
    >>> print(g)
    graph g
    x = input() : f32[N,2,3]
    f = flatten(x) : f32[N,6]
    y = output(f)
    """
    inputs = graph.inputs
    shapes = [graph.result_type(name).shape for name in inputs]
    size = next((shape[0] for shape in shapes if shape), None)
    if size is None or batch in {name for shape in shapes for size in shape for name in symbols(size)}:
        return
    if isinstance(size, int):
        for node, data in _freed(graph, inputs, size, Size(batch)).items():
            graph.nodes[node].update(data)
    elif symbols(size) == (size,):
        put_in(graph, {str(size): Size(batch)})


def _freed(graph: Graph, inputs: Sequence[str], number: int, batch: Size) -> dict[str, dict[str, Any]]:
    """Return what changes where a number is generalised; the choices that factors of reshapes leave are tried in turn.

    That is the new data of the nodes that do not stay as they are.
    """
    trial = _Trial(graph, number, batch, ())
    if trial.succeeds(inputs, _as_added(graph)):
        return trial.changed
    order = graph.in_order()  # which says which choice comes first, however the graph was made
    choices: list[int] = []
    for _ in range(_MOST_TRIALS):
        trial = _Trial(graph, number, batch, choices)
        if trial.succeeds(inputs, order):
            return trial.changed
        choices = [chosen for chosen, _ in trial.chosen]
        while choices and choices[-1] + 1 >= trial.chosen[len(choices) - 1][1]:
            choices.pop()
        if not choices:
            break
        choices[-1] += 1
    return {}


def _as_added(graph: Graph) -> Sequence[str]:
    """Return the nodes as they were added, if operands come first, as in a model; else in order."""
    added: set[str] = set()
    for node, sources in graph._pred.items():
        if not added.issuperset(sources):
            return graph.in_order()
        added.add(node)
    return list(graph)


class _Trial:
    """One way to generalise: a choice for each reshape that leaves one. The graph stays as it is."""

    def __init__(self, graph: Graph, number: int, batch: Size, choices: Sequence[int]) -> None:
        self.graph, self.number, self.batch, self.choices = graph, number, batch, choices
        self.changed: dict[str, dict[str, Any]] = {}
        """What the data of nodes becomes: new results, and attributes."""
        self.results: dict[str, tuple[Type, ...]] = {}
        """The new results alone."""
        self.chosen: list[tuple[int, int]] = []
        """The choices made, each with the number of possible ones."""
        self.agreed: dict[tuple[Any, Any], bool] = {}

    def succeeds(self, inputs: Sequence[str], order: Sequence[str]) -> bool:
        """Generalise all nodes, in order; tell whether all of them are right, and at the old number as they were."""
        graph, changed = self.graph, self.changed
        try:
            for name in inputs:
                kind = graph.result_type(name)
                if (general := self.with_batch(kind)) is not kind:
                    changed[name], self.results[name] = {"result": general}, (general,)
            for node in order:
                if not changed.keys().isdisjoint(graph._pred[node]) and graph._node[node]["type"] != "output":
                    self.infer_again(node)
        except (GraphRewriteError, ValueError):
            return False
        return True

    def infer_again(self, node: str) -> None:
        """Infer the types of a node; attributes that were computed from the exported batch are generalised."""
        before, types = [], []
        for source, result in self.graph.operands(node):
            kind = self.graph.result_type(source, result)
            before.append(kind)
            types.append(self.results[source][result] if source in self.results else kind)
        if types == before:
            return
        data = self.graph._node[node]
        op, old = self.graph.op(node), _results(data["result"])
        general: dict[str, Any] = {}
        if isinstance(op, Generic):
            results = tuple(self.with_batch(kind) if before[0].shape[:1] == (self.number,) else kind for kind in old)
        else:
            general = self.general(data, before[0].shape, types[0].shape, old[0].shape)
            results = op.result_types(tuple(types), attributes_in({**data, **general} if general else data, op))
            if data["type"] in ("expand", "reshape"):
                general["shape"] = results[0].shape  # as the import says it where a size is symbolic
        if not all(map(self.agree, results, old)) or len(results) != len(old):
            raise TypeMismatchError("it differs at the exported batch size", node=node)
        self.results[node] = results
        self.changed[node] = {**general, "result": results[0] if len(results) == 1 else results}

    def agree(self, new: Type, old: Type) -> bool:
        """Tell whether a shape is an old one at the exported batch size; most come up again and again."""
        pair = new.shape, old.shape
        if pair not in self.agreed:
            self.agreed[pair] = tuple(map(self.at_number, new.shape)) == old.shape
        return self.agreed[pair]

    def at_number(self, size: int | str) -> int | str:
        """Return a size at the exported batch size."""
        if isinstance(size, int):
            return size
        return self.number if size == self.batch else substitute(size, {str(self.batch): self.number})

    def with_batch(self, kind: Type) -> Type:
        """Return the declared type of a result with a symbolic batch, if its first size was the exported one."""
        if isinstance(kind, Tensor) and kind.shape[:1] == (self.number,):
            return Tensor(kind.element, (self.batch, *kind.shape[1:]), kind.layout)
        return kind

    def general(
        self, data: dict[str, Any], before: Sequence[Any], now: Sequence[Any], result: Sequence[Any]
    ) -> dict[str, Any]:
        """Return attributes that generalise those of the exported batch size."""
        kind = data["type"]
        if kind == "reshape":
            options = list(dict.fromkeys(self.reshaped(before, now, result)))
            at = len(self.chosen)
            choice = self.choices[at] if at < len(self.choices) else 0
            self.chosen.append((choice, len(options)))
            return {"shape": options[choice]} if options else {}
        if kind == "expand" and now[:1] == (self.batch,) and len(before) == len(result):
            return {"shape": (self.batch, *result[1:])}
        if kind == "resize" and data.get("sizes") and len(data["sizes"]) == len(now) and now[0] == self.batch:
            return {"sizes": (self.batch, *data["sizes"][1:])}
        if kind == "flatten" and data.get("axis", 1) == 0 and self.number == 1 and now[0] == self.batch:
            return {"axis": 1}  # with a batch of one, the frame is all there is to flatten
        return {}

    def reshaped(self, before: Sequence[Any], now: Sequence[Any], result: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """Yield shapes with the batch as a factor of one size, the most plausible first.

        Entries stay in their order: the size that gets the factor begins or ends within the axis that has it.
        """
        if not all(isinstance(size, int) for size in (*before, *result)):
            return
        (at,) = (axis for axis, (old, new) in enumerate(zip(before, now, strict=True)) if old != new)
        start, own = math.prod(before[:at]), before[at]
        found = []
        for axis, size in enumerate(result):
            first = math.prod(result[:axis])
            # Where either is 1 it is between two others: what begins or ends there may have the batch as a factor.
            meets = first <= start * own and start <= first * size
            overlaps = first < start * own and start < first * size
            if size % self.number == 0 and (overlaps if own > 1 and size > 1 else meets):
                same = first == start and size == own
                found.append((size != self.number, not same, first != start, axis))
        for *_, axis in sorted(found):
            yield (*result[:axis], result[axis] // self.number * self.batch, *result[axis + 1 :])


def _results(kind: Type | tuple[Type, ...]) -> tuple[Type, ...]:
    return kind if isinstance(kind, tuple) else (kind,)
