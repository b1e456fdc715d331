"""Read a rule's function: trace what stands above its yield, and find mistakes before the rule is used."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import CodeType
from typing import Any

from graphrewrite import op as ops
from graphrewrite.bytecode import steps_of
from graphrewrite.errors import GraphRewriteError, RuleError, did_you_mean
from graphrewrite.fused.binding import Step, Surroundings, fuse
from graphrewrite.match.compiled import Matcher, compile_pattern
from graphrewrite.match.several import height_of
from graphrewrite.op.symbolic import CURRENT
from graphrewrite.pattern import Every, Pattern, PatternNode, Repeated, Tracing, Where, Without, top_of, variables_of
from graphrewrite.place import located
from graphrewrite.template import Template, is_plain, matches_itself, read_template

__all__ = ["Definition", "codes_of", "read_definition"]


@dataclass(frozen=True)
class Definition:
    """What a rule's function says.

    Attributes
    ----------
    name, file, line, doc : str, str, int, str
        Of the function.
    pattern : Pattern
        What stands above the yield.
    names : frozenset of str
        Global names and attributes that the function and what it defines use.
    shared : str
        The rule's option.
    template : Template, optional
        What stands below the yield, where it can be kept as data.
    """

    name: str
    file: str
    line: int
    doc: str | None
    pattern: Pattern
    names: frozenset[str]
    shared: str
    template: Template | None

    @property
    def is_curious(self) -> bool:
        """Whether it may look at what the values are that its variables bind."""
        return self.template is None

    @cached_property
    def radius(self) -> int | None:
        """How far from a root something lies that decides, beside what is matched; 0 for nothing, None for anywhere."""
        made = self.pattern.made
        operands = [t for term in made if isinstance(term, PatternNode) for t in term.operands]
        conditions = [v.condition for v in self.pattern.variables if v.condition is not None]
        conditions += [t for t in operands if isinstance(t, Where)]
        asked = self.names.union(*(_names_in(condition.predicate) for condition in conditions))
        if "graph" in asked:
            return None
        # A run ends where a link above it goes, and a group changes with each of its members.
        several = [root.unit for root in self.pattern.roots if isinstance(root, Repeated | Every)]
        radius = max((height_of(unit.top) + 1 for unit in several), default=0)
        deep = any(isinstance(t, Without) and height_of(t.term_) > 1 for t in made)
        if not (deep or self.pattern.forbidden or "readers" in asked):
            return radius
        return None if any(isinstance(t, Repeated) for t in made) else max(radius, 2 * len(made) + 1)

    @cached_property
    def root_kinds(self) -> frozenset[str] | None:
        """Types of the nodes that may be roots; None for any."""
        kinds = [top_of(root).kinds for root in self.pattern.roots]
        return frozenset().union(*kinds) if all(kinds) else None

    @cached_property
    def matcher(self) -> Callable[[Any], Matcher] | None:
        """What makes a fast matcher for a graph, where the pattern is plain; compiled when it is first needed."""
        return compile_pattern(self.pattern, self.shared) if is_plain(self.pattern) else None

    @cached_property
    def fused(self) -> Callable[[Any, Any, Surroundings], Step] | None:
        """What makes a function for a graph that matches and replaces at once, where all of the rule is plain."""
        if self.template is None or self.shared != "refuse" or not is_plain(self.pattern):
            return None
        return fuse(self.pattern, self.template)

    @property
    def root_place(self) -> int:
        """Where the first root stands in ``pattern.made``."""
        return next(i for i, term in enumerate(self.pattern.made) if term is top_of(self.pattern.roots[0]))

    @cached_property
    def contains_itself(self) -> bool:
        """Whether the pattern matches its own replacement, whatever the variables are."""
        return self.template is not None and matches_itself(self.pattern, self.template)

    def complain(self, message: str) -> RuleError:
        """Return an error that names the rule and its place."""
        return RuleError(f"rule {self.name!r} ({located(self.file, self.line)}): {message}")


def read_definition(function: Callable[..., Any], *, keeps: str, shared: str) -> Definition:
    """Return what a rule's function says.

    Parameters
    ----------
    function : callable
        A generator function with one yield.
    keeps, shared : str
        Options of the rule.

    Returns
    -------
    Definition

    Raises
    ------
    RuleError
        If it is written wrongly, with its file and line.
    """
    code = function.__code__
    file, line = code.co_filename, code.co_firstlineno

    def complain(message: str) -> RuleError:
        return RuleError(f"rule {function.__name__!r} ({located(file, line)}): {message}")

    if not inspect.isgeneratorfunction(function):
        raise complain("has no yield; put the pattern above one yield and the replacement below it")
    if keeps not in ("exact", "rounding", "assumes") or shared not in ("refuse", "keep", "duplicate"):
        raise complain("keeps is 'exact', 'rounding' or 'assumes', and shared is 'refuse', 'keep' or 'duplicate'")
    if sum(step.opname == "YIELD_VALUE" for step in steps_of(code)) > 1:
        raise complain("yields twice; a rule has one yield")
    pattern = _trace(function, complain)
    if _returns_nothing(code):
        raise complain("returns nothing; return the replacement, a refusal, or rule.nothing for nodes that just go")
    _check_names(function, complain)
    names = frozenset(name for inner in codes_of(code) for name in inner.co_names)
    template = read_template(function, pattern, complain)
    return Definition(function.__name__, file, line, inspect.getdoc(function), pattern, names, shared, template)


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
    for name, value in run.gi_frame.f_locals.items():
        if isinstance(value, PatternNode | Repeated | Every) and value.name is None:
            value.name = name
    run.close()
    return Pattern.of(yielded, variables, tracing.made, complain)


def _returns_nothing(code: CodeType) -> bool:
    """Tell whether a function can only return None: its author has forgotten the return."""
    returned = []
    for before, step in pairwise(steps_of(code)):
        if step.opname == "RETURN_CONST":
            returned.append(step.argval)
        elif step.opname == "RETURN_VALUE":
            returned.append(before.argval if before.opname == "LOAD_CONST" else code)
    return all(value is None for value in returned)


def _names_in(function: Any) -> tuple[str, ...]:
    code = getattr(function, "__code__", None)
    return code.co_names if code is not None else ()


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code and that of the functions inside it.

    Parameters
    ----------
    code : code
        ``function.__code__``.

    Yields
    ------
    code

    Examples
    --------
    >>> [code.co_name for code in codes_of((lambda xs: sorted(xs, key=lambda x: -x)).__code__)]
    ['<lambda>', '<lambda>']
    """
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_of(constant)


def _check_names(function: Callable[..., Any], complain: Callable[[str], RuleError]) -> None:
    """Report names below the yield that are misspelt: ops that the library lacks, and near misses of a local name."""
    for code in codes_of(function.__code__):
        known = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        previous: Any = None
        for step in steps_of(code):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                name = step.argval
                # What is called may be a helper that the module defines further down.
                called = "NULL" in step.argrepr
                if not called and name not in function.__globals__ and not hasattr(builtins, name):
                    hint = did_you_mean(name, known)
                    if hint:
                        raise complain(f"does not know the name {name!r}{hint}")
            elif (
                step.opname in ("LOAD_ATTR", "LOAD_METHOD")
                and function.__globals__.get(previous) is ops
                and not hasattr(ops, step.argval)
            ):
                raise complain(f"no op is called {step.argval!r}{did_you_mean(step.argval, ops.LIBRARY)}")
            previous = step.argval if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") else None
