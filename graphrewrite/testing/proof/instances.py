"""Graphs that contain a pattern: the generator's, and each of them with other formats and attributes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from graphrewrite.graph import Graph, Operand, Value
from graphrewrite.op.op import Op
from graphrewrite.pattern import Pattern
from graphrewrite.testing.generation.builder import Builder
from graphrewrite.testing.generation.demand import Pick, T, Unfit
from graphrewrite.testing.generation.tables import SIZES
from graphrewrite.testing.proof.enumeration import drawn, enumerated, spread
from graphrewrite.text import to_text
from graphrewrite.types import Element, FixedPoint, Quantised, Stream, Tensor, Type, element_dtype, integer_limits

__all__ = ["FORMATS", "Instances", "varied"]

FORMATS = tuple(
    FixedPoint(*f)
    for f in (
        *((True, 8, 4), (False, 4, 0), (True, 5, -1), (False, 3, 5), (True, 1, 0), (False, 1, 1), (True, 2, 1)),
        *((False, 8, 8), (True, 16, 8), (True, 24, 6), (False, 31, 0), (True, 32, 16), (True, 48, 24), (True, 63, 0)),
    )
)
"""Formats that inputs and attributes may have: with a sign and without, of one bit and of many, with a binary point
inside, to the left and to the right."""
INTEGERS = ("i8", "u8", "i4", "u4", "i16", "i32", "u32", "i64", "u64")
_INTEGERS = (0, 1, -1, 2, 3, 4, 5, 7, 8, -2, 16)
_WHOLE = ("i8", "i32", "u8", "i64")
"""Instead of floats: most ops compute with whole numbers as well."""
_LONGER = 2
_VARIANTS, _TURN = 8, 3
"""So many variants are tried of a graph that was good; every third graph is one, as long as there are any."""
_SHARES = (1, 2, 5)
"""Of attributes and formats that are drawn, one in so many is not the simplest."""
_PLACES = 6
"""Tuples of at most so many entries are permuted."""


class Instances(Iterator[Graph]):
    """Different graphs that contain a pattern, the simplest first.

    Where all sizes are 1, nothing moves and nothing is mixed up; where they are not, the counterexample is larger: so
    both are made in turns. Many rules have guards that few graphs pass: what has passed is varied.

    Parameters
    ----------
    pattern : Pattern
        Of a rule.
    runs : int
        How many graphs are made at most, equal ones and failures included.

    Examples
    --------
    >>> from graphrewrite.rules import drop_requantise
    >>> found = Instances(drop_requantise.pattern, 50)
    >>> first = next(found)
    >>> found.vary(first)
    >>> len({*found}) > 10
    True
    """

    def __init__(self, pattern: Pattern, runs: int) -> None:
        def maker(sizes: Callable[[Pick], Pick], variety: Callable[[Pick], Pick]) -> Callable[[Pick], Graph]:
            def make(pick: Pick) -> Graph:
                builder = Builder(sizes(_whole_first(pick)), ())
                return varied(builder.finish(builder.instance(pattern)), variety(pick))

            return make

        self._left, each = runs, runs // 3
        self._seen: set[str] = set()
        self._sources = deque(enumerated(maker(sizes, _all), each) for sizes in (_all, _longer_first))
        self._sources += (spread(maker(sizes, _all), each) for sizes in (_longer, _all))
        self._sources += (drawn(maker(sizes, _partly), each) for sizes in (_longer, _all))
        self._is_variant = False
        self._variants: deque[Iterator[Graph]] = deque()

    def __next__(self) -> Graph:
        while self._left:
            self._left -= 1
            sources = self._variants if self._variants and not self._left % _TURN else self._sources
            if not sources:
                break
            source = sources.popleft()
            graph = next(source, None)
            if graph is not None:
                sources.append(source)
                self._is_variant = sources is self._variants
                text = to_text(graph, whole=True)
                if text not in self._seen:
                    self._seen.add(text)
                    return graph
        raise StopIteration

    def vary(self, graph: Graph) -> None:
        """Make more graphs like the last one, others in a format or in attributes; a variant is not varied again."""
        if not self._is_variant:
            self._variants.append(drawn(lambda pick: varied(graph, _partly(pick)), _VARIANTS))


def _all(pick: Pick) -> Pick:
    return pick


def _partly(pick: Pick) -> Pick:
    """What is drawn wholly at random seldom fits together: some of the choices are left at the simplest."""
    share = pick(_SHARES)

    def choose(options: Sequence[T], /) -> T:
        return pick(options) if len(options) > 1 and not pick(range(share)) else options[0]

    return choose


def _are_sizes(options: Sequence[Any]) -> bool:
    return {*SIZES} <= {o for o in options if type(o) is int} and len(options) <= len(SIZES) + 1


def _longer_first(pick: Pick) -> Pick:
    """Where sizes are to be chosen, 2 is the simplest."""

    def choose(options: Sequence[T], /) -> T:
        return pick(sorted(options, key=lambda o: o != _LONGER) if _are_sizes(options) else options)

    return choose


def _longer(pick: Pick) -> Pick:
    """All sizes are 2: whatever is exchanged then has the same type, and other values."""

    def choose(options: Sequence[T], /) -> T:
        return pick([o for o in options if o == _LONGER][:1] if _are_sizes(options) else options)

    return choose


def _whole_first(pick: Pick) -> Pick:
    """Where kinds of results are to be chosen, those of whole numbers come first."""

    def choose(options: Sequence[T], /) -> T:
        if len(options) > 1 and all(isinstance(o, tuple) and len(o) == 2 and _is_element(o[0]) for o in options):
            options = sorted(dict.fromkeys(options), key=lambda o: _is_float(o[0]))  # type: ignore[index]
        return pick(options)

    return choose


def _is_element(value: Any) -> bool:
    return isinstance(value, FixedPoint | Quantised) or (isinstance(value, str) and _named(value))


def _named(name: str) -> bool:
    return name in ("bool", "bf16", "f16", "f32", "f64", *INTEGERS, "u16")


def _is_float(element: Any) -> bool:
    return isinstance(element, str) and element != "bool" and integer_limits(element) is None


def varied(graph: Graph, pick: Pick) -> Graph:
    """Return a graph with other element types and attributes; all else is inferred anew.

    Parameters
    ----------
    graph : Graph
        Well typed.
    pick : Pick
        Makes each choice, of which the first changes nothing.

    Returns
    -------
    Graph

    Raises
    ------
    Unfit
        If the choices do not fit each other.
    """
    kinds = dict.fromkeys(_elements(graph))
    change = {element: pick((element, *_others(element))) for element in kinds}
    made = Graph(graph.name, ops=graph.ops.values())
    values: dict[Operand, Value] = {}
    try:
        for node in graph.in_order():
            for index, value in enumerate(_rebuilt(graph, node, made, values, change, pick)):
                values[Operand(node, index)] = value
    except Exception as error:  # an op's own inference, asked about what it may not foresee
        raise Unfit(str(error)) from error
    return made


def _elements(graph: Graph) -> Iterator[Element]:
    for node in graph.in_order():
        if graph.nodes[node]["type"] in ("input", "constant"):
            yield graph.result_type(node).element


def _others(element: Element) -> tuple[Element, ...]:
    if isinstance(element, FixedPoint):
        return tuple(f for f in FORMATS if f != element)
    if isinstance(element, str) and element in INTEGERS:
        return tuple(name for name in INTEGERS if name != element)
    return _WHOLE if _is_float(element) else ()


def _rebuilt(
    graph: Graph, node: str, made: Graph, values: dict[Operand, Value], change: dict[Element, Element], pick: Pick
) -> Sequence[Value]:
    data = graph.nodes[node]
    kind = data["type"]
    if kind == "input":
        return (made.input(node, _with_element(graph.result_type(node), change)),)
    if kind == "constant":
        type_ = _with_element(graph.result_type(node), change)
        return (made.constant(_fitting(np.asarray(data["value"]), type_), name=node, type=type_),)
    operands = [values[o] for o in graph.operands(node)]
    if kind == "output":
        made.output(node, *operands)
        return ()
    given = graph.attributes(node)
    old = [graph.result_type(*o) for o in graph.operands(node)]
    attributes = {}
    for name, value in given.items():
        same = _followed(name, value, old, [v.type for v in operands], change)
        attributes[name] = pick((same, *_alternatives(graph.op(node), name, same, operands)))
    found = made.add(graph.op(node), operands, attributes, name=node)
    return found if isinstance(found, tuple) else (found,)


def _with_element(kind: Type, change: dict[Element, Element]) -> Type:
    element = change.get(kind.element, kind.element)
    if isinstance(kind, Stream):
        return Stream(element, kind.shape)  # type: ignore[arg-type]  # a fixed-point format becomes another one
    return Tensor(element, kind.shape, kind.layout)


def _fitting(array: np.ndarray, kind: Type) -> np.ndarray:
    """The same constant in another element type, limited to what that holds."""
    element = kind.element
    if isinstance(element, FixedPoint):
        array = np.clip(array.astype(object), element.minimum, element.maximum)
    elif isinstance(element, str) and (limits := integer_limits(element)) is not None:
        array = np.clip(array.astype(object), *limits)
    return array.astype(element_dtype(element))


def _followed(name: str, value: Any, old: list[Type], new: list[Type], change: dict[Element, Element]) -> Any:
    """An attribute that repeats something of an operand's type repeats it of the new one."""
    for before, after in zip(old, new, strict=True):
        if name == "fraction" and isinstance(before.element, FixedPoint) and value == before.element.fraction:
            return after.element.fraction  # type: ignore[union-attr]  # a fixed-point format becomes another one
    return change.get(value, value) if isinstance(value, FixedPoint | str) else value


