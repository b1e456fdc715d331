"""Read a rule's function: trace it down to its yield, and find mistakes before the rule is used."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from graphrewrite.errors import GraphRewriteError, RuleError, TypeMismatchError
from graphrewrite.op.symbolic import CURRENT
from graphrewrite.rewriting.fused.binding import Finder, Fused, find, fuse
from graphrewrite.rewriting.pattern import (
    Every,
    Literal,
    Pattern,
    PatternNode,
    Repeated,
    Tracing,
    Variable,
    Where,
    Without,
    height_of,
    top_of,
    variables_of,
    walk,
)
from graphrewrite.rewriting.rule.bytecode import (
    check_names,
    codes_of,
    looks_around,
    read_below_yield,
    returns_nothing,
    steps_of,
)
from graphrewrite.rewriting.rule.template import Template, is_conjunctive, matches_itself, read_template
from graphrewrite.runtime.source_location import rule_error

__all__ = ["KEEPS", "Definition", "read_definition"]

KEEPS = ("exact", "rounding", "assumes")
"""What a rule may say that it keeps."""


@dataclass(frozen=True)
class Definition:
    """The definition of a rule, read from its function.

    Attributes
    ----------
    name, file, line, doc : str, str, int, str
        Of the function.
    pattern : Pattern
        The part above the yield.
    names : frozenset of str
        Global names and attributes that the function and its inner functions use.
    shared : str
        The rule's option.
    template : Template, optional
        The part below the yield, where it can be kept as data.
    function : callable
        The rule's function.
    """

    name: str
    file: str
    line: int
    doc: str | None
    pattern: Pattern
    names: frozenset[str]
    shared: str
    template: Template | None
    function: Callable[..., Any]

    @cached_property
    def looks_around(self) -> bool:
        """Whether its function or a condition asks what is known of values, or queries their surroundings.

        Not before the rule is used: a function that it calls may stand below it in its module.
        """
        return looks_around(self.function) or any(looks_around(each.predicate) for each in self._conditions)

    @cached_property
    def _conditions(self) -> list[Where]:
        operands = [t for term in self.pattern.terms if isinstance(term, PatternNode) for t in term.operands]
        conditions = [v.condition for v in self.pattern.variables if v.condition is not None]
        return conditions + [t for t in operands if isinstance(t, Where)]

    @property
    def depends_on_values(self) -> bool:
        """Whether it may look at the values that its variables bind."""
        return self.template is None

    @cached_property
    def names_used(self) -> frozenset[str]:
        """Names in the function and its predicates: they say how far these may look at the graph around a value."""
        return self.names.union(*(_names_in(condition.predicate) for condition in self._conditions))

    @cached_property
    def radius(self) -> int | None:
        """Distance from a root within which unmatched nodes decide, but for runs and groups; None if unbounded."""
        terms, used = self.pattern.terms, self.names_used
        if "graph" in used:
            return None
        deep = any(isinstance(t, Without) and height_of(t.term_) > 1 for t in terms)
        if not (deep or self.pattern.forbidden or ("readers" in used and not self.height)):
            return 0
        # What is forbidden and has no value in common with the roots may go anywhere.
        matched = {id(part) for root in self.pattern.roots for part in walk(root)}
        is_loose = any(matched.isdisjoint(map(id, walk(node))) for node in self.pattern.forbidden)
        return None if is_loose or any(isinstance(t, Repeated) for t in terms) else 2 * len(terms) + 1

    @cached_property
    def height(self) -> int:
        """Number of nodes from its only root down to those whose readers it may count; 0 if there are none."""
        roots = self.pattern.roots
        if "readers" not in self.names_used or len(roots) != 1 or any(map(_is_several, self.pattern.terms)):
            return 0
        return height_of(top_of(roots[0])) + 1  # those of operands that the pattern does not name as well

    @cached_property
    def denied_kinds(self) -> frozenset[str] | None:
        """Types of nodes that must not be there, whose changes alone decide beyond the match; None if any node's do."""
        denied = [*self.pattern.forbidden, *(t.term_ for t in self.pattern.terms if isinstance(t, Without))]
        nodes = [part for term in denied for part in walk(term) if isinstance(part, PatternNode)]
        counts_readers = "readers" in self.names_used and not self.height
        if counts_readers or not all(node.kinds for node in nodes):
            return None
        return frozenset(kind for node in nodes for kind in node.kinds)

    @cached_property
    def root_kinds(self) -> frozenset[str] | None:
        """Types of the nodes that may be roots; None for any."""
        kinds = [top_of(root).kinds for root in self.pattern.roots]
        return frozenset().union(*kinds) if all(kinds) else None

    @cached_property
    def _finders(self) -> dict[int, Finder | None]:
        return {}

    @cached_property
    def _fused(self) -> dict[int, Fused | None]:
        return {}

    def finder(self, root: int = 0) -> Finder | None:
        """Return the function that finds all matches at a root; None where that is left to the search."""
        if root not in self._finders:
            self._finders[root] = find(self.pattern, self.shared, root) if is_conjunctive(self.pattern) else None
        return self._finders[root]

    def has_finder(self, root: int = 0) -> bool:
        """Tell whether that function has been generated, for any graph."""
        return self._finders.get(root) is not None

    def fused(self, root: int = 0) -> Fused | None:
        """Return the functions that match at a root and replace at once; None where the rule does not allow it."""
        if root not in self._fused:
            template = self.template if self.template is not None and not self.template.has_numbers else None
            if self.shared == "duplicate" or not is_conjunctive(self.pattern):
                finder = None
            elif template is None:
                finder = self.finder(root)
            else:  # no match is declined, and the first one is enough
                finder = find(self.pattern, self.shared, root, may_decline=False)
            self._fused[root] = None if finder is None else fuse(finder, template)
        return self._fused[root]

    def has_functions(self, root: int = 0) -> bool:
        """Tell whether such functions have been generated, for any graph."""
        return self._fused.get(root) is not None

    @cached_property
    def asks_for_run(self) -> bool:
        """Whether something above the yield has no operand that knows the run of the function: literals, forms."""
        return not all(
            isinstance(term, PatternNode)
            and len(term.ops) == 1
            and all(isinstance(t, PatternNode | Variable | Literal) for t in term.operands)
            and any(isinstance(t, PatternNode) or (isinstance(t, Variable) and not t.optional) for t in term.operands)
            for term in self.pattern.terms
        )

    @property
    def root_place(self) -> int:
        """The position of the first root in ``pattern.terms``."""
        return next(i for i, term in enumerate(self.pattern.terms) if term is top_of(self.pattern.roots[0]))

    @cached_property
    def contains_itself(self) -> bool:
        """Whether the pattern matches its own replacement, whatever the variables are."""
        return self.template is not None and matches_itself(self.pattern, self.template)

    def complain(self, message: str) -> RuleError:
        """Return an error that names the rule and its source location."""
        return rule_error(self.name, self.file, self.line, message)


