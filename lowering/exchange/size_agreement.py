"""Sizes that must be one: names that a model gives to what its ops take as equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from graphrewrite import Graph, Tensor
from graphrewrite.errors import TypeMismatchError
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.declared_sizes import DeclaredSizes
from graphrewrite.lowering.exchange.static_values import StaticValues
from graphrewrite.lowering.exchange.symbols import Symbol
from graphrewrite.types import Size, Type, as_size, evaluate_size, substitute, symbols
from graphrewrite.types.tensor import MOST_AXES

__all__ = ["SizeUnifier", "agreements", "linear", "put_in"]

_MOST_SYMBOLS = 3
"""Most symbols that the operands of one node can show to be other sizes."""
_MOST_TRIALS = 64
_PRIMES = (1013, 1019, 1021, 1031, 1033, 1039, 1049, 1051, 1061, 1063, 1069, 1087)
"""Numbers that open sizes could be."""
_DIVISIBLE = tuple(720720 * prime for prime in _PRIMES)
"""Those of which reshapes make all other sizes."""

_PROBES = (2, 3, 10, 1001)
"""Values at which a size of one symbol is shown to be linear."""


class SizeUnifier:
    """Search for sizes that are one because a node is right only then.

    Parameters
    ----------
    graph : Graph
        The graph that is built.
    declared : DeclaredSizes
        What the names in the model mean.
    known : StaticValues
        Values that follow from sizes.
    keeps_names : bool
        Whether sizes with a name, unlike ``?1``, are what they are.
    """

    def __init__(
        self, graph: Graph, declared: DeclaredSizes, known: StaticValues, *, keeps_names: bool = False
    ) -> None:
        self.graph, self.declared, self.known, self.keeps_names = graph, declared, known, keeps_names
        self.trials = 0

    def reached(self, operands: Sequence[Value | None], build: Callable[[], Any]) -> Any:
        """Build nodes that read operands; symbols become what they must be for the sizes to agree.

        Raises
        ------
        TypeMismatchError
            If nothing that one, two or three symbols can be makes the operands right.
        """
        count = len(self.graph)
        try:
            return build()
        except TypeMismatchError:
            self.forget(count)
            values = [value for value in operands if value is not None]
            # Sizes that agree as they are, or would if they were multiples of something, are not confused ones.
            if self.is_right_for(values, build, _PRIMES):
                raise
            everywhere = not self.is_right_for(values, build, _DIVISIBLE)
            self.trials = _MOST_TRIALS
            for most in range(1, _MOST_SYMBOLS + 1):
                if found := self.search(values, build, most, everywhere):
                    return found[0]
            raise

    def is_right_for(self, operands: Sequence[Value], build: Callable[[], Any], numbers: Sequence[int]) -> bool:
        """Tell whether different numbers in place of the symbols make the operands right."""
        names = sorted({name for shape in self.shapes(operands) for size in shape for name in symbols(size)})
        undo = self.put(dict(zip(names, numbers, strict=False)))
        count = len(self.graph)
        try:
            build()
        except Exception:  # whatever it is, it will be raised again
            return False
        finally:
            self.forget(count)
            undo()
        return bool(names)

    def search(
        self, operands: Sequence[Value], build: Callable[[], Any], most: int, everywhere: bool
    ) -> tuple[Any, ...]:
        """Build with one symbol replaced, or several; return the result, or nothing."""
        count = len(self.graph)
        for values in agreements(self.shapes(operands), everywhere=everywhere):
            if not self.trials:
                break
            if self.keeps_names and not all(name.startswith("?") for name in values):
                continue
            self.trials -= 1
            undo = self.put(values)
            try:
                return (build(),)
            except TypeMismatchError:
                self.forget(count)
                if most > 1 and (found := self.search(operands, build, most - 1, everywhere)):
                    return found
            undo()
        return ()

    def put(self, values: Mapping[str, int | Size]) -> Callable[[], None]:
        """Put sizes in place of symbols; return what takes them back."""
        before, named = put_in(self.graph, values), self.declared.named
        self.declared.named = {name: substitute(size, values) for name, size in named.items()}
        self.known.computed.clear()

        def undo() -> None:
            for node, data in before.items():
                self.graph.nodes[node].update(data)
            self.declared.named = named
            self.known.computed.clear()

        return undo

    def forget(self, count: int) -> None:
        """Remove all nodes but the first ones, so many."""
        self.graph.remove_nodes_from(list(self.graph)[count:])

    def shapes(self, operands: Sequence[Value]) -> list[tuple[int | str, ...]]:
        """Return the shapes of operands, and the sizes that they hold themselves."""
        shapes: list[tuple[int | str, ...]] = [value.type.shape for value in operands]
        for value in operands:
            array = self.known.array(value)
            if array is not None and array.ndim == 1 and array.size <= MOST_AXES and array.dtype.kind in "Oi":
                shapes.append(tuple(e.size if isinstance(e, Symbol) else int(e) for e in array))
        return shapes


def agreements(shapes: Sequence[Sequence[int | str]], *, everywhere: bool = True) -> Iterator[dict[str, int | Size]]:
    """Yield what one symbol can be so that two sizes of some shapes agree, the most plausible first.

    Axes that broadcasting would align come first, then those at the same place from the front, then all other sizes and
    the symbols in them; a size of 1, which broadcasts, comes last.

    Examples
    --------
    >>> list(agreements([("N", "?1"), (768, 10)]))[:2]
    [{'?1': 10}, {'N': 768}]
    """
    pairs: list[tuple[int | str, int | str]] = []
    for one, other in _pairs(shapes):
        pairs += zip(reversed(one), reversed(other), strict=False)
    for one, other in _pairs(shapes):
        pairs += zip(one, other, strict=False)
    if everywhere:
        sizes = [size for shape in shapes for size in shape]
        pairs += _pairs(list(dict.fromkeys((*sizes, *(name for size in sizes for name in symbols(size))))))
    found: dict[tuple[str, int | str], dict[str, int | Size]] = {}
    for one, other in pairs:
        for name, size in _solved(one, other).items():
            found.setdefault((name, size), {name: size})
    yield from sorted(found.values(), key=lambda solution: 1 in solution.values())


def _pairs(items: Sequence[Any]) -> list[tuple[Any, Any]]:
    return [(items[i], items[j]) for i in range(len(items)) for j in range(i + 1, len(items))]


def _solved(one: int | str, other: int | str) -> dict[str, int | Size]:
    """What one symbol must be so that two sizes are equal; empty if that is not found out."""
    # Of two symbols the one that has no name goes, else the second one.
    for size, wanted in sorted(((other, one), (one, other)), key=lambda pair: not str(pair[0]).startswith("?")):
        if not isinstance(size, str) or size == wanted:
            continue
        inside = symbols(size)
        if inside == (size,) and size not in symbols(wanted):
            return {str(size): as_size(wanted)} if not isinstance(wanted, int) or wanted >= 0 else {}
        form = linear(size)
        if form is not None and isinstance(wanted, int):
            name, step, offset = form
            found, rest = divmod(wanted - offset, step)
            if rest == 0 and found >= 0:
                return {name: found}
    return {}


def linear(size: str) -> tuple[str, int, int] | None:
    """Return name, step and offset of a size that is a multiple of its only symbol, plus a number.

    Examples
    --------
    >>> linear("2*seq + 1"), linear("seq//2")
    (('seq', 2, 1), None)
    """
    if len(symbols(size)) != 1:
        return None
    (name,) = symbols(size)
    offset, next_ = (evaluate_size(size, {name: value}) for value in (0, 1))
    step = next_ - offset
    is_linear = all(evaluate_size(size, {name: n}) == offset + step * n for n in _PROBES)
    return (name, step, offset) if step and is_linear else None


def put_in(graph: Graph, values: Mapping[str, int | Size]) -> dict[str, dict[str, Any]]:
    """Put sizes in place of symbols everywhere in a graph; return the data that its changed nodes had."""
    before = {}
    for node, data in graph.nodes(data=True):
        changed = {key: new for key, value in data.items() if (new := _with(value, values)) is not value}
        if changed:
            before[node] = dict(data)
            data.update(changed)
    return before


def _with(value: Any, values: Mapping[str, int | Size]) -> Any:
    """An attribute's value, or a type, with sizes in place of symbols; the very value where nothing changes."""
    if isinstance(value, Size):
        return substitute(value, values) if any(name in values for name in symbols(value)) else value
    if isinstance(value, Graph):  # the body of a loop reads sizes around it
        body = value.copy()
        return body.as_body() if put_in(body, values) else value
    if isinstance(value, Tensor):
        shape = _with(value.shape, values)
        return value if shape is value.shape else Tensor(value.element, shape, value.layout)
    if isinstance(value, tuple) and any(isinstance(v, Size | Type | tuple) for v in value):
        new = tuple(_with(v, values) for v in value)
        return value if all(a is b for a, b in zip_longest(new, value)) else new
    return value
