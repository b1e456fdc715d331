"""Two trained networks to start from, each with the script that trained it and with samples.

Beside NAME.onnx lies NAME.npz with `calibration_x` (some of the training samples) and the held-out `test_x`, `test_y`.
"""

from __future__ import annotations

from pathlib import Path

from graphrewrite.errors import GraphRewriteError, did_you_mean

__all__ = ["NAMES", "path"]

NAMES = ("classes", "digits")
"""`classes`: an MLP 16-64-32-32-5 on synthetic classes. `digits`: a CNN on handwritten digits of 8x8 pixels."""


def path(name: str) -> Path:
    """Where a shipped model is.

    Parameters
    ----------
    name : str
        One of `NAMES`.

    Returns
    -------
    Path
        Of the ONNX file; its samples are in the file of the same name that ends in `.npz`.

    Raises
    ------
    GraphRewriteError
        If no model has this name.

    Examples
    --------
    >>> path("digits").name
    'digits.onnx'
    >>> path("digit")
    Traceback (most recent call last):
    graphrewrite.errors.GraphRewriteError: no model 'digit' is shipped, only classes, digits; did you mean 'digits'?
    """
    if name not in NAMES:
        raise GraphRewriteError(f"no model {name!r} is shipped, only {', '.join(NAMES)}{did_you_mean(name, NAMES)}")
    return Path(__file__).with_name(f"{name}.onnx")
