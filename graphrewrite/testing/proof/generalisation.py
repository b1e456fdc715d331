"""Generalisation of one graph: whether a rule is right for all values of its attributes and constants as well."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import z3

from graphrewrite.errors import EvaluationError, GraphRewriteError, RewriteError, VerificationError
from graphrewrite.execution.evaluator import evaluate
from graphrewrite.graph import Graph
from graphrewrite.op.op import Op
from graphrewrite.rewriting.facts.observation import observing
from graphrewrite.rewriting.rule.declaration import Match, Rule
from graphrewrite.rewriting.rule.outcome import NOTHING, Declined
from graphrewrite.rewriting.rule.replacement import Bound, Known, New, Part, Replay, new_parts
from graphrewrite.testing.proof.array import SymbolicArray, cast_to
from graphrewrite.testing.proof.decisions import SymbolPath, names_in, on_path
from graphrewrite.testing.proof.examination import Pair, differing, distinct, overflows, refuted, stated
from graphrewrite.testing.proof.exploration import Exploration
from graphrewrite.testing.proof.integer import SymbolicInt, holds_symbol
from graphrewrite.testing.proof.number import Number
from graphrewrite.testing.proof.proof import Instance
from graphrewrite.testing.proof.rebinding import Rebinding
from graphrewrite.testing.proof.refusal import Raised, RoundedSum, Undefined, Untranslatable
from graphrewrite.testing.proof.refutation import Refutation
from graphrewrite.testing.proof.solver import Question, possible
from graphrewrite.testing.proof.symbols import Symbols
from graphrewrite.testing.proof.translation import Inputs, Translation, bits_of_variable
from graphrewrite.types import Tensor, Type, element_dtype, element_of, hold

__all__ = ["generalised"]

_FAILURES = 2
"""Number of paths that z3 may leave open."""
_PATHS = 40
"""Maximum number of paths through the code of a rule, those left out whose types are refused."""


class KnownSymbol(Known):
    """A constant that a replacement has computed of symbols."""

    __slots__ = ()

    def __init__(self, replay: Replay, value: Any, type: Type | None = None) -> None:
        self.replay, self.value, self.like, self.stated = replay, value, None, None
        self.type = Tensor(element_of(value.dtype), value.shape) if type is None else type


class SymbolicReplay(Replay):
    """One run of a rule's function on a match in a graph with symbols."""

    translation: Translation

    def part(self, value: Any, like: Type | None = None) -> Part:
        """Return a value as a part of the replacement."""
        if isinstance(value, SymbolicInt):
            if like is None:
                return KnownSymbol(self, SymbolicArray.of(value))
            dtype = element_dtype(like.element)
            if dtype.kind not in "iu":
                raise Untranslatable("a number that is not known becomes a float")
            if not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
                raise OverflowError(f"not a number of {like.element}")
            array = SymbolicArray(np.array(value.number, object).reshape(()), dtype)
            return KnownSymbol(self, self._held(like, array), Tensor(like.element, ()))
        if isinstance(value, SymbolicArray):
            if like is not None and value.dtype == element_dtype(like.element):
                return KnownSymbol(self, self._held(like, value), Tensor(like.element, value.shape))
            return KnownSymbol(self, value)
        return super().part(value, like)

    def _held(self, kind: Type, array: SymbolicArray) -> SymbolicArray:
        return cast_to(self.translation.rebinding(hold)(kind.element, array), array.dtype)

    def folded(self, op: Op, parts: Sequence[Any], kinds: tuple[Type, ...], attributes: dict[str, Any]) -> Known | None:
        """Return the constant that an op of constants is."""
        values = [p.value for p in parts]
        if not holds_symbol([*values, *attributes.values()]):
            return super().folded(op, parts, kinds, attributes)
        types = op.infer(*kinds, **attributes)
        if len(types) != 1 or not isinstance(types[0], Tensor):
            return None
        known = {**op.attributes, **attributes}
        (value,) = self.translation.results(op, values, known, types, op.arrangement(kinds))
        return KnownSymbol(self, value, types[0])


@dataclass
class _Step:
    """What a rule does on one path.

    Attributes
    ----------
    fired : list of list of str
        The ops of the new nodes of each match.
    graph : Graph or None
        The graph with symbols.
    replaced : list of tuple
        Each value that is replaced, with its replacement.
    """

    fired: list[list[str]] = field(default_factory=list)
    graph: Graph | None = None
    arrays: Mapping[str, SymbolicArray] = field(default_factory=dict)
    replaced: list[tuple[str, int, Part]] = field(default_factory=list)


