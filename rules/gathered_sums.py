"""Sums of many parts: of values between zeros that lie side by side, and of products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from graphrewrite import Graph, op, pass_
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import inherit, remove, rewire
from graphrewrite.types import Tensor

__all__ = ["gather_sums"]


@pass_(keeps="rounding")
def gather_sums(graph: Graph) -> list[str]:
    """Write sums of values between zeros as concatenations, and sums of products of transposed matrices as one.

    Gradients are such sums: those of what is cut into slices, and of a matrix that is read at each step.
    """
    removed: list[str] = []
    for of_products in (False, True):  # the products of all steps read what lies side by side
        for root in graph.in_order():
            if _is_sum(graph, root) and not _is_within_sum(graph, root):
                removed += _Sum(graph, root, of_products).written()
    return removed


class _Sum:
    """The terms of a sum, and the nodes that go where it is written anew."""

    def __init__(self, graph: Graph, root: str, of_products: bool) -> None:
        self.graph, self.root, self.of_products = graph, root, of_products
        self.others: list[Operand] = []
        self.products: list[Operand] = []
        self.rows: list[_Row] = []
        self.inner = [root]
        self._read()

    def _read(self) -> None:
        """Sort the operands of the addition, and of those within it."""
        terms = [*reversed(self.graph.operands(self.root))]
        while terms:
            term = terms.pop()
            kind = self.graph.nodes[term.node]["type"] if _is_alone(self.graph, term.node, self.root) else ""
            if kind == "add":
                self.inner.append(term.node)
                terms += reversed(self.graph.operands(term.node))
            elif kind == "matmul" and self.of_products and _is_of_turned(self.graph, term.node):
                self.products.append(term)
            elif kind != "pad" or self.of_products or not self._takes(term):
                self.others.append(term)

    def _takes(self, term: Operand) -> bool:
        """Put a value between zeros into a row that has room there; tell whether it is one."""
        place = _place(self.graph, term.node)
        if place is None:
            return False
        axis, start, end = place
        row = next((each for each in self.rows if each.has_room(axis, start, end)), None)
        if row is None:
            row = _Row(axis)
            self.rows.append(row)
        row.parts.append((start, end, term))
        return True

    def written(self) -> list[str]:
        """Write the sum in few terms; return the nodes that went, none if there would be as many terms."""
        gathered: list[Any] = []
        gone: list[str] = []
        for row in self.rows:
            if len(row.parts) > 1:
                gathered.append(self._side_by_side(row))
                gone += [term.node for _, _, term in row.parts]
            else:
                self.others.append(row.parts[0][2])
        if len(self.products) > 1:
            gathered.append(self._product())
            gone += [term.node for term in self.products]
            gone += [self.graph.operands(term.node)[0].node for term in self.products]
        else:
            self.others += self.products
        if not gathered:
            return []
        terms = [*(self.graph.value(*term) for term in self.others), *gathered]
        total = terms[0]
        for term in terms[1:]:
            total = self._made(op.add, total, term)
        inherit(self.graph, total.node, self.root)
        rewire(self.graph, self.root, Operand(total.node))
        return remove(self.graph, [*self.inner, *gone])[0]

    def _made(self, kind: Any, *operands: Any, **attributes: Any) -> Any:
        return self.graph.add(kind, operands, attributes, origin=self.graph.origin(self.root))

    def _side_by_side(self, row: _Row) -> Any:
        """The values of a row, with zeros where it has none."""
        kind = self.graph.result_type(self.root)
        shape, at, pieces = list(kind.shape), 0, []
        for start, end, term in [*sorted(row.parts, key=lambda part: part[0]), (shape[row.axis], 0, None)]:
            if start > at:
                shape[row.axis] = start - at
                pieces.append(self._made(op.constant_of_shape, shape=tuple(shape), element=kind.element))
            if term is not None:
                pieces.append(self.graph.value(*self.graph.operands(term.node)[0]))
            at = end
        return self._made(op.concat, *pieces, axis=row.axis)

    def _product(self) -> Any:
        """One product of all rows, of which each product has some."""
        left, right = map(list, zip(*(self.graph.operands(term.node) for term in self.products), strict=True))
        left = [self.graph.operands(turned.node)[0] for turned in left]
        whole = self._whole(right)
        if whole is not None:  # in its order, so that nothing has to be copied
            pairs = sorted(zip(left, right, strict=True), key=lambda pair: whole[1].index(pair[1]))
            left, right = map(list, zip(*pairs, strict=True))
        return self._made(op.matmul, self._made(op.transpose, self._below(left), perm=(1, 0)), self._below(right))

    def _below(self, rows: Sequence[Operand]) -> Any:
        """The rows of several matrices below each other: what others have put there already, if it is so."""
        whole = self._whole(rows)
        if whole is not None:
            first = whole[1].index(rows[0])
            if whole[1][first : first + len(rows)] == list(rows):
                part = self.graph.value(whole[0])
                if len(rows) < len(whole[1]):
                    part = self._made(op.slice, part, starts=(first,), ends=(first + len(rows),), axes=(0,))
                return self._made(op.flatten, part, axis=2)
        return self._made(op.concat, *(self.graph.value(*each) for each in rows), axis=0)

    def _whole(self, rows: Sequence[Operand]) -> tuple[str, list[Operand | None]] | None:
        """A concatenation that has all of several matrices, each once, on an axis of their own; and what it has."""
        for reader in self.graph.successors(rows[0].node):
            for joined in self.graph.successors(reader):
                if self.graph.nodes[joined]["type"] != "concat" or self.graph.attributes(joined)["axis"] != 0:
                    continue
                parts = [_within_unit_axis(self.graph, each) for each in self.graph.operands(joined)]
                if all(parts.count(row) == 1 for row in rows) and self.root not in self.graph.upstream(joined):
                    return joined, parts
        return None


@dataclass
class _Row:
    """Values that lie beside each other along an axis: from where to where each, and the node that puts it there."""

    axis: int
    parts: list[tuple[int, int, Operand]] = field(default_factory=list)

    def has_room(self, axis: int, start: int, end: int) -> bool:
        """Tell whether nothing lies there."""
        return axis == self.axis and all(end <= first or last <= start for first, last, _ in self.parts)


def _is_sum(graph: Graph, node: str) -> bool:
    """Tell whether a node adds floats whose axes have no names."""
    if node not in graph or graph.nodes[node]["type"] != "add":
        return False
    kind = graph.result_type(node)
    return isinstance(kind, Tensor) and kind.element in ("f32", "f64") and kind.layout is None


def _is_within_sum(graph: Graph, node: str) -> bool:
    readers = list(graph.succ[node])
    return len(readers) == 1 and _is_sum(graph, readers[0]) and _is_alone(graph, node, readers[0])


def _is_alone(graph: Graph, node: str, root: str) -> bool:
    """Tell whether a node of the type of a sum has one reader, and nothing else orders it or depends on it."""
    readers = list(graph.succ[node].values())
    return (
        len(readers) == 1
        and not any("kind" in data for data in (*readers, *graph.pred[node].values()))
        and len(readers[0]["slots"]) == 1
        and graph.nodes[node].get("result") == graph.nodes[root]["result"]
    )


def _is_of_turned(graph: Graph, node: str) -> bool:
    """Tell whether a product is of matrices whose axes have no names, the first of which is transposed."""
    first, second = graph.operands(node)
    if graph.nodes[first.node]["type"] != "transpose" or tuple(graph.attributes(first.node)["perm"]) != (1, 0):
        return False
    kinds = [graph.result_type(*each) for each in (first, graph.operands(first.node)[0], second)]
    return all(isinstance(kind, Tensor) and len(kind.shape) == 2 and kind.layout is None for kind in kinds)


def _within_unit_axis(graph: Graph, value: Operand) -> Operand | None:
    """Return the matrix that another axis of size 1 is put before; None of other values."""
    if graph.nodes[value.node]["type"] not in ("reshape", "unsqueeze"):
        return None
    source = graph.operands(value.node)[0]
    shape = graph.result_type(*source).shape
    return source if len(shape) == 2 and graph.result_type(*value).shape == (1, *shape) else None


def _place(graph: Graph, node: str) -> tuple[int, int, int] | None:
    """Return the axis along which there are zeros around a value, where it begins there and where it ends."""
    attributes = graph.attributes(node)
    pads, size = attributes["pads"], graph.result_type(node).shape
    if attributes["mode"] != "constant" or attributes["fill"] != 0 or not all(isinstance(p, int) for p in pads):
        return None
    rank = len(size)
    axes = [axis for axis in range(rank) if pads[axis] or pads[rank + axis]]
    if len(axes) != 1 or min(pads) < 0 or not isinstance(size[axes[0]], int):
        return None
    return axes[0], pads[axes[0]], size[axes[0]] - pads[rank + axes[0]]
