"""The search's steps for the operands of a node: in order, in any order, split among ``*xs``, or missing."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

from graphrewrite.graph import Graph, Operand
from graphrewrite.match.conditions import node_of
from graphrewrite.match.state import DONE, FAILED, Goal, Options, State
from graphrewrite.pattern import PatternNode, Rest, Term, Variable

__all__ = ["OperandSteps"]


class OperandSteps(State):
    """Steps that match the terms below a pattern node with the operands of a node."""

    if TYPE_CHECKING:
        graph: Graph
        hopeless: dict[tuple[int, str], bool]
        term: Callable[..., Any]
        variable: Callable[..., Any]
        fail: Callable[..., None]

    def operands(self, term: PatternNode, name: str, values: tuple[Operand, ...]) -> Options:
        """Match the operands of a node, in every order and split that is allowed."""
        terms = term.operands
        rests, optional = term.loose, term.optional
        missing = 0 if rests else len(terms) - len(values)
        if not 0 <= missing <= optional or (rests and len(values) < len(terms) - len(rests)):
            least = len(terms) - optional - len(rests)
            wanted = f"at least {least}" if rests else f"{least} to {len(terms)}" if optional else str(len(terms))
            found = "1 operand" if len(values) == 1 else f"{len(values)} operands"
            self.fail(name, f"has {found}, and the pattern needs {wanted}", term=term)
            return FAILED
        goals: list[Goal] = [(self.bind_missing, t) for t in terms[len(terms) - missing :]]
        terms = terms[: len(terms) - missing]
        free = self.graph.op(name).interchangeable(len(values)) if len(values) > 1 else 0
        if free == len(terms) == 2 and not rests:
            return self.either_way(terms, values)
        if free > 1:
            head = terms if free == len(values) and rests else terms[:free]
            goals += [(self.term, t, v) for t, v in zip(terms[len(head) :], values[free:], strict=True)]
            ordered = tuple(t for t in head if not isinstance(t, Rest))
            rest = next((t for t in head if isinstance(t, Rest)), None)
            return (((self.permute, ordered, values[:free], rest, name), *goals),)
        if not rests:
            return ((*((self.term, t, v) for t, v in zip(terms, values, strict=True)), *goals),)
        return self.splits(terms, rests, values, name)

    def either_way(self, terms: tuple[Term, ...], values: tuple[Operand, ...]) -> Options:
        """Match two terms with two values in both orders, or in one where the values are equal."""
        (s, t), (a, b) = terms, values
        if a == b:
            return (((self.term, s, a), (self.term, t, b)),)
        return ((self.term, s, a), (self.term, t, b)), ((self.term, s, b), (self.term, t, a))

    def bind_missing(self, variable: Variable) -> Options:
        """Bind an optional operand that is not there."""
        if self.bound.get(variable) is not None:
            reason = f"is bound to {variable.name!r}, which is missing elsewhere"
            self.fail(node_of(self.bound[variable]), reason, term=variable)
            return FAILED
        self.put(self.bound, variable, None)
        return DONE

    def permute(self, terms: tuple[Term, ...], values: tuple[Operand, ...], rest: Rest | None, name: str) -> Options:
        """Match terms with values in any order; equal values are not tried twice."""
        if not terms:
            return self.variable(rest.variable, values, name) if rest is not None else DONE
        distinct = dict.fromkeys(values)
        return tuple(
            ((self.term, terms[0], v), (self.permute, terms[1:], _less(values, v), rest, name)) for v in distinct
        )

    def splits(
        self, terms: tuple[Term, ...], rests: tuple[int, ...], values: tuple[Operand, ...], name: str
    ) -> Options:
        """Match operands in order, each ``*xs`` with any number of them."""
        spare = len(values) - (len(terms) - len(rests))
        for cuts in combinations_with_replacement(range(spare + 1), len(rests) - 1):
            sizes = iter([b - a for a, b in zip((0, *cuts), (*cuts, spare), strict=True)])
            goals: list[Goal] = []
            at = 0
            for term in terms:
                if isinstance(term, Rest):
                    size = next(sizes)
                    goals.append((self.variable, term.variable, values[at : at + size], name))
                    at += size
                else:
                    goals.append((self.term, term, values[at]))
                    at += 1
            yield tuple(goals)

    def is_hopeless(self, term: PatternNode, name: str) -> bool:
        """Tell whether a tree of a pattern cannot fit below a node, whatever its variables are.

        Remembered for each pair, so that a tree of commutative ops costs its size times that of the graph's, where
        trying all orders of all of them would cost their product.
        """
        key = (id(term), name)
        if key not in self.hopeless:
            self.hopeless[key] = False  # while it is being asked
            kind = self.graph._node[name].get("type")
            values = self.graph.operands(name)
            inner = [(i, t) for i, t in enumerate(term.operands) if isinstance(t, PatternNode)]
            hopeless = bool(term.ops) and kind not in term.kinds
            if (
                not hopeless
                and len(values) == len(term.operands)
                and not any(isinstance(t, Rest) for t in term.operands)
            ):
                free = self.graph.op(name).interchangeable(len(values)) if len(values) > 1 else 0
                fits = {
                    (i, j): not self.is_hopeless(t, values[j].node)
                    for i, t in inner
                    for j in (range(free) if i < free else (i,))
                }
                hopeless = any(not any(ok for (a, _), ok in fits.items() if a == i) for i, _ in inner)
                if not hopeless and free == 2 and sum(i < 2 for i, _ in inner) == 2:
                    hopeless = not ((fits[0, 0] and fits[1, 1]) or (fits[0, 1] and fits[1, 0]))
            self.hopeless[key] = hopeless
        return self.hopeless[key]


def _less(values: tuple[Operand, ...], value: Operand) -> tuple[Operand, ...]:
    at = values.index(value)
    return (*values[:at], *values[at + 1 :])
