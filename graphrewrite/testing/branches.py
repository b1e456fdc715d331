"""Branches of the code of rules, passes and functions: which of them tests have run, and which lines never."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from graphrewrite.rewriting.passes import Pass
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.testing.flow import Flow, Part
from graphrewrite.testing.mentioning import code_used

__all__ = ["Branches", "watched"]

_NAME = "graphrewrite.testing"
_TOOLS = (3, 4)
"""Identifiers of `sys.monitoring` that are meant for no particular kind of tool."""


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
        What has run: lines ``(code, line)``, and branches ``(code, from, to)``, by number of the code and offsets.
    is_measured : bool
        Whether nothing hindered it.
    is_followed : bool
        Whether the code is followed at all: it takes time.

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
        self._by_function = [code_used(function) for function in functions]
        self.used = tuple({used.code: used for own in self._by_function for used in own}.values())
        self.ran: dict[tuple[Any, ...], None] = {}
        self.is_measured = self.is_followed = True
        self._is_active = False

    @property
    def are_there(self) -> bool:
        """Whether the code has branches: else all of it runs, and nothing need be measured."""
        return bool(self._flows)

    @cached_property
    def lines(self) -> frozenset[tuple[int, int]]:
        """All lines that could run, each with the number of its code."""
        return frozenset((number, line) for number, flow in self._flows.items() for line in flow.lines)

    @cached_property
    def _flows(self) -> dict[int, Flow]:
        """By number, the code of functions that have branches."""
        flows = {used.code: Flow(used) for used in self.used}
        kept = {
            used.code for own in self._by_function if any(flows[each.code].branches for each in own) for used in own
        }
        return {number: flows[used.code] for number, used in enumerate(self.used) if used.code in kept}

    @cached_property
    def _numbers(self) -> dict[CodeType, int]:
        return {flow.used.code: number for number, flow in self._flows.items()}

    def take(self) -> dict[tuple[Any, ...], None]:
        """Return what has run, and forget it."""
        ran, self.ran = self.ran, {}
        return ran

    def functions_in(self, ran: Iterable[Any]) -> list[int]:
        """Return the numbers of the functions of whose code something has run."""
        codes = {self.used[number].code for number, *_ in ran}
        return [at for at, own in enumerate(self._by_function) if any(used.code in codes for used in own)]

    def have_run(self, ran: Iterable[Hashable]) -> bool:
        """Tell whether all of the code has run, so that to follow it on shows nothing new."""
        ran = set(ran)
        return self.lines <= ran and not self.never_run(ran)

    def never_run(self, ran: Iterable[Hashable]) -> dict[str, bool]:
        """Return the places that have not run, each with its text, and whether it may change what a rule does.

        Of several lines in a row it is the first; of a line that has run, the part that has not. There are none if no
        line has run, for then nothing was followed.

        Parameters
        ----------
        ran : iterable
            What has, from several measurements perhaps.
        """
        keys: list[Any] = list(ran)
        lines = self.lines.intersection(keys)
        if not lines:
            return {}
        taken: dict[int, list[tuple[int, int]]] = {}
        for number, *edge in (key for key in keys if isinstance(key, tuple) and len(key) == 3):
            taken.setdefault(number, []).append((edge[0], edge[1]))
        places: dict[tuple[str, int], list[Part]] = {}
        ran_somewhere = set[tuple[str, int]]()
        for number, flow in self._flows.items():
            file, own = flow.used.code.co_filename, {line for line in flow.lines if (number, line) in lines}
            ran_somewhere.update((file, line) for line in own)
            for line in flow.lines:
                places.setdefault((file, line), []).extend([] if line in own else [flow.whole(line)])
            for part in flow.parts(taken.get(number, ()), own):
                places[file, part.line].append(part)
        return _told(places, ran_somewhere)

    # ------------------------------------------------------------------ measuring

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Follow the code as long as this lasts."""
        if self._is_active or not (self.is_followed and self.are_there):
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

        def stop() -> None:
            if sys.gettrace() == self._called:  # and not one that the code has set, such as a debugger
                sys.settrace(None)

        return stop

    def _called(self, frame: FrameType, event: str, arg: Any) -> Any:
        number = self._numbers.get(frame.f_code)
        if number is None or frame.f_lasti < self.used[number].start:
            return None
        ran, leaders, last = self.ran, self._flows[number].leaders, -1
        frame.f_trace_opcodes = True

        def follow(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal last
            if event == "opcode":
                if frame.f_lasti in leaders:
                    ran[number, last, frame.f_lasti] = None
                last = frame.f_lasti
            elif event == "line":
                ran[number, frame.f_lineno] = None
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
            ran[numbers[code], line] = None

        def branch(code: CodeType, offset: int, to: int) -> None:
            ran[numbers[code], offset, to] = None

        def start(code: CodeType, offset: int) -> None:
            ran[numbers[code], code.co_firstlineno] = None  # a lambda that is on that line begins no other

        callbacks = {events.LINE: line, events.PY_START: start}
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


def _told(places: Mapping[tuple[str, int], Sequence[Part]], ran: Set[tuple[str, int]]) -> dict[str, bool]:
    """Return texts for what has not run of lines, and whether it matters, given the lines of which some has."""
    found: dict[str, bool] = {}
    first = ""
    for (file, line), parts in sorted(places.items()):
        where, text = f"{Path(file).name}:{line}", linecache.getline(file, line).rstrip()
        if (file, line) not in ran:
            first = first or _place(where, text)
            found[first] = found.get(first, False) or any(part.matters for part in parts)
            continue
        first = ""
        for part in sorted(parts, key=lambda part: (part.start, part.end)):
            if not any(other != part and other.start <= part.start <= part.end <= other.end for other in parts):
                found[_place(where, text.encode()[part.start : part.end].decode())] = part.matters
    return found


def _place(where: str, text: str) -> str:
    return f"{where} `{text.strip()}`" if text else where


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
