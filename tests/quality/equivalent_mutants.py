"""Mutants of the library's rules that `check` does not refute: what each changes, and why nobody sees that.

Every one was looked at. The names are those that `tests.quality.mutants` gives.
"""

from __future__ import annotations

__all__ = ["EQUIVALENT", "IDLE", "MISSED"]

EQUIVALENT = {
    "Equal constants of two types are seldom drawn.": (
        "merge_equal_nodes: negate condition: the opposite of op.name == 'constant' (in _identity)",
    ),
    "Constants of floats of 8 or 4 bits are not drawn.": (
        "divide_as_multiply: drop guard: no guard c.type.element in SMALL_FLOATS",
        "subtract_as_add: drop guard: no guard c.type.element in SMALL_FLOATS",
    ),
    "It declines more than it has to: where it still fires, it is as right as before.": (
        "slice_of_pad: off by one: 1 for 0 (in _without_border) #4",
        "fold_bias: off by one: 1 for 0 (in with_axes)",
        "drop_shift_there_and_back: change sign: no minus in -(-room.low >> by.high)",
        "drop_shift_there_and_back: change sign: no minus in -room.low",
        "drop_shift_there_and_back: change sign: no minus in -1",
        "drop_shift_there_and_back: off by one: 1 for 0",
        "drop_shift_there_and_back: off by one: 2 for 1",
        "drop_extreme: drop guard: no fact.minus_zero or other.minus_zero in a condition",
        "drop_extreme: drop guard: no gap == 0 in a condition",
        "absorb_clip: drop guard: no bound != math.floor(bound) in a condition",
        "absorb_clip: drop guard: no bound != math.floor(bound) in a condition #2",
        "absorb_clip: drop guard: no bound < high in a condition",
        "absorb_clip: drop guard: no bound > low in a condition",
        "average_pool_as_conv: drop guard: no any(pool.pads) in a condition",
        "average_pool_as_conv: drop guard: no not pool.count_include_pad in a condition",
        "subtract_as_add: drop guard: no c.type.layout is not None in a condition (in _names_axes)",
        "subtract_as_add: drop guard: no x.type.layout is None in a condition (in _names_axes)",
        "divide_as_multiply: off by one: 1 for 0",
        "divide_as_multiply: off by one: 2 for 1 #2",
        "fold_input_offset: drop guard: no any(layer.pads) in a condition",
        "gemm_as_linear: drop guard: no b.shape[0] != 1 in a condition",
        "gemm_as_linear: negate condition: the opposite of b.value.ndim > 2",
        "gemm_as_linear: negate condition: the opposite of b.value.size not in (1, outputs)",
        "gemm_as_linear: off by one: 2 for 1 #2",
        "permute_linear_weights: off by one: 1 for 0 #4",
    ),
    "It fires where the rule is more careful than it has to be, and is right there as well.": (
        (
            "enter_fixed: drop guard: no guard not is_of_host or any((x.graph.nodes[n]['type'] in "
            "_QUANTISED for n in x.graph.upstream(x.node)))"
        ),
        "enter_fixed: drop guard: no x.op_name not in _COMPUTED in a condition",
        "enter_fixed: drop guard: no computed_from_inputs(x, (*REARRANGING, *ONE_BY_ONE)) in a condition",
        "enter_fixed: drop guard: no not is_of_host in a condition",
        (
            "enter_fixed: drop guard: no any((x.graph.nodes[n]['type'] in _QUANTISED for n in "
            "x.graph.upstream(x.node))) in a condition"
        ),
        "enter_fixed: negate condition: the opposite of x.graph.nodes[n]['type'] in _QUANTISED",
        "constant_before_reshape: off by one: 2 for 1 #2",
        "absorb_relu: drop guard: no guard rounded.fractions is not None",
        "absorb_relu: negate condition: the opposite of rounded.fractions is not None",
        "gemm_as_linear: drop guard: no w.type.layout is not None in a condition",
        "gemm_as_linear: negate condition: the opposite of w.type.layout is not None",
        "lower_add: drop guard: no guard max(shifts) > 24",
        "lower_add: drop guard: no x.shape != y.shape in a condition",
        "lower_add: negate condition: the opposite of x.shape != y.shape",
        "lower_add: off by one: 25 for 24",
        "lower_add: off by one: 62 for 61",
        "lower_add: replace op: min for max #2",
        "matmul_as_linear: negate condition: the opposite of w.type.layout is not None",
    ),
    "What it says otherwise is said by another condition as well, or by the op, which refuses such operands.": (
        "matmul_of_weights_as_linear: drop guard: no len(x.shape) != 2 in a condition",
        "gemm_as_linear: drop guard: no b.value.ndim > 2 in a condition",
        "gemm_as_linear: drop guard: no b.value.size not in (1, outputs) in a condition",
        "gemm_as_linear: off by one: 3 for 2",
        "merge_equal_nodes: drop guard: no op.name in ('input', 'output') in a condition (in _identity)",
        "permute_linear_weights: drop guard: no transposed.shape[0] != layer.shape[0] in a condition",
        "permute_linear_weights: drop guard: no columns.size != w.shape[1] in a condition",
    ),
    "numpy does the same: any negative size is the one that is left over, and an axis counts from either end.": (
        "batch_norm_as_layer: off by one: 2 for 1 #2",
        "fold_scale: off by one: 2 for 1 (in _scaled)",
        "gemm_as_linear: off by one: 2 for 1 #4",
    ),
    "Rounding up in place of down, a constant more or less in what is only compared: the same answer.": (
        "lower_clip: replace op: ceil for np.floor",
        "permute_linear_weights: off by one: 2 for 1 #2",
        "permute_linear_weights: replace op: another sign in p - 1",
    ),
    "The value that it changes is given anew by this rule, or is the default.": (
        "constant_before_reshape: drop attribute: no like=result in result.op",
        "average_pool_as_conv: off by one: 1 for 0 (in _channelwise)",
        "average_pool_as_conv: off by one: 2 for 1 (in _channelwise)",
        "average_pool_as_conv: off by one: 2 for 1 (in _channelwise) #2",
        "average_pool_as_conv: off by one: 3 for 2 (in _channelwise)",
        "average_pool_as_conv: off by one: 3 for 2 (in _channelwise) #2",
        "average_pool_as_conv: replace op: another sign in len(x.shape) - 2 (in _channelwise)",
        "average_pool_as_conv: swap operands: len(x.shape) - 2 turned round (in _channelwise)",
    ),
    "Whether a zero has a sign does not show: sums begin at +0, or the rule keeps values within rounding.": (
        "average_pool_as_conv: change sign: no minus in -0.0",
        "average_pool_as_conv: drop operand: no b in op.conv (in _channelwise)",
        "global_average_pool_as_conv: change sign: no minus in -0.0",
    ),
    "Sums and products may have their operands in any order.": (
        "constant_before_reshape: swap operands: shaped and c swapped in op.add | op.mul",
    ),
    "A norm is a layer, or a factor and an addend: either is right.": (
        (
            "batch_norm_as_layer: negate condition: not kind not in ('linear', 'conv', 'gemm', 'matmul') or "
            "norm.graph.operands(reader)[0].node != norm.node (in _is_taken_up)"
        ),
        "batch_norm_as_layer: drop guard: no x.type.layout is not None in a condition (in _is_taken_up)",
        (
            "batch_norm_as_layer: drop guard: no kind not in ('linear', 'conv', 'gemm', 'matmul') in a "
            "condition (in _is_taken_up)"
        ),
        (
            "batch_norm_as_layer: drop guard: no norm.graph.operands(reader)[0].node != norm.node in a "
            "condition (in _is_taken_up)"
        ),
        "batch_norm_as_layer: drop guard: no x.op_name == 'input' in a condition (in _is_taken_up)",
        "batch_norm_as_layer: drop guard: no not any(attributes.get('pads', ())) in a condition (in _is_taken_up)",
        "batch_norm_as_layer: negate condition: the opposite of x.type.layout is not None (in _is_taken_up)",
        (
            "batch_norm_as_layer: negate condition: the opposite of kind not in ('linear', 'conv', 'gemm', "
            "'matmul') (in _is_taken_up)"
        ),
        (
            "batch_norm_as_layer: negate condition: the opposite of norm.graph.operands(reader)[0].node != "
            "norm.node (in _is_taken_up)"
        ),
        "batch_norm_as_layer: negate condition: the opposite of x.op_name == 'input' (in _is_taken_up)",
        "batch_norm_as_layer: off by one: 1 for 0 (in _is_taken_up)",
    ),
    "It makes more of what changes nothing: a wider format, further weights that are zero, a window of one place.": (
        "lower_doubling: off by one: 2 for 1",
    ),
    "What it says of origins and annotations changes no value.": (
        "choose_branch: negate condition: the opposite of value.node not in old (in _replace)",
        "eliminate_independent_nodes: swap operands: set(folded) - set(rim) turned round (in _origins)",
        "merge_equal_nodes: drop guard: no annotations in a condition",
        "merge_equal_nodes: drop guard: no op.name != 'constant' in a condition",
        "merge_equal_nodes: negate condition: not annotations or op.name != 'constant'",
        "merge_equal_nodes: negate condition: the opposite of op.name != 'constant'",
    ),
    "It folds fewer nodes, or leaves some to be removed later.": (
        "merge_equal_nodes: negate condition: the opposite of other is not None",
        (
            "eliminate_independent_nodes: drop guard: no any((reader not in fixed for reader in "
            "graph.successors(node))) in a condition"
        ),
        "eliminate_independent_nodes: negate condition: the opposite of reader not in fixed",
    ),
    "It walks through the graph where a look would do; dead cycles are not drawn.": (
        "eliminate_dead_nodes: drop guard: no not isinstance(op, GraphOp) in a condition (in _is_read)",
        "eliminate_dead_nodes: drop guard: no not op.stateful in a condition (in _is_read)",
        "eliminate_dead_nodes: drop guard: no op is not None in a condition (in _is_read)",
        (
            "eliminate_dead_nodes: negate condition: not any((nodes[name].get('type') not in ('input', 'output') "
            "for name, readers in graph._succ.items() if not readers)) (in _is_read)"
        ),
        (
            "eliminate_dead_nodes: negate condition: the opposite of nodes[name].get('type') not in "
            "('input', 'output') (in _is_read)"
        ),
    ),
    "Another rule that is right as well: other orders are tried, no warning is spared, a large array is made.": (
        "concat_of_slices: off by one: 3 for 2",
        "drop_relu_of_clip: off by one: 1 for 0",
        "drop_relu_of_clip: off by one: 1 for 0 #2",
        "drop_relu_of_clip: off by one: 1 for 0 #3",
        "drop_relu_of_clip: off by one: 2 for 1",
        "drop_relu_of_clip: replace op: abs for op.relu",
        "drop_mask: swap operands: x and mask swapped in op.bitwise_and | op.bitwise_or",
        "drop_shift_there_and_back: off by one: 65 for 64",
        "drop_clip: drop attribute: no over='ignore' in np.errstate (in as_stored)",
        "drop_clip: drop attribute: no under='ignore' in np.errstate (in as_stored)",
        "drop_add_zero: replace op: sub for op.add",
        "drop_extreme: swap operands: x and y swapped in op.maximum | op.minimum",
    ),
    "Choices by a constant are left to rules that know it.": (
        "choose_first_once: drop guard: no guard c.is_constant (in _once)",
        "choose_first_once: negate condition: not c.is_constant (in _once)",
    ),
}
"""Those that are as right as the rule they are made of, by what makes them so."""

