"""Transformations: rules and passes that stay on their level.

Tuples are the table of contents. `RULES` are exact: the rewritten graph gives the same bits. The others are opt-in.
`FOLDING` moves float arithmetic into the weights, within rounding; quantising, which rounds anyway, applies it.
`RECOGNITION` makes composite ops of their parts, and `PRODUCTS` fewer products of matrices; `ROWS` and then
`MERGE_PRODUCTS` make larger ones. `APPROXIMATE` has what is right for most numbers, and says for which.

Examples
--------
>>> from graphrewrite import Graph, rewrite
>>> from graphrewrite.rules import RULES
>>> g = Graph.parse('''graph g
... x = input() : f32[N,2,3]
... a = transpose(x, perm=[0, 2, 1])
... b = transpose(a, perm=[0, 2, 1])
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
    fold_input_norm,
    fold_input_offset,
    fold_input_scale,
    fold_scale,
    subtract_as_add,
)
from graphrewrite.rules.affine_before_moves import constant_before_reshape, norm_before_reshape
from graphrewrite.rules.arithmetic import (
    constant_last,
    drop_minus_zero,
    merge_constants,
    merge_integer_differences,
    merge_integer_offsets,
)
from graphrewrite.rules.borders import (
    broadcast_constant,
    broadcast_constant_in_order,
    merge_expands,
    merge_pads,
    shorten_constant,
    shorten_constant_in_order,
    shorten_expanded_constant,
    write_sizes_of_expand,
)
from graphrewrite.rules.casts import merge_bit_casts, merge_casts, stay_narrow
from graphrewrite.rules.choices import (
    choose_equal_branches,
    choose_first_by_constant,
    where_as_opposite,
    where_as_truth,
    where_of_opposite,
)
from graphrewrite.rules.clean_up import RULES
from graphrewrite.rules.cleaning import (
    eliminate_dead_nodes,
    eliminate_empty_nodes,
    eliminate_independent_nodes,
    merge_equal_nodes,
)
from graphrewrite.rules.concats import drop_empty_operand, merge_concats
from graphrewrite.rules.control_flow import choose_branch, unroll_loops
from graphrewrite.rules.gathered_sums import gather_sums
from graphrewrite.rules.grids import CHANGE_GRIDS
from graphrewrite.rules.identities import (
    drop_absorbed,
    drop_cast_to_fixed_and_back,
    drop_crop,
    drop_dropout,
    drop_equal_operands,
    drop_factor_one,
    drop_identity,
    drop_inverse_twice,
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
)
from graphrewrite.rules.indices import (
    drop_cast_of_indices,
    merge_gathers,
    narrow_constant_indices,
    slice_as_gather,
    slice_of_gather,
)
from graphrewrite.rules.known_values import (
    begin_at_zero,
    begin_cell_at_zero,
    compute_known_number,
    compute_known_sizes,
    compute_known_sum,
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
    fill_as_expand,
)
from graphrewrite.rules.layer_activations import fuse_activations, fusing
from graphrewrite.rules.layers import (
    add_bias,
    average_pool_as_conv,
    batch_norm_as_layer,
    gemm_as_linear,
    global_average_pool_as_conv,
    matmul_as_linear,
    matmul_of_weights_as_linear,
)
from graphrewrite.rules.limits import clip_as_relu, leave_out_limit, merge_clips
from graphrewrite.rules.memory import MEMORY_RULES
from graphrewrite.rules.merging import MERGE_PRODUCTS
from graphrewrite.rules.nesting import inline, outline
from graphrewrite.rules.opt_in import (
    APPROXIMATE,
    AS_CONVOLUTIONS,
    AS_LAYERS,
    AS_MEANS,
    AS_PRODUCTS,
    BROADCASTING,
    FEWER_TRANSPOSES,
    FOLDING,
    REARRANGE_LAST,
    SHARED_STEPS,
)
from graphrewrite.rules.outlining import outline_nodes
from graphrewrite.rules.products import PRODUCTS
from graphrewrite.rules.quantised import MOVE_INTEGERS, drop_limit_before_quantising, drop_quantise_again
from graphrewrite.rules.recognition import RECOGNITION
from graphrewrite.rules.reductions import count_reduced_axes_from_front, keep_reduced_axes, merge_extremes
from graphrewrite.rules.rows import ROWS
from graphrewrite.rules.shapes import (
    add_ones_before_transpose,
    drop_ones_behind_transpose,
    drop_reshape,
    drop_transpose,
    merge_reshape_into_transpose,
    merge_reshapes,
    merge_transpose_into_reshape,
    merge_transposes,
    order_ones_of_transpose,
    permute_linear_weights,
    transpose_as_reshape,
    write_as_reshape,
    write_sizes_of_reshape,
)
from graphrewrite.rules.signs import (
    add_negative,
    drop_sign_before_even,
    drop_sign_before_square,
    factor_as_sign,
    fold_sign_before,
    fold_sign_of_divisor,
    move_sign,
    move_sign_of_divisor,
    multiply_without_signs,
    negate_from_minus_zero,
    negate_integer_from_zero,
    negate_integer_sum,
    negate_operand,
    negate_sum,
    turn_difference_before_even,
    turn_difference_before_factor,
    write_difference,
    write_difference_as_sum,
)
from graphrewrite.rules.slices import (
    concat_of_slices,
    crop_as_slice,
    gather_as_slice,
    merge_slices,
    slice_before_expand,
    slice_of_concat,
    slice_of_pad,
    slice_of_sizes,
    write_bounds_of_slice,
)
from graphrewrite.rules.splits import join_slices
from graphrewrite.rules.transfers import drop_transfer, insert_transfers, merge_transfers
from graphrewrite.rules.windows import fold_pad

__all__ = [
    "APPROXIMATE",
    "AS_CONVOLUTIONS",
    "AS_LAYERS",
    "AS_MEANS",
    "AS_PRODUCTS",
    "BROADCASTING",
    "CHANGE_GRIDS",
    "FEWER_TRANSPOSES",
    "FOLDING",
    "MEMORY_RULES",
    "MERGE_PRODUCTS",
    "MOVE_INTEGERS",
    "PRODUCTS",
    "REARRANGE_LAST",
    "RECOGNITION",
    "ROWS",
    "RULES",
    "SHARED_STEPS",
    "add_bias",
    "add_negative",
    "add_ones_before_transpose",
    "average_pool_as_conv",
    "batch_norm_as_layer",
    "begin_at_zero",
    "begin_cell_at_zero",
    "broadcast_constant",
    "broadcast_constant_in_order",
    "choose_branch",
    "choose_equal_branches",
    "choose_first_by_constant",
    "clip_as_relu",
    "compute_known_number",
    "compute_known_sizes",
    "compute_known_sum",
    "concat_of_slices",
    "constant_before_reshape",
    "constant_last",
    "count_reduced_axes_from_front",
    "crop_as_slice",
    "divide_as_multiply",
    "drop_abs",
    "drop_absorbed",
    "drop_add_zero",
    "drop_cast_of_indices",
    "drop_cast_there_and_back",
    "drop_cast_to_fixed_and_back",
    "drop_clip",
    "drop_crop",
    "drop_dropout",
    "drop_empty_operand",
    "drop_equal_operands",
    "drop_extreme",
    "drop_factor_one",
    "drop_identity",
    "drop_inverse_twice",
    "drop_limit_before_quantising",
    "drop_mask",
    "drop_minus_zero",
    "drop_neutral_one",
    "drop_neutral_zero",
    "drop_ones_behind_transpose",
    "drop_pad",
    "drop_quantise_again",
    "drop_relu",
    "drop_relu_of_clip",
    "drop_repeated",
    "drop_repeated_relu",
    "drop_requantise",
    "drop_reshape",
    "drop_resize",
    "drop_rounding",
    "drop_shift_there_and_back",
    "drop_sign_before_even",
    "drop_sign_before_square",
    "drop_slope_one",
    "drop_subtract_zero",
    "drop_transfer",
    "drop_transpose",
    "drop_unchanged",
    "drop_unit_pool",
    "drop_where",
    "eliminate_dead_nodes",
    "eliminate_empty_nodes",
    "eliminate_independent_nodes",
    "factor_as_sign",
    "fill_as_expand",
    "fold_batch_norm",
    "fold_bias",
    "fold_input_norm",
    "fold_input_offset",
    "fold_input_scale",
    "fold_pad",
    "fold_scale",
    "fold_sign_before",
    "fold_sign_of_divisor",
    "fuse_activations",
    "fusing",
    "gather_as_slice",
    "gather_sums",
    "gemm_as_linear",
    "global_average_pool_as_conv",
    "inline",
    "insert_transfers",
    "join_slices",
    "keep_reduced_axes",
    "leave_out_limit",
    "matmul_as_linear",
    "matmul_of_weights_as_linear",
    "merge_bit_casts",
    "merge_casts",
    "merge_clips",
    "merge_concats",
    "merge_constants",
    "merge_equal_nodes",
    "merge_expands",
    "merge_extremes",
    "merge_gathers",
    "merge_integer_differences",
    "merge_integer_offsets",
    "merge_pads",
    "merge_reshape_into_transpose",
    "merge_reshapes",
    "merge_slices",
    "merge_transfers",
    "merge_transpose_into_reshape",
    "merge_transposes",
    "move_sign",
    "move_sign_of_divisor",
    "multiply_without_signs",
    "narrow_constant_indices",
    "negate_from_minus_zero",
    "negate_integer_from_zero",
    "negate_integer_sum",
    "negate_operand",
    "negate_sum",
    "norm_before_reshape",
    "order_ones_of_transpose",
    "outline",
    "outline_nodes",
    "permute_linear_weights",
    "reduce_one_as_reshape",
    "shorten_constant",
    "shorten_constant_in_order",
    "shorten_expanded_constant",
    "slice_as_gather",
    "slice_before_expand",
    "slice_of_concat",
    "slice_of_gather",
    "slice_of_pad",
    "slice_of_sizes",
    "stay_narrow",
    "subtract_as_add",
    "transpose_as_reshape",
    "turn_difference_before_even",
    "turn_difference_before_factor",
    "unroll_loops",
    "where_as_opposite",
    "where_as_truth",
    "where_of_opposite",
    "write_as_reshape",
    "write_bounds_of_slice",
    "write_difference",
    "write_difference_as_sum",
    "write_sizes_of_expand",
    "write_sizes_of_reshape",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute(__name__, name, __all__)
