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

from typing import TYPE_CHECKING, NoReturn

from graphrewrite.errors import no_attribute
from graphrewrite.rules.affine import (
    constant_before_reshape,
    divide_as_multiply,
    fold_batch_norm,
    fold_bias,
    fold_input_offset,
    fold_input_scale,
    fold_scale,
    negate_layer,
    norm_before_reshape,
    subtract_as_add,
    subtract_layer,
)
from graphrewrite.rules.cleaning import eliminate_dead_nodes, eliminate_independent_nodes, merge_equal_nodes
from graphrewrite.rules.control_flow import choose_branch, unroll_loops
from graphrewrite.rules.identities import (
    drop_cast_to_fixed_and_back,
    drop_dropout,
    drop_factor_one,
    drop_identity,
    drop_repeated_relu,
    drop_requantise,
    drop_subtract_zero,
    merge_clips,
)
from graphrewrite.rules.known_values import (
    compute_known_number,
    drop_abs,
    drop_add_zero,
    drop_cast_there_and_back,
    drop_clip,
    drop_extreme,
    drop_mask,
    drop_relu,
    drop_relu_of_clip,
    drop_rounding,
    drop_shift_there_and_back,
    drop_where,
)
from graphrewrite.rules.layer_pairs import merge_layers
from graphrewrite.rules.layers import (
    add_bias,
    average_pool_as_conv,
    batch_norm_as_layer,
    gemm_as_linear,
    global_average_pool_as_conv,
    matmul_as_linear,
    matmul_of_weights_as_linear,
)
from graphrewrite.rules.layouts import cancel_transposes, cancel_transposes_of_sums
from graphrewrite.rules.nesting import inline, outline
from graphrewrite.rules.norms import (
    add_to_layer_norm,
    add_to_norm,
    drop_norm,
    scale_layer_norm,
    scale_norm,
    subtract_norm,
)
from graphrewrite.rules.outlining import outline_nodes
from graphrewrite.rules.shapes import (
    drop_reshape,
    drop_transpose,
    merge_reshapes,
    merge_transposes,
    permute_linear_weights,
    transpose_as_reshape,
    write_as_reshape,
)
from graphrewrite.rules.transfers import drop_transfer, insert_transfers, merge_transfers
from graphrewrite.rules.windows import (
    crop_window,
    fold_pad,
    fold_pad_into_average_pool,
    fold_pad_into_max_pool,
    pool_before_relu,
)

__all__ = [
    "FOLDING",
    "RULES",
    "add_bias",
    "add_to_layer_norm",
    "add_to_norm",
    "average_pool_as_conv",
    "batch_norm_as_layer",
    "cancel_transposes",
    "cancel_transposes_of_sums",
    "choose_branch",
    "compute_known_number",
    "constant_before_reshape",
    "crop_window",
    "divide_as_multiply",
    "drop_abs",
    "drop_add_zero",
    "drop_cast_there_and_back",
    "drop_cast_to_fixed_and_back",
    "drop_clip",
    "drop_dropout",
    "drop_extreme",
    "drop_factor_one",
    "drop_identity",
    "drop_mask",
    "drop_norm",
    "drop_relu",
    "drop_relu_of_clip",
    "drop_repeated_relu",
    "drop_requantise",
    "drop_reshape",
    "drop_rounding",
    "drop_shift_there_and_back",
    "drop_subtract_zero",
    "drop_transfer",
    "drop_transpose",
    "drop_where",
    "eliminate_dead_nodes",
    "eliminate_independent_nodes",
    "fold_batch_norm",
    "fold_bias",
    "fold_input_offset",
    "fold_input_scale",
    "fold_pad",
    "fold_pad_into_average_pool",
    "fold_pad_into_max_pool",
    "fold_scale",
    "gemm_as_linear",
    "global_average_pool_as_conv",
    "inline",
    "insert_transfers",
    "matmul_as_linear",
    "matmul_of_weights_as_linear",
    "merge_clips",
    "merge_equal_nodes",
    "merge_layers",
    "merge_reshapes",
    "merge_transfers",
    "merge_transposes",
    "negate_layer",
    "norm_before_reshape",
    "outline",
    "outline_nodes",
    "permute_linear_weights",
    "pool_before_relu",
    "scale_layer_norm",
    "scale_norm",
    "subtract_as_add",
    "subtract_layer",
    "subtract_norm",
    "transpose_as_reshape",
    "unroll_loops",
    "write_as_reshape",
]

RULES = (
    drop_dropout,
    drop_identity,
    drop_factor_one,
    drop_subtract_zero,
    drop_repeated_relu,
    drop_requantise,
    drop_cast_to_fixed_and_back,
    merge_clips,
    drop_add_zero,
    drop_relu,
    drop_relu_of_clip,
    drop_abs,
    drop_clip,
    drop_rounding,
    drop_extreme,
    drop_where,
    drop_mask,
    drop_shift_there_and_back,
    drop_cast_there_and_back,
    compute_known_number,
    write_as_reshape,
    drop_reshape,
    merge_reshapes,
    drop_transpose,
    merge_transposes,
    transpose_as_reshape,
    choose_branch,
    eliminate_dead_nodes,
    eliminate_independent_nodes,
    merge_equal_nodes,
)
"""Exact clean-up: the same bits before and after."""

FOLDING = (
    gemm_as_linear,
    matmul_as_linear,
    matmul_of_weights_as_linear,
    add_bias,
    fold_pad,
    fold_pad_into_average_pool,
    fold_pad_into_max_pool,
    crop_window,
    average_pool_as_conv,
    global_average_pool_as_conv,
    divide_as_multiply,
    subtract_as_add,
    norm_before_reshape,
    constant_before_reshape,
    fold_bias,
    fold_scale,
    negate_layer,
    subtract_layer,
    drop_norm,
    scale_norm,
    add_to_norm,
    subtract_norm,
    scale_layer_norm,
    add_to_layer_norm,
    fold_batch_norm,
    batch_norm_as_layer,
    merge_layers,
    fold_input_scale,
    fold_input_offset,
    permute_linear_weights,
)
"""Arithmetic folded into weights: the same within float rounding."""


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute(__name__, name, __all__)
