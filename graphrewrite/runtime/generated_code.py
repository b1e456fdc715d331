"""Generated functions that can be debugged: tracebacks show their lines, and a debugger steps through them."""

from __future__ import annotations

import linecache
import weakref
from itertools import count
from types import CodeType

__all__ = ["compile_function"]

_LONGEST = 120
_NUMBERS = count(1)


def compile_function(source: str, subject: str) -> CodeType:
    r"""Compile generated source that defines one function, and keep the source as long as the function lives.

    Its file is named after the subject, such as ``<graphrewrite transpose(x, perm=(1, 0)) #3>``.

    Examples
    --------
    >>> scope = {}
    >>> code = compile_function("def halved(x):\n    return x // 2", "x // 2")
    >>> exec(code, scope)
    >>> linecache.getline(code.co_filename, 2)
    '    return x // 2\n'
    """
    words = " ".join(subject.split())
    words = words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"
    file = f"<graphrewrite {words} #{next(_NUMBERS)}>"
    code = compile(source, file, "exec")
    (function,) = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    # Without a time of its last change, `linecache.checkcache` takes an entry for one that no file can outdate.
    linecache.cache[file] = (len(source), None, [f"{line}\n" for line in source.split("\n")], file)
    weakref.finalize(function, linecache.cache.pop, file, None).atexit = False
    return code
