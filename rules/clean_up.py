"""Exact clean-up, in the order in which its rules are tried."""

from __future__ import annotations

from graphrewrite.rules.affine import subtract_as_add
from graphrewrite.rules.arithmetic import (
    constant_last,
    drop_added_and_subtracted,
    drop_minus_zero,
    drop_subtracted_and_added,
    drop_subtracted_from_itself,
    merge_constants,
    merge_integer_differences,
    merge_integer_offsets,
)
from graphrewrite.rules.borders import BORDERS
from graphrewrite.rules.casts import merge_bit_casts, merge_casts, stay_narrow
from graphrewrite.rules.cleaning import (
    eliminate_dead_nodes,
    eliminate_empty_nodes,
    eliminate_independent_nodes,
    merge_equal_nodes,
)
from graphrewrite.rules.concats import drop_empty_operand, merge_concats
from graphrewrite.rules.control_flow import choose_branch
from graphrewrite.rules.identities import IDENTITIES, drop_cast_to_fixed_and_back, drop_requantise
from graphrewrite.rules.indices import drop_cast_of_indices, merge_gathers, reshape_indices, slice_of_gather
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
from graphrewrite.rules.limits import clip_as_relu, leave_out_limit, merge_clips, merge_clips_around_movement
from graphrewrite.rules.quantised import drop_limit_before_quantising, drop_quantise_again
from graphrewrite.rules.reductions import count_reduced_axes_from_front, keep_reduced_axes, merge_extremes
from graphrewrite.rules.shapes import MOVEMENTS
from graphrewrite.rules.signs import SIGNS
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

__all__ = ["RULES"]

RULES = (
    *IDENTITIES,
    drop_minus_zero,
    constant_last,
    subtract_as_add,
    *SIGNS,
    merge_constants,
    merge_integer_offsets,
    merge_integer_differences,
    drop_added_and_subtracted,
    drop_subtracted_and_added,
    drop_subtracted_from_itself,
    crop_as_slice,
    write_bounds_of_slice,
    merge_slices,
    slice_of_concat,
    slice_of_pad,
    slice_of_sizes,
    concat_of_slices,
    merge_concats,
    drop_empty_operand,
    *BORDERS,
    gather_as_slice,
    merge_gathers,
    reshape_indices,
    slice_of_gather,
    slice_before_expand,
    drop_requantise,
    drop_cast_to_fixed_and_back,
    clip_as_relu,
    leave_out_limit,
    merge_clips,
    merge_clips_around_movement,
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
    stay_narrow,
    drop_cast_of_indices,
    compute_known_number,
    compute_known_sum,
    compute_known_sizes,
    fill_as_expand,
    begin_at_zero,
    begin_cell_at_zero,
    count_reduced_axes_from_front,
    keep_reduced_axes,
    merge_extremes,
    *MOVEMENTS,
    choose_branch,
    drop_quantise_again,
    drop_limit_before_quantising,
    eliminate_dead_nodes,
    eliminate_empty_nodes,
    eliminate_independent_nodes,
    merge_equal_nodes,
)
"""Exact clean-up: the same bits before and after."""
