"""The search's steps for what must hold of a value or a node: literals, predicates, attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphrewrite.errors import GraphRewriteError, RuleError
from graphrewrite.graph import Graph, Operand
from graphrewrite.match.found import Matched
from graphrewrite.match.state import State
from graphrewrite.pattern import Literal, PatternNode, Variable, Where, same

__all__ = ["ConditionSteps", "node_of", "shown"]


class ConditionSteps(State):
    """Steps that look at one value or one node."""

    if TYPE_CHECKING:
        graph: Graph
        fail: Callable[..., None]

    def holds(self, condition: Where, value: Operand, term: Any = None) -> bool:
        """Tell whether a value meets a condition, which may be that of a term."""
        if not self.ask(condition, Matched(self.graph, value), value.node):
            self.fail(value.node, f"does not meet: {condition.reason}", term=condition if term is None else term)
            return False
        return True

    def ask(self, condition: Where, argument: Any, node: str) -> bool:
        """Call a predicate."""
        try:
            return bool(condition.predicate(argument))
        except GraphRewriteError:
            raise
        except Exception as error:
            raise RuleError(
                f"the predicate of {condition.reason!r} raised {type(error).__name__}: {error}; let it return False",
                node=node,
            ) from error

    def literal(self, term: Literal, value: Operand) -> bool:
        """Tell whether a value is a constant that a literal admits."""
        data = self.graph._node[value.node]
        if data.get("type") != "constant":
            self.fail(value.node, f"is {data.get('type')}, and the pattern needs the constant {term!r}", term=term)
            return False
        if not term.admits(data["value"]):
            self.fail(value.node, f"is a constant, but not {term!r}", term=term, value=data["value"])
            return False
        return True

    def attributes(self, term: PatternNode, name: str) -> bool:
        """Compare and bind the attributes of a node."""
        if not term.attributes:
            return True
        actual = self.graph.attributes(name)
        for key, wanted in term.attributes.items():
            if key not in actual:
                self.fail(name, f"has no attribute {key!r}", term=term)
                return False
            found = actual[key]
            if isinstance(wanted, Variable):
                if wanted not in self.bound:
                    if wanted.condition is None or self.ask(wanted.condition, found, name):
                        self.put(self.bound, wanted, found)
                        continue
                    reason = f"needs: {wanted.condition.reason}"
                elif same(self.bound[wanted], found):
                    continue
                else:
                    before = self.bound[wanted]
                    self.fail(
                        name, f"{key} is {found!r}, and {wanted.name!r} is already bound to {before!r}", term=term
                    )
                    return False
            elif isinstance(wanted, Where):
                if self.ask(wanted, found, name):
                    continue
                reason = f"needs: {wanted.reason}"
            elif isinstance(wanted, set | frozenset | range):
                if any(same(found, w) for w in wanted):
                    continue
                reason = f"needs one of {_listed(wanted)}"
            elif same(wanted, found):
                continue
            else:
                reason = f"needs {wanted!r}"
            self.fail(name, f"{key} is {found!r}, and the pattern {reason}", term=term)
            return False
        return True


def node_of(value: Any) -> Any:
    """Return the node of a value, or of the first of several."""
    return value.node if isinstance(value, Operand) else value[0].node if value else None


def shown(value: Any) -> str:
    """Return a value in words.

    Examples
    --------
    >>> shown(Operand("a")), shown(Operand("a", 1)), shown((Operand("a"), Operand("b")))
    ("'a'", "result 1 of 'a'", "['a', 'b']")
    """
    if isinstance(value, Operand):
        return f"result {value.result} of {value.node!r}" if value.result else repr(value.node)
    if isinstance(value, tuple) and all(isinstance(each, Operand) for each in value):
        return f"[{', '.join(map(shown, value))}]"
    return repr(value)


def _listed(values: set[Any] | frozenset[Any] | range) -> str:
    """Some values in an order that is the same each time."""
    if isinstance(values, range) and values.step == 1 and len(values) > 2:
        return f"{values[0]} to {values[-1]}"
    return f"{{{', '.join(map(repr, values) if isinstance(values, range) else sorted(map(repr, values)))}}}"
