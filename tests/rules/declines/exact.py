"""Exact rules: identities, constants, slices, what is known of numbers, shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import Rule, Tensor, op, rules
from graphrewrite.rules import arithmetic, borders, choices, identities, indices, shapes, signs
from tests.rules.declines.parts import COLUMN, SMALL, Case, again, constant, cut, ones, row, rows, stored, whole

__all__ = ["DECLINES"]


_GATES = (np.ones((1, 6, 4), np.float32), np.ones((1, 6, 2), np.float32))
"""Weights of a recurrent layer of two units with three gates."""
_CELL = (np.ones((1, 8, 4), np.float32), np.ones((1, 8, 2), np.float32), np.ones((1, 16), np.float32))
"""Weights and biases of one with a cell."""


def _cropped(x: Any) -> Any:
    region = (0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.5, 0.5)
    return op.resize(x, sizes=("N", 2, 3, 3), coordinate_transformation_mode="tf_crop_and_resize", roi=region)


def _read_twice(x: Any, y: Any) -> Any:
    joined = op.concat(x, y, axis=1)
    return op.concat(cut(joined, 1, 3), joined, axis=1)


def _of_two_rows(x: Any) -> Any:
    first, second = (op.slice(x, starts=(i, 2 * i), ends=(i + 1, 2 * i + 2)) for i in (0, 1))
    return op.concat(first, second, axis=1)


def _repeated_twice(x: Any) -> Any:
    wide = op.expand(x, shape=(3, 4))
    return op.concat(cut(wide, 0, 2), cut(wide, 1, 3), axis=1)


def _sizes(x: Any) -> Any:
    sizes = op.shape(x)
    return op.concat(rows(sizes, 0, 1), rows(sizes, 1, 2), axis=0)


def _other_readers(x: Any, y: Any) -> Any:
    first, second = cut(x, 0, 2), cut(x, 2, 3)
    return op.concat(op.concat(first, second, y, axis=1), first, second, axis=1)


def _shifted(x: Any) -> Any:
    bits = constant(x, np.array(2, np.uint8))
    return op.bit_shift(op.bit_shift(x, bits, direction="right"), bits, direction="left")


def _of_constant(x: Any, chosen: Any) -> Any:
    return chosen(constant(x, np.array([True, False])))


def _by_two_axes(x: Any) -> Any:
    scales = constant(x, row(0.5, 0.25))
    return op.quantize_linear(op.dequantize_linear(x, scales, axis=0), scales, axis=1)


def _turned(x: Any, first: Any, perm: Any, last: Any) -> Any:
    return op.reshape(op.transpose(op.reshape(x, shape=first), perm=perm), shape=last)


def _named(x: Any) -> Any:
    two = x.graph.constant(ones(1, 2), type=Tensor("f32", (1, 2), "NC"))
    return op.expand(two, shape=("N", 2))


def _named_repetition(x: Any) -> Any:
    return op.add(_named(x), row(1, 2))


def _by_blocks(x: Any) -> Any:
    scales = constant(x, ones(2, 2))
    return op.quantize_linear(
        op.dequantize_linear(x, scales, axis=1, block_size=2), scales, axis=1, block_size=2, element="u8"
    )


def _with_sign(result: str) -> str:
    """A negative with another reader, which goes into the product that it is of, or into a sum of one."""
    return f"""x = input() : i32[N,4]
        c = constant(value=3) : i32[]
        m = mul(x, c)
        a = add(m, x)
        n = neg(a)
        r = {result}
        z = output(n)"""


DECLINES: dict[Rule, tuple[Case, ...]] = {
    # Indices.
    rules.merge_gathers: (
        (lambda x: op.gather(op.gather(x, whole(1, 0), axis=1), whole(1, 0), axis=0), "f32[4,4]"),
        (lambda x: op.gather(cut(x, 0, "N"), whole(1, 0), axis=1), "f32[4,M]"),
        (lambda x: op.gather(op.gather(x, whole(1, 0), axis=0), whole(0, 2), axis=0), "f32[N]"),
    ),
    rules.slice_as_gather: (
        (lambda x: op.reshape(op.slice(x, starts=(1, 1), ends=(2, 2), axes=(1, 2)), shape=("N", 1)), "f32[N,3,3]"),
        (lambda x: op.reshape(cut(x, 0, 2), shape=("N", 2, 1)), "f32[N,3]"),
        (lambda x: op.reshape(cut(x, 0, 1), shape=(1, "N")), "f32[N,3]"),
        (lambda x: op.reshape(cut(x, 0, 1), shape=("N",)), "f32[N,3] NC"),
    ),
    rules.slice_of_gather: (
        (lambda x: cut(op.gather(x, whole(1, 0), axis=0), 0, 1), "f32[4,4]"),
        (lambda x: cut(op.gather(x, whole(1, 0), axis=1), 1, 1), "f32[4,4]"),
    ),
    rules.drop_cast_of_indices: (
        (lambda x, i: op.gather(x, op.cast(i, element="i64")), "f32[4]", "i8[N]"),
        (lambda x, i: op.gather(x, op.cast(i, element="i8")), "f32[4]", "i64[N]"),  # it wraps around
        (lambda x: op.gather(constant(x, COLUMN), op.cast(constant(x, whole(2)), element="i64")), "f32[4]"),
    ),
    rules.narrow_constant_indices: (
        (lambda x: op.gather(x, whole(0, 1)), "f32[4]"),
        (lambda x: op.gather(x, np.array([2**40])), "f32[4]"),
        (lambda x: op.gather(constant(x, COLUMN), constant(x, np.array([2]))), "f32[4]"),
    ),
    # Identities.
    rules.drop_factor_one: ((lambda x: op.mul(x, COLUMN), "f32[4]"), (lambda x: op.div(x, COLUMN), "f32[4]")),
    rules.drop_subtract_zero: ((lambda x: op.sub(x, 0 * COLUMN), "f32[4]"),),
    rules.drop_minus_zero: ((lambda x: op.add(x, -0.0 * COLUMN), "f32[4]"),),
    rules.drop_add_zero: (
        (lambda x: op.add(op.abs(x), 0 * COLUMN), "f32[4]"),
        (lambda x: op.add(x, 0.0), "f32[N,4]"),  # of -0 it makes 0
    ),
    rules.drop_neutral_one: (
        (lambda x: op.pow(x, COLUMN), "f32[4]"),
        (lambda x: op.pow(x, 1.0), "i64[N,4]"),  # computed in doubles
    ),
    rules.drop_neutral_zero: ((lambda x: op.bit_shift(x, np.zeros((2, 1), np.int32), direction="left"), "i32[4]"),),
    rules.drop_slope_one: ((lambda x: op.leaky_relu(x, alpha=0.5), "f32[N,4]"),),
    rules.drop_unchanged: (
        (lambda x: op.tile(x, repeats=(1, 2)), "f32[N,4]"),
        (lambda x: op.cast(x, element="f8e4m3fn"), "f8e4m3fn[N,4]"),  # it limits infinities
    ),
    rules.drop_crop: (
        (lambda x: op.slice(x, starts=(1,), ends=(4,), axes=(1,)), "f32[N,4]"),
        (lambda x: op.slice(x, starts=(-1,), ends=(-9,), axes=(1,), steps=(-1,)), "f32[N,4]"),
    ),
    rules.drop_pad: ((lambda x: op.pad(x, pads=(0, 1, 0, 0)), "f32[N,4]"),),
    rules.drop_resize: (
        (lambda x: op.resize(x, sizes=("N", 2, 6, 3)), "f32[N,2,3,3]"),
        (lambda x: op.resize(x, scales=(1.0, 1.0, 1.2, 1.0), mode="linear"), "f32[N,2,3,3]"),  # also of 3 rows
        (_cropped, "f32[N,2,3,3]"),
    ),
    rules.drop_unit_pool: (
        (lambda x: op.max_pool(x, kernel=(1, 1), strides=(2, 2)), "f32[N,2,3,3]"),
        (lambda x: op.average_pool(x, kernel=(1, 2)), "f32[N,2,3,3]"),
        (lambda x: op.average_pool(x, kernel=(1, 1)), "i64[N,2,3,3]"),
    ),
    rules.reduce_one_as_reshape: (
        (lambda x: op.reduce_max(x, axes=(2,)), "f32[N,1,4]"),
        (lambda x: op.reduce_max(x, axes=(1,)), "f32[N,4]"),
        (lambda x: op.reduce_sum(x, axes=(1,)), "f32[N,1]"),  # of -0 it makes 0
        (lambda x: op.reduce_max(x, axes=(2,), keep_dims=False), "f32[N,4,1] NCW"),
    ),
    rules.drop_inverse_twice: (
        (lambda x: op.neg(op.bitwise_not(x)), "i32[N,4]"),
        (lambda x: op.neg(op.neg(x)), SMALL),
    ),
    rules.drop_repeated: (
        (lambda x: op.threshold(op.threshold(x, alpha=2.0), alpha=3.0), "f32[N,4]"),
        (lambda x: op.sign(op.hardmax(x)), "f32[N,4]"),
    ),
    rules.drop_repeated_relu: ((lambda x: op.relu(op.leaky_relu(x)), "f32[N,4]"),),
    rules.choose_equal_branches: ((lambda c, x: op.where(c, x, x), "bool[2,4]", "f32[4]"),),
    rules.choose_first_by_constant: ((lambda x: op.where(np.array([True, False]), x, 0.0), "f32[N,2]"),),
    rules.where_as_opposite: ((lambda c: op.where(c, np.zeros((2, 1), bool), True), "bool[4]"),),
    rules.where_as_truth: (
        (lambda c: op.where(c, row(1.0), row(0.0)), "bool[N,4]"),
        (lambda c: op.where(c, np.ones((2, 1), bool), False), "bool[4]"),
    ),
    rules.drop_cast_to_fixed_and_back: (
        (lambda x: op.to_fixed(op.from_fixed(x, fraction=3), element="s8f4"), "s8f4[N,4]"),
        (lambda x: op.to_fixed(op.from_fixed(x, fraction=4), element="s8f4", low=0), "s8f4[N,4]"),
        (lambda x: op.to_fixed(op.from_fixed(x, fraction=0, element="f16"), element="s16f0"), "s16f0[N,4]"),
    ),
    rules.drop_requantise: ((lambda x: op.requantise(x, shift=0, element="s6f4"), "s8f4[N,4]"),),
    # Signs, order and constants.
    rules.write_difference: (
        (lambda x, y: op.add(x, op.neg(y)), SMALL, SMALL),
        (lambda x: op.add(x, op.neg(constant(x, row(1, 2, 3, 4)))), "f32[N,4]"),
        _with_sign("add(x, n)"),
    ),
    rules.write_difference_as_sum: (
        (lambda x, y: op.sub(x, op.neg(y)), SMALL, SMALL),
        (lambda x: op.sub(x, op.neg(constant(x, row(1, 2, 3, 4)))), "f32[N,4]"),
        _with_sign("sub(x, n)"),
    ),
    rules.negate_integer_from_zero: (
        (lambda x: op.sub(np.zeros((2, 1), np.int32), x), "i32[4]"),
        (lambda x: op.sub(0.0, x), "f32[N,4]"),  # 0 - 0 is 0, and its negative is not
    ),
    rules.negate_from_minus_zero: (
        (lambda x: op.sub(-0.0 * COLUMN, x), "f32[4]"),
        (lambda x: op.sub(-0.0, x), SMALL),
    ),
    rules.negate_integer_sum: (
        (lambda x, y: op.sub(op.neg(x), y), "f32[N,4]", "f32[N,4]"),
        (lambda x: op.sub(op.neg(x), whole(3)), "i32[N,4]"),
    ),
    rules.negate_sum: (
        (lambda x, y: op.neg(op.neg(op.add(x, op.mul(y, whole(3))))), "i32[N,4]", "i32[N,4]"),
        (lambda x, y: op.neg(op.add(x, op.mul(y, 2.0))), "f32[N,4]", "f32[N,4]"),
        (lambda x, y: op.neg(op.add(x, op.div(y, whole(3)))), "i32[N,4]", "i32[N,4]"),
    ),
    signs.negate_sum_of_sums: (
        (lambda x, y: op.neg(op.neg(op.add(x, op.add(y, op.mul(y, whole(3)))))), "i32[N,4]", "i32[N,4]"),
        (lambda x, y: op.neg(op.add(x, op.add(y, op.mul(y, 2.0)))), "f32[N,4]", "f32[N,4]"),
        (lambda x, y: op.neg(op.add(x, op.add(y, op.div(y, whole(3))))), "i32[N,4]", "i32[N,4]"),
    ),
    signs.turn_differences_before_even: (
        (lambda x, y: op.abs(op.sub(op.sub(whole(3).astype(np.uint8), x), y)), "u8[N,4]", "u8[N,4]"),
    ),
    signs.turn_differences_before_square: (
        (lambda x, y: op.mul(*[op.sub(op.sub(2.0, x), y)] * 2), "f32[N,4]", "f32[N,4]"),
        (lambda x, y: op.mul(*[op.sub(op.sub(whole(0), x), y)] * 2), "i32[N,4]", "i32[N,4]"),
    ),
    signs.turn_difference_before_square: ((lambda x: op.mul(*[op.sub(2.0, x)] * 2), SMALL),),
    rules.negate_operand: (
        (lambda x, y: op.neg(op.sub(x, y)), "f32[N,4]", "f32[N,4]"),
        (lambda x: op.neg(op.add(x, 1.0)), "f32[N,4]"),
        (lambda x: op.neg(op.div(x, whole(3))), "i32[N,4]"),
        (lambda x: op.neg(op.mul(x, x)), "f32[N,4]"),
        (lambda x: op.neg(op.mul(x, 2.0)), SMALL),
        (lambda x: op.neg(op.neg(op.mul(x, 2.0))), "f32[N,4]"),
        (lambda x, y: op.neg(op.sub(x, op.neg(y))), "i32[N,4]", "i32[N,4]"),
    ),
    rules.add_negative: (
        (lambda x, y: op.sub(x, op.sub(x, y)), "f32[N,4]", "f32[N,4]"),
        (lambda x: op.sub(*[op.mul(x, 2.0)] * 2), "f32[N,4]"),
        (lambda x, y: op.sub(x, op.mul(y, 2.0)), SMALL, SMALL),
        (lambda x, y: op.sub(x, op.sub(y, whole(3))), "i32[N,4]", "i32[N,4]"),
    ),
    rules.move_sign: (
        (lambda x, y: op.mul(op.neg(x), op.add(y, 2.0)), "f32[N,4]", "f32[N,4]"),
        (lambda x, y: op.div(op.neg(x), op.mul(y, whole(3))), "i32[N,4]", "i32[N,4]"),
    ),
    rules.move_sign_of_divisor: (
        (lambda x, y: op.div(op.add(y, 2.0), op.neg(x)), "f32[N,4]", "f32[N,4]"),
        (lambda x, y: op.div(op.mul(y, whole(3)), op.neg(x)), "i32[N,4]", "i32[N,4]"),
    ),
    rules.fold_sign_of_divisor: (
        (lambda x: op.div(whole(3), op.neg(x)), "i32[N,4]"),
        (lambda x: op.div(2.0, op.neg(x)), SMALL),
    ),
    rules.turn_difference_before_factor: (
        (lambda x: op.mul(op.sub(2.0, x), 3.0), "f32[N,4]"),
        (lambda x: op.mul(op.sub(whole(2), op.mul(x, whole(3))), whole(3)), "i32[N,4]"),
    ),
    rules.turn_difference_before_even: (
        (lambda x: op.abs(op.sub(whole(3).astype(np.uint8), x)), "u8[N,4]"),
        (lambda x: op.abs(op.sub(2.0, x)), SMALL),
    ),
    rules.multiply_without_signs: (
        (lambda x, y: op.div(op.neg(x), op.neg(y)), "i32[N,4]", "i32[N,4]"),
        (lambda x, y: op.mul(op.neg(x), op.neg(y)), SMALL, SMALL),
        (lambda x, y: op.mul(op.neg(op.neg(x)), op.neg(y)), "f32[N,4]", "f32[N,4]"),
        _with_sign("mul(p, n)").replace("m = ", "p = neg(x)\n        m = "),
    ),
    rules.drop_sign_before_square: ((lambda x: op.mul(*[op.neg(x)] * 2), SMALL), _with_sign("mul(n, n)")),
    rules.factor_as_sign: (
        (lambda x: op.mul(x, -COLUMN), "f32[4]"),
        (lambda x: op.mul(x, -1.0), SMALL),
        (lambda x: op.div(x, whole(-1)), "i32[N,4]"),
    ),
    rules.drop_sign_before_even: ((lambda x: op.abs(op.neg(x)), "u8[N,4]"), _with_sign("abs(n)")),
    rules.fold_sign_before: (
        (lambda x: op.div(op.neg(x), whole(3)), "i32[N,4]"),
        (lambda x: op.mul(op.neg(x), 2.0), SMALL),
        _with_sign("mul(n, c)"),
    ),
    rules.constant_last: ((lambda x: op.add(x, 2.0), "f32[N,4]"),),
    rules.merge_constants: (
        (lambda x: op.add(op.add(x, 0.1), 0.2), "f32[N,4]"),
        (lambda x: op.mul(op.add(x, 1), 2), "i32[N,4]"),
        (lambda x: op.maximum(op.maximum(x, 0.0), -0.0), "f32[N,4]"),
        (lambda x: op.maximum(op.maximum(0.0, x), 1.0), "f32[N,4]"),
        (lambda x: op.add(op.add(x, whole(1, 2)), np.ones((3, 1), np.int32)), "i32[N,3,2]"),
    ),
    rules.merge_integer_offsets: (
        (lambda x: op.sub(op.add(x, whole(1, 2)), np.ones((3, 1), np.int32)), "i32[N,3,2]"),
        (lambda x: op.add(op.add(x, 0.1), 0.2), "f32[N,4]"),
    ),
    rules.merge_integer_differences: (
        (lambda x: op.sub(np.ones((3, 1), np.int32), op.add(x, whole(1, 2))), "i32[N,3,2]"),
    ),
    # Slices, concatenations and borders.
    rules.crop_as_slice: (
        (lambda x: op.pad(x, pads=(0, -1, 0, 1)), "f32[N,4]"),
        (lambda x: op.pad(x, pads=(0, 0, 0, 0)), "f32[N,4]"),
        (lambda x: op.pad(x, pads=(-1, 0, 0, 0)), "f32[N,4]"),
    ),
    rules.write_bounds_of_slice: (
        (lambda x: cut(x, 1, 3), "f32[N,4]"),
        (lambda x: cut(x, 0, 9), "f32[N,4]"),
        (lambda x: rows(x, 1, "N"), "f32[N,4]"),  # max(0, N - 1), and to the end it is N - min(1, N)
    ),
    rules.merge_slices: (
        (
            lambda x: op.slice(op.slice(x, starts=(1,), ends=(-1,), axes=(0,)), starts=(-3,), ends=(-1,), axes=(0,)),
            "f32[N,4]",
        ),
        (lambda x: rows(rows(x, 1, 5), 1, 3), "f32[N]"),
        (lambda x: cut(cut(x, 1, 3), 0, 2), "f32[N,4]"),
        """x = input() : f32[N,3]
        a = concat(x, x, axis=1)
        b = slice(a, starts=[1], ends=[6], axes=[1])
        c = slice(b, starts=[1], ends=[4], axes=[1])
        r = concat(b, c, axis=1)""",
    ),
    rules.slice_of_concat: (
        (lambda x, y: op.slice(op.concat(x, y, axis=1), starts=(1,), ends=(3,), axes=(0,)), "f32[4,2]", "f32[4,2]"),
        (lambda x, y: op.slice(op.concat(x, y, axis=0), starts=(1,), ends=(9,), axes=(0,)), "f32[N,2]", "f32[M,2]"),
        (lambda x, y: cut(op.concat(x, y, axis=1), 3, 3), "f32[N,2]", "f32[N,4]"),
        (_read_twice, "f32[N,2]", "f32[N,4]"),
        (lambda x, y: cut(op.concat(x, y, axis=1), 0, 1), "f32[N,2]", "f32[N,4] NC"),
    ),
    rules.slice_of_pad: (
        (lambda x: op.slice(op.pad(x, pads=(0, 2, 0, 0)), starts=(0,), ends=(1,), axes=(1,)), "f32[N,4]"),
        (
            lambda x: op.slice(op.pad(x, pads=(0, 0, 0, 2), mode="reflect"), starts=(1,), ends=(6,), axes=(1,)),
            "f32[N,4]",
        ),
        (lambda x: cut(op.pad(x, pads=(0, "K", 0, 0)), 0, 3), "f32[N,4]"),
        (lambda x: rows(op.pad(x, pads=(0, 1)), 1, "N + 1"), "f32[N]"),
    ),
    rules.slice_of_sizes: (
        (lambda x: op.slice(op.shape(x), starts=(-1,), ends=(-9,), steps=(-1,)), "f32[N,M,4]"),
        (lambda x: rows(op.shape(x), 0, 3), "f32[N,M,4]"),
    ),
    rules.concat_of_slices: (
        (lambda x: op.concat(cut(x, 0, 2), cut(x, 1, 4), axis=1), "f32[N,4]"),
        (lambda x: op.concat(cut(x, 2, 4), cut(x, 0, 2), axis=1), "f32[N,4]"),
        (_of_two_rows, "f32[3,4]"),
        (_other_readers, "f32[N,4]", "f32[N,1]"),
        (lambda x: op.concat(rows(x, 1, 2), rows(x, 2, 4), axis=0), "f32[N]"),
        (_sizes, "f32[N,M]"),
    ),
    borders.subtract_repeated_as_add: (
        "x = input() : f8e4m3fn[N,4]\nc = constant(value=1) : f8e4m3fn[]\ne = expand(c, shape=['N', 4])\nr = sub(x, e)",
        (
            lambda x: op.sub(
                x, op.expand(x.graph.constant(ones(1, 4), type=Tensor("f32", (1, 4), "NC")), shape=("N", 4))
            ),
            "f32[N,4]",
        ),
    ),
    borders.compute_before_expand: (
        (lambda x, y: op.add(op.expand(constant(x, row(1, 2)), shape=(3, "N", 2)), y), "f32[N,1]", "f32[2]"),
        (_named_repetition, "f32[N,4]"),
    ),
    borders.compute_step_before_expand: ((lambda x: op.relu(_named(x)), "f32[N,2]"),),
    borders.compute_before_expand_in_order: (
        (lambda x, y: op.sub(op.expand(constant(x, row(1, 2)), shape=("N", 2)), y), "f32[N,1]", "f32[2]"),
        (lambda x: op.prelu(op.expand(constant(x, row(1, 2)), shape=("N", 2)), 0.5), "f32[N,1]"),
    ),
    rules.slice_before_expand: (
        (lambda x: op.slice(op.expand(x, shape=(3, "N")), starts=(-(2**31),), ends=(2,), axes=(1,)), "f32[N]"),
        (_repeated_twice, "f32[4]"),
    ),
    rules.merge_concats: (
        (lambda x, y: op.concat(op.concat(x, y, axis=1), axis=1), "f32[N,4]", "f32[N,4]"),
        (lambda x, y: op.concat(op.concat(x, x, axis=0), y, axis=1), "f32[2,4]", "f32[4,4]"),
        (lambda x, y: op.concat(op.concat(x, y, axis=0), op.concat(x, y, axis=0), axis=0), "f32[2,4]", "f32[2,4]"),
    ),
    rules.drop_empty_operand: (
        (lambda x, y: op.concat(x, y, axis=1), "f32[N,4]", "f32[N,1]"),
        (lambda x: op.concat(x, axis=1), "f32[N,0]"),
        (lambda x, y: op.concat(x, y, axis=1), "f32[N,0] NC", "f32[N,4]"),
    ),
    rules.merge_pads: (
        (lambda x: op.pad(op.pad(x, pads=(0, 1, 0, 0), fill=0.0), pads=(0, 1, 0, 0), fill=1.0), "f32[N,4]"),
        (lambda x: op.pad(op.pad(x, pads=(0, 1, 0, 0)), pads=(0, 1, 0, 0), mode="edge"), "f32[N,4]"),
        (lambda x: op.pad(op.pad(x, pads=(0, -1, 0, 0)), pads=(0, 1, 0, 0)), "f32[N,4]"),
        (
            lambda x: op.pad(op.pad(x, pads=(0, 1, 0, 0), mode="reflect"), pads=(0, 1, 0, 0), mode="reflect"),
            "f32[N,4]",
        ),
        (lambda x: op.pad(op.pad(x, pads=(0, -1, 0, 0), mode="edge"), pads=(0, 1, 0, 0), mode="edge"), "f32[N,4]"),
        (lambda x: op.pad(op.pad(x, pads=(0, -1, 0, 1)), pads=(0, 1, 0, 0)), "f32[N,4]"),
        (lambda x: op.pad(op.pad(x, pads=(0, 1, 0, -1), mode="edge"), pads=(0, 1, 0, 0), mode="edge"), "f32[N,4]"),
        (lambda x: op.pad(op.pad(x, pads=(0, "K", 0, 0)), pads=(0, 1, 0, 0)), "f32[N,4]"),
        (lambda x: op.pad(op.pad(x, pads=(1, -1)), pads=(1, -1)), "f32[1]"),
    ),
    rules.write_sizes_of_expand: ((lambda x: op.expand(x, shape=(3, 4)), "f32[1,4]"),),
    rules.shorten_constant: (
        (lambda x: op.add(x, row(1, 2)), "f32[N,2]"),
        (lambda x: op.add(constant(x, row(1, 1)), constant(x, row(2, 2))), "f32[N,2]"),
        (lambda x: op.add(x, ones(3, 1)), "f32[1,2]"),  # it spreads the other operand
    ),
    rules.shorten_constant_in_order: (
        (lambda x: op.sub(row(1, 2), x), "f32[N,2]"),
        (lambda x: op.sub(ones(3, 1), x), "f32[1,2]"),
    ),
    rules.shorten_expanded_constant: ((lambda x: op.expand(constant(x, row(1, 1, 2)), shape=("N", 3)), "f32[N,3]"),),
    rules.broadcast_constant: ((lambda x: op.add(op.expand(constant(x, COLUMN), shape=(2, 4)), x), "f32[1,1]"),),
    rules.broadcast_constant_in_order: (
        (lambda x: op.sub(op.expand(constant(x, COLUMN), shape=(2, 4)), x), "f32[1,1]"),
    ),
    rules.gather_as_slice: (
        (lambda x: op.gather(x, np.array([0, 1, 3]), axis=1), "f32[N,4]"),
        (lambda x: op.gather(x, np.array([-1]), axis=0), "f32[N,4]"),
        (lambda x: op.gather(x, np.array([[0, 1]]), axis=1), "f32[N,4]"),
        (lambda x: op.gather(x, np.array([4, 5]), axis=1), "f32[N,4]"),
        (lambda x: op.gather(x, np.array(1), axis=1), "f32[N,4] NC"),
    ),
    # What is known of numbers.
    rules.drop_relu: ((op.relu, "f32[N,4]"), (lambda x: op.leaky_relu(op.sin(x)), "f32[N,4]")),
    rules.drop_relu_of_clip: (
        (lambda x: op.relu(op.clip(x, low=-0.0)), "f32[N,4]"),
        (lambda x: op.relu(op.clip(x, low=0.0, high=-1.0)), "f32[N,4]"),
    ),
    rules.drop_abs: ((lambda x: op.abs(op.sin(x)), "f32[N,4]"),),
    rules.drop_rounding: ((lambda x: op.floor(op.mul(op.floor(x), 0.5)), "f32[N,4]"),),
    rules.drop_clip: (
        (lambda x: op.clip(op.neg(x), low=0.0, high=6.0), "f32[N,4]"),
        (lambda x: op.clip(op.sigmoid(x), low=0.0, high=0.9), "f32[N,4]"),
        (lambda x: op.clip(x, low=-1, high=127), "i8[N,4]"),
    ),
    rules.drop_extreme: (
        (lambda x: op.maximum(op.sigmoid(x), 0.5), "f32[N,4]"),
        (lambda x, y: op.maximum(op.abs(x), op.neg(op.abs(y))), "f32[N,4]", "f32[N,4]"),  # it may be NaN
        (
            lambda c, d: op.maximum(op.cast(c, element="f32"), op.neg(op.cast(d, element="f32"))),
            "bool[N,4]",
            "bool[N,4]",
        ),
    ),
    rules.drop_where: (
        (lambda c, x: op.where(c, x, 0.0), "bool[N,4]", "f32[N,4]"),
        (lambda x, y: op.where(np.array(True), x, y), "f32[4]", "f32[2,4]"),
    ),
    rules.drop_mask: (
        (lambda x: op.bitwise_and(x, 0x7F), "u8[N,4]"),
        (lambda x: op.bitwise_and(x, np.full((2, 1), 0xFF, np.uint8)), "u8[4]"),
    ),
    rules.drop_shift_there_and_back: (
        (lambda x, n: op.bit_shift(op.bit_shift(x, n, direction="right"), n, direction="left"), "u8[N,4]", "u8[]"),
        (lambda x, n: op.bit_shift(op.bit_shift(x, n, direction="left"), n, direction="left"), "u8[N,4]", "u8[]"),
        (_shifted, "u8[N,4]"),
    ),
    rules.drop_cast_there_and_back: (
        (lambda x: op.cast(op.cast(x, element="f16"), element="f32"), "f32[N,4]"),
        (lambda x: op.cast(op.cast(x, element="f32"), element="i32"), "i32[N,4]"),
        (lambda x: op.cast(op.cast(x, element="f64"), element="f16"), "f32[N,4]"),
        (lambda x: op.cast(op.cast(x, element="f8e5m2", saturate=False), element="f8e5m2"), "f8e5m2[N,4]"),
    ),
    rules.merge_casts: (
        (lambda x: op.cast(op.cast(x, element="i8"), element="i32"), "i16[N,4]"),
        (lambda x: op.cast(op.cast(x, element="f32"), element="i8"), "i16[N,4]"),
        (lambda x: op.cast(op.cast(x, element="f16"), element="f16"), "i8[N,4]"),
        (lambda x: op.cast(op.cast(x, element="f64"), element="string"), "f32[N,4]"),
        (lambda x: op.cast(op.cast(x, element="f8e5m2"), element="f32"), "f8e5m2[N,4]"),
    ),
    rules.merge_bit_casts: ((lambda x: op.bit_cast(op.bit_cast(x, element="bool"), element="i8"), "u8[N,4]"),),
    rules.clip_as_relu: (
        (lambda x: op.clip(x, low=0.0, high=6.0), "f32[N,4]"),
        (lambda x: op.clip(x, low=-0.0), "f32[N,4]"),
    ),
    rules.leave_out_limit: (
        (lambda x: op.clip(op.sigmoid(x), low=0.1), "f32[N,4]"),
        (lambda x: op.clip(x, low=-1.0), "f32[N,4]"),
        (lambda x: op.clip(op.abs(x), low=1.0, high=-1.0), "f32[N,4]"),
    ),
    rules.merge_clips: (
        (lambda x: op.clip(op.clip(x, low=3.0, high=2.0), low=0.0), "f32[N,4]"),
        (lambda x: op.clip(op.clip(x, low=0.0), low=1.0, high=-1.0), "f32[N,4]"),
        (lambda x: op.clip(op.clip(x, low=-0.0), low=0.0), "f32[N,4]"),
        (lambda x: op.clip(op.clip(x, low=float("nan")), low=0.0), "f32[N,4]"),
    ),
    rules.compute_known_sizes: ((op.shape, "f32[N,4]"),),
    rules.compute_known_number: ((lambda x: op.greater(op.sigmoid(x), 0.5), "f32[N,4]"),),
    rules.compute_known_sum: (
        (lambda x: op.add(x, 1), "i32[N,4]"),
        (lambda x: op.mul(x, 0.0), "f32[N,4]"),  # NaN of infinities
    ),
    rules.fill_as_expand: (
        "r = constant_of_shape(shape=[1048576, 1048576], value=1.0) : f32[1048576,1048576]",
        'r = constant_of_shape(shape=[2], value=1.0, element="bf16") : bf16[2]',
    ),
    rules.begin_at_zero: (
        (lambda x, h: op.gru(x, *_GATES, np.ones((1, 12), np.float32), h)[0], "f32[5,N,4]", "f32[1,N,2]"),
        (lambda x: op.gru(x, *_GATES)[0], "f32[5,N,4]"),
    ),
    rules.begin_cell_at_zero: ((lambda x, h: op.lstm(x, *_CELL, h, h)[0], "f32[5,N,4]", "f32[1,N,2]"),),
    # Shapes.
    rules.write_as_reshape: ((lambda x: op.squeeze(x, axes=(2,)), "f32[N,4,1] NCW"),),
    rules.count_reduced_axes_from_front: ((lambda x: op.reduce_max(x, axes=(1,)), "f32[N,4,3]"),),
    rules.keep_reduced_axes: (
        (lambda x: op.reshape(op.reduce_max(x, axes=(1,), keep_dims=False), shape=("N", 3, 1)), "f32[N,4,3]"),
    ),
    rules.stay_narrow: (
        (lambda x: op.cast(op.relu(op.cast(x, element="f32")), element="f64"), "f16[N,2]"),
        (lambda x: op.cast(op.relu(op.cast(x, element="f16")), element="f32"), "f32[N,2]"),
    ),
    indices.reshape_indices: (
        (lambda x: op.reshape(op.gather(x, np.array([2, 0])), shape=(2, 2, 3)), "f32[N,6]"),
        (lambda x: op.reshape(op.gather(x, np.array([2, 0]), axis=1), shape=(8,)), "f32[2,4,2]"),
        (lambda x: op.reshape(op.gather(x, np.array([2, 0]), axis=1), shape=(0, 3), allow_zero=True), "f32[0,4]"),
        (lambda x: op.reshape(op.gather(x, np.array([[3]]), axis=-1), shape=(0, 3)), "f32[N,3,4] NCW"),
        (lambda x: op.reshape(op.gather(x, np.array(0), axis=1), shape=(0,)), "f32[N,0]"),
    ),
    borders.move_number: (
        (lambda x: op.transpose(op.expand(constant(x, ones(2)), shape=x.type.shape), perm=(1, 0)), "f32[N,2]"),
    ),
    choices.choose_first_once: (
        (lambda c, x, y: op.where(c, op.where(c, x, y), x), "bool[4]", "f32[1]", "f32[3,4]"),
        (lambda x, y: _of_constant(x, lambda c: op.where(c, op.where(c, x, y), x)), "f32[2]", "f32[2]"),
    ),
    choices.choose_second_once: (
        (lambda c, x, y: op.where(c, x, op.where(c, y, x)), "bool[4]", "f32[1]", "f32[3,4]"),
        (lambda x, y: _of_constant(x, lambda c: op.where(c, x, op.where(c, y, x))), "f32[2]", "f32[2]"),
    ),
    rules.drop_absorbed: (
        (lambda x, y: op.maximum(op.minimum(x, y), x), "f32[N,4]", "f32[N,4]"),
        (lambda x, y: op.maximum(op.minimum(x, y), x), "i32[4]", "i32[N,4]"),
    ),
    arithmetic.drop_added_and_subtracted: ((lambda x, y: op.sub(op.add(x, y), y), "i32[4]", "i32[N,4]"),),
    arithmetic.drop_subtracted_from_itself: ((lambda x, y: op.sub(x, op.sub(x, y)), "i32[N,4]", "i32[4]"),),
    arithmetic.drop_subtracted_and_added: ((lambda x, y: op.add(op.sub(x, y), y), "i32[4]", "i32[N,4]"),),
    identities.drop_blocks_there_and_back: (
        (lambda x: op.depth_to_space(op.space_to_depth(x, block_size=2), block_size=1), "f32[N,3,4,4]"),
        (lambda x: op.depth_to_space(op.space_to_depth(x, block_size=2), block_size=2), "f32[N,3,H,4]"),
    ),
    identities.drop_shuffle_there_and_back: (
        (lambda x: op.channel_shuffle(op.channel_shuffle(x, groups=2), groups=2), "f32[N,6,4]"),
    ),
    rules.merge_extremes: (
        (lambda x: op.reduce_max(op.reduce_min(x, axes=(1,)), axes=(2,)), "f32[N,4,3]"),
        (lambda x: op.reduce_max(op.reduce_max(x, axes=(1,)), axes=(2,), keep_dims=False), "f32[N,4,3]"),
    ),
    rules.drop_reshape: ((lambda x: op.reshape(x, shape=("N", 4, 1)), "f32[N,4]"),),
    rules.write_sizes_of_reshape: ((lambda x: op.reshape(x, shape=("N", 2, 2)), "f32[N,4]"),),
    rules.merge_reshapes: (
        (lambda x: op.reshape(op.reshape(x, shape=(-1,)), shape=("N", "M*K")), "f32[N,M,K]"),
        (lambda x: op.reshape(op.reshape(x, shape=(-1,)), shape=(0,)), "f32[N,4]"),
    ),
    rules.drop_transpose: ((lambda x: op.transpose(x, perm=(1, 0)), "f32[3,4]"),),
    shapes.drop_names_there_and_back: (
        (lambda x: op.name_axes(op.name_axes(x, layout=None), layout="NWC"), "f32[N,4,3] NCW"),
    ),
    rules.order_ones_of_transpose: (
        (lambda x: op.transpose(x, perm=(0, 2, 1)), "f32[1,3,1]"),
        (lambda x: op.transpose(x, perm=(2, 1, 0)), "f32[1,3,1] NCW"),
    ),
    rules.transpose_as_reshape: (
        (lambda x: op.transpose(x, perm=(1, 0)), "f32[3,4]"),
        (lambda x: op.transpose(x, perm=(0, 2, 1)), "f32[N,4,1] NCW"),
        (lambda x: op.transpose(x, perm=(1, 2, 0)), "i8<0.5:0 @1>[N,1,1]"),
    ),
    rules.merge_reshape_into_transpose: (
        (lambda x: op.reshape(op.transpose(x, perm=(1, 0)), shape=(3, 4)), "f32[3,4]"),
        (lambda x: op.reshape(op.transpose(x, perm=(1, 0, 2)), shape=(4, 1, 2)), "f32[2,4,1] NCW"),
    ),
    rules.add_ones_before_transpose: (
        (lambda x: _turned(x, (4, 3), (1, 0), (6, 2)), "f32[12]"),
        (lambda x: _turned(x, (4, 3, 1), (1, 0, 2), (3, 4, 1, 1)), "f32[12]"),
    ),
    rules.drop_ones_behind_transpose: (
        (lambda x: _turned(x, (4, 3), (1, 0), (3, 4)), "f32[4,1,3]"),
        (lambda x: _turned(x, (4, 3), (1, 0), (12,)), "f32[12,1]"),
        (lambda x: _turned(x, (4, 1, 3), (2, 1, 0), (12,)), "f32[4,1,1,3]"),
        (lambda x: _turned(x, (4, 3), (1, 0), (12,)), "f32[4,1,3] NCW"),
    ),
    rules.merge_transpose_into_reshape: (
        (lambda x: op.transpose(op.reshape(x, shape=(4, 3)), perm=(1, 0)), "f32[3,4]"),
        (lambda x: op.transpose(op.reshape(x, shape=(2, 1, 4)), perm=(2, 1, 0)), "f32[2,4,1] NCW"),
    ),
    # Quantised numbers.
    rules.drop_quantise_again: (
        (lambda x: again(x, 1e38), "u8[N,4]"),  # most stored numbers are read as infinity
        (lambda x: again(x, 0.5), "i32[N,4]"),
        (_by_two_axes, "u8[2,2]"),
        (_by_blocks, "u8[2,4]"),
    ),
    rules.drop_limit_before_quantising: (
        (lambda x: stored(op.relu(x), 0.5), "f32[N,4]"),
        (lambda x: op.quantize_linear(op.clip(x, low=0.0, high=6.0), 0.5, np.uint8(0)), "f32[N,4]"),
        (lambda x: op.quantize_linear(op.relu(x), row(0.5)[0], element="f8e4m3fn"), "f32[N,4]"),
    ),
}