def read_definition(function: Callable[..., Any], *, keeps: str, shared: str) -> Definition:
    """Read a rule's function; raise if it is no rule."""
    code = function.__code__
    file, line = code.co_filename, code.co_firstlineno
    complain = partial(rule_error, function.__name__, file, line)
    if not inspect.isgeneratorfunction(function):
        raise complain("has no yield; put the pattern above one yield and the replacement below it")
    if keeps not in KEEPS or shared not in ("refuse", "keep", "duplicate"):
        raise complain("keeps is 'exact', 'rounding' or 'assumes', and shared is 'refuse', 'keep' or 'duplicate'")
    if sum(step.opname == "YIELD_VALUE" for step in steps_of(code)) > 1:
        raise complain("yields twice; a rule has one yield")
    pattern = _trace(function, complain)
    if returns_nothing(code):
        raise complain("returns nothing; return the replacement, a refusal, or rule.nothing for nodes that just go")
    check_names(function, complain)
    # Names that a predicate or replacement uses tell which parts of a graph it may read.
    names = frozenset(name for inner in codes_of(code) for name in inner.co_names)
    try:
        _ = pattern.unpacked  # matching asks for it
        template = read_template(function, pattern, complain)
    except TypeMismatchError as error:  # how many results an op has depends on attributes that are not known yet
        raise complain(str(error)) from None
    doc = inspect.getdoc(function)
    return Definition(function.__name__, file, line, doc, pattern, names, shared, template, function)


def _is_several(term: Any) -> bool:
    """Whether a term is a run or a group."""
    return isinstance(term, Repeated | Every)


def _trace(function: Callable[..., Any], complain: Callable[[str], RuleError]) -> Pattern:
    tracing = Tracing()
    try:
        variables = variables_of(function, tracing)
    except RuleError as error:
        raise complain(str(error)) from None
    run = function(*variables)
    token = CURRENT.set(tracing)
    try:
        yielded = next(run)
    except (GraphRewriteError, AttributeError) as error:  # of a misspelt op, the library suggests the right one
        raise complain(str(error)) from None
    except StopIteration:
        raise complain("returns before its yield") from None
    except Exception as error:
        raise complain(f"fails above its yield: {type(error).__name__}: {error}") from error
    finally:
        CURRENT.reset(token)
    tracing.closed = True
    # Local variables name the terms, for explanations and pictures. They are copied: Python 3.13 gives a view of the
    # frame, and some of its releases crash where the frame is gone.
    local = dict(run.gi_frame.f_locals)
    for name, value in local.items():
        if isinstance(value, PatternNode | Repeated | Every) and value.name is None:
            value.name = name
    run.close()
    pattern = Pattern.of(yielded, variables, tracing.terms, complain)
    denied = pattern.denied
    unbound = {name: denied[id(value)] for name, value in local.items() if id(value) in denied}
    if (use := read_below_yield(function.__code__, unbound)) is not None:
        name, line = use
        raise complain(
            f"uses {name!r} in line {line}, below its yield, and only {unbound[name]!r} binds it, which is not there; "
            "use it in what is matched as well"
        )
    return pattern


def _names_in(function: Any) -> tuple[str, ...]:
    code = getattr(function, "__code__", None)
    return code.co_names if code is not None else ()
