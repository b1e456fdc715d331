"""Transformations: rules and passes that stay on their level.

Tuples are the table of contents. `RULES` are exact: the rewritten graph gives the same bits. The others are opt-in.
`FOLDING` moves float arithmetic from run time into the weights, which keeps results only within rounding; quantising,
which rounds anyway, applies it. `RECOGNITION` makes composite ops of their parts, and `PRODUCTS` fewer products of
matrices; `ROWS` and then `MERGE_PRODUCTS` make larger ones. `APPROXIMATE` has what is right for most numbers, and each
of its rules says for which.

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
    divide_as_multiply,
    fold_batch_norm,
    fold_bias,
    fold_input_offset,
    fold_input_scale,
    fold_scale,
    negate_layer,
    subtract_as_add,
    subtract_layer,
)
from graphrewrite.rules.affine_before_moves import (
    constant_before_reshape,
    constant_before_transpose,
    norm_before_concat,
    norm_before_names,
    norm_before_reshape,
    norm_before_slice,
    norm_before_transpose,
    slice_before_norm,
)
from graphrewrite.rules.approximations import (
    abs_of_square,
    divide_by_reciprocal,
    divide_zero,
    drop_exp_and_log,
    drop_reciprocal_twice,
    drop_zero_addend,
    multiply_by_reciprocal,
    multiply_by_zero,
    negate_difference,
    negate_from_zero,
    power_as_reciprocal,
    power_as_root,
    power_as_square,
    subtract_itself,
)
from graphrewrite.rules.arithmetic import (
    constant_last,
    drop_minus_zero,
    drop_sign_before_even,
    fold_sign,
    fold_sign_before,
    merge_constants,
    merge_differences,
    merge_factors,
    merge_integer_differences,
    merge_integer_offsets,
    merge_offsets,
    merge_quotients,
    multiply_without_signs,
    negate_integer_from_zero,
    write_difference,
    write_difference_as_sum,
)
from graphrewrite.rules.borders import (
    broadcast_constant,
    broadcast_constant_in_order,
    drop_repetition,
    drop_repetition_in_order,
    merge_expands,
    merge_pads,
    merge_tiles,
    tile_as_expand,
)
from graphrewrite.rules.casts import (
    merge_bit_casts,
    merge_casts,
)
from graphrewrite.rules.cleaning import eliminate_dead_nodes, eliminate_independent_nodes, merge_equal_nodes
from graphrewrite.rules.concats import (
    concat_before_step,
    drop_empty_operand,
    merge_concats,
    slice_after_pair,
    slice_after_step,
)
from graphrewrite.rules.control_flow import choose_branch, unroll_loops
from graphrewrite.rules.fusing import fuse_activations, fusing
from graphrewrite.rules.identities import (
    choose_equal_branches,
    drop_cast_to_fixed_and_back,
    drop_crop,
    drop_double_negation,
    drop_dropout,
    drop_equal_operands,
    drop_factor_one,
    drop_identity,
    drop_neutral_one,
    drop_neutral_zero,
    drop_pad,
    drop_repeated,
    drop_repeated_relu,
    drop_requantise,
    drop_resize,
    drop_slope_one,
    drop_subtract_zero,
    drop_unchanged,
    drop_unit_pool,
    reduce_one_as_reshape,
    where_as_truth,
    where_of_opposite,
)
from graphrewrite.rules.known_values import (
    compute_known_number,
    compute_known_sizes,
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
from graphrewrite.rules.layer_forms import (
    average_pool_as_global,
    conv_as_linear,
    linear_as_conv,
    mean_as_pool,
    pointwise_conv_as_matmul,
    pool_as_mean,
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
from graphrewrite.rules.limits import (
    merge_clips,
)
from graphrewrite.rules.merging import MERGE_PRODUCTS
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
from graphrewrite.rules.products import (
    PRODUCTS,
    constant_behind_reshape,
    factor_after_product,
    factor_before_product,
)
from graphrewrite.rules.quantised import MERGE_ROUNDINGS, MOVE_INTEGERS
from graphrewrite.rules.recognition import RECOGNITION
from graphrewrite.rules.rows import ROWS
from graphrewrite.rules.shapes import (
    drop_reshape,
    drop_transpose,
    merge_reshapes,
    merge_transposes,
    permute_linear_weights,
    transpose_as_reshape,
    write_as_reshape,
)
from graphrewrite.rules.sinking import (
    clip_before_rearranging,
    greatest_without_transpose,
    reshape_after,
    reshape_after_in_order,
    sum_without_transpose,
    tile_after_transpose,
    tile_before_transpose,
    transpose_after,
    transpose_after_in_order,
    transpose_after_sum,
)
from graphrewrite.rules.slices import (
    concat_of_rows,
    concat_of_slices,
    crop_as_slice,
    gather_as_slice,
    merge_slices,
    slice_before_expand,
    slice_of_concat,
    slice_of_pad,
    slice_of_sizes,
)
from graphrewrite.rules.transfers import drop_transfer, insert_transfers, merge_transfers
from graphrewrite.rules.windows import (
    crop_window,
    dilate_conv,
    fold_pad,
    fold_pad_into_average_pool,
    fold_pad_into_max_pool,
    pool_before_relu,
)

__all__ = [
    "APPROXIMATE",
    "AS_CONVOLUTIONS",
    "AS_LAYERS",
    "AS_MEANS",
    "AS_PRODUCTS",
    "BROADCASTING",
    "FEWER_TRANSPOSES",
    "FOLDING",
    "MERGE_PRODUCTS",
    "PRODUCTS",
    "REARRANGE_LAST",
    "RECOGNITION",
    "ROWS",
    "RULES",
    "SHARED_STEPS",
    "abs_of_square",
    "add_bias",
    "add_to_layer_norm",
    "add_to_norm",
    "average_pool_as_conv",
    "average_pool_as_global",
    "batch_norm_as_layer",
    "broadcast_constant",
    "broadcast_constant_in_order",
    "cancel_transposes",
    "cancel_transposes_of_sums",
    "choose_branch",
    "choose_equal_branches",
    "clip_before_rearranging",
    "compute_known_number",
    "compute_known_sizes",
    "concat_before_step",
    "concat_of_rows",
    "concat_of_slices",
    "constant_before_reshape",
    "constant_before_transpose",
    "constant_behind_reshape",
    "constant_last",
    "conv_as_linear",
    "crop_as_slice",
    "crop_window",
    "dilate_conv",
    "divide_as_multiply",
    "divide_by_reciprocal",
    "divide_zero",
    "drop_abs",
    "drop_add_zero",
    "drop_cast_there_and_back",
    "drop_cast_to_fixed_and_back",
    "drop_clip",
    "drop_crop",
    "drop_double_negation",
    "drop_dropout",
    "drop_empty_operand",
    "drop_equal_operands",
    "drop_exp_and_log",
    "drop_extreme",
    "drop_factor_one",
    "drop_identity",
    "drop_mask",
    "drop_minus_zero",
    "drop_neutral_one",
    "drop_neutral_zero",
    "drop_norm",
    "drop_pad",
    "drop_reciprocal_twice",
    "drop_relu",
    "drop_relu_of_clip",
    "drop_repeated",
    "drop_repeated_relu",
    "drop_repetition",
    "drop_repetition_in_order",
    "drop_requantise",
    "drop_reshape",
    "drop_resize",
    "drop_rounding",
    "drop_shift_there_and_back",
    "drop_sign_before_even",
    "drop_slope_one",
    "drop_subtract_zero",
    "drop_transfer",
    "drop_transpose",
    "drop_unchanged",
    "drop_unit_pool",
    "drop_where",
    "drop_zero_addend",
    "eliminate_dead_nodes",
    "eliminate_independent_nodes",
    "factor_after_product",
    "factor_before_product",
    "fold_batch_norm",
    "fold_bias",
    "fold_input_offset",
    "fold_input_scale",
    "fold_pad",
    "fold_pad_into_average_pool",
    "fold_pad_into_max_pool",
    "fold_scale",
    "fold_sign",
    "fold_sign_before",
    "fuse_activations",
    "fusing",
    "gather_as_slice",
    "gemm_as_linear",
    "global_average_pool_as_conv",
    "greatest_without_transpose",
    "inline",
    "insert_transfers",
    "linear_as_conv",
    "matmul_as_linear",
    "matmul_of_weights_as_linear",
    "mean_as_pool",
    "merge_bit_casts",
    "merge_casts",
    "merge_clips",
    "merge_concats",
    "merge_constants",
    "merge_differences",
    "merge_equal_nodes",
    "merge_expands",
    "merge_factors",
    "merge_integer_differences",
    "merge_integer_offsets",
    "merge_layers",
    "merge_offsets",
    "merge_pads",
    "merge_quotients",
    "merge_reshapes",
    "merge_slices",
    "merge_tiles",
    "merge_transfers",
    "merge_transposes",
    "multiply_by_reciprocal",
    "multiply_by_zero",
    "multiply_without_signs",
    "negate_difference",
    "negate_from_zero",
    "negate_integer_from_zero",
    "negate_layer",
    "norm_before_concat",
    "norm_before_names",
    "norm_before_reshape",
    "norm_before_slice",
    "norm_before_transpose",
    "outline",
    "outline_nodes",
    "permute_linear_weights",
    "pointwise_conv_as_matmul",
    "pool_as_mean",
    "pool_before_relu",
    "power_as_reciprocal",
    "power_as_root",
    "power_as_square",
    "reduce_one_as_reshape",
    "reshape_after",
    "reshape_after_in_order",
    "scale_layer_norm",
    "scale_norm",
    "slice_after_pair",
    "slice_after_step",
    "slice_before_expand",
    "slice_before_norm",
    "slice_of_concat",
    "slice_of_pad",
    "slice_of_sizes",
    "subtract_as_add",
    "subtract_itself",
    "subtract_layer",
    "subtract_norm",
    "sum_without_transpose",
    "tile_after_transpose",
    "tile_as_expand",
    "tile_before_transpose",
    "transpose_after",
    "transpose_after_in_order",
    "transpose_after_sum",
    "transpose_as_reshape",
    "unroll_loops",
    "where_as_truth",
    "where_of_opposite",
    "write_as_reshape",
    "write_difference",
    "write_difference_as_sum",
]

RULES = (
    drop_dropout,
    drop_identity,
    drop_factor_one,
    drop_subtract_zero,
    drop_repeated_relu,
    drop_unchanged,
    drop_crop,
    drop_pad,
    drop_resize,
    drop_unit_pool,
    reduce_one_as_reshape,
    drop_slope_one,
    drop_double_negation,
    drop_repeated,
    drop_equal_operands,
    drop_neutral_one,
    drop_neutral_zero,
    choose_equal_branches,
    where_as_truth,
    where_of_opposite,
    drop_minus_zero,
    negate_integer_from_zero,
    constant_last,
    write_difference,
    write_difference_as_sum,
    multiply_without_signs,
    drop_sign_before_even,
    fold_sign,
    fold_sign_before,
    merge_constants,
    merge_integer_offsets,
    merge_integer_differences,
    crop_as_slice,
    merge_slices,
    slice_of_concat,
    slice_of_pad,
    slice_of_sizes,
    concat_of_slices,
    merge_concats,
    drop_empty_operand,
    merge_pads,
    merge_expands,
    broadcast_constant,
    broadcast_constant_in_order,
    gather_as_slice,
    slice_before_expand,
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
    merge_casts,
    merge_bit_casts,
    compute_known_number,
    compute_known_sizes,
    write_as_reshape,
    drop_reshape,
    merge_reshapes,
    drop_transpose,
    merge_transposes,
    transpose_as_reshape,
    choose_branch,
    *MOVE_INTEGERS,
    eliminate_dead_nodes,
    eliminate_independent_nodes,
    merge_equal_nodes,
)
"""Exact clean-up: the same bits before and after."""

AS_LAYERS = (average_pool_as_conv, global_average_pool_as_conv, batch_norm_as_layer)
"""Pools and norms as convolutions, for targets whose arithmetic is in layers: the same within float rounding."""

FOLDING = (
    gemm_as_linear,
    matmul_as_linear,
    matmul_of_weights_as_linear,
    add_bias,
    fold_pad,
    fold_pad_into_average_pool,
    fold_pad_into_max_pool,
    crop_window,
    dilate_conv,
    divide_as_multiply,
    subtract_as_add,
    norm_before_reshape,
    norm_before_names,
    norm_before_transpose,
    norm_before_concat,
    norm_before_slice,
    slice_before_norm,
    constant_before_reshape,
    constant_before_transpose,
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
    *AS_LAYERS,
    merge_layers,
    fold_input_scale,
    fold_input_offset,
    permute_linear_weights,
    factor_after_product,
    factor_before_product,
    constant_behind_reshape,
)
"""Arithmetic folded into weights: the same within float rounding."""

APPROXIMATE = (
    merge_offsets,
    merge_differences,
    merge_factors,
    merge_quotients,
    drop_zero_addend,
    multiply_by_zero,
    divide_zero,
    subtract_itself,
    negate_from_zero,
    negate_difference,
    power_as_square,
    power_as_root,
    power_as_reciprocal,
    abs_of_square,
    drop_exp_and_log,
    drop_reciprocal_twice,
    multiply_by_reciprocal,
    divide_by_reciprocal,
    *MERGE_ROUNDINGS,
)
"""Right for real numbers: NaN, infinities, the sign of zero or a rounding may change; opt-in."""

BROADCASTING = (
    tile_as_expand,
    merge_tiles,
    drop_repetition,
    drop_repetition_in_order,
)
"""Repeated operands that ops repeat themselves: exact; opt-in, for hardware repeats them before."""

SHARED_STEPS = (
    concat_before_step,
    slice_after_step,
    slice_after_pair,
    concat_of_rows,
)
"""One step for several parts instead of one for each: exact; opt-in, for parts may be computed at once."""

AS_CONVOLUTIONS = (linear_as_conv, mean_as_pool)
"""Matrix products and means as convolutions and pools, for targets of images; opt-in."""

AS_PRODUCTS = (conv_as_linear, pointwise_conv_as_matmul)
"""Convolutions of one window, or of single positions, as matrix products; opt-in."""

AS_MEANS = (average_pool_as_global, pool_as_mean)
"""Pools over all positions as means, with one op less behind them; opt-in."""


FEWER_TRANSPOSES = (
    greatest_without_transpose,
    sum_without_transpose,
    cancel_transposes,
    cancel_transposes_of_sums,
)
"""Transposes moved where fewer of them are left; past sums, which may be rounded in another order, by two of them."""

REARRANGE_LAST = (
    transpose_after,
    transpose_after_in_order,
    reshape_after,
    reshape_after_in_order,
    tile_after_transpose,
    merge_transposes,
    drop_transpose,
    merge_reshapes,
    drop_reshape,
)
"""Transposes and reshapes behind all ops that they do not concern, so that layers meet what follows them: exact;
opt-in, for there may be as many of them as before."""


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute(__name__, name, __all__)
