"""Turn errors into one line and an exit code; nothing a user does ends in a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click
import numpy as np

from graphrewrite.errors import GraphError, GraphRewriteError, MissingDependencyError, ParseError, SerialError
from graphrewrite.hdl.errors import DeadlockError, DesignError, GhdlMissingError, SimulatorError, SynthesisError
from graphrewrite.lowering import LoweringError, ModelError, ParallelismError, QuantisationError, UnsupportedOpsError
from graphrewrite.rewriting.rule_sets import NamingError
from graphrewrite.view.written import PictureError

__all__ = ["CODES", "UNEQUAL", "failures_as_exit_codes", "wrong_usage"]

UNEQUAL = 1
"""Exit code of a cosimulation, a check or a comparison that found a difference."""

CODES: tuple[tuple[type[Exception], int], ...] = (
    (UnsupportedOpsError, 4),
    (ModelError, 3),
    (ParseError, 3),
    (SerialError, 3),
    (NamingError, 2),
    (QuantisationError, 5),
    (LoweringError, 6),
    (ParallelismError, 7),
    (DesignError, 8),
    (GhdlMissingError, 9),
    (MissingDependencyError, 10),
    (SimulatorError, 12),
    (DeadlockError, 13),
    (SynthesisError, 15),
    (GraphRewriteError, 11),
)
"""Exit codes by kind of error, the most special first; 2 is wrong usage, 130 an interrupt."""


@contextmanager
def failures_as_exit_codes() -> Iterator[None]:
    """Print an error of this library as one line, and leave with its exit code."""
    try:
        with np.errstate(all="ignore"):  # numbers that are none end in an error that names their place
            yield
    except KeyboardInterrupt:
        click.echo("graphrewrite: interrupted; the output folder is complete or as it was", err=True)
        raise SystemExit(130) from None
    except GraphRewriteError as error:
        click.echo(f"graphrewrite: {' '.join(str(error).split())}", err=True)
        raise SystemExit(next(code for kind, code in CODES if isinstance(error, kind))) from None
    except BrokenPipeError:
        raise  # whoever reads the output has seen enough
    except OSError as error:
        click.echo(f"graphrewrite: {error}; make room, or choose other files and folders", err=True)
        raise SystemExit(11) from None
    except MemoryError:
        click.echo(
            "graphrewrite: not enough memory for this model; give fewer calibration samples or a smaller model",
            err=True,
        )
        raise SystemExit(14) from None


@contextmanager
def wrong_usage() -> Iterator[None]:
    """Let an error about what the options name be one of usage: no node is called like that, no path leads there."""
    try:
        yield
    except MissingDependencyError:
        raise
    except (GraphError, PictureError) as error:
        click.echo(f"graphrewrite: {' '.join(str(error).split())}", err=True)
        raise SystemExit(2) from None
