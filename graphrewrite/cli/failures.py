"""Errors as one line and an exit code: no mistake of a user ends in a traceback."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import click
import numpy as np

from graphrewrite.errors import (
    GraphError,
    GraphRewriteError,
    MissingDependencyError,
    ParseError,
    SerialError,
    TemporarySpaceError,
)
from graphrewrite.hdl.errors import DeadlockError, DesignError, GhdlMissingError, SimulatorError, SynthesisError
from graphrewrite.lowering import (
    LoweringError,
    ModelError,
    ParallelismError,
    QuantisationError,
    QuantisationLossError,
    UnsupportedOpsError,
)
from graphrewrite.rewriting.rule_sets import NamingError
from graphrewrite.runtime.plugins import PluginError
from graphrewrite.view.written import PictureError

__all__ = ["CODES", "UNEQUAL", "failures_as_exit_codes", "wrong_usage"]

UNEQUAL = 1
"""Exit code of a cosimulation, a check or a comparison that found a difference."""
UNREAD = 18
"""Exit code of a command whose output nobody reads."""

CODES: tuple[tuple[type[Exception], int], ...] = (
    (UnsupportedOpsError, 4),
    (ModelError, 3),
    (ParseError, 3),
    (SerialError, 3),
    (NamingError, 2),
    (PluginError, 2),
    (QuantisationLossError, 16),
    (QuantisationError, 5),
    (LoweringError, 6),
    (ParallelismError, 7),
    (DesignError, 8),
    (GhdlMissingError, 9),
    (MissingDependencyError, 10),
    (SimulatorError, 12),
    (DeadlockError, 13),
    (SynthesisError, 15),
    (TemporarySpaceError, 17),
    (GraphRewriteError, 11),
)
"""Exit codes by kind of error, the most special first; 2 is wrong usage, 128 + N the signal N."""


@contextmanager
def failures_as_exit_codes() -> Iterator[None]:
    """Print an error of this library as one line, and leave with its exit code."""
    try:
        with np.errstate(all="ignore"):  # NaN and infinity end in an error that names their node
            yield
    except KeyboardInterrupt as error:
        number = getattr(error, "number", signal.SIGINT)
        _leave("interrupted; the output folder is complete or as it was", 128 + number)
    except GraphRewriteError as error:
        _leave(error, next(code for kind, code in CODES if isinstance(error, kind)))
    except BrokenPipeError:
        _leave("nobody reads the output any more; write it to a file, or let its reader read all of it", UNREAD)
    except OSError as error:
        _leave(f"{error}; make room, or choose other files and folders", 11)
    except MemoryError:
        _leave("not enough memory for this model; give fewer calibration samples or a smaller model", 14)


@contextmanager
def wrong_usage() -> Iterator[None]:
    """Turn an error about names in options, of nodes for instance, into one of usage."""
    try:
        yield
    except MissingDependencyError:
        raise
    except (GraphError, PictureError) as error:
        _leave(error, 2)


def _leave(message: object, code: int) -> NoReturn:
    with suppress(OSError):
        click.echo(f"graphrewrite: {' '.join(str(message).split())}", err=True)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # Python would try again at its end, complain, and change the exit code
            with suppress(OSError, ValueError):  # no file stands behind a stream of a test
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    raise SystemExit(code) from None
