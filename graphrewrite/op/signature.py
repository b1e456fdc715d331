"""Signature of an op: its operands, attributes and number of results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from graphrewrite.errors import RuleError, TypeMismatchError, did_you_mean
from graphrewrite.op.documentation import documentation, signature_of
from graphrewrite.op.named_operands import positions
from graphrewrite.op.symbolic import Symbolic
from graphrewrite.runtime.instance_attributes import OfInstances
from graphrewrite.types import Tensor, element_of

__all__ = ["Neutral", "Signature", "type_of"]

Neutral = Callable[[Sequence[Any], Mapping[str, Any]], np.ndarray]
"""Takes the types of all operands, None of missing ones, and the attributes; returns one that changes nothing."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Signature:
    """Operands, attributes and number of results of an op.

    Attributes
    ----------
    name : str
        The ``type`` of the op's nodes.
    operands : tuple of str
        Names of the positional operands.
    required : int
        Number of operands that must be present.
    variadic : bool
        Whether any number may follow.
    attributes : mapping
        Keyword attributes and their defaults; ``inspect.Parameter.empty`` marks a required one.
    commutative : bool
        Whether the first two operands may be swapped; of a variadic op, whether all of them may be permuted.
    results : int
        Number of results; 0 if it depends on attributes, see `number_of_results`.
    derived : mapping
        Further names: of an attribute or operand, or functions of the view of a node (`graphrewrite.graph.Node`).
    results_of : callable, optional
        Gives the number of results for the attributes, where that is not fixed.
    neutral : mapping
        Names of operands that may be missing before others, to functions of the types of all operands (None of missing
        ones) and the attributes, which return an array that changes nothing.
    any_attributes : bool
        Whether nodes may have any attributes, as those of unknown ops.
    """

    name: str
    operands: tuple[str, ...]
    required: int
    variadic: bool
    attributes: Mapping[str, Any]
    commutative: bool = False
    results: int = 1
    derived: Mapping[str, str | Callable[[Any], Any]] = field(default_factory=dict, repr=False)
    results_of: Callable[[Mapping[str, Any]], int] | None = field(default=None, repr=False)
    neutral: Mapping[str, Neutral] = field(default_factory=dict, repr=False)
    any_attributes: ClassVar[bool] = False
    __signature__ = OfInstances(signature_of)

    def __init_subclass__(cls) -> None:
        cls.__doc__ = OfInstances(documentation, cls.__doc__)  # type: ignore[assignment]  # gives a string

    @property
    def __name__(self) -> str:
        return self.name

    @cached_property
    def operand_positions(self) -> Mapping[str, int]:
        """Places of the operands by the names with which a call may give them."""
        return positions(self)

    @cached_property
    def required_attributes(self) -> tuple[str, ...]:
        """Names of the attributes without a default."""
        return tuple(key for key, default in self.attributes.items() if default is inspect.Parameter.empty)

    def interchangeable(self, count: int) -> int:
        """Return how many of the first operands may be permuted, where there are that many operands."""
        if not self.commutative:
            return 0
        return count if self.variadic else min(count, 2)

    def check(self, operands: int, attributes: Mapping[str, Any], *, complete: bool = True) -> None:
        """Raise unless that many operands and those attributes fit the signature.

        Parameters
        ----------
        operands : int
            Number of operands.
        attributes : mapping
            Keyword attributes.
        complete : bool
            Whether required operands and attributes must all be there (a pattern may leave attributes out).
        """
        if operands > len(self.operands) and not self.variadic:
            raise TypeMismatchError(
                f"{self.name} takes at most {len(self.operands)} operands ({', '.join(self.operands)}), got {operands}"
                + (f"; attributes are keyword-only: {next(iter(self.attributes))}=…" if self.attributes else "")
            )
        for key in attributes:  # first: it may be the name of an operand, misspelt
            if key not in self.attributes and not (complete and callable(self.derived.get(key))):
                raise TypeMismatchError(self._no_attribute(key))
        if operands < self.required:
            name = self.operands[operands]
            is_filled = not complete and name in self.neutral
            why = "; every node has it: a call that leaves it out gives it a neutral value" if is_filled else ""
            raise TypeMismatchError(f"{self.name} needs operand {name!r}{why}")
        if complete:
            for key in self.required_attributes:
                if key not in attributes:
                    raise TypeMismatchError(f"{self.name} needs the attribute {key!r}")

    def one_by_one(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return operands of which there is any number; frameworks pass them in a list.

        Raises
        ------
        TypeMismatchError
            If there is a list of values, and the op takes none.

        Examples
        --------
        >>> from graphrewrite import op
        >>> a = np.ones(2)
        >>> len(op.concat.one_by_one(([a, a, a],)))
        3
        """
        if self.variadic and len(operands) == len(self.operands) == 1 and _holds(operands[0], Symbolic | np.ndarray):
            return tuple(operands[0])
        for operand in operands:
            if _holds(operand, Symbolic):
                raise TypeMismatchError(f"{self.name} got a list of values; give them one by one: op.{self.name}(x, …)")
        return operands

    def canonical_name(self, name: str) -> str:
        """Return the name of the attribute that a name means; the name itself if it is none of an attribute.

        Examples
        --------
        >>> from graphrewrite import op
        >>> op.conv.canonical_name("stride"), op.conv.canonical_name("in_channels")
        ('strides', 'in_channels')
        """
        meaning = self.derived.get(name)
        attribute = getattr(meaning, "attribute", meaning)
        return attribute if isinstance(attribute, str) and attribute in self.attributes else name

    def _no_attribute(self, name: str) -> str:
        """Return the message that the op does not have an attribute."""
        meaning = self.derived.get(name, name)
        if meaning in self.operands:
            return f"{self.name}: {name!r} is operand {self.operands.index(meaning)}; pass it without its name"
        if name in self.derived:
            return f"{self.name}: {name!r} follows from the operands; leave it out"
        if name == "name":
            return f"{self.name} has no attribute 'name'; it names a node that is built on values of a graph only"
        aliases = [other for other in self.derived if self.canonical_name(other) != other]
        hint = did_you_mean(name, [*self.attributes, *aliases, *self.operand_positions])
        hint = (
            hint
            or f"; data beside them is an annotation: nodes[…][{name!r}] = …, in a rule annotations={{{name!r}: …}}"
        )
        return f"{self.name} has no attribute {name!r} (known: {', '.join(self.attributes) or 'none'}){hint}"

    def completed(self, operands: Iterable[Any], attributes: Mapping[str, Any]) -> list[Any]:
        """Return operands with neutral ones in place of missing ones, and without those that are omitted at the end.

        Examples
        --------
        >>> from graphrewrite import op
        >>> a, b = np.ones((2, 3), np.uint8), np.ones((3, 2), np.uint8)
        >>> op.matmul_integer.completed([a, b, None, np.uint8(1)], {})[2:]
        [array(0, dtype=uint8), np.uint8(1)]
        """
        every = list(operands)
        if self.neutral:
            every += [None] * (self.required - len(every))
            missing = {name for name, x in zip(self.operands, every, strict=False) if x is None}
            if missing and not missing & (set(self.operands[: self.required]) - self.neutral.keys()):
                end = max(self.required, *(i for i, x in enumerate(every) if x is not None))
                types = [None if x is None else type_of(x) for x in every]
                for i, name in enumerate(self.operands[:end]):
                    if name in missing & self.neutral.keys():
                        try:
                            every[i] = self.neutral[name](types, attributes)
                        except (IndexError, KeyError, TypeError, ValueError) as error:
                            known = ", ".join(str(t) for t in types if t is not None)
                            raise TypeMismatchError(
                                f"{self.name} needs operand {name!r}: what is neutral does not follow from {known}"
                            ) from error
        return self.without_omitted(every)

    def without_omitted(self, operands: Iterable[Any]) -> list[Any]:
        """Return operands without those that are omitted (None) at the end.

        Raises
        ------
        TypeMismatchError
            If an operand is missing before another one: the operands of a node have no gaps.

        Examples
        --------
        >>> from graphrewrite import op
        >>> op.conv.without_omitted(["x", "w", None])
        ['x', 'w']
        """
        every = list(operands)
        present = [x for x in every if x is not None]
        if len(present) == len(every):
            return every
        missing = next((i for i, x in enumerate(every[: len(present)]) if x is None), None)
        if missing is not None:
            name = self.operands[missing] if missing < len(self.operands) else missing
            if missing < self.required:
                raise TypeMismatchError(f"{self.name} needs operand {name!r}")
            raise TypeMismatchError(
                f"{self.name}: the operand {name!r} is missing although a later one is given; pass a neutral value"
            )
        return present

    def number_of_results(self, attributes: Mapping[str, Any]) -> int:
        """Return how many results a node with some attributes has.

        Raises
        ------
        TypeMismatchError
            If an attribute on which the number depends is missing, or not yet known.

        Examples
        --------
        >>> from graphrewrite import op
        >>> op.relu.number_of_results({})
        1
        """
        if self.results_of is None:
            return self.results
        try:
            return self.results_of(attributes)
        except (AttributeError, KeyError, TypeError, RuleError) as error:
            raise TypeMismatchError(
                f"the number of results of {self.name} depends on its attributes: "
                f"write them as literal numbers ({error})"
            ) from None


def _holds(operand: Any, kind: Any) -> bool:
    return isinstance(operand, list | tuple) and any(isinstance(each, kind) for each in operand)


def type_of(operand: Any) -> Any:
    """Return the type of a value, or of an array."""
    if isinstance(operand, Symbolic):
        return operand.type  # type: ignore[attr-defined]  # values of graphs and matches have one
    array = np.asarray(operand)
    return Tensor(element_of(array.dtype), array.shape)
