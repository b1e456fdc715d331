"""Find a pattern in a graph: every embedding, none twice, and the reason where there is none.

The search keeps a list of goals, the assignments so far, and a trail to undo them. It does not recurse over the terms
of a pattern, so that the size of a pattern is no limit. `graphrewrite.rewriting.fused.matching` finds the same for
conjunctive patterns, faster.

To be read from `Search.solve`, the loop. A goal is a method with its arguments: `match_root` for each root, which leads
to `match_node` and `match_operands`, and from there over `match_term` to the nodes below; `accept` comes last, for the
conditions on the whole match. Runs and groups are matched unit by unit, by searches of their own on the same trail.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

from graphrewrite.errors import GraphRewriteError, RuleError
from graphrewrite.graph import Graph, Operand
from graphrewrite.graph.dataflow import EFFECT, predicate_in
from graphrewrite.rewriting.match.candidates import Candidates
from graphrewrite.rewriting.match.results import Embedding, MatchedValue, Obstacle, UnitMatches
from graphrewrite.rewriting.pattern import (
    Application,
    Either,
    Every,
    Literal,
    Pattern,
    PatternNode,
    Repeated,
    Rest,
    Result,
    Term,
    Unit,
    Variable,
    Where,
    Without,
    height_of,
    identical,
    same,
    top_of,
)

__all__ = ["Search", "find_at"]

Goal = tuple[Any, ...]
"""A method of the search, and its arguments."""
Options = Iterable[tuple[Goal, ...]]
"""Alternatives, each the goals that it leads to; a tuple where all are known at once, else an iterator."""

_DONE: tuple[tuple[Goal, ...], ...] = ((),)
"""One alternative, with no further goals."""
_FAILED: tuple[tuple[Goal, ...], ...] = ()
_ABSENT = object()


def find_at(
    pattern: Pattern,
    graph: Graph,
    node: str,
    *,
    shared: str = "refuse",
    obstacle: Obstacle | None = None,
    entry: int = 0,
    leader: bool = True,
    candidates: Candidates | None = None,
) -> Iterator[Embedding]:
    """Yield every embedding of a pattern in which the root ``entry`` is a node, none twice.

    ``shared`` is the rule's: whether a matched node that is no root may have a reader outside of the match. A group is
    found at its first member only, unless ``leader`` is False. ``candidates`` are those of the graph.
    """
    search = Search(pattern, graph, shared, obstacle or Obstacle(), leader, candidates or Candidates(graph))
    seen = set()
    for _ in search.embed(entry, node):
        key = search.key()
        if key not in seen:
            seen.add(key)
            yield search.embedding()


class Search:
    """One search for a pattern in a graph: assignments with a trail, and goals that extend them.

    Most methods meet one goal. They return the alternatives, each a tuple of further goals, none where the goal fails.

    Attributes
    ----------
    images : dict
        Term of the pattern to its match.
    bound : dict
        Variable to its binding.
    used : dict
        Nodes of the graph that are matched.
    denied : dict
        `Without` to the value that it must not match, decided at the end.
    empty_runs : dict
        `Repeated` of no links to the value where no link may be, decided at the end.
    trail : list
        Assignments to restore, the last first.
    """

    def __init__(
        self,
        pattern: Pattern,
        graph: Graph,
        shared: str,
        obstacle: Obstacle,
        first_member_only: bool,
        candidates: Candidates,
    ) -> None:
        self.pattern, self.graph, self.shared, self.obstacle = pattern, graph, shared, obstacle
        self.first_member_only, self.candidates = first_member_only, candidates
        self.images: dict[Any, Any] = {}
        self.bound: dict[Any, Any] = {}
        self.used: dict[str, Any] = {}
        self.denied: dict[Any, Any] = {}
        self.empty_runs: dict[Any, Any] = {}
        self.trail: list[tuple[dict[Any, Any], Any, Any]] = []
        self.unfit: dict[tuple[int, str], bool] = {}
        self.entry: Any = None
        # Commutative nodes above others multiply their orders: from two on it pays to ask first whether a tree can fit.
        self.prunes = sum(_branches(n) for n in pattern.nodes) > 1

    # ------------------------------------------------------------------ the result

    def embedding(self) -> Embedding:
        """Return the present assignments."""
        images = tuple(self.images.get(term) for term in self.pattern.terms)
        return Embedding(images, tuple(self.bound.get(v) for v in self.pattern.variables))

    def key(self) -> Any:
        """Return a key that is equal for equal embeddings: a choice between alternatives may lead to one twice."""
        nodes = tuple(self.images.get(n) for n in self.pattern.terms if isinstance(n, PatternNode | Repeated | Every))
        return nodes, tuple(
            v if isinstance(v, tuple | None) else repr(v) for v in map(self.bound.get, self.pattern.variables)
        )

    # ------------------------------------------------------------------ goals and choices

    def embed(self, entry: int, node: str) -> Iterator[None]:
        """Stop at every embedding, the root ``entry`` being at a node."""
        self.entry = self.pattern.roots[entry]
        goals: list[Goal] = [(self.match_root, self.entry, node)]
        goals += [(self.match_next_root, root) for i, root in enumerate(self.pattern.roots) if i != entry]
        goals.append((self.accept,))
        return self.solve(goals)

    def solve(self, goals: Iterable[Goal]) -> Iterator[None]:
        """Stop at every way to meet all goals; its assignments then stand, and are undone when it goes on."""
        # The goals that are left are a linked list, so that all choices share the goals after them.
        rest: Any = None
        for goal in reversed(list(goals)):
            rest = (goal, rest)
        choices: list[tuple[Iterator[tuple[Goal, ...]], Any, int]] = []
        bottom = len(self.trail)
        while True:
            # Forwards: meet goal after goal, until one fails or leaves a choice, or none is left.
            while rest is not None:
                (step, *arguments), after = rest
                options = step(*arguments)
                if isinstance(options, tuple):
                    if not options:
                        break
                    if len(options) == 1:  # no choice to come back to
                        rest = after
                        for goal in reversed(options[0]):
                            rest = (goal, rest)
                        continue
                choices.append((iter(options), after, len(self.trail)))
                break
            else:
                yield
            # Backwards: the next alternative of the latest choice that has one.
            while choices:
                alternatives, after, checkpoint = choices[-1]
                self.undo(checkpoint)
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

    def can_meet(self, goals: Iterable[Goal]) -> bool:
        """Tell whether all goals can be met; if so, the assignments of the first way stand."""
        return any(True for _ in self.solve(goals))

    # ------------------------------------------------------------------ roots

    def match_root(self, root: Any, node: str) -> Options:
        """Embed a root at a node."""
        match root:
            case Every():
                return (((self.match_node, root.unit.top, node), (self.match_group, root, node)),)
            case Result():
                return (((self.match_node, root.node, node),),)
            case Repeated():
                return (((self.match_run, root, Operand(node), True),),)
        return (((self.match_node, root, node),),)

    def match_next_root(self, root: Any) -> Options:
        """Embed a root wherever it fits the present assignments."""
        top = top_of(root)
        if top in self.images:
            return _DONE
        return self.match_anywhere(root, top)

    def match_anywhere(self, root: Any, top: PatternNode) -> Iterator[tuple[Goal, ...]]:
        """Embed a root at each of its candidates."""
        node = None
        for node in self.candidates_of(top, partial(self.fits_alone, top)):
            yield ((self.match_root, root, node),)
        if node is None:
            self.fail(next(iter(self.used)), f"is matched, but no node fits {top!r}", term=top)

    # ------------------------------------------------------------------ terms

    def match_term(self, term: Term, value: Operand) -> Options:
        """Match a term with a value."""
        match term:
            case Variable():
                return self.match_variable(term, value)
            case PatternNode():
                return self.match_result(term, 0, value)
            case Result():
                return self.match_result(term.node, term.index, value)
            case Literal():
                return _DONE if self.admits_literal(term, value) else _FAILED
            case Where():
                return _DONE if self.meets(term, value) else _FAILED
            case Either() | Without() if term in self.images:  # a term with two readers: one value for both
                return _DONE if self.images[term] == value else _FAILED
            case Either():
                self.assign(self.images, term, value)
                return tuple(((self.match_term, option, value),) for option in term.options)
            case Without():
                self.assign(self.images, term, value)
                self.assign(self.denied, term, value)
                return _DONE
            case Repeated():
                if term not in self.images:
                    return (((self.match_run, term, value, False),),)
                return _DONE if value == (self.empty_runs.get(term) or Operand(self.images[term].tops[-1])) else _FAILED
        raise RuleError(f"{term!r} is no operand; it can only be yielded")

    def match_variable(self, variable: Variable, value: Any, reader: Any = None) -> Options:
        """Bind a variable to a value, or to the values that a node reads, or compare with its binding."""
        if variable in self.bound:
            bound = self.bound[variable]
            if bound == value:
                return _DONE
            blamed = value.node if isinstance(value, Operand) else reader
            self.fail(blamed, _unequal(value, bound, variable.name), term=variable)
            return _FAILED
        # A rest variable has several values, and each of them must be admitted.
        for each in (value,) if isinstance(value, Operand) else value:
            kind = self.graph._node[each.node].get("type")
            if variable.constant and kind != "constant":
                self.fail(each.node, f"is {kind}, and {variable.name!r} must be a constant", term=variable)
                return _FAILED
            if variable.condition is not None and not self.meets(variable.condition, each, variable):
                return _FAILED
        self.assign(self.bound, variable, value)
        return _DONE

    def admits_literal(self, term: Literal, value: Operand) -> bool:
        """Tell whether a value is a constant that a literal admits."""
        data = self.graph._node[value.node]
        if data.get("type") != "constant":
            self.fail(value.node, f"is {data.get('type')}, and the pattern needs the constant {term!r}", term=term)
            return False
        if not term.admits(data["value"]):
            self.fail(value.node, f"is a constant, but not {term!r}", term=term, value=data["value"])
            return False
        return True

    def meets(self, condition: Where, value: Operand, term: Any = None) -> bool:
        """Tell whether a value meets a condition, which may be that of a term."""
        matched = MatchedValue(self.graph, *value)
        if not self.call_predicate(condition, matched, value.node):
            # Only where somebody wants to hear of it, what is missing is found out.
            reason = condition.lacking(matched) if self.obstacle.patience else f"does not meet: {condition.reason}"
            self.fail(value.node, reason, term=condition if term is None else term)
            return False
        return True

    def call_predicate(self, condition: Where, argument: Any, node: str) -> bool:
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

    def application(self, name: str, attributes: Mapping[str, Any]) -> Application:
        """Return what a node with some attributes applies to what."""
        types = tuple(self.graph.result_type(*operand) for operand in self.graph.operands(name))
        return Application(self.graph.op(name), types, attributes)

    # ------------------------------------------------------------------ nodes

    def match_result(self, term: PatternNode, index: int, value: Operand) -> Options:
        """Match one result of a pattern node with a value."""
        if value.result != index:
            self.fail(value.node, f"gives result {value.result} here, and the pattern needs result {index}", term=term)
            return _FAILED
        return self.match_node(term, value.node)

    def match_node(self, term: PatternNode, name: str) -> Options:
        """Match a pattern node with a node."""
        if term in self.images:
            if self.images[term] == name:
                return _DONE
            reason = (
                f"is another node, and the pattern needs the same {term.called} here as before, {self.images[term]!r}"
            )
            self.fail(name, reason, term=term)
            return _FAILED
        if not self.is_available(term, name):
            return _FAILED
        operands = self.graph.operands(name)
        # Where an obstacle is wanted, the search goes on for a while: deeper down, the reason is more exact.
        if self.prunes and self.cannot_fit(term, name):
            self.fail(name, f"has no operands that the pattern's {term.called} could have", term=term)
            if self.obstacle.patience <= 0:
                return _FAILED
            self.obstacle.patience -= 1
        if not self.match_attributes(term, name):
            return _FAILED
        if term.is_open and id(term) not in self.pattern.whole:
            number = self.graph.op(name).number_of_results(self.graph.attributes(name))
            if number != 1:
                self.fail(name, f"has {number} results, and the pattern needs one", term=term)
                return _FAILED
        self.assign(self.images, term, name)
        self.assign(self.used, name, True)
        return self.match_operands(term, name, operands)

    def is_available(self, term: PatternNode, name: str) -> bool:
        """Tell whether a node has a type that a pattern node allows, and is not taken."""
        kind = self.graph._node[name].get("type")
        if (kind not in term.kinds) if term.ops else (kind in ("input", "output", "constant")):
            self.fail(name, f"is {kind}, and the pattern needs ", term=term, wanted=term.called)
            return False
        if name in self.used:
            self.fail(name, "is already matched by another node of the pattern", term=term)
            return False
        return True

    def match_attributes(self, term: PatternNode, name: str) -> bool:
        """Compare and bind the attributes of a node."""
        if not term.attributes:
            return True
        actual = self.graph.attributes(name)
        # An attribute that fits continues the loop; any other leaves the reason for the explanation.
        for key, wanted in term.attributes.items():
            if key not in actual:
                self.fail(name, f"has no attribute {key!r}", term=term)
                return False
            value = actual[key]
            if isinstance(wanted, Variable):
                if wanted not in self.bound:
                    if wanted.condition is None or self.call_predicate(wanted.condition, value, name):
                        self.assign(self.bound, wanted, value)
                        continue
                    reason = f"the pattern needs: {wanted.condition.reason}"
                elif identical(self.bound[wanted], value):
                    continue
                else:
                    reason = f"{wanted.name!r} is already bound to {self.bound[wanted]!r}"
            elif isinstance(wanted, Where):
                if self.call_predicate(wanted, self.application(name, actual) if wanted.of_node else value, name):
                    continue
                reason = f"the pattern needs: {wanted.reason}"
            elif isinstance(wanted, set | frozenset | range):
                if any(same(value, w) for w in wanted):
                    continue
                reason = f"the pattern needs one of {_listed(wanted)}"
            elif same(wanted, value):
                continue
            else:
                reason = f"the pattern needs {wanted!r}"
            self.fail(name, f"{key} is {value!r}, and {reason}", term=term)
            return False
        return True

    # ------------------------------------------------------------------ operands

    def match_operands(self, term: PatternNode, name: str, values: tuple[Operand, ...]) -> Options:
        """Match the operands of a node, in every order and split that is allowed."""
        terms = term.operands
        rests, optional = term.loose, term.optional
        # How many: optional operands are the last ones, and missing ones bind None; `*xs` takes whatever is left.
        missing = 0 if rests else len(terms) - len(values)
        if not 0 <= missing <= optional or (rests and len(values) < len(terms) - len(rests)):
            least = len(terms) - optional - len(rests)
            wanted = f"at least {least}" if rests else f"{least} to {len(terms)}" if optional else str(len(terms))
            count = "1 operand" if len(values) == 1 else f"{len(values)} operands"
            self.fail(name, f"has {count}, and the pattern needs {wanted}", term=term)
            return _FAILED
        goals: list[Goal] = [(self.bind_missing, t) for t in terms[len(terms) - missing :]]
        terms = terms[: len(terms) - missing]
        # Which order: the first `free` operands of a commutative op stand in any, two of them most often.
        free = self.graph.op(name).interchangeable(len(values)) if len(values) > 1 else 0
        if free == len(terms) == 2 and not rests:
            (s, t), (a, b) = terms, values
            ordered: tuple[Goal, ...] = ((self.match_term, s, a), (self.match_term, t, b))
            swapped: tuple[Goal, ...] = ((self.match_term, s, b), (self.match_term, t, a))
            return (ordered,) if a == b else (ordered, swapped)
        if free > 1:
            head = terms if free == len(values) and rests else terms[:free]
            goals += [(self.match_term, t, v) for t, v in zip(terms[len(head) :], values[free:], strict=True)]
            single = tuple(t for t in head if not isinstance(t, Rest))
            rest = next((t for t in head if isinstance(t, Rest)), None)
            return (((self.match_any_order, single, values[:free], rest, name), *goals),)
        if not rests:
            return ((*((self.match_term, t, v) for t, v in zip(terms, values, strict=True)), *goals),)
        return self.match_splits(terms, rests, values, name)

    def match_any_order(
        self, terms: tuple[Term, ...], values: tuple[Operand, ...], rest: Rest | None, name: str
    ) -> Options:
        """Match terms with values in any order; equal values are not tried twice."""
        if not terms:
            return self.match_variable(rest.variable, values, name) if rest is not None else _DONE
        distinct = dict.fromkeys(values)
        return tuple(
            ((self.match_term, terms[0], v), (self.match_any_order, terms[1:], _less(values, v), rest, name))
            for v in distinct
        )

    def match_splits(
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
                    goals.append((self.match_variable, term.variable, values[at : at + size], name))
                    at += size
                else:
                    goals.append((self.match_term, term, values[at]))
                    at += 1
            yield tuple(goals)

    def bind_missing(self, variable: Variable) -> Options:
        """Bind None to an optional operand that is missing."""
        if self.bound.get(variable) is not None:
            reason = f"is bound to {variable.name!r}, which is missing elsewhere"
            self.fail(_node_of(self.bound[variable]), reason, term=variable)
            return _FAILED
        self.assign(self.bound, variable, None)
        return _DONE

    def cannot_fit(self, term: PatternNode, name: str) -> bool:
        """Tell whether a tree of a pattern cannot fit below a node, whatever its variables are.

        Memoised for each pair, so that a tree of commutative ops costs its size times that of the graph's, where
        trying all orders of all of them would cost their product.
        """
        key = (id(term), name)
        if key not in self.unfit:
            self.unfit[key] = False  # while it is computed: on a cycle the question comes back
            kind = self.graph._node[name].get("type")
            values = self.graph.operands(name)
            inner = [(i, t) for i, t in enumerate(term.operands) if isinstance(t, PatternNode)]
            unfit = bool(term.ops) and kind not in term.kinds
            if not unfit and len(values) == len(term.operands) and not any(isinstance(t, Rest) for t in term.operands):
                free = self.graph.op(name).interchangeable(len(values)) if len(values) > 1 else 0
                fits = {
                    (i, j): not self.cannot_fit(t, values[j].node)
                    for i, t in inner
                    for j in (range(free) if i < free else (i,))
                }
                unfit = any(not any(ok for (a, _), ok in fits.items() if a == i) for i, _ in inner)
                if not unfit and free == 2 and sum(i < 2 for i, _ in inner) == 2:
                    unfit = not ((fits[0, 0] and fits[1, 1]) or (fits[0, 1] and fits[1, 0]))
            self.unfit[key] = unfit
        return self.unfit[key]

    # ------------------------------------------------------------------ runs

    def match_run(self, term: Repeated, top: Operand, root: bool) -> Options:
        """Match a whole run from its top down, then its base; a run of no links is its base alone.

        Each link matches in the first way that lets the run go on, and the lowest in every way. Variables of the rule
        that occur in the unit are bound before: each binding that the top link allows has a run of its own.
        """
        unit = term.unit
        free = [v for v in unit.variables if v not in self.bound]
        runs: tuple[tuple[Goal, ...], ...] = (((self.match_links, term, top, root),),)
        if free:
            ways: dict[str, tuple[Any, ...]] = {}
            for _ in self.solve([(self.match_result, unit.top, 0, top)]):
                way = tuple(self.bound[v] for v in free)
                ways.setdefault(repr(way), way)
            runs = tuple(((self.bind_variables, free, way), *runs[0]) for way in ways.values())
        return runs if term.least else (*runs, ((self.match_empty_run, term, top),))

    def match_links(self, term: Repeated, top: Operand, root: bool) -> Options:
        """Match the links of a run, the lowest in every way."""
        unit = term.unit
        links: list[Any] = []
        inside: set[str] = set()
        lower: Operand | None = top
        while lower is not None:
            at, lower = lower, self.match_next_link(unit, lower, links, inside)
            if root and lower is not None and len(links) == 1 and self.continues_above(unit, top.node):
                return self.refuse_inner_run(top)
        return (((self.match_result, unit.top, 0, at), (self.finish_run, term, links, root and not links)),)

    def match_empty_run(self, term: Repeated, value: Operand) -> Options:
        """Match the base as a run of no links; that none fits is decided at the end, by `settle_empty_runs`."""
        self.assign(self.images, term, UnitMatches((), (), ()))
        self.assign(self.empty_runs, term, value)
        return (((self.match_term, term.base, value),),)

    def bind_variables(self, variables: list[Variable], values: tuple[Any, ...]) -> Options:
        """Bind some variables."""
        for variable, value in zip(variables, values, strict=True):
            self.assign(self.bound, variable, value)
        return _DONE

    def match_next_link(self, unit: Unit, top: Operand, links: list[Any], inside: set[str]) -> Operand | None:
        """Match a link in the first way that lets the run go on; return the value below, or None at the last link."""
        assert unit.hole is not None
        for _ in self.solve([(self.match_result, unit.top, 0, top)]):
            if self.continues_below(unit, self.bound[unit.hole], inside):
                link, lower = self.take_unit(unit)
                links.append(link)
                inside.update(link[0])
                return lower
        return None

    def continues_below(self, unit: Unit, lower: Operand, inside: set[str]) -> bool:
        """Tell whether the value below a link is the top of another one that is the run's alone."""
        if lower.result or not self.can_be(unit.top, lower.node):
            return False
        mine = {self.images[n] for n in unit.nodes}
        readers = self.graph._succ[lower.node]
        if self.shared == "refuse" and not all(r in mine or r in inside for r in readers):
            return False
        # Nodes of other parts of the pattern do not end a run: a node in both is no match at all.
        used, self.used = self.used, {}
        checkpoint = len(self.trail)
        self.free_unit(unit)
        fits = self.can_meet([(self.match_result, unit.top, 0, lower)])
        self.undo(checkpoint)
        self.used = used
        return fits

    def finish_run(self, term: Repeated, links: list[Any], root: bool) -> Options:
        """Take the lowest link as it is matched now, and match the base."""
        link, value = self.take_unit(term.unit)
        links = [link, *reversed(links)]
        if len(links) < term.least:
            reason = f"is below a run of {len(links)}, and the pattern needs {term.least} or more"
            self.fail(value.node, f"{reason}{self.shared_end(term.unit, value, links)}", term=term, beyond=1)
            return _FAILED
        if root and self.continues_above(term.unit, links[-1][2]):
            return self.refuse_inner_run(Operand(links[-1][2]))
        self.assign(self.images, term, _columns(links))
        return (((self.match_term, term.base, value),),)

    def shared_end(self, unit: Unit, lower: Operand, links: list[Any]) -> str:
        """Return the message for a reader outside of a run that ends it above another possible link."""
        mine = {name for nodes, _, _ in links for name in nodes}
        others = [r for r in self.graph._succ[lower.node] if r not in mine]
        if self.shared != "refuse" or not others or lower.result or not self.can_be(unit.top, lower.node):
            return ""
        return f"; a run ends at what {others[0]!r} reads as well"

    def refuse_inner_run(self, top: Operand) -> Options:
        """Refuse a run that is part of a longer one."""
        self.fail(top.node, "is inside a longer run; the rule matches at its end", beyond=1)
        return _FAILED

    def continues_above(self, unit: Unit, top: str) -> bool:
        """Tell whether a link above the top of a run would belong to it."""
        assert unit.hole is not None
        if self.shared == "refuse" and len(self.graph._succ[top]) > len(unit.nodes):
            return False
        checkpoint = len(self.trail)
        for candidate in self.candidates.above(top, height_of(unit.top), unit.top.kinds):
            for _ in self.solve([(self.match_node, unit.top, candidate)]):
                nodes = {self.images[n] for n in unit.nodes}
                alone = self.shared != "refuse" or self.graph._succ[top].keys() <= nodes
                if self.bound[unit.hole] == Operand(top) and alone:
                    self.undo(checkpoint)
                    return True
        self.undo(checkpoint)
        return False

    def settle_empty_runs(self) -> Options:
        """Accept runs of no links only where, with all variables bound, no link fits."""
        checkpoint = len(self.trail)
        used, self.used = self.used, {}  # a node of another part of the pattern would be a link as well
        for term, value in list(self.empty_runs.items()):
            if self.can_meet([(self.match_result, term.unit.top, 0, value)]):
                self.undo(checkpoint)
                self.used = used
                self.fail(value.node, f"is a link, and {term!r} is as long as it can be", term=term, beyond=1)
                return _FAILED
        self.used = used
        return _DONE

    # ------------------------------------------------------------------ groups

    def match_group(self, term: Every, member: str) -> Options:
        """Match all readers of a value, of which `member` is matched now."""
        unit = term.unit
        # The member found the value that the group reads; then it is matched again, in its turn.
        for node in unit.nodes:
            self.unassign(self.used, self.images[node])
        self.free_unit(unit)
        value = self.value_of(term.of)
        if value is None:
            self.fail(member, f"does not read {term.of!r}", term=term)
            return _FAILED
        # From each of its members a group is the same: the first by name is enough, or, of those visited, the first.
        leads = self.first_member_only or term is not self.entry
        if not leads and not self.candidates.is_new((term, value, repr([self.bound.get(v) for v in unit.variables]))):
            return _FAILED
        # All readers of the form are members: one that is matched elsewhere as well, or shares a node, makes no match.
        used, self.used = self.used, {}
        members: list[Any] = []
        for candidate in self.candidates.above(value.node, height_of(unit.top), unit.top.kinds):
            if self.can_meet([(self.match_node, unit.top, candidate)]):
                members.append(self.take_unit(unit)[0])
                self.used = {}
                if leads and members[0][2] != member:
                    break  # a group is found at its first member
        self.used = used
        if leads and members and members[0][2] != member:
            self.fail(member, f"is one of the group that is found at {members[0][2]!r}", term=term, beyond=1)
            return _FAILED
        if len(members) < term.least or member not in {top for _, _, top in members}:
            reason = f"is one of a group of {len(members)}, and the pattern needs {term.least} or more"
            self.fail(member, reason, term=term, beyond=1)
            return _FAILED
        for name in (name for nodes, _, _ in members for name in nodes):
            if name in self.used:
                self.fail(name, "is already matched by another node of the pattern", term=term)
                return _FAILED
            self.assign(self.used, name, True)
        self.assign(self.images, term, _columns(members))
        return _DONE

    # ------------------------------------------------------------------ units

    def take_unit(self, unit: Unit) -> tuple[Any, Operand]:
        """Return the match of a unit, and the value in its hole; its variables are free again."""
        nodes = tuple(self.images[n] for n in unit.nodes)
        values = tuple(self.bound.get(v) for v in unit.own)
        top = self.images[unit.top]
        lower = self.bound[unit.hole] if unit.hole is not None else Operand(top)
        self.free_unit(unit)
        return (nodes, values, top), lower

    def free_unit(self, unit: Unit) -> None:
        """Free the variables of a unit; its matched nodes stay taken."""
        for node in unit.nodes:
            self.unassign(self.images, node)
        for variable in (*unit.own, *((unit.hole,) if unit.hole is not None else ())):
            self.unassign(self.bound, variable)

    # ------------------------------------------------------------------ the whole match

    def accept(self) -> Options:
        """Accept a match or not."""
        accepted = (
            self.has_no_outside_readers()
            and self.settle_empty_runs()
            and self.settle_denied()
            and not self.has_forbidden()
        )
        return _DONE if accepted else _FAILED

    def has_no_outside_readers(self) -> bool:
        """Tell whether no node that is to disappear has a reader outside the match."""
        if self.shared != "refuse":
            return True
        replaced = self.replaced_results()
        for name in self.used:
            results = replaced.get(name, ())
            if results is None:
                continue
            for reader, data in self.graph._succ[name].items():
                if reader not in self.used and not _reads_only(data, results):
                    self.fail(name, f"would disappear, but {reader!r} outside the match reads it", beyond=1)
                    return False
        return True

    def replaced_results(self) -> dict[str, set[int] | None]:
        """Return the nodes of the roots with the results that are replaced; None for all of them."""
        replaced: dict[str, set[int] | None] = {}
        for root in self.pattern.roots:
            match root:
                case Result():
                    already = replaced.setdefault(self.images[root.node], set())
                    if already is not None:
                        already.add(root.index)
                case Every():
                    replaced.update(dict.fromkeys(self.images[root].tops))
                case Repeated():
                    replaced[self.images[root].tops[-1]] = None
                case _:
                    replaced[self.images[root]] = None
        return replaced

    def settle_denied(self) -> bool:
        """Tell whether no value that must not match a term does."""
        checkpoint = len(self.trail)
        for term, value in list(self.denied.items()):
            if self.can_meet([(self.match_term, term.term_, value), (self.settle_empty_runs,)]):
                self.undo(checkpoint)
                self.fail(value.node, f"is what the pattern forbids here: {term.term_!r}", term=term, beyond=1)
                return False
        return True

    def has_forbidden(self) -> bool:
        """Tell whether a forbidden node is there."""
        checkpoint = len(self.trail)
        for term in self.pattern.forbidden:
            for name in self.candidates_of(term):
                goals = [(self.match_node, term, name), (self.settle_empty_runs,)]
                if name not in self.used and self.can_meet(goals):
                    self.undo(checkpoint)
                    self.fail(name, f"is there, and the pattern forbids {term!r}", term=term, beyond=1)
                    return True
        return False

    # ------------------------------------------------------------------ candidates

    def candidates_of(self, top: PatternNode, fits: Callable[[str], bool] | None = None) -> Iterable[str]:
        """Return the nodes that a pattern node may match, given the present assignments; by name."""
        # Breadth-first down the pattern, to the nearest term that is bound: its readers are few, all nodes are many.
        layer: list[Any] = [top]
        for distance in range(1, len(self.pattern.terms) + 2):
            below = [t for node in layer for t in node.operands]
            for term in below:
                value = self.value_of(term)
                if value is not None and distance == 1:
                    return self.candidates.fitting(value.node, top, top.kinds, fits)
                if value is not None:
                    return self.candidates.above(value.node, distance, top.kinds)
            layer = [t.node if isinstance(t, Result) else t for t in below]
            layer = [t for t in layer if isinstance(t, PatternNode)]
            if not layer:
                break
        return self.candidates.fitting(None, top, top.kinds, fits)

    def fits_alone(self, top: PatternNode, name: str) -> bool:
        """Tell whether a pattern node may match a node, whatever else there is."""
        alone = Search(self.pattern, self.graph, self.shared, Obstacle(), False, self.candidates)
        try:
            return alone.can_meet([(alone.match_node, top, name)])
        except GraphRewriteError:  # of a predicate, which complains once its turn comes
            return True

    def value_of(self, term: Any) -> Operand | None:
        """Return the value that a term is bound to, if any."""
        if isinstance(term, Rest):
            term = term.variable
        image = self.bound.get(term) if isinstance(term, Variable) else self.images.get(term)
        if isinstance(term, Result):
            image = self.images.get(term.node)
        if isinstance(image, str):
            return Operand(image)
        if isinstance(image, Operand):
            return image
        return image[0] if isinstance(image, tuple) and image and isinstance(image[0], Operand) else None

    def can_be(self, top: PatternNode, name: str) -> bool:
        """Tell whether a node has a type that a pattern node allows."""
        return not top.ops or self.graph._node[name].get("type") in top.kinds

    # ------------------------------------------------------------------ state and trail

    def assign(self, where: dict[Any, Any], key: Any, value: Any) -> None:
        """Assign, and put the old value on the trail."""
        self.trail.append((where, key, where.get(key, _ABSENT)))
        where[key] = value

    def unassign(self, where: dict[Any, Any], key: Any) -> None:
        """Remove an assignment, and put it on the trail."""
        if key in where:
            self.trail.append((where, key, where.pop(key)))

    def undo(self, checkpoint: int) -> None:
        """Restore the assignments of the time when the trail was that long."""
        trail = self.trail
        while len(trail) > checkpoint:
            where, key, old = trail.pop()
            if old is _ABSENT:
                where.pop(key, None)
            else:
                where[key] = old

    def fail(self, node: Any, reason: str, *, term: Any = None, beyond: int = 0, **more: Any) -> None:
        """Note why the search stops at a term; `beyond` counts the checks of the whole match as further progress."""
        progress = len(self.used) + beyond
        if progress >= self.obstacle.progress:
            self.obstacle.note(
                progress, node, reason, term=term, images=self.images, bound=self.bound, used=self.used, **more
            )