def generalised(before: Graph, rule: Rule, *, keeps: str, effort: int, known: Collection[str] = ()) -> Instance:
    """Return whether a rule keeps all values of a graph, for all values of its attributes and constants.

    Parameters
    ----------
    known : collection of str
        Labels of attributes that keep the values that they have.

    Raises
    ------
    Untranslatable
        If the graph's own values are not followed.
    """
    if before.effects:
        raise Untranslatable("it has effects")
    symbols = Symbols.of(before, known)
    work = _Work(before, rule, keeps, effort, symbols)
    exploration = Exploration(work.step, symbols.model, symbols.widths, symbols.constraints, _PATHS)
    is_first, failed = True, 0
    misfit: Instance | None = None
    for path, step in exploration:
        try:
            with on_path(path):
                instance = work.examined(path, step)
        except Untranslatable as error:
            if is_first:
                raise
            exploration.leave(path.conditions, str(error))
            continue
        exploration.count -= step.graph is None  # what inference refuses costs nothing
        if instance is not None and instance.verdict != "proved":
            if instance.verdict == "refuted":
                if instance.counterexample is not None and instance.counterexample.after is None:
                    misfit, is_first = misfit or instance, False  # values show more
                    continue
                return instance
            if is_first:
                return instance
            if (failed := failed + 1) > _FAILURES:
                return replace(instance, verdict="unknown")
            exploration.leave(path.conditions, instance.why)
        is_first = False
    if is_first:
        raise Untranslatable(next(iter(exploration.open.values()), "its code is not followed"))
    if misfit is not None:
        return misfit
    labels = symbols.labels
    sampled = {**symbols.sampled, **{labels[name]: why for name, why in exploration.open.items()}}
    return Instance(before, "proved", symbolic=tuple(sorted(symbols.covered - sampled.keys())), sampled=sampled)


@dataclass
class _Work:
    """A rule on one graph with symbols."""

    before: Graph
    rule: Rule
    keeps: str
    effort: int
    symbols: Symbols

    def __post_init__(self) -> None:
        self.rebound = object.__new__(Rule)
        self.rebound.__dict__.update(self.rule.__dict__)
        self.rebound.function = Rebinding(keeps_ops=True)(self.rule.function)

    # ------------------------------------------------------------------ the rule on symbols

    def step(self, path: SymbolPath) -> _Step:
        """Run the rule on a path; of values that inference refuses, it does nothing."""
        try:
            graph, arrays = self.symbols.symbolic()
        except Untranslatable:
            raise
        except Exception:
            return _Step()
        step = _Step([], graph, arrays)
        kinds = self.rule.definition.root_kinds
        with observing(graph):
            for node in graph.in_order():
                if kinds is None or graph._node[node]["type"] in kinds:
                    for match in _unwrapped(lambda node=node: list(self.rebound._matches(graph, node))):
                        self._match(step, match)
        return step

    def _match(self, step: _Step, match: Match) -> None:
        graph = step.graph
        assert graph is not None
        replay = SymbolicReplay(graph, self.rule.pattern, match.images, match.values)
        replay.translation = Translation(lambda condition: True)
        replaced = match.replaced(graph)
        returned = _unwrapped(lambda: self.rebound.run(replay, replaced[0][0][0]))
        if isinstance(returned, Declined):
            return
        values = [v if v is NOTHING else replay.part(v) for v in self.rule._aligned(returned, replaced)]
        if replay.effects:
            raise Untranslatable("it makes effects")
        roots = [root for group in replaced for root in group]
        pairs = zip(roots, values, strict=True)
        found = [(node, result or 0, p) for (node, result), p in pairs if isinstance(p, Part)]
        if all(isinstance(p, Bound) and p.operand == (n, r) for n, r, p in found) and len(found) == len(roots):
            return  # what is there already
        step.fired.append(sorted(p.op.name for p in new_parts([p for _, _, p in found])))
        step.replaced += found

    # ------------------------------------------------------------------ what it does to values

    def examined(self, path: SymbolPath, step: _Step) -> Instance | None:
        """Return whether values are kept on a path; None if the rule does nothing there."""
        wrong = self._confirmed(path, step)
        if wrong is not None or not step.fired:
            return wrong
        graph = step.graph
        assert graph is not None
        inputs = Inputs.of(graph)
        base = [*inputs.constraints, *self.symbols.constraints]
        translation = Translation(lambda condition: possible([*base, *path.conditions], condition))
        try:
            try:
                was = translation.values(graph, {**inputs.arrays, **step.arrays})
            except Raised:
                if self._can_be_evaluated(path, inputs):
                    raise
                return None  # a graph that cannot be evaluated has no values to keep
            made = _Made(was, translation)
            try:
                parts = [(was[node][result], made.of(part)) for node, result, part in step.replaced]
            except Raised:
                return self._refuted(inputs, path.model)
            differs = [difference for old, new in parts for difference in differing(old, new)]
            differs += overflows(made.results)
        except Undefined as error:
            return Instance(self.before, "left out", str(error))
        except RoundedSum as error:
            return Instance(self.before, "left out" if self.keeps == "assumes" else "unknown", str(error))
        constraints = [*base, *path.conditions]
        constraints += [z3.Not(beyond) for beyond in overflows(stated(graph, was)) if beyond is not True]
        attributes = {each.name for each in self.symbols.symbols if not each.is_of_constant}
        differs = distinct(differs, constraints, names_in(path.conditions) | attributes)
        widths = [(v.name, bits_of_variable(v.number)) for v in inputs.variables if not v.number.is_known]
        widths += [*self.symbols.widths.items()]
        for difference in differs:
            condition = z3.BoolVal(True) if difference is True else difference
            answer = Question(constraints, condition, effort=self.effort).answer(widths)
            if answer.verdict == "unknown":
                return Instance(self.before, "unknown", f"z3 gave up after {self.effort:,} units of work")
            if answer.verdict == "sometimes":
                return self._refuted(inputs, answer.values)
        # What is translated wrongly shows in numbers at random: no proof rests on the translation alone.
        numbers = random.Random(len(path.decisions))
        drawn = {v.name: _drawn(v.number, numbers) for v in inputs.variables if not v.number.is_known}
        found = self._refuted(inputs, {**path.model, **drawn})
        return found if found.verdict == "refuted" else Instance(self.before, "proved")

    def _can_be_evaluated(self, path: SymbolPath, inputs: Inputs) -> bool:
        arrays = {name: np.zeros(array.shape, array.dtype) for name, array in inputs.arrays.items()}
        try:
            with np.errstate(all="ignore"):
                evaluate(self.symbols.concrete(path.model), arrays)
        except EvaluationError:
            return False
        return True

    def _refuted(self, inputs: Inputs, values: Mapping[str, int]) -> Instance:
        """Return what numpy says of values."""
        graph = self.symbols.concrete({each.name: values[each.name] for each in self.symbols.symbols})
        try:
            after = _rewritten(graph, self.rule)
        except (RewriteError, VerificationError) as error:
            return Instance(graph, "refuted", counterexample=Refutation(graph, None, str(error), rules=self.rule))
        return refuted(Pair(graph, after, self.rule), inputs, dict(values), self.keeps)

    def _confirmed(self, path: SymbolPath, step: _Step) -> Instance | None:
        """Compare the path with what the rule does to the graph with its values."""
        try:
            graph = self.symbols.concrete(path.model)
        except GraphRewriteError:
            if step.graph is not None:
                raise Untranslatable("its types are not followed") from None
            return None
        if step.graph is None:
            raise Untranslatable("its types are not followed")
        try:
            with np.errstate(all="ignore"):
                matches = self.rule.find(graph)
                _rewritten(graph, self.rule)
        except (RewriteError, VerificationError) as error:
            misfit = Refutation(graph, None, str(error), rules=self.rule)
            return Instance(graph, "refuted", counterexample=misfit)
        except GraphRewriteError as error:
            raise Untranslatable(f"it raises an error instead of rewriting: {error}") from None
        if len(matches) != len(step.fired):
            raise Untranslatable("its code is not followed: it reads a number in a way that is not seen")
        return None


