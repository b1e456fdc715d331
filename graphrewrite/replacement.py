"""What stands below a rule's ``yield``: matched nodes with their attributes and arrays, and new nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite.errors import RuleError, did_you_mean
from graphrewrite.graph import Graph, Operand
from graphrewrite.op import as_constant
from graphrewrite.op.define import Op
from graphrewrite.op.symbolic import Symbolic
from graphrewrite.types import Tensor, Type, element_of

__all__ = ["Bound", "Declined", "Known", "New", "Part", "Replay", "decline"]


@dataclass(frozen=True)
class Declined:
    """A rule's refusal of a match, with the reason in words."""

    reason: str
    at: str | None = None


def decline(reason: str, *, at: Any = None) -> Declined:
    """Refuse a match for a reason; ``return decline(...)`` below the yield of a rule.

    Parameters
    ----------
    reason : str
        In words, for people who ask `Rule.explain`.
    at : matched node or value, optional
        Where the reason lies.

    Returns
    -------
    Declined

    Examples
    --------
    >>> decline("grouped convolutions keep their norm")
    Declined(reason='grouped convolutions keep their norm', at=None)
    """
    return Declined(reason, at.node if isinstance(at, Bound) else at)


class Part(Symbolic):
    """A value in a replacement: bound by the match, known, or new."""

    __slots__ = ()
    replay: Replay
    type: Type

    @property
    def shape(self) -> tuple[int | str, ...]:
        """The shape of the value."""
        return self.type.shape

    def apply_op(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Return the matched node while the pattern is replayed; afterwards compute on constants or make a new node."""
        return self.replay.apply(op, operands, attributes)


class Bound(Part):
    """A value that the match bound: its type and shape, the array of a constant, and every attribute by name."""

    def __init__(self, replay: Replay, operand: Operand) -> None:
        self.replay, self.operand, self.node = replay, operand, operand.node
        self.data = replay.graph.nodes[operand.node]

    @property
    def type(self) -> Type:  # type: ignore[override]  # read from the graph
        """What the value carries."""
        return self.replay.graph.result_type(*self.operand)

    @property
    def value(self) -> np.ndarray:
        """The array of a constant."""
        if self.data.get("type") != "constant":
            raise RuleError(
                "has no value to read, for it is no constant; annotate the variable with Constant", node=self.node
            )
        array: np.ndarray = self.data["value"]
        return array

    @property
    def is_constant(self) -> bool:
        """Whether the value is a constant."""
        return bool(self.data.get("type") == "constant")

    @property
    def op_name(self) -> str:
        """The name of the op that gives the value."""
        return str(self.data.get("type"))

    @property
    def readers(self) -> int:
        """How many nodes read it."""
        return len(self.replay.graph.succ[self.node])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = self.replay.graph.attributes(self.node)
        if name not in found:
            raise RuleError(f"has no attribute {name!r}{did_you_mean(name, found)}", node=self.node)
        return found[name]

    def __repr__(self) -> str:
        return f"<matched {self.node}>"


class Known(Part):
    """A constant that a replacement has computed."""

    def __init__(self, replay: Replay, value: np.ndarray, type: Type | None = None) -> None:
        self.replay, self.value = replay, value
        self.type = Tensor(element_of(value.dtype), value.shape) if type is None else type


class New(Part):
    """A node that a replacement adds."""

    def __init__(
        self,
        replay: Replay,
        op: Op,
        operands: tuple[Part, ...],
        attributes: dict[str, Any],
        types: Sequence[Type],
        result: int = 0,
    ) -> None:
        self.replay, self.op, self.operands, self.attributes = replay, op, operands, attributes
        self.types, self.result, self.type = tuple(types), result, types[result]
        self.first = self  # results of one op share the node of the first


class Replay:
    """One run of a rule's function on a match."""

    def __init__(self, graph: Graph, nodes: Sequence[str]) -> None:
        self.graph = graph
        self.pending = [Bound(self, Operand(node)) for node in nodes]
        self.below = False

    def apply(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Stand for ``op(*operands, **attributes)``, above or below the yield."""
        if not self.below:
            return self.pending.pop(0)
        like = attributes.pop("like", None)
        if like is not None:
            attributes = {**{k: v for k, v in like.data.items() if k in op.attributes}, **attributes}
        attributes = {k: tuple(v) if isinstance(v, list) else v for k, v in attributes.items()}
        given = [x for x in operands if x is not None]
        first = next((x for x in given if isinstance(x, Part)), None)
        parts = tuple(self.part(x, first.type if first is not None else None) for x in given)
        if all(isinstance(p, Known) or (isinstance(p, Bound) and p.is_constant) for p in parts) and not op.stateful:
            op.check(len(parts), attributes)
            types = op.infer(*(p.type for p in parts), **attributes)
            return Known(self, np.asarray(op.function(*(p.value for p in parts), **attributes)), types[0])  # type: ignore[attr-defined]  # both kinds have a value
        types = op.infer(*(p.type for p in parts), **attributes)
        made = tuple(New(self, op, parts, attributes, types, i) for i in range(len(types)))
        for other in made:
            other.first = made[0]
        return made[0] if len(made) == 1 else made

    def part(self, value: Any, like: Type | None = None) -> Part:
        """Return a value as a part of the replacement; arrays and numbers become known constants."""
        return value if isinstance(value, Part) else Known(self, as_constant(value, like))
