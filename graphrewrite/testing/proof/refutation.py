"""A counterexample that a solver found, and that numpy confirms."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.testing.counterexample import Counterexample

__all__ = ["Refutation"]


@dataclass(frozen=True, eq=False)
class Refutation(Counterexample):
    r"""A counterexample of `prove`, which applies a rule once at each match, not until nothing changes.

    So a rule that rewrites its own results without end is refuted by values.

    Examples
    --------
    >>> from graphrewrite import Graph, op, rewrite, rule
    >>> @rule
    ... def exchange(x, y):
    ...     yield op.sub(x, y)
    ...     return op.sub(y, x)
    >>> before = Graph.parse("graph g\nx = input() : i8[N]\ny = input() : i8[N]\nd = sub(x, y)\nz = output(d)")
    >>> found = Counterexample(before, rewrite(before, exchange, once=True), "they differ", {}, exchange)
    >>> Refutation.of(found).code.splitlines()[-1].strip()
    'verify(rewrite(before, exchange, once=True, verify=True))'
    """

    @classmethod
    def of(cls, found: Counterexample, rules: Any = None) -> Refutation:
        """Return a counterexample as one of a proof."""
        values = {field.name: getattr(found, field.name) for field in fields(found)}
        return cls(**values | ({} if rules is None else {"rules": rules}))

    def _claim(self) -> str:
        claim = super()._claim()
        if not isinstance(self.rules, Rule):
            return claim
        return claim.replace("{made}", "rewrite(before, {rules}, once=True, verify=True)")
