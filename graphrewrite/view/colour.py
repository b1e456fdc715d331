"""Colours by family and by level: tints of the Okabe-Ito palette, which colour-blind people can tell apart.

No colour is the only sign of what it means: the op's name is on the node, and levels differ in their border as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from graphrewrite.op.op import Op

__all__ = ["MARKS", "PAPER", "VARIABLES", "Look", "Mark", "look_of"]


@dataclass(frozen=True)
class Look:
    """How a node is drawn: Graphviz colours, and its border's width."""

    fill: str
    border: str
    width: float = 1.0


@dataclass(frozen=True)
class Mark:
    """How a node stands out: its border, and a word below its name."""

    colour: str
    word: str
    width: float = 3.0
    dashed: bool = False


PAPER = Look("#ffffff", "#5f6b76")
"""Of whatever belongs to no family."""

_FAMILIES = {
    "weights": "#cfe4f4",
    "arithmetic": "#fdf3c4",
    "activation": "#c9ebdd",
    "pooling": "#dcd6f2",
    "shapes": "#ececec",
    "reduction": "#f6d9e8",
}
_MODULES = {
    "convolution": "weights",
    "linear_algebra": "weights",
    "arithmetic": "arithmetic",
    "normalisation": "arithmetic",
    "activation": "activation",
    "pooling": "pooling",
    "shapes": "shapes",
    "reduction": "reduction",
}
_OPS = {
    "conv": "weights",
    "linear": "weights",
    "matvec": "weights",
    "add": "arithmetic",
    "maximum": "arithmetic",
    "requantise": "activation",
    "clip": "activation",
    "quantise": "activation",
    "window": "pooling",
    "reshape": "shapes",
    "fork": "shapes",
    "fifo": "shapes",
    "argmax": "reduction",
}
_LEVELS = {"nn": ("#5f6b76", 1.0), "integer": ("#d55e00", 1.6), "stream": ("#0072b2", 2.2), "bridge": ("#e69f00", 1.6)}

MARKS = {
    "matched": Mark("#cc3311", "matched"),
    "removed": Mark("#cc3311", "removed", dashed=True),
    "added": Mark("#00805c", "new"),
    "different": Mark("#cc3311", "first difference", width=4.0),
    "forbidden": Mark("#cc3311", "must not be there", width=1.6, dashed=True),
    "order": Mark("#5f6b76", "comes after", width=1.0, dashed=True),
    "optional": Mark("#5f6b76", "may be missing", width=1.0, dashed=True),
}
"""Of nodes that a match or a rewrite touches, that go wrong, and of what a pattern forbids or can do without."""

VARIABLES = ("#cfe4f4", "#fde0b8", "#c9ebdd", "#f6d9e8", "#fdf3c4", "#dcd6f2")
"""Fill colours of a rule's variables, the same on both sides."""


def look_of(kind: str, op: Op | None) -> Look:
    """Return how a node of a type is drawn.

    Parameters
    ----------
    kind : str
        The node's type.
    op : Op or None
        The op of that name, where the graph knows one.

    Returns
    -------
    Look

    Examples
    --------
    >>> from graphrewrite import op
    >>> look_of("relu", op.relu).fill == look_of("sigmoid", op.sigmoid).fill
    True
    """
    if op is None or op.level == "structure":
        return PAPER
    word = kind.removeprefix("stream_").removeprefix("integer_")
    family = _OPS.get(word) or _MODULES.get(op.function.__module__.rpartition(".")[2], "")
    border, width = _LEVELS.get(op.level, _LEVELS["nn"])
    return Look(_FAMILIES.get(family, "#ffffff"), border, width)
