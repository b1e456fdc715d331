"""A run of a rule's function: above the yield terms are replayed in order, below it ops make a replacement."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from graphrewrite.op.op import Op
from graphrewrite.op.operators import Operators
from graphrewrite.op.symbolic import BELOW, CURRENT
from graphrewrite.rewriting.match.results import Incomparable

__all__ = ["RuleRun", "RunValue"]


class RuleRun:
    """One run of a rule's function, on a match or on symbols."""

    below = False
    """Whether it has come to the yield."""

    def replay_pattern(self, run: Generator[Any, Any, Any], *, asks: bool = True) -> None:
        """Run a rule's function up to its yield, unless it asks for this run, as parts of it may."""
        if not asks:
            next(run)
            self.below = True
            return
        token = CURRENT.set(self)
        try:
            next(run)
        finally:
            CURRENT.reset(token)
        self.below = True

    def replay_rest(self, run: Generator[Any, Any, Any]) -> None:
        """Run a rule's function from its yield to its end, which raises StopIteration with the result."""
        token = BELOW.set(self)
        try:
            next(run)
        finally:
            BELOW.reset(token)

    def takes(self, op: Op, attributes: dict[str, Any]) -> bool:
        """Tell whether an op of literals with some attributes is applied here, and not computed."""
        raise NotImplementedError

    def next_made(self) -> Any:
        """Return the value for the next term of the pattern, in the order of the source."""
        raise NotImplementedError

    def apply(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Return the value of ``op(*operands, **attributes)`` below the yield."""
        raise NotImplementedError

    # Ops whose operands are all literals, or missing from a match, and forms find the run by `CURRENT`.

    def apply_op(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Return the value for a node whose operands are literals, or missing."""
        return self.next_made()

    def apply_form(self, *_: Any) -> Any:
        """Return the value for a form of the pattern."""
        return self.next_made()


class RunValue(Incomparable, Operators):
    """A value that a rule's function computes with."""

    __slots__ = ()
    replay: Any  # the `RuleRun`; each kind of value knows its own

    def apply_op(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Apply an op to this value."""
        replay = self.replay
        return replay.apply(op, operands, attributes) if replay.below else replay.next_made()

    def __or__(self, other: Any) -> Any:
        return self.replay.next_made()

    __ror__ = __or__

    def __invert__(self) -> Any:
        return self.replay.next_made()
