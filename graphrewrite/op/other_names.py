"""Names that numpy, PyTorch, Keras and ONNX give to ops of the library, to say what is meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from graphrewrite.errors import did_you_mean
from graphrewrite.op.library import LIBRARY

__all__ = ["OTHER_NAMES", "did_you_mean_op"]

OTHER_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("addmm", "dense", "fully_connected"), ("linear",)),
        **dict.fromkeys(("bmm", "dot", "mm"), ("matmul",)),
        **dict.fromkeys(("cat", "concatenate", "hstack", "vstack"), ("concat",)),
        **dict.fromkeys(("interpolate", "upsample"), ("resize",)),
        **dict.fromkeys(("masked_fill", "select"), ("where",)),
        "argsort": ("top_k",),
        "bitwise_left_shift": ("bit_shift",),
        "bitwise_right_shift": ("bit_shift",),
        "broadcast_to": ("expand",),
        "ceiling": ("ceil",),
        "chunk": ("split",),
        "clamp": ("clip",),
        "eq": ("equal",),
        "ge": ("greater_or_equal",),
        "gt": ("greater",),
        "if": ("cond",),
        "le": ("less_or_equal",),
        "lt": ("less",),
        "max": ("maximum", "reduce_max"),
        "min": ("minimum", "reduce_min"),
        "permute": ("transpose",),
        "power": ("pow",),
        "prod": ("reduce_prod",),
        "relu6": ("clip",),
        "repeat": ("tile",),
        "scatter": ("scatter_elements", "scatter_nd"),
        "softmax2d": ("softmax",),
        "sort": ("top_k",),
        "stack": ("unsqueeze", "concat"),
        "swapaxes": ("transpose",),
        "swish": ("silu",),
        "take": ("gather",),
        "while": ("loop",),
    }
)
"""Ops of the library by names that it does not have."""


def did_you_mean_op(word: str, own: Iterable[str] = ()) -> str:
    """Return a suggestion to append to an error: what the word means elsewhere, or else an op whose name is near.

    Parameters
    ----------
    word : str
        A name that no op has.
    own : iterable of str
        Names of ops that are known beside the library's.

    Examples
    --------
    >>> did_you_mean_op("max"), did_you_mean_op("rellu")
    ("; did you mean 'maximum' or 'reduce_max'?", "; did you mean 'relu'?")
    """
    if word.startswith("_"):  # many a tool asks modules for names of its own that begin like this
        return ""
    meant = OTHER_NAMES.get(word.lower())
    return f"; did you mean {' or '.join(map(repr, meant))}?" if meant else did_you_mean(word, [*LIBRARY, *own])
