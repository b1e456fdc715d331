"""Transformations: rules and passes that stay on their level.

Two tuples are the table of contents. `RULES` are exact: the rewritten graph gives the same bits. `FOLDING` moves float
arithmetic from run time into the weights, which keeps results only within rounding; it is opt-in, and quantising, which
rounds anyway, applies it.

Examples
--------
>>> from graphrewrite import Graph, rewrite
>>> from graphrewrite.rules import RULES
>>> g = Graph.parse('''graph g
... x = input() : f32[N,2,3]
... a = transpose(x, perm=[0, 2, 1])
... b = transpose(a, perm=[0, 2, 1])
... dead = relu(b)
... y = output(b)''')
>>> print(rewrite(g, RULES))
graph g
x = input() : f32[N,2,3]
y = output(x)
"""

from graphrewrite.rules.affine import (
    divide_as_multiply,
    fold_batch_norm,
    fold_bias,
    fold_conv_bias,
    fold_conv_input_offset,
    fold_conv_input_scale,
    fold_conv_scale,
    fold_input_offset,
    fold_input_scale,
    fold_linear_batch_norm,
    fold_scale,
    subtract_as_add,
)
from graphrewrite.rules.cleaning import eliminate_dead_nodes, eliminate_independent_nodes, merge_equal_nodes
from graphrewrite.rules.identities import (
    drop_cast_to_fixed_and_back,
    drop_divide_by_one,
    drop_identity,
    drop_multiply_by_one,
    drop_repeated_relu,
    drop_requantise,
    drop_subtract_zero,
    merge_clips,
)
from graphrewrite.rules.layers import (
    average_pool_as_conv,
    batch_norm_as_layer,
    conv_without_bias,
    fold_pad,
    gemm_as_linear,
    gemm_without_bias_as_linear,
    global_average_pool_as_conv,
    linear_without_bias,
    matmul_as_linear,
)
from graphrewrite.rules.shapes import (
    drop_reshape,
    drop_transpose,
    flatten_as_reshape,
    merge_reshapes,
    merge_transposes,
    permute_linear_weights,
    squeeze_as_reshape,
    transpose_as_reshape,
    unsqueeze_as_reshape,
)

__all__ = [
    "FOLDING",
    "RULES",
    "average_pool_as_conv",
    "batch_norm_as_layer",
    "conv_without_bias",
    "divide_as_multiply",
    "drop_cast_to_fixed_and_back",
    "drop_divide_by_one",
    "drop_identity",
    "drop_multiply_by_one",
    "drop_repeated_relu",
    "drop_requantise",
    "drop_reshape",
    "drop_subtract_zero",
    "drop_transpose",
    "eliminate_dead_nodes",
    "eliminate_independent_nodes",
    "flatten_as_reshape",
    "fold_batch_norm",
    "fold_bias",
    "fold_conv_bias",
    "fold_conv_input_offset",
    "fold_conv_input_scale",
    "fold_conv_scale",
    "fold_input_offset",
    "fold_input_scale",
    "fold_linear_batch_norm",
    "fold_pad",
    "fold_scale",
    "gemm_as_linear",
    "gemm_without_bias_as_linear",
    "global_average_pool_as_conv",
    "linear_without_bias",
    "matmul_as_linear",
    "merge_clips",
    "merge_equal_nodes",
    "merge_reshapes",
    "merge_transposes",
    "permute_linear_weights",
    "squeeze_as_reshape",
    "subtract_as_add",
    "transpose_as_reshape",
    "unsqueeze_as_reshape",
]

RULES = (
    drop_identity,
    drop_multiply_by_one,
    drop_divide_by_one,
    drop_subtract_zero,
    drop_repeated_relu,
    drop_requantise,
    drop_cast_to_fixed_and_back,
    merge_clips,
    flatten_as_reshape,
    squeeze_as_reshape,
    unsqueeze_as_reshape,
    drop_reshape,
    merge_reshapes,
    drop_transpose,
    merge_transposes,
    transpose_as_reshape,
    eliminate_dead_nodes,
    eliminate_independent_nodes,
    merge_equal_nodes,
)
"""Exact clean-up: the same bits before and after."""

FOLDING = (
    gemm_as_linear,
    gemm_without_bias_as_linear,
    matmul_as_linear,
    linear_without_bias,
    conv_without_bias,
    average_pool_as_conv,
    global_average_pool_as_conv,
    fold_pad,
    divide_as_multiply,
    subtract_as_add,
    fold_bias,
    fold_conv_bias,
    fold_scale,
    fold_conv_scale,
    fold_batch_norm,
    fold_linear_batch_norm,
    batch_norm_as_layer,
    fold_input_scale,
    fold_conv_input_scale,
    fold_input_offset,
    fold_conv_input_offset,
    permute_linear_weights,
)
"""Arithmetic folded into weights: the same within float rounding."""
