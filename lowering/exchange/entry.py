"""Entry: what one op of ONNX is in ours, and ours in ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphrewrite.errors import did_you_mean
from graphrewrite.op.op import Op
from graphrewrite.types import Tensor

__all__ = ["Entry", "Named", "Unfit", "written_as"]

Convert = Callable[[Any], Any]
Named = tuple[str, Convert] | tuple[str, Convert, Convert]
"""Our name of an attribute, how ONNX's value becomes ours, and how ours becomes ONNX's where that is not obvious."""


def written_as(named: Named, value: Any) -> Any:
    """Return a value of ours as ONNX has it."""
    return named[2](value) if len(named) == 3 else value


class Unfit(Exception):
    """An entry does not mean a node; says why."""


@dataclass(frozen=True)
class Entry:
    """What one ONNX op is in ours; `from_onnx` and `to_onnx` read the same entry.

    Several entries may be of the same ONNX op: the first one that fits a node is taken.

    Attributes
    ----------
    onnx : str
        ONNX op type; of another domain than ONNX's own, with the domain in front: ``"com.acme.Swirl"``.
    op : Op or callable
        Our op; or a function that builds the meaning out of several, in the notation of ops. What a function builds is
        exported as the ops that it is made of.
    attributes : mapping
        ONNX attribute name to our name and a conversion; a third item converts back, where `to_onnx` does not know how.
        What converts to None says nothing.
    constants : mapping
        Index of an ONNX input that must be known on import, to our attribute's name and a conversion.
    required : mapping
        ONNX attribute name to the only values of it that our op means.
    complete : callable, optional
        Fills attributes that follow from the operand types (a stride of one for each axis).
    ignored : tuple of str
        ONNX attributes that say nothing our op has to know. Any other one that is not named here is refused.
    operands : tuple of int, optional
        Which ONNX inputs our operands are, in our order; all that are no constants, in their order, where not given.
    neutral : mapping
        Index of an ONNX input that may be left out, to a function of our attributes and the types of the inputs (None
        for one that is left out), which gives an array that changes nothing.
    defaults : mapping
        Our attributes that have a default in ONNX which is not ours.
    outputs : int
        How many outputs a node may use.
    counted : str, optional
        Name by which ``complete`` finds how many outputs the node has, where no attribute says it.
    fits : callable, optional
        Tells from our attributes and the operand types whether the entry means a node: None, or why not.
    shown : callable, optional
        For `to_onnx`: our attributes in the form that ONNX wants, from the attributes and the operand types.
    """

    onnx: str
    op: Op | Callable[..., Any]
    attributes: Mapping[str, Named] = field(default_factory=dict)
    constants: Mapping[int, Named] = field(default_factory=dict)
    required: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    complete: Callable[[dict[str, Any], list[Tensor]], dict[str, Any]] | None = None
    ignored: tuple[str, ...] = ()
    operands: tuple[int, ...] | None = None
    neutral: Mapping[int, Callable[[Mapping[str, Any], Sequence[Tensor | None]], np.ndarray]] = field(
        default_factory=dict
    )
    defaults: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1
    counted: str | None = None
    fits: Callable[[Mapping[str, Any], Sequence[Tensor]], str | None] | None = None
    shown: Callable[[dict[str, Any], Sequence[Tensor]], dict[str, Any]] | None = None

    def read_attributes(self, given: Mapping[str, Any], used: int) -> dict[str, Any]:
        """Return our attributes for those of an ONNX node.

        Parameters
        ----------
        given : mapping
            ONNX's.
        used : int
            How many outputs the node has.

        Returns
        -------
        dict

        Raises
        ------
        Unfit
            If the entry does not know one, or the node uses more outputs.
        """
        for name in given:
            if name not in (*self.attributes, *self.required, *self.ignored):
                known = (*self.attributes, *self.required)
                raise Unfit(
                    f"its attribute {name!r} has no meaning here{did_you_mean(name, known)}; an entry of your own can "
                    "give it one, or name it in ignored"
                )
        for name, allowed in self.required.items():
            if name in given and given[name] not in allowed:
                raise Unfit(f"{name}={given[name]!r} is not supported, only {' or '.join(map(repr, allowed))}")
        most = self.op.results or used if isinstance(self.op, Op) else self.outputs
        if used > most:
            raise Unfit(f"its {used} outputs are not supported, only the first {most}")
        wrong = next(
            (n for n, (ours, *_) in self.attributes.items() if ours == self.counted and given.get(n, used) != used),
            None,
        )
        if wrong is not None:
            raise Unfit(f"{wrong}={given[wrong]}, and it has {used} outputs")
        read = {ours: convert(given[name]) for name, (ours, convert, *_) in self.attributes.items() if name in given}
        return {**self.defaults, **({self.counted: used} if self.counted else {}), **read}
