"""Subjects of tests in one form: a rule, a pass, a rule set, a pipeline, or a function on graphs."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field
from functools import cached_property
from pickle import UnpicklingError
from types import CodeType
from typing import Any

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from graphrewrite.errors import (
    DataError,
    EvaluationError,
    GraphError,
    GraphRewriteError,
    ParseError,
    RewriteError,
    RuleError,
    SerialError,
    TypeMismatchError,
    VerificationError,
)
from graphrewrite.graph import Graph
from graphrewrite.op import LIBRARY
from graphrewrite.rewriting.digraph_rules import GraphRule
from graphrewrite.rewriting.engine.entry import GraphRewriting, rewrite
from graphrewrite.rewriting.passes import Pass, Pipeline
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.rewriting.rule.outcome import Declined
from graphrewrite.testing.branches import Branches, watched
from graphrewrite.testing.failure.culprit import name_of
from graphrewrite.testing.firing import Firing, facts_of, firing_between, firing_of
from graphrewrite.testing.generation.beside_values import ANNOTATED
from graphrewrite.testing.mentioning import mentions_memory, ops_mentioned, rules_used, texts_in, values_mentioned
from graphrewrite.testing.strategies.asked_attributes import digraphs_for
from graphrewrite.testing.strategies.digraph_strategy import digraphs
from graphrewrite.testing.strategies.graph_strategy import GraphsOfRules, graphs, graphs_about, programs
from graphrewrite.testing.strategies.picking import one_of

__all__ = ["Outcome", "Subject", "Transformation"]

Single = Rule | GraphRewriting | Pass
Transformation = Single | Pipeline | Iterable[Single] | Callable[[Graph], Graph]
"""A rule, a pass, a rule set, a pipeline, or a function from graph to graph."""

_FAULTS = (
    GraphError,
    TypeMismatchError,
    EvaluationError,
    RuleError,
    RewriteError,
    VerificationError,
    ParseError,
    DataError,
    SerialError,
)
"""Errors that show a fault. A function may refuse a graph by an error of its own, as lowerings do."""
_NUMBERS = 4
"""Numbers of the code that are inputs as well."""
_AT_ONCE = 3
"""Rules that have an instance in a graph of several."""
_APPLIED = 8
"""Of a function that applies many rules, those of which graphs have instances."""
_ADVICE = "pass a rule, a pass, a rule set, a Pipeline, or a function that takes a graph and returns one"


@dataclass
class Outcome:
    """The result of applying a transformation to a graph.

    Attributes
    ----------
    graph : Graph or networkx.DiGraph
        The result.
    fired : Counter
        How often each member changed something.
    declined : dict of str to Counter
        By member, how often it refused, by reason.
    firings : list of Firing
        Every change.
    """

    graph: Any
    fired: Counter[str] = field(default_factory=Counter)
    declined: dict[str, Counter[str]] = field(default_factory=dict)
    firings: list[Firing] = field(default_factory=list, repr=False)


class _TooLong(Exception):
    """More steps than usual."""


class _Witness:
    """Note the steps of each member of a rule set."""

    def __init__(self, outcome: Outcome, patience: int | None) -> None:
        self.outcome, self.left = outcome, patience
        self.before: Any = None  # of a pass

    def tried(self, member: Any, node: Any, outcome: Any) -> None:
        if isinstance(outcome, Declined):
            self.outcome.declined.setdefault(member.name, Counter())[outcome.reason] += 1

    def rewritten(self, graph: Any, member: Any, change: Any) -> None:
        self._note(firing_of(graph, member, change))

    def passing(self, graph: Graph) -> None:
        self.before = graph.copy()

    def passed(self, graph: Graph, name: str, removed: list[str]) -> None:
        self._note(firing_between(self.before, graph, name))

    def _note(self, firing: Firing) -> None:
        self.outcome.fired[firing.member] += 1
        self.outcome.firings.append(firing)
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise _TooLong


class Subject:
    """A transformation in one form.

    Examples
    --------
    >>> from graphrewrite.rules import drop_identity, merge_clips
    >>> Subject([drop_identity, merge_clips]).names
    ('drop_identity', 'merge_clips')
    >>> Subject("drop_identity")
    Traceback (most recent call last):
    ...
    graphrewrite.errors.RuleError: 'drop_identity' cannot be tested; pass a rule, a pass, a rule set, a Pipeline, ...
    """

    def __init__(self, transformation: Transformation, meaning: Callable[[Any], Any] | None = None) -> None:
        self.transformation, self.meaning = transformation, meaning
        self.stages: list[Callable[[Any], Any] | tuple[Single, ...]] = list(_stages(transformation))
        self.members = tuple(m for stage in self.stages if isinstance(stage, tuple) for m in stage)
        functions = tuple(name_of(stage) for stage in self.stages if not isinstance(stage, tuple))
        self.names = tuple(dict.fromkeys((*(m.name for m in self.members), *functions)))
        if not self.names:
            raise RuleError(f"{transformation!r} is empty, so that there is nothing to test; {_ADVICE}")
        alone = self.names[0] if len(self.names) == 1 else f"{len(self.names)} rules"
        self.name: str = transformation.name if isinstance(transformation, Pipeline) else alone
        self.intervals = {m.name: getattr(m, "interval", 1.0) for m in self.members}
        """By what factor each member may make a frame of streams longer."""
        self.is_deaf = any(isinstance(m, Pass) for m in self.members) or bool(functions)
        """Whether steps may go unnoticed by the watcher of a rewrite."""
        functions_of = [(m.name, m.function) for m in self.members if isinstance(m, Rule | Pass)]
        functions_of += [(name_of(stage), stage) for stage in self.stages if not isinstance(stage, tuple)]
        kept = {getattr(m, "keeps", "exact") for m in self.members}
        # What a function keeps is nowhere said but by the rules that it applies.
        kept |= {r.keeps for stage in self.stages if not isinstance(stage, tuple) for r in rules_used(stage)}
        self.keeps = "exact" if kept <= {"exact"} else "rounding"
        self._named = tuple(name for name, _ in functions_of)
        self.branches = Branches(function for _, function in functions_of)
        """What of the code runs when it is applied with every step checked."""
        mentioned = [n for _, function in functions_of for n in values_mentioned(function).numbers]
        self.numbers = tuple(n for n in dict.fromkeys(mentioned) if n not in (0, 1, -1))[:_NUMBERS]
        """Numbers that its code mentions, near to which it may decide."""
        self._strategies: dict[Set[str], st.SearchStrategy[Any]] = {}
        self._watched = [
            tuple(watched(m, self.branches) for m in dict.fromkeys(stage))
            if isinstance(stage, tuple)
            else watched(stage, self.branches)
            for stage in self.stages
        ]

    def __reduce__(self) -> Any:
        return _same, (self.transformation, self.meaning, self.code)

    def weight(self, names: Iterable[str]) -> int:
        """Return as how many some members count: graphs of several rules have instances of three or so."""
        asked = set(names)
        rules = {m.name for m in self._of_rules.rules} & asked if self._has_graphs_of_rules else set()
        return len(asked) - len(rules) + -(-len(rules) // _AT_ONCE)

    def running(self, ran: Iterable[Any]) -> tuple[str, ...]:
        """Return the members of whose code something has run."""
        return tuple(dict.fromkeys(self._named[number] for number in self.branches.functions_in(ran)))

    @property
    def code(self) -> str:
        """A text for the code of its functions: another one of the same name has another."""
        codes = [used.code for used in self.branches.used]
        return str([(code.co_code.hex(), code.co_names, _constants(code)) for code in codes])

    def apply(self, graph: Any) -> Outcome:
        """Apply it, with every step checked by the verifier."""
        try:
            return self._applied(graph, verify=True, patience=20 + 5 * len(graph))
        except _TooLong:
            # A pass handles the whole graph at once, so that fewer runs show that there is no end.
            limit = 200 + 20 * len(graph) if any(isinstance(m, Pass) for m in self.members) else None
            self.apply_quickly(graph, limit=limit)  # raises an error if there is no end
            return self._applied(graph, verify=True)

    def apply_quickly(self, graph: Any, *, limit: int | None = None) -> Any:
        """Apply it without verifier and watcher, as users do.

        Parameters
        ----------
        limit : int, optional
            Steps after which it counts as endless; by default as for `rewrite`.
        """
        return self._applied(graph, verify=False, is_watched=False, limit=limit).graph

    def _applied(
        self,
        graph: Any,
        *,
        verify: bool,
        patience: int | None = None,
        limit: int | None = None,
        is_watched: bool = True,
    ) -> Outcome:
        outcome = Outcome(graph)
        witness = _Witness(outcome, patience) if is_watched else None
        for stage, follow in zip(self.stages, self._watched if is_watched else self.stages, strict=True):
            with np.errstate(all="ignore"):  # rules compute with generated constants, and may divide by zero
                if isinstance(follow, tuple):
                    outcome.graph = rewrite(outcome.graph, follow, verify=verify, watcher=witness, limit=limit)
                else:
                    outcome.graph = self._called(follow, name_of(stage), outcome)
        return outcome

    def _called(self, function: Callable[[Any], Any], name: str, outcome: Outcome) -> Any:
        graph = outcome.graph
        try:
            result = function(graph)
        except GraphRewriteError as error:
            if isinstance(error, _FAULTS):
                raise
            outcome.declined.setdefault(name, Counter())[str(error)] += 1
            return graph
        if not isinstance(result, nx.DiGraph):
            raise RewriteError(f"it gave {type(result).__name__}, and no graph; return the new graph")
        if result is not graph and not (result.__class__ is graph.__class__ and result == graph):
            outcome.fired[name] += 1
            outcome.firings.append(firing_between(graph, result, name))
        return result

    def named_in(self, message: str) -> tuple[str, ...]:
        """Return the members that an error names; all of them if it names none."""
        return tuple(name for name in self.names if repr(name) in message) or self.names

    def facts(self, name: str, graph: Any) -> dict[str, frozenset[Any]]:
        """Return the attributes of all nodes of a graph that are of the ops in a rule's pattern."""
        rules = (member for member in self.members if member.name == name and isinstance(member, Rule))
        kinds = {op.name for rule in rules for node in rule.pattern.nodes for op in node.ops}
        return facts_of(graph, (data for data in graph._node.values() if data.get("type") in kinds)) if kinds else {}

    def graphs(self, names: Iterable[str]) -> st.SearchStrategy[Any]:
        """Return a strategy of graphs on which members may fire: one for all rounds, as it takes a while to make."""
        wanted = frozenset(names)
        if wanted not in self._strategies:
            self._strategies[wanted] = self._graphs(wanted)
        return self._strategies[wanted]

    def _graphs(self, wanted: Set[str]) -> st.SearchStrategy[Any]:
        chosen = [m for m in self.members if m.name in wanted]
        if not self._has_graphs_of_rules:
            rules = [member for member in chosen if isinstance(member, GraphRule)]
            if self.meaning is not None:
                return one_of([digraphs_for(member, self.meaning) for member in rules])
            return one_of([digraphs(containing=member) for member in rules])
        around = [m for m in chosen if m in self._of_rules.rules]
        kinds: list[st.SearchStrategy[Any]] = [self._of_rules.containing(around)] * len(around)
        if len(kinds) < len(wanted):  # of what has no instances the report says why it never fires
            kinds.append(graphs())
            functions = [m.function for m in chosen if isinstance(m, Pass)]
            functions += [s for s in self.stages if not isinstance(s, tuple) and name_of(s) in wanted]
            named = list(dict.fromkeys(op for function in functions for op in ops_mentioned(function)))
            chief = [LIBRARY[kind] for m in chosen if isinstance(m, Pass) for kind in m.kinds or () if kind in LIBRARY]
            keys = sorted(ANNOTATED & {text for function in functions for text in texts_in(function)})
            if named or chief or keys:
                elements = [each for function in functions for each in values_mentioned(function).elements]
                kinds += [graphs_about(named, chief, keys, elements)] * 3  # others show little of it
            used = tuple(dict.fromkeys(rule for function in functions for rule in rules_used(function)))
            applied = GraphsOfRules(used[:: -(-len(used) // _APPLIED) or 1])
            if applied.rules:
                kinds += [applied.containing(applied.rules)] * 3
            if any(map(mentions_memory, functions)):
                kinds.append(programs())
        return one_of(kinds)

    @property
    def _has_graphs_of_rules(self) -> bool:
        """Whether it is about graphs of ops, and not about digraphs alone."""
        return not self.stages or not all(isinstance(m, GraphRule) for m in self.members or (None,))

    @cached_property
    def _of_rules(self) -> GraphsOfRules:
        return GraphsOfRules(m for m in self.members if isinstance(m, Rule))

    def __repr__(self) -> str:
        return f"<subject {self.name}>"


def _same(transformation: Transformation, meaning: Callable[[Any], Any] | None, code: str) -> Subject:
    """Return a subject that was sent from another process, in which its names may stand for something else."""
    found = Subject(transformation, meaning)
    if found.code != code:
        raise UnpicklingError(f"{found.name} has other code in the process that was to run it")
    return found


def _constants(code: CodeType) -> list[str]:
    return [repr(value) for value in code.co_consts if not isinstance(value, CodeType | frozenset)]


def _stages(transformation: Any) -> Iterator[Callable[[Any], Any] | tuple[Single, ...]]:
    """Yield rule sets and functions in the order of application."""
    if isinstance(transformation, Pipeline):
        for phase in transformation.phases:
            yield from _stages(phase)
    elif isinstance(transformation, Rule | GraphRewriting | Pass):
        yield (transformation,)
    elif isinstance(transformation, Iterable) and not isinstance(transformation, str | bytes | nx.Graph | type):
        yield tuple(_member(m) for m in transformation)
    elif callable(transformation) and not isinstance(transformation, type | nx.Graph):
        _check_arguments(transformation)
        yield transformation
    else:
        raise RuleError(f"{transformation!r} cannot be tested; {_ADVICE}")


def _member(transformation: Any) -> Single:
    if isinstance(transformation, Pipeline):
        raise RuleError(
            f"{transformation!r} is a member of a rule set; put the pipeline and the rules into one Pipeline"
        )
    if not isinstance(transformation, Rule | GraphRewriting | Pass):
        raise RuleError(f"{transformation!r} is neither a rule nor a pass; decorate it with @rule or @pass_")
    return transformation


def _check_arguments(function: Callable[..., Any]) -> None:
    try:
        signature = inspect.signature(function)
    except ValueError:  # some functions of C have no signature
        return
    try:
        signature.bind(None)
    except TypeError as error:
        name = name_of(function)
        raise RuleError(
            f"{name}{signature} cannot be called with a graph alone: {error}; "
            f"pass what gives the rest, such as lambda graph: {name}(graph, …)"
        ) from None
