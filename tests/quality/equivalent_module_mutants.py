"""Mutants of modules of the lowerings and of the hardware that are as right as the original, each with the reason.

Every one was looked at. The names are those that `tests.quality.module_mutants` gives.
"""

from __future__ import annotations

__all__ = ["EQUIVALENT"]

EQUIVALENT: dict[str, tuple[str, ...]] = {
    "A mark for what lies outside compares with the ranks of what lies inside as before.": (
        "hdl/emission/units: _Builder.arranged: off by one: 1 for 0",
    ),
    "Buffers are looked for in more places than they can be needed in: there, none is found to be.": (
        "hdl/buffering: _joins: drop guard: no len(network.components[k.sink].takes) > 1 in a condition",
    ),
    "A number drawn from an interval is its boundary as good as never, and may then be taken for either side.": (
        "hdl/checking/case: _numbers: shift boundary: another boundary in kind < 0.8",
    ),
    "A number has as many bits as its negative.": (
        "hdl/component: counter_bits: swap operands: values - 1 turned round",
        "hdl/components/reduce: Reduction.levels: swap operands: self.taps - 1 turned round",
        "hdl/synthesis/memories: memory_usage: swap operands: words - 1 turned round",
        "hdl/synthesis/memories: _tables: swap operands: words - 1 turned round",
        "hdl/synthesis/prediction: _ring: swap operands: piece.size - 1 turned round",
        "hdl/synthesis/prediction: _buffer: swap operands: piece.size - 1 turned round",
        "lowering/prequantised/approximations: approximate_steps: swap operands: chain.channels - 1 turned round",
        "lowering/prequantised/step_functions: _searched: swap operands: high - low turned round",
        "lowering/shift_add/signed_digits: _width: swap operands: high - low turned round",
    ),
    "No number of ways, of at least one, and no number of words, of at most 16, reaches the constant.": (
        "hdl/synthesis/prediction: _select: off by one: 1 for 0",
        "hdl/synthesis/memories: _tables: off by one: 41 for 40",
    ),
    "Memories in look-up tables have a power of two of words, and are too few to tell the two numbers apart.": (
        "hdl/synthesis/memories: _distributed: off by one: 17 for 16",
        "hdl/synthesis/memories: _distributed: off by one: 17 for 16 #2",
        "hdl/synthesis/memories: _distributed: off by one: 33 for 32",
        "hdl/synthesis/memories: _distributed: off by one: 65 for 64",
    ),
    "What is not there costs more than anything: how many tables it takes is not asked.": (
        "hdl/synthesis/memories: memory_usage: off by one: 1 for 0 #2",
    ),
    "Tables never cost just what blocks do, of 1 to 131072 words of up to 200 bits.": (
        "hdl/synthesis/memories: memory_usage: shift boundary: another boundary in cost < block[0]",
    ),
    "The last axis of an array is meant, whichever way it is counted.": (
        "hdl/arithmetic/channelwise: different_bits: change sign: minus in axis=1",
        "hdl/components/adder_graph: _sums: change sign: minus in axis=1",
        "hdl/components/adder_graph: _sums: change sign: minus in axis=1 #2",
        "hdl/components/matvec: _infer: change sign: minus in axis=1",
        "hdl/components/matvec: _infer: change sign: minus in axis=1 #2",
        "hdl/components/matvec: _term_width: change sign: minus in axis=2",
        "hdl/components/matvec: _term_width: change sign: minus in axis=2 #2",
        "hdl/components/popcount: _infer: change sign: minus in axis=1",
        "hdl/components/popcount: _infer: change sign: minus in axis=1 #2",
        "hdl/components/popcount: _infer: change sign: minus in axis=1 #3",
        "hdl/components/popcount: _generics: change sign: minus in axis=1",
        "hdl/components/threshold: _levels: change sign: minus in axis=1",
        "hdl/functions: _lines: change sign: minus in axis=1",
        "hdl/functions: _lines: change sign: minus in axis=1 #2",
        "lowering/gradients/resizing: _weights: change sign: minus in axis=1",
        "lowering/quantisation/weight_rounding: fitted: change sign: minus in axis=1",
        "lowering/quantisation/weight_rounding: moments: change sign: minus in axis=1",
        "lowering/quantisation/weight_rounding: rounded: change sign: minus in axis=1",
        "lowering/integer/mantissas: least_fractions: change sign: minus in axis=1",
        "lowering/integer/mantissas: least_fractions: change sign: minus in axis=1 #2",
        "lowering/integer/mantissas: of_layer: change sign: minus in axis=1",
        "lowering/integer/mantissas: of_layer: change sign: minus in axis=1 #2",
        "lowering/preparation/resizes: _pattern: change sign: minus in axis=1",
        "lowering/preparation/signs: scale_rows_before_sign: change sign: minus in axis=1",
        "lowering/preparation/signs: scale_rows_before_sign: change sign: minus in axis=1 #2",
        "lowering/prequantised/affine_functions: _addends: change sign: minus in axis=1",
        "lowering/prequantised/affine_functions: _addends: change sign: minus in axis=1 #2",
        "lowering/prequantised/affine_functions: _gap: change sign: minus in axis=1",
        "lowering/prequantised/affine_functions: _gap: change sign: minus in axis=1 #2",
        "lowering/prequantised/layers: accumulated: change sign: minus in axis=1",
        "lowering/prequantised/layers: accumulated: change sign: minus in axis=1 #2",
        "lowering/prequantised/rescaling: _looked_up: change sign: minus in axis=1",
        "lowering/prequantised/signs: _compared: change sign: minus in axis=1",
        "lowering/prequantised/signs: _compared: change sign: minus in axis=1 #2",
        "lowering/prequantised/signs: _ends: change sign: minus in axis=1",
        "lowering/prequantised/signs: _ends: change sign: minus in axis=1 #2",
        "lowering/prequantised/step_lowering: reach_of: change sign: minus in axis=1",
        "lowering/prequantised/step_lowering: reach_of: change sign: minus in axis=1 #2",
        "lowering/quantisation/fixed_point_formats: accumulator: change sign: minus in axis=1",
        "lowering/quantisation/fixed_point_formats: accumulator: change sign: minus in axis=1 #2",
        "lowering/quantisation/rounding_noise: Layer.of: change sign: minus in axis=1",
        "lowering/quantisation/rounding_noise: Layer.of: change sign: minus in axis=1 #2",
        "lowering/quantisation/rounding_noise: Layer.of: change sign: minus in axis=1 #3",
        "lowering/quantisation/rounding_noise: Layer.of: change sign: minus in axis=1 #4",
        "lowering/quantisation/rounding_noise: Layer.of: change sign: minus in axis=1 #5",
        "lowering/quantisation/rounding_noise: Layer.of: change sign: minus in axis=1 #6",
        "lowering/quantisation/sample_review: _faults: change sign: minus in axis=1",
        "lowering/quantisation/sample_review: _faults: change sign: minus in axis=1 #2",
        "lowering/quantisation/sample_review: _faults: change sign: minus in axis=1 #3",
        "lowering/quantisation/sample_review: _outliers: change sign: minus in axis=1",
    ),
    "Factors of products are not 0, and 1 is told apart before: both sides of the boundary are the same.": (
        "hdl/arithmetic/constant_products: _signed: shift boundary: another boundary in factor < 0",
        "hdl/arithmetic/constant_products: _signed: off by one: 1 for 0",
        "hdl/arithmetic/constant_products: _width: shift boundary: another boundary in factor < 0",
        "hdl/arithmetic/constant_products: _width: off by one: 1 for 0",
        "hdl/arithmetic/constant_products: _bits: shift boundary: another boundary in factor > 0",
        "hdl/arithmetic/constant_products: _bits: off by one: 1 for 0",
        "hdl/arithmetic/constant_products: _bits: off by one: 1 for 0 #2",
        "hdl/arithmetic/constant_products: _bits: off by one: 1 for 0 #3",
    ),
    "The constant -1 has one bit as any number, too.": (
        "hdl/arithmetic/constant_products: _bits: change sign: no minus in -1",
    ),
    "Uses are counted of odd parts: no even number has any.": (
        "hdl/arithmetic/constant_products: constant_sums: drop guard: no row[k] % 2 in a condition",
        "hdl/arithmetic/constant_products: constant_sums: replace op: another sign in row[k] % 2",
    ),
    "The first block replaces it, or nobody reads it.": (
        "hdl/timing/settling: _Port.__init__: off by one: 1 for 0",
        "hdl/timing/settling: _Port.__init__: off by one: 1 for 0 #2",
    ),
    "An op of floats has no operand of integers: its type could not have been inferred.": (
        "lowering/prequantised/layers: scaled_layer: drop guard: "
        "no b is not None and b.dtype.kind != 'f' in a condition",
    ),
    "Samples that are all zero are alike, which is told before.": (
        "lowering/quantisation/sample_review: _faults: drop guard: no size in a condition",
    ),
    "A distance is the same from either end.": (
        "lowering/quantisation/agreement: _determination: swap operands: truth - truth.mean(axis=0) turned round",
        "lowering/quantisation/agreement: _errors: swap operands: values - wanted turned round",
        "lowering/exchange/tensorflow/numbers: _square_of_difference: swap operands: x and y swapped in op.sub",
        "lowering/preparation/resizes: interpolation_of: swap operands: rebuilt - matrix turned round",
        "lowering/prequantised/affine_functions: _half_even: swap operands: factors - exact turned round",
        "lowering/quantisation/equalisation: _Equaliser._ranges: swap operands: "
        "reader.moments[2:] - factors.shift[reader.columns] turned round",
        "lowering/quantisation/sample_review: _outliers: swap operands: "
        "channels - np.median(channels, axis=(0, 2), keepdims=True) turned round",
    ),
    "A kernel without axes has no block of any size.": (
        "lowering/preparation/position_means: write_conv_transpose_by_blocks: off by one: 1 for 0",
    ),
    "Where all beats have the right values, that is told before.": (
        "hdl/checking/comparison: _kind: shift boundary: another boundary in len(words) > len(due)",
        "hdl/checking/comparison: _kind: shift boundary: another boundary in len(words) < len(due)",
    ),
    "The variables of the C that is written have other numbers.": (
        "hdl/emission/host_code: _c_steps: drop attribute: no start=1 in enumerate",
    ),
    "A reshape has no names of axes: where its operand has some, the first type does not come back.": (
        "lowering/prequantised/transposes: merge_into_shuffle: drop guard: "
        "no _axes_have_names(x, table) in a condition",
    ),
    "The greatest of some numbers and of 1 is not less than 1.": (
        "lowering/prequantised/layers: scaled_layer: off by one: 1 for 0 #3",
    ),
    "Stall patterns of the same kinds are drawn, in another mixture.": (
        "hdl/checking/case: _gate: off by one: 5 for 4",
        "hdl/checking/case: _gate: off by one: 3 for 2",
        "hdl/checking/case: _gate: off by one: 41 for 40",
        "hdl/checking/case: _gate: off by one: 3 for 2 #2",
        "hdl/checking/case: _gate: off by one: 10 for 9",
    ),
    "What is settled before all that it waits for is known is settled again: only the way there is another.": (
        "hdl/timing/settling: LinkEvents.block: off by one: 1 for 0",
        "hdl/timing/settling: ComponentEvents.settle: negate condition: not self.takes",
        "hdl/timing/events: Events._solve: change sign: no minus in -1",
        "hdl/timing/events: Events._solve: replace op: min for max",
        "hdl/timing/events: Events._solve: shift boundary: another boundary in patience < 0",
    ),
    "The least depth is found by bisection, wherever it begins.": (
        "hdl/timing/depths: fifo_depths: off by one: 3 for 2",
        "hdl/timing/depths: fifo_depths: off by one: 5 for 4",
    ),
    "Both reasons hold, and the component stands still: which of them is told does not matter.": (
        "hdl/timing/deadlock: check_progress: shift boundary: another boundary in gives[credit] < reach",
    ),
    "Narrow integers are added up in 64 bits anyway.": (
        "hdl/components/total: total: drop attribute: no dtype=np.int64 in grouped(x, groups, blocks).sum",
    ),
    "Large configurations are tried with another number of frames.": (
        "hdl/checking/case: draw_case: off by one: 2 for 1 #2",
    ),
    "Where a row that has no digit of a number is looked for its pairs, none is found.": (
        "lowering/shift_add/signed_digits: _Table.take: drop statement: no self.having[column].discard(number)",
    ),
    "Where a first entry is looked at, the second was found to be the same.": (
        "lowering/prequantised/approximations: _beyond_limits: off by one: 1 for 0 #4",
        "lowering/prequantised/approximations: _beyond_limits: off by one: 1 for 0 #6",
    ),
    "An input has no operand either: the search ends there.": (
        "lowering/quantisation/guards: _Review.name: drop guard: "
        "no upwards not in self.quantised.inputs in a condition",
    ),
    "Lines of VHDL begin further to the right, or to the left.": (
        "hdl/emission/project: _Emitter.testbench: off by one: 9 for 8",
        "hdl/emission/project: _Emitter.testbench: change sign: minus in indent=8",
    ),
    "Channels whose lines are the same are written as one.": ("lowering/host_chain: _line: off by one: 2 for 1 #2",),
    "Any negative number is the size that is left.": (
        "lowering/quantisation/channel_ties: ChannelTies._spread: off by one: 2 for 1 #5",
    ),
    "Nobody reads the version of a domain that onnx does not know.": (
        "lowering/exchange/onnx/model_file: _import_domains: off by one: 2 for 1",
        "lowering/exchange/onnx/model_file: _import_domains: change sign: minus in version=1",
    ),
    "A margin is its boundary as good as never.": (
        "lowering/prequantised/affine_functions: line_through: shift boundary: another boundary in widest > _MARGIN",
        "lowering/prequantised/affine_functions: line_through: shift boundary: another boundary in widest > -1e-06",
        "lowering/prequantised/affine_functions: _half_even: shift boundary: "
        "another boundary in _gap(corners, best)[0] <= _MARGIN",
        "lowering/prequantised/affine_functions: _half_even: shift boundary: "
        "another boundary in np.abs(factors - exact) > 1e-06 * np.maximum(1, exact)",
    ),
    "The loop goes on, and changes nothing more.": (
        "lowering/prequantised/affine_functions: _bisect: drop statement: no break",
        "lowering/prequantised/affine_functions: _rounded_down: drop statement: no break",
        "lowering/prequantised/affine_functions: _with_most_trailing_zeros: off by one: 49 for 48",
    ),
    "Corners that pad a matrix constrain nothing, however many there are, and wherever.": (
        "lowering/prequantised/affine_functions: _stacked: off by one: 2 for 1",
        "lowering/prequantised/affine_functions: _stacked: off by one: 1 for 0 #2",
        "lowering/prequantised/affine_functions: _addends: off by one: 1 for 0 #2",
        "lowering/prequantised/affine_functions: _addends: off by one: 1 for 0 #3",
    ),
    "Points on the hull's edges, or all points, say the same as its corners: fewer of them are looked at sooner.": (
        "lowering/prequantised/affine_functions: _hull: negate condition: the opposite of len(x) > _FEW",
        "lowering/prequantised/affine_functions: _hull: shift boundary: another boundary in len(x) > _FEW",
        "lowering/prequantised/affine_functions: _hull: shift boundary: "
        "another boundary in rise[:-1] * run[1:] <= rise[1:] * run[:-1]",
    ),
    "A sign is 1 or -1: it is its own inverse, and not 0.": (
        "lowering/prequantised/rescaling: on_a_line: replace op: another sign in m * sign",
        "lowering/prequantised/step_functions: _of_table: shift boundary: another boundary in sign > 0",
        "lowering/prequantised/step_functions: _searched: shift boundary: another boundary in signs > 0",
        "lowering/prequantised/step_functions: _searched: shift boundary: another boundary in signs > 0 #2",
        "lowering/prequantised/rescaling: _rising: shift boundary: another boundary in min(signs) > 0",
    ),
    "A channel has each level once.": (
        "lowering/prequantised/rescaling: _thresholds: drop attribute: no kind='stable' in np.argsort",
    ),
    "A number of 32 bits and more is not 0.": (
        "lowering/c/arrays: literal: shift boundary: another boundary in whole > 0",
    ),
    "What is not finite is not 0.": ("lowering/c/arrays: literal: shift boundary: another boundary in value > 0",),
    "At zero both sides of the boundary give the same number.": (
        "lowering/exchange/tflite/sixteen: wide_logistic: shift boundary: another boundary in scaled >= 0",
        "lowering/exchange/tflite/sixteen: wide_tanh: shift boundary: another boundary in scaled >= 0",
    ),
    "Any number but 0 says that the weights are transposed.": (
        "lowering/exchange/onnx/exporter: _linear: change sign: minus in transB=1",
    ),
    "False is 0 as well.": (
        "hdl/synthesis/verilog: Verilog.ports: drop guard: no 0 in a condition",
        "hdl/synthesis/verilog: Verilog.ports: drop guard: no 0 in a condition #2",
    ),
    "The attribute that is dropped says what the op does without it, for axes, strides and borders of any rank.": (
        "lowering/composite/attention: write_attention_by_softmax: drop attribute: no axis=-1 in op.softmax",
        "lowering/composite/fixed_point: write_fixed_point_softmax_by_divisions: drop attribute: "
        "no axis=0 in op.gather",
        "lowering/composite/fixed_point: write_fixed_point_softmax_by_divisions: drop attribute: "
        "no axis=0 in op.gather #2",
        "lowering/composite/fixed_point: write_fixed_point_softmax_by_divisions: drop attribute: "
        "no axis=0 in op.gather #3",
        "lowering/composite/fixed_point: write_lookup_by_gather: drop attribute: no axis=0 in op.gather",
        "lowering/composite/products: write_conv_transpose_by_conv: drop attribute: no pads=zeros in op.conv",
        "lowering/composite/products: write_conv_transpose_by_conv: drop attribute: no strides=ones in op.conv",
        "lowering/gradients/attention: differentiate_attention: drop attribute: no axis=-1 in op.softmax",
        "lowering/gradients/attention: differentiate_attention: drop attribute: no axis=-1 in op.softmax #2",
        "lowering/gradients/convolutions: differentiate_conv: drop attribute: "
        "no pads=(0,) * (2 * rank) in op.conv_transpose",
        "lowering/gradients/convolutions: differentiate_conv: drop attribute: "
        "no output_padding=(0,) * rank in op.conv_transpose",
        "lowering/gradients/convolutions: differentiate_conv: drop attribute: no strides=strides in op.conv",
        "lowering/gradients/convolutions: differentiate_conv: drop attribute: no pads=(0,) * (2 * rank) in op.conv",
        "lowering/gradients/convolutions: differentiate_conv_transpose: drop attribute: "
        "no pads=(0,) * (2 * rank) in op.conv",
        "lowering/gradients/pools: differentiate_max_pool: drop attribute: no axis=0 in op.scatter_elements",
        "lowering/gradients/pools: _read_back: drop attribute: no pads=(0,) * (2 * rank) in op.conv_transpose",
        "lowering/gradients/pools: _read_back: drop attribute: no output_padding=(0,) * rank in op.conv_transpose",
        "lowering/gradients/pools: differentiate_max_unpool: drop attribute: no axis=0 in op.scatter_elements",
        "lowering/gradients/sampling: differentiate_roi_align: drop attribute: no axis=0 in op.gather",
    ),
    "No type of integers ends between 65535 and 2147483647, and what has no limits counts as narrow.": (
        "lowering/composite/quantised: _stored: shift boundary: another boundary in limits[1] < 1 << 16",
        "lowering/composite/quantised: _stored: off by one: 2 for 1 #3",
        "lowering/composite/quantised: _stored: off by one: 17 for 16",
        "lowering/composite/quantised: write_dequantize_linear_by_products: shift boundary: "
        "another boundary in (integer_limits(x.type.element) or (0, 0))[1] >= 1 << 16",
        "lowering/composite/quantised: write_dequantize_linear_by_products: off by one: 2 for 1 #2",
        "lowering/composite/quantised: write_dequantize_linear_by_products: off by one: 17 for 16",
        "lowering/composite/quantised: write_dequantize_linear_by_products: off by one: 1 for 0",
        "lowering/composite/quantised: write_dequantize_linear_by_products: off by one: 1 for 0 #2",
    ),
}