IDLE = {
    "A pass finds nothing that it could do.": (
        "eliminate_dead_nodes: negate condition: not _is_read(graph)",
        "eliminate_independent_nodes: swap operands: graph.independent_nodes() - set(graph.outputs) turned round",
        "merge_equal_nodes: negate condition: the opposite of op.name in ('input', 'output') (in _identity)",
        "merge_equal_nodes: negate condition: the opposite of other == node",
    ),
    "It declines whatever is drawn.": (
        "constant_before_reshape: negate condition: the opposite of aligned.ndim != rank (in _varying)",
        "divide_as_multiply: negate condition: the opposite of c.type.element in SMALL_FLOATS",
        "subtract_as_add: negate condition: the opposite of c.type.element in SMALL_FLOATS",
        "drop_relu_of_clip: negate condition: the opposite of math.copysign(1, limited.low) < 0",
        "drop_extreme: negate condition: not other.nan",
        (
            "enter_fixed: negate condition: not not is_of_host or any((x.graph.nodes[n]['type'] in "
            "_QUANTISED for n in x.graph.upstream(x.node)))"
        ),
        "matmul_of_weights_as_linear: negate condition: the opposite of len(x.shape) != 2",
        "matmul_of_weights_as_linear: off by one: 1 for 0",
        "matmul_of_weights_as_linear: off by one: 2 for 1",
        "matmul_of_weights_as_linear: off by one: 3 for 2",
        "matmul_of_weights_as_linear: off by one: 3 for 2 #2",
        "norm_before_reshape: swap operands: shaped and gain swapped in op.batch_norm",
        "divide_as_multiply: negate condition: the opposite of c.value == 0",
        "enter_fixed: negate condition: the opposite of x.op_name not in _COMPUTED",
        "fold_pad: off by one: 1 for 0",
        "lower_add: negate condition: the opposite of max(shifts) > 24",
        "permute_linear_weights: negate condition: the opposite of transposed.shape[0] != layer.shape[0]",
        "permute_linear_weights: negate condition: the opposite of columns.size != w.shape[1]",
        "write_as_reshape: negate condition: the opposite of other.type.element != x.type.element",
    ),
}
"""Those that never fire, for which `assert_preserves` fails as it does for what is refuted."""

