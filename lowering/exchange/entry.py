"""Entries of the table that maps ONNX ops to library ops and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphrewrite.errors import did_you_mean
from graphrewrite.op.op import Op
from graphrewrite.op.signature import Neutral
from graphrewrite.types import Tensor

__all__ = ["Entry", "Named", "Unfit", "same_names", "written_as"]

Convert = Callable[[Any], Any]
Named = tuple[str, Convert] | tuple[str, Convert, Convert]
"""Library name of an attribute, conversion from ONNX, and conversion to ONNX where that is not the identity."""


def same_names(convert: Convert, *names: str) -> dict[str, Named]:
    """Return attributes that have the same names in ONNX, with one conversion."""
    return {name: (name, convert) for name in names}


def written_as(named: Named, value: Any) -> Any:
    """Convert an attribute value to ONNX."""
    return named[2](value) if len(named) == 3 else value


def _or_default(value: Any, default: Any) -> Any:
    """The default instead of its float32, which is all that a file holds of it."""
    both = isinstance(value, float) and isinstance(default, float)
    return default if both and np.float32(value) == np.float32(default) else value


class Unfit(Exception):
    """An entry does not apply to a node; says why."""


@dataclass(frozen=True)
class Entry:
    """Mapping between one ONNX op and a library op; `from_onnx` and `to_onnx` read the same entry.

    Several entries may map the same ONNX op: the first one that fits a node is used.

    Attributes
    ----------
    onnx : str
        ONNX op type; with its domain in front if that is not ONNX's own: ``"com.acme.Swirl"``.
    op : Op or callable
        Library op; or a function that composes several ops. Its result is exported as those ops.
    attributes : mapping
        ONNX attribute name to library name and a conversion; a third item converts back, where that is not the
        identity. Attributes that convert to None are dropped.
    constants : mapping
        Index of an ONNX input that must be constant on import, to the library attribute's name and a conversion.
    required : mapping
        ONNX attribute name to the only values that the library op supports.
    complete : callable, optional
        Fills attributes that follow from the operand types (a stride of one for each axis).
    ignored : tuple of str
        ONNX attributes without influence on the result. An attribute that no field names is an error.
    operands : tuple of int, optional
        Indices of the ONNX inputs that become operands, in the library's order; by default all that are not in
        `constants`.
    zeros : tuple of int
        Indices of optional ONNX inputs for which a constant of zeros is read as a missing input: one that is for the
        exported batch only would be in the way of any other.
    defaults : mapping
        Library attributes whose ONNX default differs from the library's.
    outputs : int
        Number of outputs that a node may use.
    counted : str, optional
        Attribute that receives the node's number of outputs, where ONNX has none for it.
    fits : callable, optional
        From attributes and operand types: None if the entry applies to a node, else the reason why not.
    shown : callable, optional
        For `to_onnx`: the attributes in ONNX's form, from the library's attributes and the operand types.
    """

    onnx: str
    op: Op | Callable[..., Any]
    attributes: Mapping[str, Named] = field(default_factory=dict)
    constants: Mapping[int, Named] = field(default_factory=dict)
    required: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    complete: Callable[[dict[str, Any], list[Tensor]], dict[str, Any]] | None = None
    ignored: tuple[str, ...] = ()
    operands: tuple[int, ...] | None = None
    zeros: tuple[int, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1
    counted: str | None = None
    fits: Callable[[Mapping[str, Any], Sequence[Tensor]], str | None] | None = None
    shown: Callable[[dict[str, Any], Sequence[Tensor]], dict[str, Any]] | None = None

    @cached_property
    def neutral(self) -> tuple[Neutral | None, ...]:
        """What stands in for each operand that is missing, None where nothing does."""
        if not isinstance(self.op, Op) or not self.op.neutral:
            return ()
        return tuple(map(self.op.neutral.get, self.op.operands))

    @cached_property
    def written(self) -> Mapping[str, tuple[str, ...]]:
        """ONNX's names of each attribute of the library."""
        names: dict[str, tuple[str, ...]] = {}
        for key, (ours, *_) in self.attributes.items():
            names[ours] = (*names.get(ours, ()), key)
        return names

    @cached_property
    def reads_types(self) -> bool:
        """Whether the types of the operands decide what a node means."""
        return self.complete is not None or self.fits is not None or bool(self.neutral)

    def read_attributes(self, attributes: Mapping[str, Any], used: int) -> dict[str, Any]:
        """Convert the attributes of an ONNX node that uses so many outputs, or raise `Unfit`.

        Parameters
        ----------
        attributes : mapping
            ONNX's.
        used : int
            How many outputs the node has.

        Raises
        ------
        Unfit
            If the entry does not know one, or the node uses more outputs.
        """
        for name in attributes:
            if not (name in self.attributes or name in self.required or name in self.ignored):
                names = (*self.attributes, *self.required)
                raise Unfit(
                    f"its attribute {name!r} has no meaning here{did_you_mean(name, names)}; an entry of your own can "
                    "give it one, or name it in ignored"
                )
        for name, allowed in self.required.items():
            if name in attributes and attributes[name] not in allowed:
                raise Unfit(f"{name}={attributes[name]!r} is not supported, only {' or '.join(map(repr, allowed))}")
        known = self.op if isinstance(self.op, Op) else None
        most = self.outputs if known is None else known.results or used
        if used > most:
            raise Unfit(f"its {used} outputs are not supported, only the first {most}")
        read: dict[str, Any] = {**self.defaults}
        if self.counted:
            read[self.counted] = used
        if not attributes:
            return read
        defaults = {} if known is None else known.attributes
        for name, (ours, convert, *_) in self.attributes.items():
            if name not in attributes:
                continue
            if ours == self.counted and attributes[name] != used:
                raise Unfit(f"{name}={attributes[name]}, and it has {used} outputs")
            read[ours] = _or_default(convert(attributes[name]), defaults.get(ours))
        return read
