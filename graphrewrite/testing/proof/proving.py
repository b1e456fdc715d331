"""Decide by a solver whether a rule is right, for all values of the inputs."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from graphrewrite.errors import MissingDependencyError, RewriteError, RuleError, VerificationError
from graphrewrite.formats.text import to_text
from graphrewrite.graph import Graph
from graphrewrite.rewriting.engine.entry import rewrite
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.testing.generation.instance import NoInstanceError
from graphrewrite.testing.proof.assumptions import assumptions, scope
from graphrewrite.testing.proof.proof import CONSTANTS, Instance, Proof
from graphrewrite.testing.proof.ranges import Ranges
from graphrewrite.testing.proof.refutation import Refutation
from graphrewrite.testing.subject import Subject, Transformation
from graphrewrite.types import Stream, element_kind

__all__ = ["prove"]

_FLOATS = 4
"""Maximum number of undecided graphs with inputs of floats."""
_FAILURES = 3
"""Number of graphs with symbols in place of an attribute that are tried in vain: in others it keeps its value."""
_RUNS = 8
"""Number of graphs that are generated for each wanted instance: the rule does not fire on all of them."""
_NICER = 8
"""Number of graphs on which inputs that differ are looked for, once the engine has refused a result."""


def prove(
    rules: Transformation,
    on: Graph | Iterable[Graph] | None = None,
    *,
    elements: Iterable[str] | None = None,
    attributes: Mapping[str, Iterable[Any]] | None = None,
    instances: int = 200,
    effort: int = 10_000_000,
) -> Proof:
    """Decide whether a rule keeps every bit, for all values of the inputs.

    Graphs that contain the pattern are enumerated: formats with a sign and without, of one bit and of many, small
    shapes, attributes one by one and in pairs. Each of them, before and after the rule, is computed with unknown
    inputs, by the functions of the ops themselves on bit-vectors; then z3 is asked for inputs for which any bit of any
    output differs. Those that it finds are computed again by numpy.

    Parameters
    ----------
    rules : Rule, Pass, iterable of them, or callable
        What to prove.
    on : Graph or iterable of Graph, optional
        Graphs to prove it on; by default graphs that contain the rule's own pattern. A pass or a function has none.
    elements : iterable of str, optional
        Kinds of element types that inputs may have, such as `graphrewrite.op.domain.MANTISSAS`; by default any.
    attributes : mapping of str to iterable, optional
        Small ranges of attributes, such as ``{"shift": range(8)}`` or, of one op, ``{"requantise.shift": range(8)}``:
        each graph is decided for every value, in all combinations.
    instances : int
        Maximum number of graphs to decide; those of one range are all decided.
    effort : int
        z3's units of work for one question about a graph. No clock decides, so that the answer is the same on every
        machine.

    Returns
    -------
    Proof
        "proved" with what was assumed, "refuted" with a counterexample, or "unknown" with the reason: floats that
        round, code that asks about values, or a solver that gave up. Less is "proved for samples" of some constants
        or attributes and, where there are streams, "proved of values": in which cycles is not examined.

    Raises
    ------
    MissingDependencyError
        Without z3.
    RuleError
        If no graph has an attribute of `attributes`, or there are too many combinations.

    Examples
    --------
    >>> from graphrewrite import op, rule
    >>> from graphrewrite.rules import drop_requantise
    >>> prove(drop_requantise, instances=10).verdict
    'proved'
    >>> @rule
    ... def lose_the_sign(x):
    ...     "Wrong: minus minus x is x."
    ...     yield op.neg(op.neg(x))
    ...     return op.abs(x)
    >>> proof = prove(lose_the_sign)
    >>> proof.verdict, proof.counterexample.inputs["x"].tolist()
    ('refuted', [[-1]])
    """
    try:
        import z3  # noqa: F401  # imported here once, for a clear error
    except ImportError:
        raise MissingDependencyError.of_extra("proofs", "prove") from None

    started = time.perf_counter()
    subject = Subject(rules)
    given = None if on is not None else frozenset(attributes or ())
    evidence = _Evidence(None if elements is None else frozenset(elements), _keeps(subject), effort, given)
    graphs = _Graphs(subject, on, instances, evidence.kinds)
    ranges = Ranges(attributes or {})
    for graph in graphs:
        was_applied = False
        for each in ranges.over(graph):
            was_applied |= evidence.add(graphs.subject or subject, each)
            if evidence.is_settled:
                break
        if was_applied:
            graphs.vary()
        if evidence.is_settled or evidence.decided >= instances:
            break
    ranges.check()
    evidence.close()
    instances_ = tuple(evidence.instances)
    return Proof(
        subject.name,
        instances_,
        assumptions(instances_, evidence.left_out, elements, ranges.wanted),
        evidence.why(subject, on, graphs.missing),
        time.perf_counter() - started,
        scope(instances_),
    )


def _keeps(subject: Subject) -> str:
    kept = {getattr(member, "keeps", "exact") for member in subject.members}
    return "exact" if kept <= {"exact"} else "assumes" if kept <= {"exact", "assumes"} else "rounding"


@dataclass
class _Evidence:
    """The instances so far."""

    kinds: frozenset[str] | None
    keeps: str
    effort: int
    given: frozenset[str] | None
    """Attributes with a range of values; None where graphs are given, which are proved as they are."""
    instances: list[Instance] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    misfit: Instance | None = None
    nicer: int = 0
    graphs: int = 0
    floats: int = 0
    repeated: int = 0
    settled: set[str] = field(default_factory=set)
    failures: Counter[str] = field(default_factory=Counter)

    @property
    def decided(self) -> int:
        return len(self.instances) - self.floats + self.repeated // 8

    @property
    def is_refuted(self) -> bool:
        return bool(self.instances) and self.instances[-1].verdict == "refuted"

    @property
    def is_settled(self) -> bool:
        """Tell whether further graphs change nothing, or hardly: inputs show more than a result that is refused."""
        return self.is_refuted or self.nicer == _NICER

    def add(self, subject: Subject, graph: Graph) -> bool:
        """Examine a graph; return whether the rule was applied to it."""
        kinds = {element_kind(graph.result_type(name).element) for name in graph.inputs}
        if (self.kinds is not None and not kinds <= self.kinds) or ("float" in kinds and self.floats >= _FLOATS):
            return False
        self.graphs += 1
        self.nicer += self.misfit is not None
        try:
            result = _applied(subject, graph)
        except (RewriteError, VerificationError) as error:  # raised by the engine, about the replacement
            if _has_layout(graph):
                # A rule that drops layouts computes the same values, and is refused only where they matter.
                self.left_out[f"the engine refuses its result in a graph with layouts: {error}"] += 1
                return False
            misfit = Refutation(graph, None, str(error), rules=subject.transformation)
            self.misfit = self.misfit or Instance(graph, "refuted", counterexample=misfit)
            return False
        except Exception as error:  # of a rule: the graph is as it was, and so computes the same
            self.left_out[f"it raises an error instead of rewriting: {error}"] += 1
            return False
        if result is None:
            return False
        instance = self._examined(graph, result, subject)
        if instance is None:
            self.repeated += 1
            return True
        instance = replace(instance, is_timed=_has_streams(graph, result))
        if instance.verdict == "left out":
            self.left_out[instance.why] += 1
            return False
        if instance.counterexample is not None and instance.counterexample.after is None:
            self.misfit = self.misfit or instance
            return True
        self.instances.append(instance)
        self.floats += "float" in kinds and instance.verdict == "unknown"
        return True

    def _examined(self, graph: Graph, result: Graph, subject: Subject) -> Instance | None:
        """Examine a graph, if possible for all values of its attributes and constants; None if it has been before."""
        import z3

        from graphrewrite.testing.proof.refusal import Untranslatable

        try:
            return self._decided(graph, result, subject)
        except Untranslatable as error:
            return Instance(graph, "unknown", str(error))
        except z3.Z3Exception as error:
            return Instance(graph, "unknown", f"z3 refuses its terms: {error}")

    def _decided(self, graph: Graph, result: Graph, subject: Subject) -> Instance | None:
        from graphrewrite.testing.proof.examination import examined
        from graphrewrite.testing.proof.symbols import Symbols, without_values

        if stateful := _with_state(graph, result):
            return Instance(
                graph, "unknown", f"{stateful} has a state, and values of one cycle prove nothing of others"
            )
        rule = subject.transformation
        if self.given is None:
            return examined(graph, result, rule, keeps=self.keeps, effort=self.effort)
        every = Symbols.of(graph)
        given = {n for n in every.covered if n in self.given or n.partition(".")[2] in self.given}
        why = "it is no single rule"
        if isinstance(rule, Rule):
            hard = {name for name in every.covered if self.failures[name] >= _FAILURES}
            skeleton = to_text(without_values(graph, every, given), whole=True)
            if skeleton in self.settled:
                return None
            why = ""
            for kept in (given | hard, given | hard | {CONSTANTS}):
                if every.covered <= kept or (CONSTANTS in kept and CONSTANTS not in every.covered and why):
                    continue
                instance = self._generalised(graph, rule, kept)
                why = why or instance.why
                if instance.verdict == "unknown":
                    continue
                left = dict.fromkeys(every.covered & kept - given, why or "it is not followed in other graphs")
                instance = replace(instance, sampled={**left, **instance.sampled})
                self.failures.update(instance.sampled.keys())
                if not instance.sampled:
                    self.settled.add(skeleton)
                return instance
        instance = examined(graph, result, rule, keeps=self.keeps, effort=self.effort)
        left = dict.fromkeys(every.covered - given, why or "it is not followed in other graphs")
        self.failures.update(left.keys())
        return replace(instance, sampled=left) if instance.verdict == "proved" else instance

    def _generalised(self, graph: Graph, rule: Rule, known: Collection[str]) -> Instance:
        import z3

        from graphrewrite.testing.proof.generalisation import generalised
        from graphrewrite.testing.proof.refusal import Untranslatable

        try:
            return generalised(graph, rule, keeps=self.keeps, effort=self.effort, known=known)
        except (Untranslatable, z3.Z3Exception) as error:  # then its own values are looked at
            return Instance(graph, "unknown", str(error))

    def close(self) -> None:
        """Let a result that the engine refused refute the rule, unless inputs do, which show more."""
        if self.misfit is not None and not self.is_refuted:
            self.instances.append(self.misfit)

    def why(self, subject: Subject, on: Graph | Iterable[Graph] | None, missing: str) -> str:
        """Return the reason why it is not decided; an empty string if it is."""
        if on is None and not any(isinstance(member, Rule) for member in subject.members):
            return "it has no pattern of ops, so give the graphs to prove it on, on=[…]"
        open_ = Counter(i.why for i in self.instances if i.verdict == "unknown")
        if open_:
            reason, _ = open_.most_common(1)[0]
            return f"of {len(self.instances)} graphs {open_.total()} are not decided; {reason}"
        if not self.instances and missing:
            return missing
        if not self.instances:
            rest = f"; {next(iter(self.left_out))}" if self.left_out else ""
            return f"it was applied to none of {self.graphs} graphs{rest}"
        return ""


def _with_state(*graphs: Graph) -> str:
    """Return the name of an op that keeps a state; empty if there is none."""
    found = (g.op(n).name for g in graphs for n in g if g.op(n).has_state(g.nodes[n]) and not g.op(n).effects)
    return next(found, "")


def _has_streams(*graphs: Graph) -> bool:
    """Tell whether values pass as streams, or a component of hardware computes them."""
    kinds = [g.result_type(*operand) for g in graphs for node in g for operand in g.operands(node)]
    return any(isinstance(kind, Stream) for kind in kinds)


def _has_layout(graph: Graph) -> bool:
    kinds = [graph.result_type(*operand) for node in graph for operand in graph.operands(node)]
    return any(getattr(kind, "layout", None) is not None for kind in kinds)


def _applied(subject: Subject, graph: Graph) -> Graph | None:
    """Apply a rule once at each node, since any number of right steps is right; apply a rule set to the end."""
    if not isinstance(subject.transformation, Rule):
        outcome = subject.apply(graph)
        return outcome.graph if outcome.fired else None
    with np.errstate(all="ignore"):  # rules compute with generated constants, and may divide by zero
        if subject.transformation.find(graph):
            return rewrite(graph, [subject.transformation], once=True, verify=True)
    return None


class _Graphs:
    """The graphs to examine: those of the caller, or instances of each rule's pattern in turn."""

    def __init__(
        self, subject: Subject, on: Graph | Iterable[Graph] | None, instances: int, kinds: frozenset[str] | None
    ) -> None:
        from graphrewrite.testing.proof.instances import Instances

        self.missing = ""
        self.subject: Subject | None = None
        members = [m for m in subject.members if isinstance(m, Rule)] if on is None else []
        self.sources = deque((Subject(member), Instances(member, instances * _RUNS, kinds)) for member in members)
        # Any number of right steps is right, in any order: so each rule is proved by itself.
        self.is_rules = bool(members) and len(members) == len(subject.members)
        self.graphs = iter((on,) if isinstance(on, Graph) else on or ())

    def __iter__(self) -> Iterator[Graph]:
        for graph in self.graphs:
            if not isinstance(graph, Graph):
                raise RuleError(f"on gives {type(graph).__name__}; prove takes a graph, or a list of graphs")
            yield graph
        while self.sources:
            member, source = self.sources[0]
            try:
                graph = next(source, None)
            except NoInstanceError as error:
                graph, self.missing = None, str(error)
            if graph is None:
                self.sources.popleft()
            else:
                self.subject = member if self.is_rules else None
                yield graph
                self.sources.rotate()

    def vary(self) -> None:
        """Generate more graphs like the last one."""
        if self.sources:
            self.sources[0][1].vary()
