"""The instructions of a rule's function: the names that it uses, mistakes in them, and whether it returns."""

from __future__ import annotations

import builtins
import dis
import inspect
import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from types import CodeType, FrameType, ModuleType
from typing import Any

from graphrewrite import op as ops
from graphrewrite.errors import RuleError, did_you_mean
from graphrewrite.op.op import Op
from graphrewrite.op.other_names import did_you_mean_op
from graphrewrite.rewriting.rule.outcome import decline

__all__ = ["check_names", "codes_of", "is_closed", "looks_around", "read_below_yield", "returns_nothing", "steps_of"]


@lru_cache(maxsize=32)
def steps_of(code: CodeType) -> tuple[dis.Instruction, ...]:
    """Return the instructions of a function; cached, for several checks of a rule read them.

    Examples
    --------
    >>> [step.opname for step in steps_of((lambda x: x).__code__)][-1]
    'RETURN_VALUE'
    """
    return tuple(dis.get_instructions(code))


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code and that of the functions inside it.

    Examples
    --------
    >>> [code.co_name for code in codes_of((lambda xs: sorted(xs, key=lambda x: -x)).__code__)]
    ['<lambda>', '<lambda>']
    """
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_of(constant)


def returns_nothing(code: CodeType) -> bool:
    """Tell whether a function can only return None, which means that its return is missing."""
    returned = []
    for before, step in pairwise(steps_of(code)):
        if step.opname == "RETURN_CONST":
            returned.append(step.argval)
        elif step.opname == "RETURN_VALUE":
            returned.append(before.argval if before.opname == "LOAD_CONST" else code)
    return all(value is None for value in returned)


def is_closed(function: Callable[..., Any]) -> bool:
    """Tell whether a function uses no names from outside but ops and those of the rule language.

    Any other name could have another value, or do something else, from one match to the next.
    """
    code = function.__code__
    # A nested function has names of its own.
    if any(isinstance(c, CodeType) for c in code.co_consts):
        return False
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    for step in steps_of(code):
        if step.opname in ("STORE_GLOBAL", "STORE_DEREF", "IMPORT_NAME", "DELETE_GLOBAL"):
            return False
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = function.__globals__.get(step.argval)
        elif step.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF"):
            try:
                value = cells[step.argval].cell_contents
            except (KeyError, ValueError):
                return False
        else:
            continue
        if not (
            value is ops
            or value is decline
            or isinstance(value, Op)
            or getattr(value, "is_rule_language", False) is True
        ):
            return False
    return True


def looks_around(function: Any) -> bool:
    """Tell whether a function asks for facts or makes queries, itself or by functions of its module that it names.

    Examples
    --------
    >>> looks_around(lambda x: x.fact().low >= 0), looks_around(lambda x: x.shape)
    (True, False)
    """
    seen: set[int] = set()
    work = [function]
    while work:
        here = work.pop()
        if getattr(here, "looks_around", False) is True:
            return True
        code = getattr(here, "__code__", None)
        if code is None or id(code) in seen:
            continue
        seen.add(id(code))
        names = {name for inner in codes_of(code) for name in (*inner.co_names, *inner.co_freevars)}
        if "fact" in names:
            return True
        cells = dict(zip(code.co_freevars, here.__closure__ or (), strict=True))
        for name in names:
            try:
                found = cells[name].cell_contents if name in cells else here.__globals__.get(name)
            except ValueError:  # not there yet
                continue
            if isinstance(found, ModuleType):  # asking one for a name that it lacks looks for names like it
                continue
            if getattr(found, "looks_around", False) is True or getattr(found, "__module__", None) == here.__module__:
                work.append(found)
    return False


def check_names(function: Callable[..., Any], complain: Callable[[str], RuleError]) -> None:
    """Report names that are misspelt, ops that the library lacks, and local names that are used too early."""
    for code in codes_of(function.__code__):
        if (use := _used_too_early(code)) is not None:
            name, line = use
            raise complain(f"uses {name!r} in line {line}, before it is assigned; move the assignment up")
        local_names = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        previous: Any = None
        for step in steps_of(code):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                name = step.argval
                # A call may be of a helper that the module defines further down.
                is_called = "NULL" in step.argrepr
                if not is_called and name not in function.__globals__ and not hasattr(builtins, name):
                    hint = did_you_mean(name, local_names)
                    if hint and not _is_assigned_later(name, function.__globals__):
                        raise complain(f"does not know the name {name!r}{hint}")
            elif (
                step.opname in ("LOAD_ATTR", "LOAD_METHOD")
                and function.__globals__.get(previous) is ops
                and not hasattr(ops, step.argval)
            ):
                raise complain(f"unknown op {step.argval!r}{did_you_mean_op(step.argval)}")
            previous = step.argval if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") else None


def _is_assigned_later(name: str, namespace: dict[str, Any]) -> bool:
    """Tell whether the module that is just being run assigns a name, as for a helper below the rule."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not (frame.f_globals is namespace and frame.f_code.co_name == "<module>"):
        frame = frame.f_back
    return frame is not None and any(
        step.opname in ("STORE_NAME", "STORE_GLOBAL") and step.argval == name
        for step in dis.get_instructions(frame.f_code)
    )


