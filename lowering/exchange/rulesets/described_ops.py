"""Ops of which only a descriptor is known: nodes that are read, drawn and rewritten, and cannot be computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from graphrewrite import Tensor, op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Entry, Unfit
from graphrewrite.lowering.exchange.rulesets.definitions import FrameworkOp, element_of_type
from graphrewrite.op.descriptor import OpDescriptor
from graphrewrite.op.reserved_keys import RESERVED

__all__ = ["DescribedOp", "filled_up"]


@dataclass(frozen=True)
class DescribedOp:
    """An op of deeplearning4j, as a function that adds a generic node ``nd4j.name``.

    Attributes
    ----------
    descriptor : OpDescriptor
        Its arguments.
    source : FrameworkOp
        The framework's op that is mapped to it: it says how many results there are.
    """

    descriptor: OpDescriptor
    source: FrameworkOp

    @property
    def name(self) -> str:
        """The type of its nodes."""
        return f"nd4j.{self.descriptor.name}"

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of its inputs."""
        return self.descriptor.names("inputs")

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Defaults, of which descriptors have none."""
        return MappingProxyType({})

    def __call__(self, *values: Value | None, **attributes: Any) -> Any:
        """Add a node, whose results have the type of the first operand, and the element that the node states."""
        given = [value for value in values if value is not None]
        tensors = [value.type for value in given if isinstance(value.type, Tensor)]
        if not tensors:
            raise Unfit(f"it becomes {self.name}, and without operands nothing says of which type its result is")
        first = tensors[0]
        stated = next((attributes[n] for n in ("dtype", "dataType", "DstT", "out_type") if n in attributes), None)
        if isinstance(stated, str) and stated.startswith("DT_"):
            first = Tensor(element_of_type(stated), first.shape)
        count = max(1, len(self.source.outputs))
        own = {f"{name}_" if name in RESERVED else name: value for name, value in attributes.items()}
        missing = tuple(at for at, value in enumerate(values) if value is None)
        if missing:
            own["left_out"] = missing
        return given[0].graph.add(
            op.generic(self.name, count), given, {**own, "result": first if count == 1 else (first,) * count}
        )


def filled_up(table: Mapping[str, Any], entries: Mapping[str, tuple[Entry, ...]]) -> dict[str, tuple[Entry, ...]]:
    """Return entries by op: those for ops that can be computed, and the others only where a table lacks the op."""
    found = {}
    for name, each in entries.items():
        kept = tuple(e for e in each if name not in table or not isinstance(e.op, DescribedOp))
        if kept:
            found[name] = kept
    return found
