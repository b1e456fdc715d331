"""Rule sets that are opt-in: what they change is rounded, assumed, or a matter of taste."""

from __future__ import annotations

from graphrewrite.rules.affine import (
    divide_as_multiply,
    fold_batch_norm,
    fold_bias,
    fold_input_offset,
    fold_input_scale,
    fold_scale,
    negate_layer,
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
    drop_order_kept,
    drop_reciprocal_twice,
    drop_sign_of_positive,
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
    merge_differences,
    merge_factors,
    merge_offsets,
    merge_quotients,
    merge_scale_of_line,
)
from graphrewrite.rules.borders import (
    drop_repetition,
    drop_repetition_in_order,
    expand_after,
    expand_after_in_order,
    merge_tiles,
    resize_as_expand,
    tile_as_expand,
)
from graphrewrite.rules.concats import (
    concat_before_reshape,
    concat_before_step,
    slice_after_pair,
    slice_after_second,
    slice_after_step,
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
from graphrewrite.rules.norms import (
    add_to_layer_norm,
    add_to_norm,
    drop_norm,
    merge_norms,
    scale_layer_norm,
    scale_norm,
    subtract_norm,
)
from graphrewrite.rules.products import (
    constant_behind_reshape,
    factor_after_addend,
    factor_after_product,
    factor_before_product,
)
from graphrewrite.rules.quantised import MERGE_ROUNDINGS, concat_before_quantising
from graphrewrite.rules.reductions import merge_sums
from graphrewrite.rules.shapes import (
    drop_reshape,
    drop_transpose,
    merge_reshapes,
    merge_transposes,
    permute_linear_weights,
)
from graphrewrite.rules.sinking import (
    greatest_without_transpose,
    reshape_after,
    reshape_after_in_order,
    sum_without_transpose,
    tile_after_transpose,
    transpose_after,
    transpose_after_in_order,
)
from graphrewrite.rules.slices import concat_of_rows
from graphrewrite.rules.windows import (
    crop_window,
    dilate_conv,
    fold_pad,
    fold_pad_into_average_pool,
    fold_pad_into_max_pool,
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
    "REARRANGE_LAST",
    "SHARED_STEPS",
]

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
    merge_norms,
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
    factor_after_addend,
    factor_before_product,
    constant_behind_reshape,
)
"""Arithmetic folded into weights: the same within float rounding."""

APPROXIMATE = (
    merge_offsets,
    merge_differences,
    merge_factors,
    merge_quotients,
    merge_scale_of_line,
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
    drop_order_kept,
    drop_reciprocal_twice,
    drop_sign_of_positive,
    multiply_by_reciprocal,
    divide_by_reciprocal,
    merge_sums,
    *MERGE_ROUNDINGS,
)
"""Right for real numbers: NaN, infinities, the sign of zero or a rounding may change; opt-in."""

BROADCASTING = (
    tile_as_expand,
    resize_as_expand,
    merge_tiles,
    drop_repetition,
    drop_repetition_in_order,
    expand_after,
    expand_after_in_order,
)
"""Repeated operands that ops repeat themselves: exact; opt-in, for hardware repeats them before."""

SHARED_STEPS = (
    concat_before_step,
    concat_before_reshape,
    concat_before_quantising,
    slice_after_step,
    slice_after_pair,
    slice_after_second,
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
