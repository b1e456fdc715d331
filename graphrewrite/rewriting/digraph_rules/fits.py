"""Requirements of a pattern graph on the attributes of a node or an edge."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from graphrewrite.rewriting.pattern.condition import Where, same

__all__ = ["DataTest", "PredicateError", "in_words"]


class PredicateError(Exception):
    """A predicate of a rule raised; the rule turns it into an error that names the rule."""

    def __init__(self, place: Any, subject: str, error: Exception) -> None:
        super().__init__(place, subject, error)
        self.place, self.subject, self.error = place, subject, error


class DataTest:
    """Requirements on an attribute dictionary: equal, one of several, or a predicate.

    Parameters
    ----------
    required : mapping
        Attribute to value, set or range of values, or `Where`. What is absent may be anything.

    Examples
    --------
    >>> test = DataTest({"type": "conv", "kernel": {1, 3}})
    >>> test.failing({"type": "conv", "kernel": 3, "stride": 2}, "c") is None
    True
    >>> test.failing({"type": "conv"}, "c")
    'kernel'
    """

    __slots__ = ("required", "rest", "words")

    def __init__(self, required: Mapping[str, Any]) -> None:
        self.required = dict(required)
        # Words are compared first and fast: nearly every test is of a type.
        self.words = tuple((key, value) for key, value in required.items() if type(value) is str)
        self.rest = tuple((key, value) for key, value in required.items() if type(value) is not str)

    def failing(self, data: Mapping[str, Any], place: Any) -> str | None:
        """Return the first attribute that does not fit; None where all do."""
        for key, value in self.words:
            found = data.get(key)
            if found is not value and not (isinstance(found, str) and found == value):
                return key
        for key, value in self.rest:
            if key not in data or not _fits(value, data[key], key, place):
                return key
        return None


def _fits(required: Any, found: Any, key: str, place: Any) -> bool:
    if isinstance(required, Where):
        try:
            return bool(required.predicate(found))
        except Exception as error:
            raise PredicateError(place, f"the predicate on {key!r}", error) from error
    if isinstance(required, Set | range):
        try:
            if found in required:
                return True
        except (TypeError, ValueError):  # an array or a list: equal to a member, if at all, entry by entry
            pass
        return not isinstance(required, range) and any(same(member, found) for member in required)
    return same(required, found)


def in_words(required: Any) -> str:
    """Write a requirement the same way in every run.

    Examples
    --------
    >>> in_words({"mul", "add"}), in_words(range(2, 5)), in_words(3)
    ("{'add', 'mul'}", 'range(2, 5)', '3')
    """
    if isinstance(required, Set):
        return "{" + ", ".join(sorted(map(repr, required))) + "}"
    return repr(required)