# ---------------------------------------------------------------------- names that are used too early

_ACCESS = re.compile(r"((?:LOAD|STORE)_(?:FAST|DEREF))(?:_CHECK|_BORROW)?(?!_AND_CLEAR)(?=_|$)")
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
_JUMPS_ALWAYS = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}
_ENDS = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", *_JUMPS_ALWAYS}


def _used_too_early(code: CodeType) -> tuple[str, int] | None:
    """Return a local name that is used where no assignment to it can have run, and the line; None if there is none."""
    steps = steps_of(code)
    flags = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + flags]
    # A name that an inner function assigns (nonlocal) may have a value from any earlier call of that.
    inner = [each for constant in code.co_consts if isinstance(constant, CodeType) for each in codes_of(constant)]
    elsewhere = {step.argval for each in inner for step in steps_of(each) if step.opname == "STORE_DEREF"}
    own = {*code.co_varnames, *code.co_cellvars} - {*parameters} - elsewhere
    # Since Python 3.13, a closure is made by LOAD_FAST of its cell, whose value LOAD_DEREF reads.
    reads = {("LOAD_DEREF" if name in code.co_cellvars else "LOAD_FAST", name) for name in own}
    assigned: set[str] = set()
    suspects: list[tuple[int, str]] = []
    for i, step in enumerate(steps):
        for kind, name in _accesses(step):
            if kind.startswith("STORE"):
                assigned.add(name)
            elif (kind, name) in reads and name not in assigned:
                suspects.append((i, name))
    if not suspects:  # the usual case
        return None
    # In a loop an assignment further down may still come first: ask the control flow.
    following = _following(code)
    for i, name in suspects:
        stores = {("STORE_FAST", name), ("STORE_DEREF", name)}
        after = [k for j, step in enumerate(steps) if stores & {*_accesses(step)} for k in following[j]]
        if i in _reachable([0], following) and i not in _reachable(after, following):
            return name, _line_of(code, i)
    return None


def read_below_yield(code: CodeType, names: Collection[str]) -> tuple[str, int] | None:
    """Return the first of some local names that is read below the yield as it was above, and the line; or None.

    Examples
    --------
    >>> def rule(x, y, z):
    ...     yield x
    ...     y = x
    ...     return y, z
    >>> read_below_yield(rule.__code__, ["y"]), read_below_yield(rule.__code__, ["y", "z"])
    (None, ('z', ...))
    """
    if not names:
        return None
    steps, following = steps_of(code), _following(code)
    below = next(i for i, step in enumerate(steps) if step.opname == "YIELD_VALUE")
    reads: list[tuple[int, str]] = []
    for name in names:
        # Where the name is assigned, its old value ends.
        ways = [[] if _assigns(step, name) else nexts for step, nexts in zip(steps, following, strict=True)]
        reached = _reachable(following[below], ways)
        reads += [(i, name) for i in reached if _reads(steps[i], name)]
    if not reads:
        return None
    first, name = min(reads)
    return name, _line_of(code, first)


def _reads(step: dis.Instruction, name: str) -> bool:
    # An inner function reads it by its cell.
    return any(kind.startswith("LOAD") and name == read for kind, read in _accesses(step)) or (
        step.opname == "LOAD_CLOSURE" and step.argval == name
    )


def _assigns(step: dis.Instruction, name: str) -> bool:
    return any(kind.startswith("STORE") and name == stored for kind, stored in _accesses(step))


def _line_of(code: CodeType, index: int) -> int:
    lines = (step.positions.lineno for step in reversed(steps_of(code)[: index + 1]) if step.positions)
    return next((line for line in lines if line is not None), code.co_firstlineno)


def _accesses(step: dis.Instruction) -> list[tuple[str, str]]:
    """Return the local names that an instruction reads or assigns, in order; some of Python 3.13 do both."""
    kinds = _kinds_of_access(step.opname)
    if not kinds:
        return []
    names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    return list(zip(kinds, names, strict=True))


@lru_cache(maxsize=512)
def _kinds_of_access(opname: str) -> list[str]:
    return _ACCESS.findall(opname)


def _following(code: CodeType) -> list[list[int]]:
    """Return for each instruction those that may come next: in order, by a jump, or by an exception."""
    steps = steps_of(code)
    offsets = [step.offset for step in steps]
    following: list[list[int]] = []
    for i, step in enumerate(steps):
        targets = [i + 1] if step.opname not in _ENDS and i + 1 < len(steps) else []
        following.append([*targets, bisect_left(offsets, step.argval)] if step.opcode in _JUMPS else targets)
    for entry in dis.Bytecode(code).exception_entries:  # type: ignore[attr-defined]  # typeshed does not know it
        for i in range(bisect_left(offsets, entry.start), bisect_left(offsets, entry.end)):
            following[i].append(bisect_left(offsets, entry.target))
    return following


def _reachable(starts: Iterable[int], following: list[list[int]]) -> set[int]:
    reached: set[int] = set()
    work = list(starts)
    while work:
        i = work.pop()
        if i not in reached:
            reached.add(i)
            work += following[i]
    return reached
