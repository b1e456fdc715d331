"""Names that numpy, PyTorch, Keras and ONNX give to ops of the library, to say what is meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from graphrewrite.errors import did_you_mean
from graphrewrite.op.library import LIBRARY

__all__ = ["OTHER_NAMES", "did_you_mean_op"]

OTHER_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("add_bias", "bias_add"), ("add",)),
        **dict.fromkeys(("multi_head_attention", "scaled_dot_product_attention"), ("attention",)),
        **dict.fromkeys(
            ("bitwise_left_shift", "bitwise_right_shift", "left_shift", "right_shift", "shift_left", "shift_right"),
            ("bit_shift",),
        ),
        **dict.fromkeys(("bitwise_invert", "invert"), ("bitwise_not",)),
        **dict.fromkeys(("astype", "convert", "to"), ("cast",)),
        **dict.fromkeys(("clamp", "relu6"), ("clip",)),
        **dict.fromkeys(("cat", "concatenate", "hstack", "vstack"), ("concat",)),
        **dict.fromkeys(("if", "switch_case"), ("cond",)),
        **dict.fromkeys(("const", "parameter"), ("constant",)),
        **dict.fromkeys(("full", "full_like", "ones", "ones_like", "zeros", "zeros_like"), ("constant_of_shape",)),
        **dict.fromkeys(("divide", "floor_divide", "true_divide"), ("div",)),
        **dict.fromkeys(("ne", "not_equal"), ("equal", "logical_not")),
        **dict.fromkeys(("embedding", "index_select", "take"), ("gather",)),
        **dict.fromkeys(("adaptive_avg_pool2d", "global_avg_pool"), ("global_average_pool",)),
        **dict.fromkeys(("clone", "detach", "stop_gradient"), ("identity",)),
        **dict.fromkeys(("addmm", "dense", "fully_connected"), ("linear",)),
        **dict.fromkeys(("bmm", "dot", "inner", "mm", "outer", "tensordot"), ("matmul", "einsum")),
        **dict.fromkeys(("amax", "any", "max"), ("maximum", "reduce_max")),
        **dict.fromkeys(("std", "var"), ("mean_variance_norm", "reduce_mean")),
        **dict.fromkeys(("all", "amin", "min"), ("minimum", "reduce_min")),
        **dict.fromkeys(("fmod", "remainder"), ("mod",)),
        **dict.fromkeys(("power", "square"), ("pow",)),
        **dict.fromkeys(("arange", "linspace"), ("range",)),
        **dict.fromkeys(("interpolate", "upsample"), ("resize",)),
        **dict.fromkeys(("index_add", "scatter", "scatter_add"), ("scatter_elements", "scatter_nd")),
        **dict.fromkeys(("flip", "reverse"), ("slice",)),
        **dict.fromkeys(("narrow", "strided_slice"), ("slice",)),
        **dict.fromkeys(("chunk", "unstack"), ("split",)),
        **dict.fromkeys(("argsort", "sort", "topk"), ("top_k",)),
        **dict.fromkeys(("moveaxis", "permute", "swapaxes"), ("transpose",)),
        **dict.fromkeys(("expand_dims", "newaxis"), ("unsqueeze",)),
        **dict.fromkeys(("masked_fill", "select"), ("where",)),
        "absolute": ("abs",),
        "and": ("logical_and", "bitwise_and"),
        "broadcast_to": ("expand",),
        "ceiling": ("ceil",),
        "dequantize": ("dequantize_linear",),
        "eq": ("equal",),
        "eye": ("eye_like",),
        "ge": ("greater_or_equal",),
        "gt": ("greater",),
        "le": ("less_or_equal",),
        "local_response_norm": ("lrn",),
        "lt": ("less",),
        "multiply": ("mul",),
        "multiply_add": ("fma",),
        "negative": ("neg",),
        "nms": ("non_max_suppression",),
        "not": ("logical_not", "bitwise_not"),
        "or": ("logical_or", "bitwise_or"),
        "pixel_shuffle": ("depth_to_space",),
        "pixel_unshuffle": ("space_to_depth",),
        "placeholder": ("input",),
        "prod": ("reduce_prod",),
        "quantize": ("quantize_linear",),
        "ravel": ("flatten",),
        "repeat": ("tile",),
        "requantize": ("requantise",),
        "rint": ("round",),
        "rsqrt": ("reciprocal", "sqrt"),
        "softmax2d": ("softmax",),
        "stack": ("unsqueeze", "concat"),
        "subtract": ("sub",),
        "swish": ("silu",),
        "take_along_axis": ("gather_elements",),
        "while": ("loop",),
        "xor": ("logical_xor", "bitwise_xor"),
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
