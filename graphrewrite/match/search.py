"""Find a pattern in a graph: every embedding, none twice, and the reason where there is none.

The search keeps a list of goals, what it has bound so far, and a trail of what to take back. It does not recurse, so
the size of a pattern is no limit. `graphrewrite.match.compiled` finds the same for plain patterns faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from graphrewrite.errors import RuleError
from graphrewrite.graph import Graph, Operand
from graphrewrite.match.closing import Closing
from graphrewrite.match.conditions import ConditionSteps, shown
from graphrewrite.match.found import Found, Obstacle
from graphrewrite.match.operands import OperandSteps
from graphrewrite.match.several import SeveralSteps
from graphrewrite.match.state import DONE, FAILED, Goal, Options, State
from graphrewrite.pattern import (
    Either,
    Every,
    Literal,
    Pattern,
    PatternNode,
    Repeated,
    Result,
    Term,
    Variable,
    Where,
    Without,
    top_of,
)

__all__ = ["Search", "find_at"]


def find_at(
    pattern: Pattern,
    graph: Graph,
    node: str,
    *,
    shared: str = "refuse",
    obstacle: Obstacle | None = None,
    entry: int = 0,
    leader: bool = True,
    places: dict[Any, list[str]] | None = None,
) -> Iterator[Found]:
    """Yield every embedding of a pattern one of whose roots is a given node, none twice.

    Parameters
    ----------
    pattern : Pattern
        What to look for.
    graph : Graph
        Where to look.
    node : str
        The node for a root.
    shared : {"refuse", "keep", "duplicate"}
        Whether a matched node that is no root may have a reader outside of the match.
    obstacle : Obstacle, optional
        Collects the reason why there is no embedding.
    entry : int
        Which root.
    leader : bool
        Whether a group is found at its first member only, rather than at any.
    places : dict, optional
        Where nodes were looked for, remembered as long as the graph stays as it is.

    Yields
    ------
    Found
    """
    search = Search(pattern, graph, shared, obstacle or Obstacle())
    search.leader = leader
    search.places = {} if places is None else places
    seen = set()
    for _ in search.roots(entry, node):
        key = search.key()
        if key not in seen:
            seen.add(key)
            yield search.found()


class Search(ConditionSteps, OperandSteps, SeveralSteps, Closing):
    """One search for a pattern in a graph."""

    def __init__(self, pattern: Pattern, graph: Graph, shared: str, obstacle: Obstacle) -> None:
        State.__init__(self)
        self.pattern, self.graph, self.shared, self.obstacle = pattern, graph, shared, obstacle
        self.hopeless: dict[tuple[int, str], bool] = {}
        self.bushy = sum(_is_bushy(n) for n in pattern.nodes) > 1

    def found(self) -> Found:
        """Return what is bound now."""
        made = tuple(self.at.get(term) for term in self.pattern.made)
        return Found(made, tuple(self.bound.get(v) for v in self.pattern.variables))

    def key(self) -> Any:
        """Return what tells this embedding from others."""
        nodes = tuple(self.at.get(n) for n in self.pattern.made if isinstance(n, PatternNode | Repeated | Every))
        return nodes, tuple(
            v if isinstance(v, tuple | None) else repr(v) for v in map(self.bound.get, self.pattern.variables)
        )

    # ------------------------------------------------------------------ the machine

    def roots(self, entry: int, node: str) -> Iterator[None]:
        """Stop at every embedding, the root ``entry`` being at a node."""
        order = [entry, *(i for i in range(len(self.pattern.roots)) if i != entry)]
        goals: list[Goal] = [(self.root, self.pattern.roots[entry], node)]
        goals += [(self.next_root, self.pattern.roots[i]) for i in order[1:]]
        goals.append((self.close,))
        return self.solve(goals)

    def solve(self, goals: Iterable[Goal]) -> Iterator[None]:
        """Stop at every way to meet all goals; what is bound then is in the state."""
        rest: Any = None
        for goal in reversed(list(goals)):
            rest = (goal, rest)
        choices: list[tuple[Iterator[tuple[Goal, ...]], Any, int]] = []
        bottom = len(self.trail)
        while True:
            alive = True
            while rest is not None:
                (step, *arguments), after = rest
                options = step(*arguments)
                if isinstance(options, tuple):
                    if not options:
                        alive = False
                        break
                    if len(options) == 1:
                        rest = after
                        for goal in reversed(options[0]):
                            rest = (goal, rest)
                        continue
                choices.append((iter(options), after, len(self.trail)))
                alive = False
                break
            if alive:
                yield
            while choices:
                alternatives, after, mark = choices[-1]
                self.undo(mark)
                chosen = next(alternatives, None)
                if chosen is None:
                    choices.pop()
                    continue
                rest = after
                for goal in reversed(chosen):
                    rest = (goal, rest)
                break
            else:
                self.undo(bottom)
                return

    # ------------------------------------------------------------------ roots

    def root(self, root: Any, node: str) -> Options:
        """Embed a root at a node."""
        match root:
            case Every():
                return (((self.node, root.unit.top, node), (self.gather, root, node)),)
            case Result():
                return (((self.node, root.node, node),),)
            case Repeated():
                return (((self.run, root, Operand(node), True),),)
        return (((self.node, root, node),),)

    def next_root(self, root: Any) -> Options:
        """Embed a root wherever it fits with what is bound."""
        top = top_of(root)
        if top in self.at:
            return DONE
        places = self.candidates(top)
        if not places:
            self.fail(next(iter(self.used)), f"is matched, but no node fits {top!r}", term=top)
        return (((self.root, root, node),) for node in places)

    # ------------------------------------------------------------------ terms

    def term(self, term: Term, value: Operand) -> Options:
        """Match a term with a value."""
        match term:
            case Variable():
                return self.variable(term, value)
            case PatternNode():
                return self.result_of(term, 0, value)
            case Result():
                return self.result_of(term.node, term.index, value)
            case Literal():
                return DONE if self.literal(term, value) else FAILED
            case Where():
                return DONE if self.holds(term, value) else FAILED
            case Either() | Without() if term in self.at:
                return DONE if self.at[term] == value else FAILED
            case Either():
                self.put(self.at, term, value)
                return tuple(((self.term, option, value),) for option in term.options)
            case Without():
                self.put(self.at, term, value)
                self.put(self.denied, term, value)
                return DONE
            case Repeated():
                if term not in self.at:
                    return (((self.run, term, value, False),),)
                return DONE if value == (self.empty.get(term) or Operand(self.at[term].tops[-1])) else FAILED
        raise RuleError(f"{term!r} is no operand; it can only be yielded")

    def variable(self, variable: Variable, value: Any, reader: Any = None) -> Options:
        """Bind a variable to a value, or to the values that a node reads, or compare with what it binds."""
        if variable in self.bound:
            before = self.bound[variable]
            if before == value:
                return DONE
            blamed = value.node if isinstance(value, Operand) else reader
            self.fail(blamed, _unequal(value, before, variable.name), term=variable)
            return FAILED
        for each in (value,) if isinstance(value, Operand) else value:
            kind = self.graph._node[each.node].get("type")
            if variable.constant and kind != "constant":
                self.fail(each.node, f"is {kind}, and {variable.name!r} must be a constant", term=variable)
                return FAILED
            if variable.condition is not None and not self.holds(variable.condition, each, variable):
                return FAILED
        self.put(self.bound, variable, value)
        return DONE

    # ------------------------------------------------------------------ nodes

    def result_of(self, term: PatternNode, index: int, value: Operand) -> Options:
        """Match one result of a pattern node with a value."""
        if value.result != index:
            self.fail(value.node, f"gives result {value.result} here, and the pattern needs result {index}", term=term)
            return FAILED
        return self.node(term, value.node)

    def node(self, term: PatternNode, name: str) -> Options:
        """Match a pattern node with a node."""
        if term in self.at:
            if self.at[term] == name:
                return DONE
            reason = f"is another node, and the pattern needs the same {term.called} here as before, {self.at[term]!r}"
            self.fail(name, reason, term=term)
            return FAILED
        if not self.admits(term, name):
            return FAILED
        operands = self.graph.operands(name)
        if self.bushy and self.is_hopeless(term, name):
            self.fail(name, f"has no operands that the pattern's {term.called} could have", term=term)
            if self.obstacle.patience <= 0:
                return FAILED
            self.obstacle.patience -= 1
        if not self.attributes(term, name):
            return FAILED
        self.put(self.at, term, name)
        self.put(self.used, name, True)
        return self.operands(term, name, operands)

    def admits(self, term: PatternNode, name: str) -> bool:
        """Tell whether a node has a type that a pattern node allows, and is not taken."""
        kind = self.graph._node[name].get("type")
        if (kind not in term.kinds) if term.ops else (kind in ("input", "output", "constant")):
            self.fail(name, f"is {kind}, and the pattern needs ", term=term, wanted=term.called)
            return False
        if name in self.used:
            self.fail(name, "is already matched by another node of the pattern", term=term)
            return False
        return True

    def fail(self, node: Any, reason: str, *, term: Any = None, beyond: int = 0, **more: Any) -> None:
        """Note why the search stops here, at a term, or beyond where parts of it already did."""
        here = len(self.used) + beyond
        if here >= self.obstacle.progress:
            self.obstacle.note(here, node, reason, term=term, at=self.at, bound=self.bound, used=self.used, **more)


def _unequal(value: Any, before: Any, name: str) -> str:
    """Why a value is not what a variable stands for already; the node that it is of is named before."""
    if isinstance(value, Operand):
        if isinstance(before, Operand) and before.node == value.node:
            return f"gives result {value.result} here, and {name} stands for result {before.result} of it already"
        return f"is not {shown(before)}, which {name} stands for already"
    return f"reads {shown(value)} for {name}, which stands for {shown(before)} already"


def _is_bushy(term: PatternNode) -> bool:
    return sum(isinstance(t, PatternNode) for t in term.operands) > 0 and (
        not term.ops or any(op.commutative for op in term.ops)
    )
