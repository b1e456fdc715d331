"""Lines of source, where a replacement cannot be drawn."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from graphrewrite.view.plain import plain

__all__ = ["source_of"]

_LINES = 12


def source_of(function: Callable[..., Any], *, below: str = "") -> tuple[str, ...]:
    """Return the first lines of a function.

    Parameters
    ----------
    function : callable
        Any function.
    below : str
        A word: what stands up to the first line that begins with it is left out.

    Returns
    -------
    tuple of str
        A remark where there is no source.

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
