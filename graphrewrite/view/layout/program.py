"""The layout program: Graphviz' ``dot``, or the one of the package ``graphviz-pure``."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from graphrewrite.errors import MissingDependencyError
from graphrewrite.runtime.process import run_program
from graphrewrite.view.written import PictureError

__all__ = ["find_program", "laid_out"]

_SECONDS = 60
_PURE = "graphviz-pure"


def find_program() -> str:
    """Return the layout program: the system's, or the one that pip installs."""
    # A script stands beside the interpreter, in the folder of scripts, or in the user's, whether on the path or not.
    folders = {
        Path(sys.executable).parent: None,
        Path(sysconfig.get_path("scripts")): None,
        Path(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))): None,
    }
    beside = (shutil.which(_PURE, path=str(folder)) for folder in folders)
    program = shutil.which("dot") or next(filter(None, beside), None) or shutil.which(_PURE)
    if program is None:
        raise MissingDependencyError(
            "pictures need Graphviz, which the extra 'view' has for most machines: pip install 'graphrewrite[view]', "
            "elsewhere apt-get, dnf or brew install graphviz"
        )
    return program


def laid_out(source: str, form: str, *options: str) -> bytes:
    """Return the output of Graphviz for graphs in its language."""
    program = find_program()
    try:
        done = run_program([program, f"-T{form}", *options], given=source.encode(), timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise PictureError(
            f"Graphviz did not lay the graph out in {_SECONDS} s; draw a part of it: show(graph, around=…, depth=2)"
        ) from None
    except OSError as error:
        if error.errno == errno.ENOSPC:  # for temporary files
            raise
        raise PictureError(f"cannot run {program!r}: {error.strerror or error}; install Graphviz anew") from error
    if done.code or not done.output:
        reason = done.errors.strip().splitlines()
        raise PictureError(f"{program!r} failed: {reason[0] if reason else f'exit code {done.code}'}")
    return done.output
