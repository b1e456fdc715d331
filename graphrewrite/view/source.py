"""Source: of rules and passes, and lines of it where a replacement cannot be drawn."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphrewrite.runtime.source_location import located
from graphrewrite.view.plain import plain

__all__ = ["place_of", "source_of", "written_source"]

_LINES = 12


def source_of(function: Callable[..., Any], *, below: str = "") -> tuple[str, ...]:
    """Return the first lines of a function.

    Examples
    --------
    >>> def double(x):
    ...     return x + x
    >>> source_of(double, below="def")
    ('return x + x',)
    """
    try:
        lines = inspect.getsource(function).splitlines()
    except (OSError, TypeError):
        return ("computed from the match",)
    at = next((i for i, line in enumerate(lines) if below and line.strip().startswith(below)), -1)
    shown = [plain(line, 120) for line in textwrap.dedent("\n".join(lines[at + 1 :])).splitlines() if line.strip()]
    return tuple(shown[:_LINES] + (["…"] if len(shown) > _LINES else []))


def written_source(member: Any) -> str:
    """Return the source of a rule, a pass or a function; of a rule that is made of graphs, the statement that makes it.

    Examples
    --------
    >>> from graphrewrite.rules import drop_identity
    >>> print(written_source(drop_identity).splitlines()[0])
    @rule
    """
    function = getattr(member, "function", member)
    if inspect.isfunction(function):
        try:
            return textwrap.dedent(inspect.getsource(function))
        except (OSError, TypeError):  # typed at a prompt
            return ""
    file, line = getattr(member, "file", ""), getattr(member, "line", 0)
    text = "".join(linecache.getlines(file)) if line else ""
    try:
        statements = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.stmt)]
    except (SyntaxError, ValueError, RecursionError):
        return ""
    # The innermost statement around the line: a call of `from_graphs` may be inside of a function or a tuple.
    around = [s for s in statements if s.lineno <= line <= (s.end_lineno or s.lineno)]
    inner = max(around, key=lambda s: s.lineno, default=None)
    if inner is None:
        return ""
    return textwrap.dedent("\n".join(text.splitlines()[inner.lineno - 1 : inner.end_lineno]))


def place_of(member: Any) -> str:
    """Return the source location of a member of a rule set, relative to the folder that Python finds it in.

    Examples
    --------
    >>> from graphrewrite.rules import drop_identity
    >>> place_of(drop_identity).partition(":")[0]
    'graphrewrite/rules/identities.py'
    """
    file, line = getattr(member, "file", None), getattr(member, "line", None)
    if file is None:
        code = getattr(getattr(member, "function", member), "__code__", None)
        if code is None:
            return ""
        file, line = code.co_filename, code.co_firstlineno
    if not line:
        return ""
    # Pages are shared: they must not reveal the folders of a machine.
    shown = located(str(file), int(line))
    folders = [str(Path(folder or ".").resolve()) + os.sep for folder in (*sys.path, "")]
    found = max((folder for folder in folders if shown.startswith(folder)), key=len, default="")
    parts = Path(shown.removeprefix(found)).parts
    return "/".join(parts if found else parts[-2:])
