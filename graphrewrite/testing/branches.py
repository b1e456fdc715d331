"""Branches of the code of rules, passes and functions: which of them tests have run, and which lines never."""

from __future__ import annotations

import dis
import linecache
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from graphrewrite.rewriting.passes import Pass
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.testing.mentioning import code_used

__all__ = ["Branches", "watched"]

_NAME = "graphrewrite.testing"
_TOOLS = (3, 4)
"""Identifiers of `sys.monitoring` that are meant for no particular kind of tool."""
_ALWAYS = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE", "SEND"})
"""Jumps without a condition."""


class Branches:
    """The branches of functions that run while they are measured.

    Only the code of these functions is followed, of a rule below its yield, and that of functions of their modules that
    they use. A debugger or another tracer that is active is left alone: then nothing is measured.

    Parameters
    ----------
    functions : iterable of callable
        Functions of rules and passes, or any.

    Attributes
    ----------
    ran : dict
        What has run: lines ``(file, line)``, and branches ``(code, from, to)`` by number of the code and offsets.
    is_measured : bool
        Whether nothing hindered it.

    Examples
    --------
    >>> def sign(x):
    ...     if x < 0:
    ...         return -1
    ...     return 1
    >>> branches = Branches([sign])
    >>> with branches.measured():
    ...     _ = sign(3)
    >>> len(branches.lines), len(branches.lines - branches.ran.keys()) if branches.is_measured else 1
    (3, 1)
    """

    def __init__(self, functions: Iterable[Callable[..., Any]]) -> None:
        found = {used.code: used for function in functions for used in code_used(function)}
        self.used = tuple(found.values())
        self.ran: dict[tuple[Any, ...], None] = {}
        self.is_measured = True
        self._is_active = False
        self._numbers = {code: number for number, code in enumerate(found)}

    @cached_property
    def are_there(self) -> bool:
        """Whether the code has branches: else all of it runs, and nothing need be measured."""
        return any(self._leaders.values())

    @cached_property
    def lines(self) -> frozenset[tuple[Any, ...]]:
        """All lines that could run."""
        found = set()
        for used in self.used:
            for _, end, line in used.code.co_lines():
                if line is not None and end > used.start and line != used.code.co_firstlineno:
                    found.add((used.code.co_filename, line))
            if used.start:  # the line of the yield has run, or nothing is known
                found -= {(used.code.co_filename, line) for line in _lines_at(used.code, used.start)}
        return frozenset(found)

    @cached_property
    def _leaders(self) -> dict[CodeType, frozenset[int]]:
        """Offsets behind conditional jumps, by code."""
        return {used.code: frozenset(_leaders(used.steps)) for used in self.used}

    def take(self) -> dict[tuple[Any, ...], None]:
        """Return what has run, and forget it."""
        ran, self.ran = self.ran, {}
        return ran

    def never_run(self, ran: Iterable[Hashable]) -> list[str]:
        """Return the lines that have not run, each with its text; of several in a row the first.

        Parameters
        ----------
        ran : iterable
            What has, from several measurements perhaps.
        """
        if not self.are_there:
            return []
        done = self.lines.intersection(ran)
        found, is_told = [], False
        for file, line in sorted(self.lines):
            if (file, line) not in done and not is_told:
                text = linecache.getline(file, line).strip()
                found.append(f"{Path(file).name}:{line}" + (f" `{text}`" if text else ""))
            is_told = (file, line) not in done
        return found

    # ------------------------------------------------------------------ measuring

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Follow the code as long as this lasts."""
        if self._is_active or not self.are_there:
            yield
            return
        start = self._monitor if sys.version_info >= (3, 12) else self._trace
        stop = start()
        self.is_measured &= stop is not None
        self._is_active = True
        try:
            yield
        finally:
            self._is_active = False
            if stop is not None:
                stop()

    def _trace(self) -> Callable[[], Any] | None:
        """Begin to trace; return the function that ends it, or None where somebody else does."""
        if sys.gettrace() is not None:
            return None
        sys.settrace(self._called)
        return lambda: sys.settrace(None)

    def _called(self, frame: FrameType, event: str, arg: Any) -> Any:
        number = self._numbers.get(frame.f_code)
        if number is None or frame.f_lasti < self.used[number].start:
            return None
        ran, leaders, file, last = self.ran, self._leaders[frame.f_code], frame.f_code.co_filename, -1
        frame.f_trace_opcodes = True

        def follow(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal last
            if event == "opcode":
                if frame.f_lasti in leaders:
                    ran[number, last, frame.f_lasti] = None
                last = frame.f_lasti
            elif event == "line":
                ran[file, frame.f_lineno] = None
            return follow

        return follow

    def _monitor(self) -> Callable[[], Any] | None:
        """Begin to monitor; return the function that ends it, or None where no tool is free."""
        monitoring: Any = getattr(sys, "monitoring")  # noqa: B009  # of Python 3.12
        tool = next((tool for tool in _TOOLS if monitoring.get_tool(tool) is None), None)
        if tool is None or sys.gettrace() is not None:
            return None
        events, ran, numbers = monitoring.events, self.ran, self._numbers

        def line(code: CodeType, line: int) -> None:
            ran[code.co_filename, line] = None

        def branch(code: CodeType, offset: int, to: int) -> None:
            ran[numbers[code], offset, to] = None

        callbacks = {events.LINE: line}
        either = ("BRANCH_LEFT", "BRANCH_RIGHT") if hasattr(events, "BRANCH_LEFT") else ("BRANCH",)
        callbacks.update({getattr(events, name): branch for name in either})
        monitoring.use_tool_id(tool, _NAME)
        for event, callback in callbacks.items():
            monitoring.register_callback(tool, event, callback)
        for code in numbers:
            monitoring.set_local_events(tool, code, sum(callbacks))

        def stop() -> None:
            for code in numbers:
                monitoring.set_local_events(tool, code, 0)
            for event in callbacks:
                monitoring.register_callback(tool, event, None)
            monitoring.free_tool_id(tool)

        return stop


def _lines_at(code: CodeType, offset: int) -> list[int]:
    return [line for start, end, line in code.co_lines() if start <= offset < end and line is not None]


def _leaders(steps: list[dis.Instruction]) -> Iterator[int]:
    """Yield the offsets to which conditional jumps lead."""
    for step, then in pairwise(steps):
        if (step.opcode in dis.hasjrel or step.opcode in dis.hasjabs) and step.opname not in _ALWAYS:
            yield step.argval
            yield then.offset


# ---------------------------------------------------------------------- members whose code is followed


class _WatchedRule(Rule):
    """A rule that is the same, but for its function being followed below the yield."""

    def __init__(self, rule: Rule, branches: Branches) -> None:
        vars(self).update(vars(rule))
        self.branches = branches

    def run(self, replay: Any, node: str) -> Any:
        """Run the function on a match at a node; return its result."""
        with self.branches.measured():
            return super().run(replay, node)


def watched(member: Any, branches: Branches) -> Any:
    """Return a rule, a pass or a function that does the same, and whose branches are measured.

    Examples
    --------
    >>> from graphrewrite.rules import drop_identity
    >>> watched(drop_identity, Branches([drop_identity.function]))
    <rule drop_identity>
    """
    if isinstance(member, Rule):
        return _WatchedRule(member, branches)
    function = member.function if isinstance(member, Pass) else member

    def follow(graph: Any) -> Any:
        with branches.measured():
            return function(graph)

    if isinstance(member, Pass):
        follow.__module__ = function.__module__
        return replace(member, function=follow)
    return follow if code_used(function) else member
