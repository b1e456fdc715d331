"""Questions to z3, answered the same way every time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import z3

from graphrewrite.testing.proof.rounding import facts, roundings, subterms

__all__ = ["EFFORT", "Answer", "Question", "possible"]

EFFORT = 10_000_000
"""z3's units of work for one question: without a clock, the answer is the same on every machine."""

_SMALLER = 10
"""Each attempt to find small values, which are only nicer to read, gets this fraction of the effort."""

_OF_FACTS = 4
"""An attempt without the definitions of roundings gets this fraction: where it suffices, it is quick."""


class Answer:
    """An answer of z3.

    Attributes
    ----------
    verdict : str
        ``"never"``, ``"sometimes"`` or ``"unknown"``.
    values : dict of str to int
        Values of the variables for which the condition holds, small ones if the effort suffices.
    """

    def __init__(self, verdict: str, values: Mapping[str, int] | None = None) -> None:
        self.verdict, self.values = verdict, dict(values or {})


class Question:
    """The question to z3 whether a condition can hold."""

    def __init__(self, constraints: Iterable[Any], condition: Any, *, effort: int = EFFORT) -> None:
        # In a context of its own, so that names and numbers of terms do not depend on earlier questions.
        self.context = z3.Context()
        self.effort = effort
        self.terms = [term.translate(self.context) for term in (*constraints, condition)]
        parts = list(subterms(self.terms))
        self.roundings = roundings(parts)
        self.has_floats = any(z3.is_fp(term) for term in parts)

    def _solver(self, facts: Iterable[Any], effort: int) -> Any:
        """Return a solver in which the results of roundings are variables, subject to some facts."""
        results = [(r.result, z3.Const(f"rounding {i}", r.result.sort())) for i, r in enumerate(self.roundings)]
        solver = z3.SolverFor("QF_BVFP" if self.has_floats else "QF_BV", ctx=self.context)
        solver.set("rlimit", effort)
        solver.add(*(z3.substitute(term, *results) if results else term for term in (*self.terms, *facts)))
        return solver

    def some(self, variables: Mapping[str, int]) -> Answer:
        """Return whether it can hold, and for which values, which need not be small."""
        solver = self._solver((rounding.definition() for rounding in self.roundings), self.effort)
        verdict = solver.check()
        if verdict != z3.sat:
            return Answer("never" if verdict == z3.unsat else "unknown")
        model = solver.model()
        terms = {name: z3.BitVec(name, width, self.context) for name, width in variables.items()}
        return Answer("sometimes", {n: model.eval(t, model_completion=True).as_signed_long() for n, t in terms.items()})

    def answer(self, variables: Sequence[tuple[str, int]] = ()) -> Answer:
        """Return whether it can hold, and for which values."""
        # The facts alone are quick, and enough for most rules; the definitions of roundings cost the solver far more.
        if self.roundings and self._solver(facts(self.roundings), self.effort // _OF_FACTS).check() == z3.unsat:
            return Answer("never")
        self.solver = self._solver((rounding.definition() for rounding in self.roundings), self.effort)
        verdict = self.solver.check()
        if verdict == z3.unsat:
            return Answer("never")
        if verdict != z3.sat:
            return Answer("unknown")
        model = self.solver.model()
        self.solver.set("rlimit", self.effort // _SMALLER)
        values: dict[str, int] = {}
        for name, width in variables:
            term = z3.BitVec(name, width, self.context)
            values[name], model = self._least(term, model)
        return Answer("sometimes", values)

    def _least(self, term: Any, model: Any) -> tuple[int, Any]:
        """Fix a variable at zero, or at a value with few bits, for which the condition still holds."""
        value = model.eval(term, model_completion=True).as_signed_long()
        width = term.size()
        for bits in range(width):
            bound = (1 << bits) - 1
            if abs(value) <= bound:
                break
            self.solver.push()
            self.solver.add(term <= bound, term >= -bound)
            if self.solver.check() == z3.sat:  # else none has so few bits, or the effort does not suffice
                model = self.solver.model()
                value = model.eval(term, model_completion=True).as_signed_long()
                self.solver.pop()
                break
            self.solver.pop()
        self.solver.add(term == value)
        return value, model


def possible(constraints: Sequence[Any], condition: Any) -> bool:
    """Tell whether a condition can hold; True if z3 gives up."""
    return condition if isinstance(condition, bool) else Question(constraints, condition).answer().verdict != "never"
