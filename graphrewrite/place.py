"""Where code stands, for people: a file and a line, or a notebook's cell and a line."""

from __future__ import annotations

import sys

__all__ = ["located"]


def located(file: str, line: int) -> str:
    """Return where a line of code stands, as people know it.

    Parameters
    ----------
    file : str
        Name of the file, as a code object has it. A notebook's kernel gives each cell a temporary one.
    line : int
        From 1.

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
    told = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = told(file) if told is not None else None
    return f"{found[1] if found else file}:{line}"