def _alternatives(op: Op, name: str, value: Any, operands: Sequence[Value]) -> list[Any]:
    found: list[Any] = []
    if isinstance(value, bool):
        found = [not value]
    elif isinstance(value, FixedPoint):
        found = list(FORMATS)
    elif name in ("low", "high"):
        found = [None, *_INTEGERS, *_limits(operands), *_fractions(op, name)]
    elif isinstance(value, int):
        found = [value + 1, value - 1, *_INTEGERS]
    elif isinstance(value, float):
        found = [0.0, 1.0, -1.0, 0.5]
    elif isinstance(value, str) and _named(value):
        found = ["f32", "f64", *INTEGERS]
    elif isinstance(value, tuple) and value and all(type(entry) is int for entry in value):
        found = [(*value[:i], entry + by, *value[i + 1 :]) for i, entry in enumerate(value) for by in (1, -1)]
        if len(value) <= _PLACES and len(set(value)) == len(value):
            found += permutations(value)
    return [other for other in dict.fromkeys(found) if other != value or type(other) is not type(value)]


def _limits(operands: Sequence[Value]) -> list[int]:
    elements = [v.type.element for v in operands]
    return [n for e in elements if isinstance(e, FixedPoint) for n in (e.minimum, e.maximum, e.maximum + 1)]


def _fractions(op: Op, name: str) -> tuple[float, ...]:
    """Numbers between whole ones, where the op says that it takes them."""
    return (0.5, 1.75) if "float" in str(op.function.__annotations__.get(name)) else ()
