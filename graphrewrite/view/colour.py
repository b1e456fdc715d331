"""Colours by family and by level: tints of the Okabe-Ito palette, which colour-blind people can tell apart.

No colour is the only sign of what it means: the op's name is on the node, levels differ in their border's width and
number, and what is marked says so in a word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphrewrite.op.op import Op
from graphrewrite.rewriting.rule.levels import level_of

__all__ = [
    "DARK",
    "DIM",
    "EDGE",
    "FRAME",
    "HIGHLIGHTS",
    "INK",
    "PAPER",
    "SHADES",
    "VARIABLES",
    "Look",
    "Mark",
    "look_of",
]


@dataclass(frozen=True)
class Look:
    """Style of a node: colours in the light theme, width and number of its borders, and their meaning."""

    fill: str
    border: str
    width: float = 1.0
    family: str = ""
    level: str = ""
    borders: int = 1


@dataclass(frozen=True)
class Mark:
    """Highlight of a node: its border, and a word below its name."""

    colour: str
    word: str
    width: float = 3.0
    dashed: bool = False


INK, DIM, EDGE, FRAME = "#1b1f24", "#57606a", "#6b7580", "#c3cad2"
"""Colours of names, of secondary text, of arrows, and of frames around graphs."""

PAPER = Look("#ffffff", "#5f6b76")
"""The look of nodes without a family."""

_FAMILIES = {
    "weights": "#cfe4f4",
    "arithmetic": "#fdf3c4",
    "activation": "#c9ebdd",
    "pooling": "#dcd6f2",
    "shapes": "#ececec",
    "reduction": "#f6d9e8",
}
_MODULES = {
    **dict.fromkeys(("convolution", "transposed_convolution", "linear_algebra", "contraction"), "weights"),
    **dict.fromkeys(("products", "recurrent"), "weights"),
    **dict.fromkeys(("arithmetic", "elementary", "comparison", "logic", "normalisation", "training"), "arithmetic"),
    **dict.fromkeys(("activation", "smooth_activation", "approximated"), "activation"),
    **dict.fromkeys(("conversion", "fixed_point", "quantise_linear", "qonnx", "mantissas"), "activation"),
    **dict.fromkeys(("pooling", "window_pooling", "resizing"), "pooling"),
    **dict.fromkeys(("shapes", "slicing", "gathering", "scattering", "rearranging", "generating"), "shapes"),
    **dict.fromkeys(("reduce", "reduction"), "reduction"),
}
"""Families of ops of the level nn, by the module that defines them."""
_OPS = {
    **dict.fromkeys(("conv", "linear", "matvec", "popcount", "adder_graph"), "weights"),
    **dict.fromkeys(("add", "sub", "mul", "multiply", "affine", "accumulate"), "arithmetic"),
    **dict.fromkeys(("requantise", "rescale", "clip", "quantise", "lookup", "threshold", "interpolate"), "activation"),
    **dict.fromkeys(("window", "maximum"), "pooling"),
    **dict.fromkeys(("reshape", "fork", "fifo", "refold", "repeat", "concat", "split", "select", "pad"), "shapes"),
    **dict.fromkeys(("argmax", "softmax", "sum"), "reduction"),
}
"""Families of ops of the integer and the stream level, by name without the level."""
_LEVELS = {
    "nn": ("#5f6b76", 1.0, 1),
    "integer": ("#d55e00", 1.6, 1),
    "stream": ("#0072b2", 2.2, 1),
    "memory": ("#117733", 1.6, 1),
    "bridge": ("#b87700", 1.0, 2),
}

HIGHLIGHTS = {
    "matched": Mark("#cc3311", "matched"),
    "fits": Mark("#00734f", "fits", width=2.4),
    "obstacle": Mark("#cc3311", "obstacle", width=4.0, dashed=True),
    "here": Mark("#0a58a6", "here"),
    "found": Mark("#0a58a6", "found"),
    "removed": Mark("#b23c0a", "removed", dashed=True),
    "added": Mark("#00734f", "new"),
    "changed": Mark("#8a3f86", "changed"),
    "moved": Mark("#8a3f86", "reads others", width=1.6),
    "different": Mark("#cc3311", "first difference", width=4.0),
    "forbidden": Mark("#cc3311", "must not be there", width=1.6, dashed=True),
    "order": Mark(PAPER.border, "comes after", width=1.0, dashed=True),
    "optional": Mark(PAPER.border, "may be missing", width=1.0, dashed=True),
    "cut": Mark(EDGE, "goes on", width=1.0, dashed=True),
}
"""Highlights of nodes in matches, rewrites, searches and comparisons, of forbidden and optional nodes of a pattern, of
control edges, and of arrows that leave the part that is drawn."""

VARIABLES = ("#cfe4f4", "#fde0b8", "#c9ebdd", "#f6d9e8", "#fdf3c4", "#dcd6f2")
"""Fill colours of a rule's variables, the same on both sides."""

SHADES = ("#fff5e8", "#fee3c0", "#fdc98c", "#fbac5c", "#f28e3a")
"""Fill colours of numbers, from the least to the greatest."""

DARK = {
    "#cfe4f4": ("weights", "#1f3d54"),
    "#fdf3c4": ("arithmetic", "#4a4316"),
    "#c9ebdd": ("activation", "#17473a"),
    "#dcd6f2": ("pooling", "#362f57"),
    "#ececec": ("shapes", "#33383e"),
    "#f6d9e8": ("reduction", "#552c43"),
    "#fde0b8": ("variable", "#55391a"),
    "#ffffff": ("plain", "#1f252d"),
    "#5f6b76": ("border", "#9aa4af"),
    "#d55e00": ("integer", "#ff9a4d"),
    "#0072b2": ("stream", "#5cb8f0"),
    "#117733": ("memory", "#6cc58a"),
    "#b87700": ("bridge", "#f0b94d"),
    "#cc3311": ("matched", "#ff7b5c"),
    "#0a58a6": ("link", "#79b8ff"),
    "#b23c0a": ("removed", "#ff9a66"),
    "#00734f": ("added", "#4fd1a0"),
    "#8a3f86": ("changed", "#e3a0df"),
    INK: ("ink", "#e6edf3"),
    DIM: ("dim", "#9aa4af"),
    EDGE: ("edge", "#87919c"),
    FRAME: ("frame", "#4a545f"),
    "#fff5e8": ("shade-0", "#2b241d"),
    "#fee3c0": ("shade-1", "#47321c"),
    "#fdc98c": ("shade-2", "#66401a"),
    "#fbac5c": ("shade-3", "#854e17"),
    "#f28e3a": ("shade-4", "#a65c12"),
}
"""The meaning of each colour, and its replacement in the dark theme."""


def look_of(kind: str, op: Op | None, result: Any = None) -> Look:
    """Return the look of a node of a type.

    Examples
    --------
    >>> from graphrewrite import op
    >>> look_of("relu", op.relu).fill == look_of("sigmoid", op.sigmoid).fill
    True
    >>> look_of("integer_conv", op.integer_conv).level
    'integer'
    """
    if op is None or op.level == "structure":
        return PAPER
    # Ops of lower levels are named stream_… and integer_…, after those of the level nn.
    word = kind.removeprefix("stream_").removeprefix("integer_")
    family = _OPS.get(word) or _MODULES.get(op.function.__module__.rpartition(".")[2], "")
    found = level_of(op, result)
    level = "bridge" if op.level == "bridge" else "nn" if found is None or found.dialect else found.name
    border, width, borders = _LEVELS[level]
    return Look(_FAMILIES.get(family, PAPER.fill), border, width, family, level, borders)
