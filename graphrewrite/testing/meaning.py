"""Meaning of graphs that compute no values: a function of the user's, compared before and after."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any
from zlib import crc32

import networkx as nx
import numpy as np

from graphrewrite.errors import RuleError
from graphrewrite.graph import Graph
from graphrewrite.testing.failure.culprit import name_of
from graphrewrite.testing.failure.origin import Origin, origin_of

__all__ = ["Meaning", "NoMeaningError", "written"]

_SHOWN = 4
"""Members of a set that are shown."""
_LETTERS = 120
"""Letters of a value that are shown."""


class NoMeaningError(Exception):
    """A graph has no meaning."""


@dataclass(frozen=True)
class Meaning:
    """A function from a graph to anything that can be compared.

    Attributes
    ----------
    function : callable
        Takes a graph. Where it raises an error, or gives None before and after, the graph has no meaning.
    tolerance : float, optional
        Maximum difference of real numbers; by default they must be equal.

    Examples
    --------
    >>> reach = Meaning(lambda graph: {node: nx.descendants(graph, node) for node in graph})
    >>> reach.change(nx.DiGraph([("a", "b"), ("b", "c")]), nx.DiGraph([("a", "b"), ("a", "c")]))
    "the meaning['b'] lost 'c'"
    """

    function: Callable[[Any], Any]
    tolerance: float | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise RuleError(
                f"meaning is a function from a graph to what must stay as it is, not {type(self.function).__name__}"
            )
        try:
            inspect.signature(self.function).bind(None)
        except ValueError:  # some functions of C have no signature
            return
        except TypeError as error:
            raise RuleError(f"{self.name} cannot be called with a graph alone: {error}") from None

    @property
    def name(self) -> str:
        """The name of the function in sentences."""
        name = name_of(self.function)
        return name if name.isidentifier() else "the meaning"

    @property
    def origin(self) -> Origin:
        """Its import in a test."""
        found = origin_of(self.function)
        return found if self.name.isidentifier() else Origin("meaning", ("# meaning: import it here",))

    @property
    def claim(self) -> str:
        """The claim of a test that it stays as it is, as `graphrewrite.testing.failure.claims`."""
        name = self.origin.name
        return f"assert {name}({{made}}) == {name}(before)\n"

    def of(self, graph: Any) -> Any:
        """Return the meaning of a graph, which stays as it is."""
        return self.function(graph.copy())

    def change(self, before: Any, after: Any) -> str:
        """Return in words what of the meaning of a graph changed, as `compared`; empty if nothing did."""
        return self.compared(before, after)[1]

    def compared(self, before: Any, after: Any) -> tuple[str, str]:
        """Return the meaning of a graph before, as text, and in words what of it changed; empty if nothing did.

        Raises
        ------
        NoMeaningError
            If the graph before has no meaning.
        RuleError
            If meanings cannot be compared.
        """
        try:
            was = self.of(before)
        except Exception as error:  # it may raise anything
            raise NoMeaningError(f"{self.name} fails: {_message(error)}") from None
        try:
            became = self.of(after)
        except Exception as error:
            return written(was), f"{self.name} fails afterwards: {_message(error)}"
        if was is None and became is None:  # of a function that forgot to return anything, perhaps
            raise NoMeaningError(f"{self.name} gives None")
        change = self._difference(was, became)
        # What differs from itself, such as a generator, would refute every rule.
        if change and self._difference(was, self.of(before)):
            raise RuleError(
                f"{self.name} gives another {type(was).__name__} each time that it is called with the same graph; "
                "return what is compared by value, such as a set, a list or a dictionary"
            )
        return written(was), change

    def _difference(self, was: Any, became: Any) -> str:
        try:
            return next(_differences(self.name, was, became, self.tolerance), "")
        except Exception as error:
            raise RuleError(
                f"what {self.name} gives cannot be compared: {_message(error)}; return numbers, texts, arrays, or "
                "sets, lists and dictionaries of them"
            ) from None


def written(value: Any) -> str:
    """Return a meaning as text, the same for equal ones; of a long one the beginning, and a sum of it all.

    Examples
    --------
    >>> written({"b": {3, 1}, "a": np.eye(2)})
    "{'a': float64[[1.0, 0.0], [0.0, 1.0]], 'b': {1, 3}}"
    >>> written(list(range(999)))
    '[0, 1, 2, 3, 4, ...31, 3… #66506a27'
    """
    text = _text(value)
    return text if len(text) <= _LETTERS else f"{text[:_LETTERS]}… #{crc32(text.encode(errors='replace')):08x}"


def _text(value: Any) -> str:
    if isinstance(value, nx.Graph):
        return f"{_text(dict(value.nodes(data=True)))} with edges {_text(_edges(value))}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.tolist()}"
    if isinstance(value, Set):
        return f"{{{', '.join(sorted(map(_text, value)))}}}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(sorted(f'{_text(key)}: {_text(value[key])}' for key in value))}}}"
    if _is_row(value):
        return f"[{', '.join(map(_text, value))}]"
    return repr(value.item() if isinstance(value, np.generic) else value)


def _message(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _differences(what: str, was: Any, became: Any, bound: float | None) -> Iterator[str]:
    """Yield differences of two values in words, each with what it is a difference of."""
    if was is became:
        return
    within = partial(_differences, bound=bound)
    if isinstance(was, nx.Graph) and isinstance(became, nx.Graph) and type(was) is type(became):
        if isinstance(was, Graph) and was == became:
            return
        yield from within(f"the nodes of {what}", dict(was.nodes(data=True)), dict(became.nodes(data=True)))
        yield from within(f"the edges of {what}", _edges(was), _edges(became))
    elif isinstance(was, np.ndarray) and isinstance(became, np.ndarray):
        if was.shape != became.shape or was.dtype != became.dtype:
            yield f"{what} was {was.dtype}{list(was.shape)} and became {became.dtype}{list(became.shape)}"
        elif was.dtype == object:
            yield from within(what, was.tolist(), became.tolist())
        else:
            entries = np.ndindex(was.shape)
            yield from (each for at in entries for each in within(f"{what}{list(at) or ''}", was[at], became[at]))
    elif isinstance(was, Set) and isinstance(became, Set):
        yield from _moved(what, [x for x in was if x not in became], [x for x in became if x not in was])
    elif isinstance(was, Mapping) and isinstance(became, Mapping):
        yield from _moved(what, [x for x in was if x not in became], [x for x in became if x not in was])
        for key in was:
            yield from within(f"{what}[{key!r}]", was[key], became[key])
    elif _is_row(was) and _is_row(became) and type(was) is type(became):
        for index, (one, other) in enumerate(zip(was, became, strict=False)):
            yield from within(f"{what}[{index}]", one, other)
        if len(was) != len(became):
            yield f"{what} had {len(was)} entries and has {len(became)}"
    elif not _is_equal(was, became, bound):
        yield f"{what} was {_shown(was)} and became {_shown(became)}"


def _edges(graph: Any) -> dict[Any, Any]:
    edges = graph.edges(keys=True, data=True) if graph.is_multigraph() else graph.edges(data=True)
    return {tuple(ends) if graph.is_directed() else frozenset(ends): data for *ends, data in edges}


def _is_row(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _moved(what: str, lost: Collection[Any], gained: Collection[Any]) -> Iterator[str]:
    parts = [f"lost {_listed(lost)}"] if lost else []
    parts += [f"gained {_listed(gained)}"] if gained else []
    if parts:
        yield f"{what} {' and '.join(parts)}"


def _listed(values: Collection[Any]) -> str:
    """List values, the same way in every run."""
    texts = sorted(map(_shown, values), key=lambda text: (len(text), text))
    rest = len(texts) - _SHOWN
    return ", ".join(islice(texts, _SHOWN)) + (f" and {rest} more" if rest > 0 else "")


def _shown(value: Any) -> str:
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= _LETTERS else f"{text[:_LETTERS]}…"


def _is_equal(was: Any, became: Any, bound: float | None) -> bool:
    """Tell whether two values are equal, or near enough, or both no number."""
    if was == became:
        return True
    if not all(isinstance(value, int | float | np.number) for value in (was, became)):
        return False
    return (was != was and became != became) or (bound is not None and bool(abs(was - became) <= bound))