def _drawn(number: Number, numbers: random.Random) -> int:
    """Return a number of an input."""
    if not number.opaque:
        return numbers.randint(int(number.low), int(number.high))
    size = int(number.term.size())
    kind = {16: np.float16, 32: np.float32, 64: np.float64}[size]
    bits = np.asarray(numbers.randint(-64, 64) / 4, kind).view(f"u{size // 8}")
    return int(bits) >> size - bits_of_variable(number)


class _Made:
    """Values of the parts of a replacement."""

    def __init__(self, was: Mapping[str, tuple[Any, ...]], translation: Translation) -> None:
        self.was, self.translation = was, translation
        self.known: dict[int, tuple[Any, ...]] = {}
        self.results: list[tuple[Type, Any]] = []

    def of(self, part: Part) -> Any:
        """Return the value of a part."""
        if isinstance(part, Bound):
            return self.was[part.node][part.result]
        for each in new_parts([part]):
            if id(each) not in self.known:
                self.known[id(each)] = self._computed(each)
        return self.known[id(part.first if isinstance(part, New) else part)][
            part.result if isinstance(part, New) else 0
        ]

    def _computed(self, part: Any) -> tuple[Any, ...]:
        if isinstance(part, Known):
            return (part.value,)
        operands = [self.of(p) for p in part.operands]
        kinds = tuple(p.type for p in part.operands)
        known = {**part.op.attributes, **part.attributes}
        results = self.translation.results(part.op, operands, known, part.types, part.op.arrangement(kinds))
        self.results += zip(part.types, results, strict=True)
        return results


def _unwrapped(call: Any) -> Any:
    """Call something that reports inner signals as errors of the rule."""
    try:
        return call()
    except GraphRewriteError as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, Untranslatable):
                raise cause from None
            cause = cause.__cause__
        raise Untranslatable(str(error)) from error
    except Untranslatable:
        raise
    except Exception as error:
        raise Untranslatable(f"{type(error).__name__}: {error}") from error


def _rewritten(graph: Graph, rule: Rule) -> Graph:
    from graphrewrite.rewriting.engine.entry import rewrite

    with np.errstate(all="ignore"):
        return rewrite(graph, [rule], once=True, verify=True)
