"""Requirements of a pattern graph, and faults: nodes and edges that fail one, as data, and in words on demand."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set
from typing import Any

from graphrewrite.rewriting.pattern.condition import Where, same

__all__ = ["DataTest", "Fault", "PredicateError", "blamed_by", "in_context", "in_words", "reason_of"]

Fault = tuple[Any, ...]
"""The kind of fault, and its subject: a search meets thousands, and writes none of them out."""

_SHOWN = 4  # more nodes that fit are abbreviated


class PredicateError(Exception):
    """A predicate of a rule raised; the rule turns it into an error that names the rule."""

    def __init__(self, site: Any, subject: str, error: Exception) -> None:
        super().__init__(site, subject, error)
        self.site, self.subject, self.error = site, subject, error


class DataTest:
    """Requirements on an attribute dictionary: equal, one of several, or a predicate.

    Parameters
    ----------
    required : mapping
        Attribute to value, set or range of values, or `Where`. Attributes that are not named are free.

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
        # Strings are compared first and fast: nearly every test is of a type.
        self.words = tuple((key, value) for key, value in required.items() if type(value) is str)
        self.rest = tuple((key, value) for key, value in required.items() if type(value) is not str)

    def failing(self, data: Mapping[str, Any], site: Any) -> str | None:
        """Return the first attribute that does not fit; None where all do."""
        for key, value in self.words:
            actual = data.get(key)
            if actual is not value and not (isinstance(actual, str) and actual == value):
                return key
        for key, value in self.rest:
            if key not in data or not _fits(value, data[key], key, site):
                return key
        return None


def _fits(required: Any, actual: Any, key: str, site: Any) -> bool:
    if isinstance(required, Where):
        try:
            return bool(required.predicate(actual))
        except Exception as error:
            raise PredicateError(site, f"the predicate on {key!r}", error) from error
    if isinstance(required, Set | range):
        try:
            if actual in required:
                return True
        except (TypeError, ValueError):  # an array or a list: equal to a member, if at all, entry by entry
            pass
        return not isinstance(required, range) and any(same(member, actual) for member in required)
    return same(required, actual)


def in_words(required: Any) -> str:
    """Write a requirement the same way in every run.

    Examples
    --------
    >>> in_words({"mul", "add"}), in_words(range(2, 5)), in_words(3)
    ("{'add', 'mul'}", 'range(2, 5)', '3')
    """
    return "{" + ", ".join(sorted(map(repr, required))) + "}" if isinstance(required, Set) else repr(required)


# ---------------------------------------------------------------------- faults in words


def in_context(images: Mapping[Hashable, Any], reason: str) -> str:
    """Write a reason after the nodes that fit, without a full stop."""
    if len(images) < 2:
        return reason
    shown = [f"{name}={node!r}" for name, node in images.items()]
    more = f", … ({len(shown)} nodes)" if len(shown) > _SHOWN else ""
    return f"with {', '.join(shown[:_SHOWN])}{more}, {reason}"


def blamed_by(fault: Fault, images: Mapping[Hashable, Any]) -> tuple[Any, Any]:
    """Return the node of the pattern that found no node, and the node of the graph that did not fit; or None."""
    match fault:
        case ("missing", step):
            return step.name, images.get(step.backs[0][0]) if step.backs else None
        case (("node" | "few" | "many" | "outside" | "inner"), name, node, *_):
            return name, node
        case (("edge" | "no edge" | "extra edge"), (a, b), (source, destination), *_):
            return (a, source) if b in images else (b, destination)
        case ("present", _, present):
            return None, next((node for node in present.values() if node not in images.values()), None)
    return None, None


def reason_of(fault: Fault) -> str:
    """Return the message for a fault."""
    match fault:
        case ("missing", step) if not step.backs:
            return f"no node is left that could be {step.name}"
        case ("missing", step):
            other, forward, _ = step.backs[0]
            edge = f"{other} -> {step.name}" if forward else f"{step.name} -> {other}"
            return f"there is no edge left that could be {edge}"
        case ("node", name, node, key, data, test):
            return f"{node!r} {_difference(key, data, test)} for {name}"
        case ("edge", (a, b), (source, destination), key, data, test):
            return f"the edge {source!r} -> {destination!r} {_difference(key, data, test)} for {a} -> {b}"
        case ("no edge", (a, b), (source, destination)):
            return f"there is no edge {source!r} -> {destination!r}, and the pattern has {a} -> {b}"
        case ("extra edge", (a, b), (source, destination)):
            return f"there is an edge {source!r} -> {destination!r}, and the induced pattern has no {a} -> {b}"
        case (("few" | "many") as kind, name, node, incoming, bounds, counts):
            count, bound = (counts[0], bounds[0]) if incoming else (counts[1], bounds[1])
            edges = f"{node!r} has {count} edge{'' if count == 1 else 's'} {'coming in' if incoming else 'going out'}"
            if kind == "few":
                return f"{edges}, and the pattern has {bound} for {name}"
            return f"{edges}, more than {bound}: one is to the outside of the match, and {name} is no interface node"
        case ("outside", name, node, (source, destination)):
            edge = f"{source!r} -> {destination!r}"
            return f"{node!r} has an edge to the outside of the match, {edge}, and {name} is no interface node"
        case ("inner", name, node, (source, destination)):
            edge = f"{source!r} -> {destination!r}"
            return f"{node!r} has an edge that the pattern does not have, {edge}, and {name} is no interface node"
        case ("present", index, present):
            there = ", ".join(f"{name}={node!r}" for name, node in present.items())
            return f"what without[{index}] forbids is there: {there}"
    raise AssertionError(f"there is no such fault: {fault!r}")


def _difference(key: str, data: dict[str, Any], test: DataTest) -> str:
    required = test.required[key]
    wanted = f"needs: {required.reason}" if isinstance(required, Where) else f"needs {in_words(required)}"
    if key not in data:
        return f"has no attribute {key!r}, and the pattern {wanted}"
    return f"has {key} {data[key]!r}, and the pattern {wanted}"
