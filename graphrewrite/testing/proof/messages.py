"""Texts of numbers that are not known: which are written into a message that nothing reads, so that any number will do.

Everything else that is written may be read again by the code that wrote it, and then another number takes another path.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import sys
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from types import FrameType

from graphrewrite.rewriting.rule.outcome import decline

__all__ = ["is_for_a_message", "is_of_engine", "is_rebound"]

Span = tuple[int, int, int, int]


def is_rebound(frame: FrameType) -> bool:
    """Tell whether a frame runs code of a rule, or of its helpers, on symbols."""
    return frame.f_builtins is not vars(builtins)


def is_of_engine(frame: FrameType) -> bool:
    """Tell whether a frame runs code of this library, or of numpy, that knows symbols."""
    module = str(frame.f_globals.get("__name__")).partition(".")[0]
    return module in ("graphrewrite", "numpy") and not is_rebound(frame)


def is_for_a_message() -> bool:
    """Tell whether the text that is being made goes into the reason of a refusal, or into an error of this library.

    A refusal is ``return decline(...)`` in the rule itself. Texts of errors are read by code that handles errors, which
    is not followed.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith(__package__):
        frame = frame.f_back  # the symbol that is asked
    is_reason = False
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if is_rebound(frame):
            is_last = frame.f_back is None or not is_rebound(frame.f_back)
            is_named = getattr(frame.f_globals.get("decline"), "__code__", None) is decline.__code__
            return is_last and is_named and _stands_in(frame, "refusals")
        if not module.startswith("graphrewrite.") or module.startswith("graphrewrite.testing."):
            return is_reason
        # The engine writes attributes into reasons why a pattern does not match, and into nothing else.
        is_reason = is_reason or module.startswith("graphrewrite.rewriting.") or _stands_in(frame, "errors")
        frame = frame.f_back
    return False


def _stands_in(frame: FrameType, kind: str) -> bool:
    spans = _spans(frame.f_code.co_filename)[kind]
    place = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    if place is None or None in place:
        return False
    first, last, start, end = place
    return any(s[:2] <= (first, start) and (last, end) <= s[2:] for s in spans)


@lru_cache(maxsize=256)
def _spans(filename: str) -> dict[str, list[Span]]:
    """Return where refusals and errors stand in a file whose texts nothing reads: first and last line and column."""
    found: dict[str, list[Span]] = {"refusals": [], "errors": []}
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except SyntaxError:  # a text that is no Python, or none at all
        return found
    work: list[tuple[ast.AST, bool]] = [(tree, False)]
    while work:
        node, is_caught = work.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            found["refusals"] += [_span(call) for call in _refusals(node.value)]
        if isinstance(node, ast.Raise) and not is_caught:
            found["errors"].append(_span(node))
        inside = (is_caught or isinstance(node, ast.Try)) and not isinstance(node, ast.FunctionDef)
        work += [(child, inside) for child in ast.iter_child_nodes(node)]
    return found


def _span(node: ast.expr | ast.stmt) -> Span:
    # Columns count bytes both here and in the positions of code.
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0


def _refusals(value: ast.expr) -> Iterator[ast.Call]:
    """Yield calls of ``decline`` that are returned as they are."""
    if isinstance(value, ast.IfExp):
        yield from _refusals(value.body)
        yield from _refusals(value.orelse)
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "decline":
        yield value