def _columns(rows: list[Any]) -> UnitMatches:
    return UnitMatches(*(tuple(column) for column in zip(*rows, strict=True)))


def _branches(term: PatternNode) -> bool:
    """Tell whether a node has pattern nodes below it that can stand in several orders."""
    return sum(isinstance(t, PatternNode) for t in term.operands) > 0 and (
        not term.ops or any(op.commutative for op in term.ops)
    )


def _reads_only(edge: dict[str, Any], results: Collection[int]) -> bool:
    """Tell whether an edge reads some results and no others; rewriting sees to the order of effects itself."""
    predicate = predicate_in(edge)
    if predicate is None and edge.get("kind", EFFECT) != EFFECT:
        return False
    return all(r in results for r in ([r for _, r in edge["slots"]] + ([] if predicate is None else [predicate])))


def _less(values: tuple[Operand, ...], value: Operand) -> tuple[Operand, ...]:
    at = values.index(value)
    return (*values[:at], *values[at + 1 :])


def _node_of(value: Any) -> Any:
    """Return the node of a value, or of the first of several."""
    return value.node if isinstance(value, Operand) else value[0].node if value else None


def _unequal(value: Any, before: Any, name: str) -> str:
    """Return the message that a value is not the binding of a variable; the value's node is named before."""
    if isinstance(value, Operand):
        if isinstance(before, Operand) and before.node == value.node:
            return f"gives result {value.result} here, and {name} stands for result {before.result} of it already"
        return f"is not {_shown(before)}, which {name} stands for already"
    return f"reads {_shown(value)} for {name}, which stands for {_shown(before)} already"


def _shown(value: Any) -> str:
    """Return the text of a value.

    Examples
    --------
    >>> _shown(Operand("a")), _shown(Operand("a", 1)), _shown((Operand("a"), Operand("b")))
    ("'a'", "result 1 of 'a'", "['a', 'b']")
    """
    if isinstance(value, Operand):
        return f"result {value.result} of {value.node!r}" if value.result else repr(value.node)
    if isinstance(value, tuple) and all(isinstance(each, Operand) for each in value):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)


def _listed(values: set[Any] | frozenset[Any] | range) -> str:
    """Return the text of a set or range, in an order that is the same each time."""
    if isinstance(values, range) and values.step == 1 and len(values) > 2:
        return f"{values[0]} to {values[-1]}"
    return f"{{{', '.join(map(repr, values) if isinstance(values, range) else sorted(map(repr, values)))}}}"