MISSED = {
    "Limits that a range just reaches, zeros of both signs there, and casts that lose few numbers are seldom drawn.": (
        "drop_relu_of_clip: drop guard: no math.copysign(1, limited.low) < 0 in a condition",
        "drop_relu_of_clip: drop guard: no limited.high <= 0 in a condition",
        "drop_cast_to_fixed_and_back: drop guard: no guard not stored.element.is_held_by(real.element)",
        "drop_extreme: drop guard: no guard other.nan",
        "drop_extreme: off by one: 1 for 0",
    ),
    "A norm that only one layer reads is seldom drawn; tests of networks with a norm in front have it.": (
        "batch_norm_as_layer: drop operand: no scale.reshape(by_channel) in op.mul",
        "batch_norm_as_layer: off by one: 2 for 1 #4",
        "batch_norm_as_layer: off by one: 2 for 1 #5",
        "batch_norm_as_layer: off by one: 3 for 2 #2",
        "batch_norm_as_layer: replace op: another sign in [1] * (len(x.shape) - 2)",
        "batch_norm_as_layer: replace op: another sign in len(x.shape) - 2",
        "batch_norm_as_layer: swap operands: len(x.shape) - 2 turned round",
        "batch_norm_as_layer: change sign: no minus in -1",
        "batch_norm_as_layer: drop operand: no offset.reshape(by_channel) in op.add",
        "batch_norm_as_layer: replace op: div for op.mul",
        "batch_norm_as_layer: replace op: sub for op.add",
    ),
    "Of sums of formats of which one is a sign alone, a bit of the format is missing; they are seldom drawn.": (
        "lower_add: off by one: 1 for 0",
        "lower_add: off by one: 1 for 0 #3",
        "lower_add: replace op: another sign in a.minimum << shifts[0]",
        "lower_add: replace op: another sign in b.minimum << shifts[1]",
    ),
    "Tables of channels of other sizes than two by two are seldom drawn.": (
        "drop_shuffle_there_and_back: replace op: another sign in there.groups * back.groups",
    ),
    "Control edges, counters, ops of several results, and values of types of one's own are not drawn unless asked.": (
        "eliminate_independent_nodes: drop guard: no node in fixed in a condition",
        "eliminate_independent_nodes: negate condition: the opposite of node in fixed",
        "eliminate_independent_nodes: negate condition: the opposite of reader not in fixed #2",
        "merge_equal_nodes: drop guard: no is_ordered(graph, node) in a condition (in _identity)",
        "merge_equal_nodes: drop guard: no op.has_state(attributes) in a condition (in _identity)",
        (
            "merge_equal_nodes: negate condition: not op.name in ('input', 'output') or "
            "op.has_state(attributes) or is_ordered(graph, node) (in _identity)"
        ),
    ),
    "Divisors of which the reciprocal overflows are not drawn.": (
        ("divide_as_multiply: drop guard: no guard not np.isfinite(1 / np.where(c.value == 0, np.nan, c.value)).all()"),
        (
            "divide_as_multiply: negate condition: not not np.isfinite(1 / np.where(c.value == 0, np.nan, "
            "c.value)).all()"
        ),
        "divide_as_multiply: replace op: another sign in 1 / np.where(c.value == 0, np.nan, c.value)",
        "divide_as_multiply: swap operands: 1 / np.where(c.value == 0, np.nan, c.value) turned round",
    ),
    "Mantissas that need more bits than the floats they are read in, and results that show it, are not drawn.": (
        "lower_doubling: drop guard: no guard (reason := inexact(x, real))",
        "lower_doubling: negate condition: not (reason := inexact(x, real))",
        "lower_rounding: drop guard: no guard (reason := inexact(x, real))",
        "lower_rounding: negate condition: not (reason := inexact(x, real))",
    ),
    "Numbers quantised by channel are not drawn under a change of axes.": (
        "write_as_reshape: drop guard: no other.type.element != x.type.element in a condition",
    ),
    "An addend for each row, where there are as many rows as outputs, is not drawn.": (
        "gemm_as_linear: off by one: 2 for 1 #3",
    ),
    "Attributes that an op came to have later, such as a pad's mode, are seldom drawn in a rule's instances.": (
        "average_pool_as_conv: drop guard: no guard pool.ceil_mode",
    ),
    "Dilations of one axis, by the defaults for two, are not drawn.": ("average_pool_as_conv: off by one: 2 for 1",),
    "Tensors without entries are not drawn under reshapes.": (
        "permute_linear_weights: drop guard: no not columns.size in a condition",
    ),
    "Layouts of which only one operand says what the axes are, are seldom drawn.": (
        "divide_as_multiply: drop guard: no guard _names_axes(x, c)",
        "subtract_as_add: negate condition: the opposite of x.type.layout is None (in _names_axes)",
    ),
    "Constants that are larger than one number a channel, of fitting sizes, are seldom drawn.": (
        "permute_linear_weights: off by one: 2 for 1 #4",
    ),
    "Limits beyond a format, and pools of integers between formats, are seldom drawn.": (
        "lower_clip: drop guard: no not element.minimum <= whole <= element.maximum in a condition",
        "lower_max_pool: drop guard: no guard element_kind(real.element) != 'float'",
    ),
    "A sum that has another type than the layer below it, for a constant that broadcasts, is seldom drawn.": (
        "fold_bias: drop guard: no total.type != layer.type in a condition",
    ),
    "A batch norm over an axis that run time tells, and a stream's batch that a reshape moves, are not drawn.": (
        "batch_norm_as_layer: off by one: 2 for 1 #3",
    ),
    "Zeros of both signs in two constants are seldom drawn; tests of the rule have them.": (
        "merge_constants: negate condition: the opposite of c == 0 (in _have_two_zeros)",
    ),
}
"""Those that are wrong, and that seed 0 with the default budget does not refute: what they need.

What is said to be drawn seldom is met by some of the seeds 1 to 5, the rest of what was tried with them by none.
"""
