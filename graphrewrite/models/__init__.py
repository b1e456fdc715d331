"""Two trained networks, each with its training script and samples.

For each NAME.onnx there is NAME.npz with `calibration_x` (some training samples) and held-out `test_x`, `test_y`. The
scripts train such networks anew, by `fit`, as accurate ones and with other weights: the files are kept as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from graphrewrite.errors import GraphRewriteError, did_you_mean, no_attribute

__all__ = ["NAMES", "path"]

NAMES = ("classes", "digits")
"""`classes`: an MLP 16-64-32-32-5 on synthetic classes. `digits`: a CNN on handwritten digits of 8x8 pixels."""


def path(name: str) -> Path:
    """Return the path of a shipped model.

    Parameters
    ----------
    name : str
        One of `NAMES`.

    Returns
    -------
    Path
        The ONNX file; its samples are in the ``.npz`` file of the same name.

    Raises
    ------
    GraphRewriteError
        If there is no such model.

    Examples
    --------
    >>> path("digits").name
    'digits.onnx'
    >>> path("digit")
    Traceback (most recent call last):
    graphrewrite.errors.GraphRewriteError: unknown model 'digit' (available: classes, digits); did you mean 'digits'?
    """
    if name not in NAMES:
        raise GraphRewriteError(f"unknown model {name!r} (available: {', '.join(NAMES)}){did_you_mean(name, NAMES)}")
    return Path(__file__).with_name(f"{name}.onnx")


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute(__name__, name, __all__)
