"""Source locations as shown to users: a file or a notebook's cell, and a line."""

from __future__ import annotations

import sys

from graphrewrite.errors import RuleError

__all__ = ["located", "rule_error"]


def located(file: str, line: int) -> str:
    """Return a source location: ``name:line`` of a file, ``In[3]:line`` of a notebook's cell.

    Parameters
    ----------
    file : str
        Name of the file, as a code object has it. A notebook's kernel gives each cell a temporary one.

    Returns
    -------
    str
        Of a file ``name:line``, of a cell ``In[3]:line`` by its number.

    Examples
    --------
    >>> located("rules/affine.py", 12)
    'rules/affine.py:12'
    """
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    format_name = getattr(getattr(shell, "compile", None), "format_code_name", None)
    cell = format_name(file) if format_name is not None else None
    return f"{cell[1] if cell else file}:{line}"


def rule_error(name: str, file: str, line: int, message: str) -> RuleError:
    """Return an error about how a rule is written, which names the rule and its source location."""
    return RuleError(f"rule {name!r} ({located(file, line)}): {message}")
