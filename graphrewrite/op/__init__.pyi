"""The op library, as type checkers see it; `make reference` writes this file from its definitions."""

import builtins
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, overload

import numpy as np
from typing_extensions import Unpack

from graphrewrite.op.body import Body
from graphrewrite.op.define import define_op as define_op
from graphrewrite.op.generic_op import generic as generic
from graphrewrite.op.library import LIBRARY as LIBRARY
from graphrewrite.op.library import find_op as find_op
from graphrewrite.op.literals import as_constant as as_constant
from graphrewrite.op.literals import constant_type as constant_type
from graphrewrite.op.nn.convolution import depthwise_conv as depthwise_conv
from graphrewrite.op.op import Op as Op
from graphrewrite.types import Dimension, FixedPoint, Quantised

_T = TypeVar("_T")

_In: TypeAlias = _T | AbstractSet[_T] | builtins.range
"""An attribute; in a pattern it may be one of several."""

class _Given(TypedDict, total=False):
    """What a new node may be given besides its attributes."""

    like: Any
    """A matched node, whose attributes and annotations it takes."""
    annotations: Mapping[str, Any]
    """The annotations that it gets, in place of those of the node that it replaces."""
    name: str
    """Its name; a fresh one if not given."""

class _relu(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
relu: _relu

class _leaky_relu(Op):
    def __call__(self, x: Any, *, alpha: _In[float] = 0.01, negative_slope: _In[float] = 0.01, **given: Unpack[_Given]) -> Any: ...
leaky_relu: _leaky_relu

class _sigmoid(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
sigmoid: _sigmoid

class _tanh(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
tanh: _tanh

class _clip(Op):
    def __call__(self, x: Any, *, low: _In[int | float | None] = None, minimum: _In[int | float | None] = None, min: _In[int | float | None] = None, high: _In[int | float | None] = None, maximum: _In[int | float | None] = None, max: _In[int | float | None] = None, **given: Unpack[_Given]) -> Any: ...
clip: _clip

class _hard_tanh(Op):
    def __call__(self, x: Any, *, low: _In[float] = -1.0, minimum: _In[float] = -1.0, min: _In[float] = -1.0, min_val: _In[float] = -1.0, high: _In[float] = 1.0, maximum: _In[float] = 1.0, max: _In[float] = 1.0, max_val: _In[float] = 1.0, **given: Unpack[_Given]) -> Any: ...
hard_tanh: _hard_tanh

class _hard_sigmoid(Op):
    def __call__(self, x: Any, *, alpha: _In[float] = 0.2, beta: _In[float] = 0.5, **given: Unpack[_Given]) -> Any: ...
hard_sigmoid: _hard_sigmoid

class _hard_swish(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
hard_swish: _hard_swish

class _prelu(Op):
    @overload
    def __call__(self, x: Any, slope: Any, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, weight: Any, **given: Unpack[_Given]) -> Any: ...
prelu: _prelu

class _threshold(Op):
    def __call__(self, x: Any, *, alpha: _In[float] = 1.0, **given: Unpack[_Given]) -> Any: ...
threshold: _threshold

class _integer_softmax(Op):
    def __call__(self, x: Any, *, table: _In[int | Sequence[int]] = ..., shift: _In[int] = ..., element: _In[Any] = ..., dtype: _In[Any] = ..., to: _In[Any] = ..., bound: _In[float | None] = None, **given: Unpack[_Given]) -> Any: ...
integer_softmax: _integer_softmax

class _integer_interpolate(Op):
    def __call__(self, x: Any, *, base: _In[int | Sequence[int] | Sequence[int | Sequence[int]]] = ..., slope: _In[int | Sequence[int] | Sequence[int | Sequence[int]]] = ..., rest: _In[int] = ..., shift: _In[int] = ..., element: _In[Any] = ..., dtype: _In[Any] = ..., to: _In[Any] = ..., low: _In[int] = 0, bound: _In[int | None] = None, **given: Unpack[_Given]) -> Any: ...
integer_interpolate: _integer_interpolate

class _add(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
add: _add

class _sub(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
sub: _sub

class _mul(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
mul: _mul

class _div(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
div: _div

class _mod(Op):
    def __call__(self, x: Any, y: Any, *, fmod: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
mod: _mod

class _maximum(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
maximum: _maximum

class _minimum(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
minimum: _minimum

class _fma(Op):
    def __call__(self, x: Any, y: Any, z: Any, **given: Unpack[_Given]) -> Any: ...
fma: _fma

class _neg(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
neg: _neg

class _abs(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
abs: _abs

class _sqrt(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
sqrt: _sqrt

class _exp(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
exp: _exp

class _log(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
log: _log

class _pow(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
pow: _pow

class _equal(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
equal: _equal

class _less(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
less: _less

class _less_or_equal(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
less_or_equal: _less_or_equal

class _greater(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
greater: _greater

class _greater_or_equal(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
greater_or_equal: _greater_or_equal

class _is_nan(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
is_nan: _is_nan

class _is_inf(Op):
    def __call__(self, x: Any, *, detect_negative: _In[bool] = True, detect_positive: _In[bool] = True, **given: Unpack[_Given]) -> Any: ...
is_inf: _is_inf

class _where(Op):
    @overload
    def __call__(self, condition: Any, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, condition: Any, input: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
where: _where

class _einsum(Op):
    def __call__(self, *xs: Any, equation: _In[str] = ..., **given: Unpack[_Given]) -> Any: ...
einsum: _einsum

class _cast(Op):
    def __call__(self, x: Any, *, element: _In[Any] = ..., dtype: _In[Any] = ..., to: _In[Any] = ..., saturate: _In[bool] = True, round_mode: _In[str] = 'up', **given: Unpack[_Given]) -> Any: ...
cast: _cast

class _name_axes(Op):
    def __call__(self, x: Any, *, layout: _In[str | None] = ..., **given: Unpack[_Given]) -> Any: ...
name_axes: _name_axes

class _conv(Op):
    @overload
    def __call__(self, x: Any, w: Any, b: Any = ..., *, strides: _In[int | Sequence[int]] = (1, 1), stride: _In[int | Sequence[int]] = (1, 1), pads: _In[str | int | Sequence[int]] = (0, 0, 0, 0), padding: _In[str | int | Sequence[int]] = (0, 0, 0, 0), auto_pad: _In[str | int | Sequence[int]] = (0, 0, 0, 0), dilations: _In[int | Sequence[int]] = (1, 1), dilation: _In[int | Sequence[int]] = (1, 1), dilation_rate: _In[int | Sequence[int]] = (1, 1), groups: _In[int] = 1, group: _In[int] = 1, num_groups: _In[int] = 1, padding_value: float = 0, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, weight: Any, bias: Any = ..., *, strides: _In[int | Sequence[int]] = (1, 1), stride: _In[int | Sequence[int]] = (1, 1), pads: _In[str | int | Sequence[int]] = (0, 0, 0, 0), padding: _In[str | int | Sequence[int]] = (0, 0, 0, 0), auto_pad: _In[str | int | Sequence[int]] = (0, 0, 0, 0), dilations: _In[int | Sequence[int]] = (1, 1), dilation: _In[int | Sequence[int]] = (1, 1), dilation_rate: _In[int | Sequence[int]] = (1, 1), groups: _In[int] = 1, group: _In[int] = 1, num_groups: _In[int] = 1, padding_value: float = 0, **given: Unpack[_Given]) -> Any: ...
conv: _conv

class _reciprocal(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
reciprocal: _reciprocal

class _erf(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
erf: _erf

class _sin(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
sin: _sin

class _cos(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
cos: _cos

class _tan(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
tan: _tan

class _asin(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
asin: _asin

class _acos(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
acos: _acos

class _atan(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
atan: _atan

class _sinh(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
sinh: _sinh

class _cosh(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
cosh: _cosh

class _asinh(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
asinh: _asinh

class _acosh(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
acosh: _acosh

class _atanh(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
atanh: _atanh

class _floor(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
floor: _floor

class _ceil(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
ceil: _ceil

class _round(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
round: _round

class _sign(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
sign: _sign

class _sum(Op):
    def __call__(self, *xs: Any, **given: Unpack[_Given]) -> Any: ...
sum: _sum

class _mean(Op):
    def __call__(self, *xs: Any, **given: Unpack[_Given]) -> Any: ...
mean: _mean

class _quantise(Op):
    def __call__(self, x: Any, *, element: _In[Any] = ..., dtype: _In[Any] = ..., to: _In[Any] = ..., fractions: _In[int | Sequence[int] | None] = None, axis: _In[int] = 0, dim: _In[int] = 0, low: _In[int | None] = None, high: _In[int | None] = None, **given: Unpack[_Given]) -> Any: ...
quantise: _quantise

class _to_fixed(Op):
    def __call__(self, x: Any, *, element: _In[Any] = ..., dtype: _In[Any] = ..., to: _In[Any] = ..., low: _In[int | None] = None, high: _In[int | None] = None, **given: Unpack[_Given]) -> Any: ...
to_fixed: _to_fixed

class _from_fixed(Op):
    def __call__(self, x: Any, *, fraction: _In[int] = ..., element: _In[Any] = 'f32', dtype: _In[Any] = 'f32', to: _In[Any] = 'f32', **given: Unpack[_Given]) -> Any: ...
from_fixed: _from_fixed

class _gather(Op):
    def __call__(self, x: Any, indices: Any, *, axis: _In[int] = 0, dim: _In[int] = 0, **given: Unpack[_Given]) -> Any: ...
gather: _gather

class _gather_elements(Op):
    def __call__(self, x: Any, indices: Any, *, axis: _In[int] = 0, dim: _In[int] = 0, **given: Unpack[_Given]) -> Any: ...
gather_elements: _gather_elements

class _gather_nd(Op):
    def __call__(self, x: Any, indices: Any, *, batch_dims: _In[int] = 0, **given: Unpack[_Given]) -> Any: ...
gather_nd: _gather_nd

class _shape(Op):
    def __call__(self, x: Any, *, start: _In[int] = 0, end: _In[int | None] = None, **given: Unpack[_Given]) -> Any: ...
shape: _shape

class _size(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
size: _size

class _range(Op):
    def __call__(self, *, start: _In[float | Dimension] = 0, limit: _In[float | Dimension] = ..., delta: _In[int | float] = 1, element: _In[Any] = 'i64', dtype: _In[Any] = 'i64', to: _In[Any] = 'i64', **given: Unpack[_Given]) -> Any: ...
range: _range

class _constant_of_shape(Op):
    def __call__(self, *, shape: _In[Sequence[Dimension]] = ..., value: _In[bool | int | float] = 0, element: _In[Any] = 'f32', dtype: _In[Any] = 'f32', to: _In[Any] = 'f32', **given: Unpack[_Given]) -> Any: ...
constant_of_shape: _constant_of_shape

class _eye_like(Op):
    def __call__(self, x: Any, *, k: _In[int] = 0, diagonal: _In[int] = 0, element: _In[Any] = None, dtype: _In[Any] = None, to: _In[Any] = None, **given: Unpack[_Given]) -> Any: ...
eye_like: _eye_like

class _one_hot(Op):
    def __call__(self, indices: Any, values: Any, *, depth: _In[Dimension] = ..., num_classes: _In[Dimension] = ..., axis: _In[int] = -1, dim: _In[int] = -1, **given: Unpack[_Given]) -> Any: ...
one_hot: _one_hot

class _integer_linear(Op):
    @overload
    def __call__(self, x: Any, w: Any, b: Any, *, element: _In[Any] = ..., dtype: _In[Any] = ..., to: _In[Any] = ..., **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, weight: Any, bias: Any, *, element: _In[Any] = ..., dtype: _In[Any] = ..., to: _In[Any] = ..., **given: Unpack[_Given]) -> Any: ...
integer_linear: _integer_linear

class _integer_conv(Op):
    @overload
    def __call__(self, x: Any, w: Any, b: Any, *, element: _In[Any] = ..., dtype: _In[Any] = ..., to: _In[Any] = ..., strides: _In[int | Sequence[int]] = (1, 1), stride: _In[int | Sequence[int]] = (1, 1), pads: _In[str | int | Sequence[int]] = (0, 0, 0, 0), padding: _In[str | int | Sequence[int]] = (0, 0, 0, 0), auto_pad: _In[str | int | Sequence[int]] = (0, 0, 0, 0), dilations: _In[int | Sequence[int]] = (1, 1), dilation: _In[int | Sequence[int]] = (1, 1), dilation_rate: _In[int | Sequence[int]] = (1, 1), groups: _In[int] = 1, group: _In[int] = 1, num_groups: _In[int] = 1, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, weight: Any, bias: Any, *, element: _In[Any] = ..., dtype: _In[Any] = ..., to: _In[Any] = ..., strides: _In[int | Sequence[int]] = (1, 1), stride: _In[int | Sequence[int]] = (1, 1), pads: _In[str | int | Sequence[int]] = (0, 0, 0, 0), padding: _In[str | int | Sequence[int]] = (0, 0, 0, 0), auto_pad: _In[str | int | Sequence[int]] = (0, 0, 0, 0), dilations: _In[int | Sequence[int]] = (1, 1), dilation: _In[int | Sequence[int]] = (1, 1), dilation_rate: _In[int | Sequence[int]] = (1, 1), groups: _In[int] = 1, group: _In[int] = 1, num_groups: _In[int] = 1, **given: Unpack[_Given]) -> Any: ...
integer_conv: _integer_conv

class _integer_add(Op):
    def __call__(self, x: Any, y: Any, *, element: _In[Any] = ..., dtype: _In[Any] = ..., to: _In[Any] = ..., shifts: _In[int | Sequence[int]] = (0, 0), **given: Unpack[_Given]) -> Any: ...
integer_add: _integer_add

class _requantise(Op):
    def __call__(self, x: Any, *, shift: _In[int | int | Sequence[int]] = ..., element: _In[Any] = ..., dtype: _In[Any] = ..., to: _In[Any] = ..., low: _In[int | None] = None, high: _In[int | None] = None, **given: Unpack[_Given]) -> Any: ...
requantise: _requantise

class _matmul(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
matmul: _matmul

class _linear(Op):
    @overload
    def __call__(self, x: Any, w: Any, b: Any = ..., **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, weight: Any, bias: Any = ..., **given: Unpack[_Given]) -> Any: ...
linear: _linear

class _gemm(Op):
    @overload
    def __call__(self, x: Any, w: Any, b: Any = ..., *, alpha: _In[float] = 1.0, beta: _In[float] = 1.0, trans_a: _In[bool] = False, transA: _In[bool] = False, trans_b: _In[bool] = False, transB: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, weight: Any, bias: Any = ..., *, alpha: _In[float] = 1.0, beta: _In[float] = 1.0, trans_a: _In[bool] = False, transA: _In[bool] = False, trans_b: _In[bool] = False, transB: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
gemm: _gemm

class _det(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
det: _det

class _logical_and(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
logical_and: _logical_and

class _logical_or(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
logical_or: _logical_or

class _logical_xor(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
logical_xor: _logical_xor

class _logical_not(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
logical_not: _logical_not

class _bitwise_and(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
bitwise_and: _bitwise_and

class _bitwise_or(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
bitwise_or: _bitwise_or

class _bitwise_xor(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
bitwise_xor: _bitwise_xor

class _bitwise_not(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
bitwise_not: _bitwise_not

class _bit_shift(Op):
    def __call__(self, x: Any, y: Any, *, direction: _In[str] = ..., **given: Unpack[_Given]) -> Any: ...
bit_shift: _bit_shift

class _integer_sub(Op):
    def __call__(self, x: Any, y: Any, *, element: _In[Any] = None, dtype: _In[Any] = None, to: _In[Any] = None, shifts: _In[int | Sequence[int]] = (0, 0), **given: Unpack[_Given]) -> Any: ...
integer_sub: _integer_sub

class _integer_mul(Op):
    def __call__(self, x: Any, y: Any, *, element: _In[Any] = None, dtype: _In[Any] = None, to: _In[Any] = None, **given: Unpack[_Given]) -> Any: ...
integer_mul: _integer_mul

class _lookup(Op):
    def __call__(self, x: Any, table: Any, *, low: _In[int] = 0, **given: Unpack[_Given]) -> Any: ...
lookup: _lookup

class _integer_threshold(Op):
    def __call__(self, x: Any, levels: Any, **given: Unpack[_Given]) -> Any: ...
integer_threshold: _integer_threshold

class _rescale(Op):
    def __call__(self, x: Any, *, multiplier: _In[int | int | Sequence[int]] = ..., shift: _In[int | int | Sequence[int]] = ..., element: _In[Any] = ..., dtype: _In[Any] = ..., to: _In[Any] = ..., addend: _In[int | int | Sequence[int]] = 0, offset: _In[int] = 0, rounding: _In[str] = 'half_even', saturate: _In[bool] = True, low: _In[int | None] = None, high: _In[int | None] = None, bound: _In[int | None] = None, **given: Unpack[_Given]) -> Any: ...
rescale: _rescale

class _batch_norm(Op):
    @overload
    def __call__(self, x: Any, gain: Any, shift: Any, mean: Any, var: Any, *, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, *, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, x: Any, gamma: Any, beta: Any, moving_mean: Any, moving_variance: Any, *, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, scale: Any, shift: Any, mean: Any, var: Any, *, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
batch_norm: _batch_norm

class _batch_norm_training(Op):
    @overload
    def __call__(self, x: Any, gain: Any, shift: Any, mean: Any, var: Any, *, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, momentum: _In[float] = 0.9, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, *, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, momentum: _In[float] = 0.9, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, x: Any, gamma: Any, beta: Any, moving_mean: Any, moving_variance: Any, *, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, momentum: _In[float] = 0.9, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, scale: Any, shift: Any, mean: Any, var: Any, *, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, momentum: _In[float] = 0.9, **given: Unpack[_Given]) -> Any: ...
batch_norm_training: _batch_norm_training

class _layer_norm(Op):
    @overload
    def __call__(self, x: Any, gain: Any, shift: Any = ..., *, axis: _In[int] = -1, dim: _In[int] = -1, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, weight: Any, bias: Any = ..., *, axis: _In[int] = -1, dim: _In[int] = -1, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, x: Any, gamma: Any, beta: Any = ..., *, axis: _In[int] = -1, dim: _In[int] = -1, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, scale: Any, shift: Any = ..., *, axis: _In[int] = -1, dim: _In[int] = -1, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
layer_norm: _layer_norm

class _rms_norm(Op):
    @overload
    def __call__(self, x: Any, gain: Any, *, axis: _In[int] = -1, dim: _In[int] = -1, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, weight: Any, *, axis: _In[int] = -1, dim: _In[int] = -1, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, x: Any, gamma: Any, *, axis: _In[int] = -1, dim: _In[int] = -1, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, scale: Any, *, axis: _In[int] = -1, dim: _In[int] = -1, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
rms_norm: _rms_norm

class _instance_norm(Op):
    @overload
    def __call__(self, x: Any, gain: Any, shift: Any, *, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, weight: Any, bias: Any, *, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, x: Any, gamma: Any, beta: Any, *, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, scale: Any, shift: Any, *, epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
instance_norm: _instance_norm

class _group_norm(Op):
    @overload
    def __call__(self, x: Any, gain: Any, shift: Any, *, groups: _In[int] = ..., group: _In[int] = ..., num_groups: _In[int] = ..., epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, weight: Any, bias: Any, *, groups: _In[int] = ..., group: _In[int] = ..., num_groups: _In[int] = ..., epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, x: Any, gamma: Any, beta: Any, *, groups: _In[int] = ..., group: _In[int] = ..., num_groups: _In[int] = ..., epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, scale: Any, shift: Any, *, groups: _In[int] = ..., group: _In[int] = ..., num_groups: _In[int] = ..., epsilon: _In[float] = 1e-05, eps: _In[float] = 1e-05, **given: Unpack[_Given]) -> Any: ...
group_norm: _group_norm

class _lp_norm(Op):
    def __call__(self, x: Any, *, axis: _In[int] = -1, dim: _In[int] = -1, p: _In[int] = 2, **given: Unpack[_Given]) -> Any: ...
lp_norm: _lp_norm

class _mean_variance_norm(Op):
    def __call__(self, x: Any, *, axes: _In[int | Sequence[int]] = (0, 2, 3), dim: _In[int | Sequence[int]] = (0, 2, 3), axis: _In[int | Sequence[int]] = (0, 2, 3), **given: Unpack[_Given]) -> Any: ...
mean_variance_norm: _mean_variance_norm

class _dropout(Op):
    def __call__(self, x: Any, *, ratio: _In[float] = 0.5, p: _In[float] = 0.5, rate: _In[float] = 0.5, **given: Unpack[_Given]) -> Any: ...
dropout: _dropout

class _max_pool(Op):
    def __call__(self, x: Any, *, kernel: _In[int | Sequence[int]] = ..., kernel_size: _In[int | Sequence[int]] = ..., kernel_shape: _In[int | Sequence[int]] = ..., pool_size: _In[int | Sequence[int]] = ..., strides: _In[int | Sequence[int]] = (1, 1), stride: _In[int | Sequence[int]] = (1, 1), pads: _In[str | int | Sequence[int]] = (0, 0, 0, 0), padding: _In[str | int | Sequence[int]] = (0, 0, 0, 0), auto_pad: _In[str | int | Sequence[int]] = (0, 0, 0, 0), dilations: _In[int | Sequence[int]] = (1, 1), dilation: _In[int | Sequence[int]] = (1, 1), dilation_rate: _In[int | Sequence[int]] = (1, 1), ceil_mode: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
max_pool: _max_pool

class _average_pool(Op):
    def __call__(self, x: Any, *, kernel: _In[int | Sequence[int]] = ..., kernel_size: _In[int | Sequence[int]] = ..., kernel_shape: _In[int | Sequence[int]] = ..., pool_size: _In[int | Sequence[int]] = ..., strides: _In[int | Sequence[int]] = (1, 1), stride: _In[int | Sequence[int]] = (1, 1), pads: _In[str | int | Sequence[int]] = (0, 0, 0, 0), padding: _In[str | int | Sequence[int]] = (0, 0, 0, 0), auto_pad: _In[str | int | Sequence[int]] = (0, 0, 0, 0), dilations: _In[int | Sequence[int]] = (1, 1), dilation: _In[int | Sequence[int]] = (1, 1), dilation_rate: _In[int | Sequence[int]] = (1, 1), ceil_mode: _In[bool] = False, count_include_pad: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
average_pool: _average_pool

class _global_average_pool(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
global_average_pool: _global_average_pool

class _global_max_pool(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
global_max_pool: _global_max_pool

class _quant(Op):
    def __call__(self, x: Any, scale: Any, zero_point: Any, bit_width: Any, *, signed: _In[bool] = True, narrow: _In[bool] = False, rounding_mode: _In[str] = 'ROUND', **given: Unpack[_Given]) -> Any: ...
quant: _quant

class _bipolar_quant(Op):
    def __call__(self, x: Any, scale: Any, **given: Unpack[_Given]) -> Any: ...
bipolar_quant: _bipolar_quant

class _trunc(Op):
    def __call__(self, x: Any, scale: Any, zero_point: Any, in_bit_width: Any, out_bit_width: Any, out_scale: Any = ..., *, signed: _In[bool] = True, narrow: _In[bool] = False, rounding_mode: _In[str] = 'FLOOR', **given: Unpack[_Given]) -> Any: ...
trunc: _trunc

class _multi_threshold(Op):
    def __call__(self, x: Any, thresholds: Any, *, out_scale: _In[float] = 1.0, out_bias: _In[float] = 0.0, data_layout: _In[str] = 'NCHW', **given: Unpack[_Given]) -> Any: ...
multi_threshold: _multi_threshold

class _quantize_linear(Op):
    def __call__(self, x: Any, scale: Any, zero_point: Any = ..., *, axis: _In[int] = 1, dim: _In[int] = 1, block_size: _In[int] = 0, blocksize: _In[int] = 0, upscale_factor: _In[int] = 0, downscale_factor: _In[int] = 0, saturate: _In[bool] = True, element: _In[Any] = None, dtype: _In[Any] = None, to: _In[Any] = None, **given: Unpack[_Given]) -> Any: ...
quantize_linear: _quantize_linear

class _dequantize_linear(Op):
    def __call__(self, x: Any, scale: Any, zero_point: Any = ..., *, axis: _In[int] = 1, dim: _In[int] = 1, block_size: _In[int] = 0, blocksize: _In[int] = 0, upscale_factor: _In[int] = 0, downscale_factor: _In[int] = 0, element: _In[Any] = None, dtype: _In[Any] = None, to: _In[Any] = None, **given: Unpack[_Given]) -> Any: ...
dequantize_linear: _dequantize_linear

class _dynamic_quantize_linear(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
dynamic_quantize_linear: _dynamic_quantize_linear

class _to_quantised(Op):
    def __call__(self, x: Any, *, element: _In[Any] = ..., dtype: _In[Any] = ..., to: _In[Any] = ..., **given: Unpack[_Given]) -> Any: ...
to_quantised: _to_quantised

class _from_quantised(Op):
    def __call__(self, x: Any, *, source: _In[Quantised] = ..., element: _In[Any] = 'f32', dtype: _In[Any] = 'f32', to: _In[Any] = 'f32', **given: Unpack[_Given]) -> Any: ...
from_quantised: _from_quantised

class _matmul_integer(Op):
    def __call__(self, a: Any, b: Any, a_zero_point: Any = ..., b_zero_point: Any = ..., **given: Unpack[_Given]) -> Any: ...
matmul_integer: _matmul_integer

class _conv_integer(Op):
    @overload
    def __call__(self, x: Any, w: Any, x_zero_point: Any = ..., w_zero_point: Any = ..., *, strides: _In[int | Sequence[int]] = (1, 1), stride: _In[int | Sequence[int]] = (1, 1), pads: _In[str | int | Sequence[int]] = (0, 0, 0, 0), padding: _In[str | int | Sequence[int]] = (0, 0, 0, 0), auto_pad: _In[str | int | Sequence[int]] = (0, 0, 0, 0), dilations: _In[int | Sequence[int]] = (1, 1), dilation: _In[int | Sequence[int]] = (1, 1), dilation_rate: _In[int | Sequence[int]] = (1, 1), groups: _In[int] = 1, group: _In[int] = 1, num_groups: _In[int] = 1, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, weight: Any, x_zero_point: Any = ..., w_zero_point: Any = ..., *, strides: _In[int | Sequence[int]] = (1, 1), stride: _In[int | Sequence[int]] = (1, 1), pads: _In[str | int | Sequence[int]] = (0, 0, 0, 0), padding: _In[str | int | Sequence[int]] = (0, 0, 0, 0), auto_pad: _In[str | int | Sequence[int]] = (0, 0, 0, 0), dilations: _In[int | Sequence[int]] = (1, 1), dilation: _In[int | Sequence[int]] = (1, 1), dilation_rate: _In[int | Sequence[int]] = (1, 1), groups: _In[int] = 1, group: _In[int] = 1, num_groups: _In[int] = 1, **given: Unpack[_Given]) -> Any: ...
conv_integer: _conv_integer

class _qlinear_matmul(Op):
    def __call__(self, a: Any, a_scale: Any, a_zero_point: Any, b: Any, b_scale: Any, b_zero_point: Any, y_scale: Any, y_zero_point: Any, *, element: _In[Any] = None, dtype: _In[Any] = None, to: _In[Any] = None, **given: Unpack[_Given]) -> Any: ...
qlinear_matmul: _qlinear_matmul

class _qlinear_conv(Op):
    @overload
    def __call__(self, x: Any, x_scale: Any, x_zero_point: Any, w: Any, w_scale: Any, w_zero_point: Any, y_scale: Any, y_zero_point: Any, b: Any = ..., *, strides: _In[int | Sequence[int]] = (1, 1), stride: _In[int | Sequence[int]] = (1, 1), pads: _In[str | int | Sequence[int]] = (0, 0, 0, 0), padding: _In[str | int | Sequence[int]] = (0, 0, 0, 0), auto_pad: _In[str | int | Sequence[int]] = (0, 0, 0, 0), dilations: _In[int | Sequence[int]] = (1, 1), dilation: _In[int | Sequence[int]] = (1, 1), dilation_rate: _In[int | Sequence[int]] = (1, 1), groups: _In[int] = 1, group: _In[int] = 1, num_groups: _In[int] = 1, element: _In[Any] = None, dtype: _In[Any] = None, to: _In[Any] = None, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, x_scale: Any, x_zero_point: Any, weight: Any, w_scale: Any, w_zero_point: Any, y_scale: Any, y_zero_point: Any, bias: Any = ..., *, strides: _In[int | Sequence[int]] = (1, 1), stride: _In[int | Sequence[int]] = (1, 1), pads: _In[str | int | Sequence[int]] = (0, 0, 0, 0), padding: _In[str | int | Sequence[int]] = (0, 0, 0, 0), auto_pad: _In[str | int | Sequence[int]] = (0, 0, 0, 0), dilations: _In[int | Sequence[int]] = (1, 1), dilation: _In[int | Sequence[int]] = (1, 1), dilation_rate: _In[int | Sequence[int]] = (1, 1), groups: _In[int] = 1, group: _In[int] = 1, num_groups: _In[int] = 1, element: _In[Any] = None, dtype: _In[Any] = None, to: _In[Any] = None, **given: Unpack[_Given]) -> Any: ...
qlinear_conv: _qlinear_conv

class _depth_to_space(Op):
    def __call__(self, x: Any, *, block_size: _In[int] = ..., blocksize: _In[int] = ..., upscale_factor: _In[int] = ..., downscale_factor: _In[int] = ..., mode: _In[str] = 'DCR', **given: Unpack[_Given]) -> Any: ...
depth_to_space: _depth_to_space

class _space_to_depth(Op):
    def __call__(self, x: Any, *, block_size: _In[int] = ..., blocksize: _In[int] = ..., upscale_factor: _In[int] = ..., downscale_factor: _In[int] = ..., mode: _In[str] = 'DCR', **given: Unpack[_Given]) -> Any: ...
space_to_depth: _space_to_depth

class _channel_shuffle(Op):
    def __call__(self, x: Any, *, groups: _In[int] = ..., group: _In[int] = ..., num_groups: _In[int] = ..., **given: Unpack[_Given]) -> Any: ...
channel_shuffle: _channel_shuffle

class _reverse_sequence(Op):
    def __call__(self, x: Any, sequence_lens: Any, *, batch_axis: _In[int] = 1, time_axis: _In[int] = 0, **given: Unpack[_Given]) -> Any: ...
reverse_sequence: _reverse_sequence

class _trilu(Op):
    def __call__(self, x: Any, *, k: _In[Dimension] = 0, diagonal: _In[Dimension] = 0, upper: _In[bool] = True, **given: Unpack[_Given]) -> Any: ...
trilu: _trilu

class _rnn(Op):
    @overload
    def __call__(self, x: Any, w: Any, r: Any, b: Any = ..., initial_h: Any = ..., sequence_lens: Any = ..., *, direction: _In[str] = 'forward', activations: _In[Sequence[str]] = ('tanh',), activation_alpha: _In[float | Sequence[float]] = (), activation_beta: _In[float | Sequence[float]] = (), clip: _In[float | None] = None, layout: _In[int] = 0, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, weight: Any, r: Any, bias: Any = ..., initial_h: Any = ..., sequence_lens: Any = ..., *, direction: _In[str] = 'forward', activations: _In[Sequence[str]] = ('tanh',), activation_alpha: _In[float | Sequence[float]] = (), activation_beta: _In[float | Sequence[float]] = (), clip: _In[float | None] = None, layout: _In[int] = 0, **given: Unpack[_Given]) -> Any: ...
rnn: _rnn

class _gru(Op):
    @overload
    def __call__(self, x: Any, w: Any, r: Any, b: Any = ..., initial_h: Any = ..., sequence_lens: Any = ..., *, direction: _In[str] = 'forward', activations: _In[Sequence[str]] = ('sigmoid', 'tanh'), activation_alpha: _In[float | Sequence[float]] = (), activation_beta: _In[float | Sequence[float]] = (), clip: _In[float | None] = None, layout: _In[int] = 0, linear_before_reset: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, weight: Any, r: Any, bias: Any = ..., initial_h: Any = ..., sequence_lens: Any = ..., *, direction: _In[str] = 'forward', activations: _In[Sequence[str]] = ('sigmoid', 'tanh'), activation_alpha: _In[float | Sequence[float]] = (), activation_beta: _In[float | Sequence[float]] = (), clip: _In[float | None] = None, layout: _In[int] = 0, linear_before_reset: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
gru: _gru

class _lstm(Op):
    @overload
    def __call__(self, x: Any, w: Any, r: Any, b: Any = ..., initial_h: Any = ..., initial_c: Any = ..., p: Any = ..., sequence_lens: Any = ..., *, direction: _In[str] = 'forward', activations: _In[Sequence[str]] = ('sigmoid', 'tanh', 'tanh'), activation_alpha: _In[float | Sequence[float]] = (), activation_beta: _In[float | Sequence[float]] = (), clip: _In[float | None] = None, layout: _In[int] = 0, input_forget: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, weight: Any, r: Any, bias: Any = ..., initial_h: Any = ..., initial_c: Any = ..., p: Any = ..., sequence_lens: Any = ..., *, direction: _In[str] = 'forward', activations: _In[Sequence[str]] = ('sigmoid', 'tanh', 'tanh'), activation_alpha: _In[float | Sequence[float]] = (), activation_beta: _In[float | Sequence[float]] = (), clip: _In[float | None] = None, layout: _In[int] = 0, input_forget: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
lstm: _lstm

class _reduce_sum(Op):
    def __call__(self, x: Any, *, axes: _In[int | Sequence[int] | None] = None, dim: _In[int | Sequence[int] | None] = None, axis: _In[int | Sequence[int] | None] = None, keep_dims: _In[bool] = True, keepdim: _In[bool] = True, keepdims: _In[bool] = True, **given: Unpack[_Given]) -> Any: ...
reduce_sum: _reduce_sum

class _reduce_mean(Op):
    def __call__(self, x: Any, *, axes: _In[int | Sequence[int] | None] = None, dim: _In[int | Sequence[int] | None] = None, axis: _In[int | Sequence[int] | None] = None, keep_dims: _In[bool] = True, keepdim: _In[bool] = True, keepdims: _In[bool] = True, **given: Unpack[_Given]) -> Any: ...
reduce_mean: _reduce_mean

class _reduce_prod(Op):
    def __call__(self, x: Any, *, axes: _In[int | Sequence[int] | None] = None, dim: _In[int | Sequence[int] | None] = None, axis: _In[int | Sequence[int] | None] = None, keep_dims: _In[bool] = True, keepdim: _In[bool] = True, keepdims: _In[bool] = True, **given: Unpack[_Given]) -> Any: ...
reduce_prod: _reduce_prod

class _reduce_max(Op):
    def __call__(self, x: Any, *, axes: _In[int | Sequence[int] | None] = None, dim: _In[int | Sequence[int] | None] = None, axis: _In[int | Sequence[int] | None] = None, keep_dims: _In[bool] = True, keepdim: _In[bool] = True, keepdims: _In[bool] = True, **given: Unpack[_Given]) -> Any: ...
reduce_max: _reduce_max

class _reduce_min(Op):
    def __call__(self, x: Any, *, axes: _In[int | Sequence[int] | None] = None, dim: _In[int | Sequence[int] | None] = None, axis: _In[int | Sequence[int] | None] = None, keep_dims: _In[bool] = True, keepdim: _In[bool] = True, keepdims: _In[bool] = True, **given: Unpack[_Given]) -> Any: ...
reduce_min: _reduce_min

class _reduce_l1(Op):
    def __call__(self, x: Any, *, axes: _In[int | Sequence[int] | None] = None, dim: _In[int | Sequence[int] | None] = None, axis: _In[int | Sequence[int] | None] = None, keep_dims: _In[bool] = True, keepdim: _In[bool] = True, keepdims: _In[bool] = True, **given: Unpack[_Given]) -> Any: ...
reduce_l1: _reduce_l1

class _reduce_sum_square(Op):
    def __call__(self, x: Any, *, axes: _In[int | Sequence[int] | None] = None, dim: _In[int | Sequence[int] | None] = None, axis: _In[int | Sequence[int] | None] = None, keep_dims: _In[bool] = True, keepdim: _In[bool] = True, keepdims: _In[bool] = True, **given: Unpack[_Given]) -> Any: ...
reduce_sum_square: _reduce_sum_square

class _reduce_l2(Op):
    def __call__(self, x: Any, *, axes: _In[int | Sequence[int] | None] = None, dim: _In[int | Sequence[int] | None] = None, axis: _In[int | Sequence[int] | None] = None, keep_dims: _In[bool] = True, keepdim: _In[bool] = True, keepdims: _In[bool] = True, **given: Unpack[_Given]) -> Any: ...
reduce_l2: _reduce_l2

class _reduce_log_sum(Op):
    def __call__(self, x: Any, *, axes: _In[int | Sequence[int] | None] = None, dim: _In[int | Sequence[int] | None] = None, axis: _In[int | Sequence[int] | None] = None, keep_dims: _In[bool] = True, keepdim: _In[bool] = True, keepdims: _In[bool] = True, **given: Unpack[_Given]) -> Any: ...
reduce_log_sum: _reduce_log_sum

class _reduce_log_sum_exp(Op):
    def __call__(self, x: Any, *, axes: _In[int | Sequence[int] | None] = None, dim: _In[int | Sequence[int] | None] = None, axis: _In[int | Sequence[int] | None] = None, keep_dims: _In[bool] = True, keepdim: _In[bool] = True, keepdims: _In[bool] = True, **given: Unpack[_Given]) -> Any: ...
reduce_log_sum_exp: _reduce_log_sum_exp

class _arg_max(Op):
    def __call__(self, x: Any, *, axis: _In[int] = -1, dim: _In[int] = -1, keep_dims: _In[bool] = True, keepdim: _In[bool] = True, keepdims: _In[bool] = True, select_last_index: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
arg_max: _arg_max

class _arg_min(Op):
    def __call__(self, x: Any, *, axis: _In[int] = -1, dim: _In[int] = -1, keep_dims: _In[bool] = True, keepdim: _In[bool] = True, keepdims: _In[bool] = True, select_last_index: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
arg_min: _arg_min

class _top_k(Op):
    def __call__(self, x: Any, *, k: _In[Dimension] = ..., axis: _In[int] = -1, dim: _In[int] = -1, largest: _In[bool] = True, sorted: _In[bool] = True, **given: Unpack[_Given]) -> Any: ...
top_k: _top_k

class _softmax(Op):
    def __call__(self, x: Any, *, axis: _In[int] = -1, dim: _In[int] = -1, **given: Unpack[_Given]) -> Any: ...
softmax: _softmax

class _softmin(Op):
    def __call__(self, x: Any, *, axis: _In[int] = -1, dim: _In[int] = -1, **given: Unpack[_Given]) -> Any: ...
softmin: _softmin

class _log_softmax(Op):
    def __call__(self, x: Any, *, axis: _In[int] = -1, dim: _In[int] = -1, **given: Unpack[_Given]) -> Any: ...
log_softmax: _log_softmax

class _hardmax(Op):
    def __call__(self, x: Any, *, axis: _In[int] = -1, dim: _In[int] = -1, **given: Unpack[_Given]) -> Any: ...
hardmax: _hardmax

class _cum_sum(Op):
    def __call__(self, x: Any, *, axis: _In[int] = ..., dim: _In[int] = ..., exclusive: _In[bool] = False, reverse: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
cum_sum: _cum_sum

class _cum_prod(Op):
    def __call__(self, x: Any, *, axis: _In[int] = ..., dim: _In[int] = ..., exclusive: _In[bool] = False, reverse: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
cum_prod: _cum_prod

class _resize(Op):
    def __call__(self, x: Any, *, sizes: _In[Sequence[Dimension] | None] = None, scales: _In[float | Sequence[float] | None] = None, scale_factor: _In[float | Sequence[float] | None] = None, mode: _In[str] = 'nearest', coordinate_transformation_mode: _In[str] = 'half_pixel', nearest_mode: _In[str] = 'round_prefer_floor', cubic_coeff_a: _In[float] = -0.75, exclude_outside: _In[bool] = False, extrapolation_value: _In[float] = 0.0, roi: _In[float | Sequence[float] | None] = None, antialias: _In[bool] = False, keep_aspect_ratio_policy: _In[str] = 'stretch', axes: _In[int | Sequence[int] | None] = None, dim: _In[int | Sequence[int] | None] = None, axis: _In[int | Sequence[int] | None] = None, **given: Unpack[_Given]) -> Any: ...
resize: _resize

class _scatter_elements(Op):
    def __call__(self, x: Any, indices: Any, updates: Any, *, axis: _In[int] = 0, dim: _In[int] = 0, reduction: _In[str] = 'none', **given: Unpack[_Given]) -> Any: ...
scatter_elements: _scatter_elements

class _scatter_nd(Op):
    def __call__(self, x: Any, indices: Any, updates: Any, *, reduction: _In[str] = 'none', **given: Unpack[_Given]) -> Any: ...
scatter_nd: _scatter_nd

class _tensor_scatter(Op):
    def __call__(self, x: Any, updates: Any, indices: Any = ..., *, mode: _In[Literal['linear', 'circular']] = 'linear', axis: _In[int] = -2, dim: _In[int] = -2, **given: Unpack[_Given]) -> Any: ...
tensor_scatter: _tensor_scatter

class _identity(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
identity: _identity

class _reshape(Op):
    def __call__(self, x: Any, *, shape: _In[Sequence[Dimension]] = ..., allow_zero: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
reshape: _reshape

class _flatten(Op):
    def __call__(self, x: Any, *, axis: _In[int] = 1, dim: _In[int] = 1, **given: Unpack[_Given]) -> Any: ...
flatten: _flatten

class _transpose(Op):
    def __call__(self, x: Any, *, perm: _In[int | Sequence[int]] = ..., dims: _In[int | Sequence[int]] = ..., axes: _In[int | Sequence[int]] = ..., **given: Unpack[_Given]) -> Any: ...
transpose: _transpose

class _squeeze(Op):
    def __call__(self, x: Any, *, axes: _In[int | Sequence[int] | None] = None, dim: _In[int | Sequence[int] | None] = None, axis: _In[int | Sequence[int] | None] = None, **given: Unpack[_Given]) -> Any: ...
squeeze: _squeeze

class _unsqueeze(Op):
    def __call__(self, x: Any, *, axes: _In[int | Sequence[int]] = ..., dim: _In[int | Sequence[int]] = ..., axis: _In[int | Sequence[int]] = ..., **given: Unpack[_Given]) -> Any: ...
unsqueeze: _unsqueeze

class _concat(Op):
    def __call__(self, *xs: Any, axis: _In[int] = ..., dim: _In[int] = ..., **given: Unpack[_Given]) -> Any: ...
concat: _concat

class _pad(Op):
    def __call__(self, x: Any, *, pads: _In[Dimension | Sequence[Dimension]] = ..., padding: _In[Dimension | Sequence[Dimension]] = ..., auto_pad: _In[Dimension | Sequence[Dimension]] = ..., fill: _In[bool | int | float] = 0.0, value: _In[bool | int | float] = 0.0, constant_value: _In[bool | int | float] = 0.0, constant_values: _In[bool | int | float] = 0.0, padding_value: _In[bool | int | float] = 0.0, mode: _In[str] = 'constant', **given: Unpack[_Given]) -> Any: ...
pad: _pad

class _split(Op):
    def __call__(self, x: Any, *, axis: _In[int] = 0, dim: _In[int] = 0, sizes: _In[Sequence[Dimension]] = ..., **given: Unpack[_Given]) -> Any: ...
split: _split

class _slice(Op):
    def __call__(self, x: Any, *, starts: _In[Sequence[Dimension]] = ..., ends: _In[Sequence[Dimension]] = ..., axes: _In[int | Sequence[int] | None] = None, dim: _In[int | Sequence[int] | None] = None, axis: _In[int | Sequence[int] | None] = None, steps: _In[int | Sequence[int] | None] = None, **given: Unpack[_Given]) -> Any: ...
slice: _slice

class _expand(Op):
    def __call__(self, x: Any, *, shape: _In[Sequence[Dimension]] = ..., **given: Unpack[_Given]) -> Any: ...
expand: _expand

class _tile(Op):
    def __call__(self, x: Any, *, repeats: _In[Sequence[Dimension]] = ..., reps: _In[Sequence[Dimension]] = ..., multiples: _In[Sequence[Dimension]] = ..., **given: Unpack[_Given]) -> Any: ...
tile: _tile

class _elu(Op):
    def __call__(self, x: Any, *, alpha: _In[float] = 1.0, negative_slope: _In[float] = 1.0, **given: Unpack[_Given]) -> Any: ...
elu: _elu

class _selu(Op):
    def __call__(self, x: Any, *, alpha: _In[float] = 1.6732631921768188, gamma: _In[float] = 1.0507010221481323, **given: Unpack[_Given]) -> Any: ...
selu: _selu

class _celu(Op):
    def __call__(self, x: Any, *, alpha: _In[float] = 1.0, negative_slope: _In[float] = 1.0, **given: Unpack[_Given]) -> Any: ...
celu: _celu

class _gelu(Op):
    def __call__(self, x: Any, *, approximate: _In[str] = 'none', **given: Unpack[_Given]) -> Any: ...
gelu: _gelu

class _softplus(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
softplus: _softplus

class _softsign(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
softsign: _softsign

class _silu(Op):
    def __call__(self, x: Any, *, alpha: _In[float] = 1.0, **given: Unpack[_Given]) -> Any: ...
silu: _silu

class _mish(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
mish: _mish

class _register(Op):
    def __call__(self, x: Any, *, initial: _In[int | float] = 0, **given: Unpack[_Given]) -> Any: ...
register: _register

class _delay(Op):
    def __call__(self, x: Any, *, cycles: _In[int] = ..., initial: _In[int | float] = 0, **given: Unpack[_Given]) -> Any: ...
delay: _delay

class _input(Op):
    def __call__(self, *, index: _In[int] = 0, **given: Unpack[_Given]) -> Any: ...
input: _input

class _output(Op):
    def __call__(self, x: Any, *, index: _In[int] = 0, **given: Unpack[_Given]) -> Any: ...
output: _output

class _constant(Op):
    def __call__(self, *, value: _In[Any] = ..., **given: Unpack[_Given]) -> Any: ...
constant: _constant

class _counter(Op):
    def __call__(self, *, element: _In[Any] = ..., dtype: _In[Any] = ..., to: _In[Any] = ..., **given: Unpack[_Given]) -> Any: ...
counter: _counter

class _transfer(Op):
    def __call__(self, x: Any, *, backend: _In[str | None] = None, **given: Unpack[_Given]) -> Any: ...
transfer: _transfer

class _random_dropout(Op):
    def __call__(self, x: Any, *, ratio: _In[float] = 0.5, p: _In[float] = 0.5, rate: _In[float] = 0.5, seed: _In[int] = 0, **given: Unpack[_Given]) -> Any: ...
random_dropout: _random_dropout

class _conv_transpose(Op):
    @overload
    def __call__(self, x: Any, w: Any, b: Any = ..., *, strides: _In[int | Sequence[int]] = (1, 1), stride: _In[int | Sequence[int]] = (1, 1), pads: _In[str | int | Sequence[int]] = (0, 0, 0, 0), padding: _In[str | int | Sequence[int]] = (0, 0, 0, 0), auto_pad: _In[str | int | Sequence[int]] = (0, 0, 0, 0), dilations: _In[int | Sequence[int]] = (1, 1), dilation: _In[int | Sequence[int]] = (1, 1), dilation_rate: _In[int | Sequence[int]] = (1, 1), groups: _In[int] = 1, group: _In[int] = 1, num_groups: _In[int] = 1, output_padding: _In[int | Sequence[int]] = (0, 0), **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, weight: Any, bias: Any = ..., *, strides: _In[int | Sequence[int]] = (1, 1), stride: _In[int | Sequence[int]] = (1, 1), pads: _In[str | int | Sequence[int]] = (0, 0, 0, 0), padding: _In[str | int | Sequence[int]] = (0, 0, 0, 0), auto_pad: _In[str | int | Sequence[int]] = (0, 0, 0, 0), dilations: _In[int | Sequence[int]] = (1, 1), dilation: _In[int | Sequence[int]] = (1, 1), dilation_rate: _In[int | Sequence[int]] = (1, 1), groups: _In[int] = 1, group: _In[int] = 1, num_groups: _In[int] = 1, output_padding: _In[int | Sequence[int]] = (0, 0), **given: Unpack[_Given]) -> Any: ...
conv_transpose: _conv_transpose

class _max_pool_with_indices(Op):
    def __call__(self, x: Any, *, kernel: _In[int | Sequence[int]] = ..., kernel_size: _In[int | Sequence[int]] = ..., kernel_shape: _In[int | Sequence[int]] = ..., pool_size: _In[int | Sequence[int]] = ..., strides: _In[int | Sequence[int]] = (1, 1), stride: _In[int | Sequence[int]] = (1, 1), pads: _In[str | int | Sequence[int]] = (0, 0, 0, 0), padding: _In[str | int | Sequence[int]] = (0, 0, 0, 0), auto_pad: _In[str | int | Sequence[int]] = (0, 0, 0, 0), dilations: _In[int | Sequence[int]] = (1, 1), dilation: _In[int | Sequence[int]] = (1, 1), dilation_rate: _In[int | Sequence[int]] = (1, 1), ceil_mode: _In[bool] = False, storage_order: _In[int] = 0, **given: Unpack[_Given]) -> Any: ...
max_pool_with_indices: _max_pool_with_indices

class _lp_pool(Op):
    def __call__(self, x: Any, *, kernel: _In[int | Sequence[int]] = ..., kernel_size: _In[int | Sequence[int]] = ..., kernel_shape: _In[int | Sequence[int]] = ..., pool_size: _In[int | Sequence[int]] = ..., strides: _In[int | Sequence[int]] = (1, 1), stride: _In[int | Sequence[int]] = (1, 1), pads: _In[str | int | Sequence[int]] = (0, 0, 0, 0), padding: _In[str | int | Sequence[int]] = (0, 0, 0, 0), auto_pad: _In[str | int | Sequence[int]] = (0, 0, 0, 0), dilations: _In[int | Sequence[int]] = (1, 1), dilation: _In[int | Sequence[int]] = (1, 1), dilation_rate: _In[int | Sequence[int]] = (1, 1), ceil_mode: _In[bool] = False, p: _In[int] = 2, **given: Unpack[_Given]) -> Any: ...
lp_pool: _lp_pool

class _global_lp_pool(Op):
    def __call__(self, x: Any, *, p: _In[int] = 2, **given: Unpack[_Given]) -> Any: ...
global_lp_pool: _global_lp_pool

class _lrn(Op):
    def __call__(self, x: Any, *, size: _In[int] = ..., alpha: _In[float] = 0.0001, beta: _In[float] = 0.75, bias: _In[float] = 1.0, **given: Unpack[_Given]) -> Any: ...
lrn: _lrn

class _grid_sample(Op):
    def __call__(self, x: Any, grid: Any, *, mode: _In[Literal['linear', 'nearest', 'cubic']] = 'linear', padding_mode: _In[Literal['zeros', 'border', 'reflection']] = 'zeros', align_corners: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
grid_sample: _grid_sample

class _affine_grid(Op):
    def __call__(self, theta: Any, *, size: _In[Sequence[Dimension]] = ..., align_corners: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
affine_grid: _affine_grid

class _nll_loss(Op):
    def __call__(self, x: Any, target: Any, weight: Any = ..., *, reduction: _In[Literal['mean', 'sum', 'none']] = 'mean', ignore_index: _In[int | None] = None, **given: Unpack[_Given]) -> Any: ...
nll_loss: _nll_loss

class _fold(Op):
    def __call__(self, x: Any, *, size: _In[Sequence[Dimension]] = ..., kernel: _In[int | Sequence[int]] = ..., kernel_size: _In[int | Sequence[int]] = ..., kernel_shape: _In[int | Sequence[int]] = ..., pool_size: _In[int | Sequence[int]] = ..., strides: _In[int | Sequence[int]] = (1, 1), stride: _In[int | Sequence[int]] = (1, 1), pads: _In[int | Sequence[int]] = (0, 0, 0, 0), padding: _In[int | Sequence[int]] = (0, 0, 0, 0), auto_pad: _In[int | Sequence[int]] = (0, 0, 0, 0), dilations: _In[int | Sequence[int]] = (1, 1), dilation: _In[int | Sequence[int]] = (1, 1), dilation_rate: _In[int | Sequence[int]] = (1, 1), **given: Unpack[_Given]) -> Any: ...
fold: _fold

class _max_unpool(Op):
    def __call__(self, x: Any, indices: Any, *, kernel: _In[int | Sequence[int]] = ..., kernel_size: _In[int | Sequence[int]] = ..., kernel_shape: _In[int | Sequence[int]] = ..., pool_size: _In[int | Sequence[int]] = ..., strides: _In[int | Sequence[int]] = (1, 1), stride: _In[int | Sequence[int]] = (1, 1), pads: _In[int | Sequence[int]] = (0, 0, 0, 0), padding: _In[int | Sequence[int]] = (0, 0, 0, 0), auto_pad: _In[int | Sequence[int]] = (0, 0, 0, 0), size: _In[Sequence[Dimension] | None] = None, **given: Unpack[_Given]) -> Any: ...
max_unpool: _max_unpool

class _roi_align(Op):
    def __call__(self, x: Any, rois: Any, indices: Any, *, mode: _In[Literal['avg', 'max']] = 'avg', output_height: _In[int] = 1, output_width: _In[int] = 1, sampling_ratio: _In[int] = 0, spatial_scale: _In[float] = 1.0, coordinate_transformation_mode: _In[Literal['half_pixel', 'output_half_pixel']] = 'half_pixel', **given: Unpack[_Given]) -> Any: ...
roi_align: _roi_align

class _deform_conv(Op):
    @overload
    def __call__(self, x: Any, w: Any, offset: Any, b: Any = ..., mask: Any = ..., *, strides: _In[int | Sequence[int]] = (1, 1), stride: _In[int | Sequence[int]] = (1, 1), pads: _In[str | int | Sequence[int]] = (0, 0, 0, 0), padding: _In[str | int | Sequence[int]] = (0, 0, 0, 0), auto_pad: _In[str | int | Sequence[int]] = (0, 0, 0, 0), dilations: _In[int | Sequence[int]] = (1, 1), dilation: _In[int | Sequence[int]] = (1, 1), dilation_rate: _In[int | Sequence[int]] = (1, 1), groups: _In[int] = 1, group: _In[int] = 1, num_groups: _In[int] = 1, offset_groups: _In[int] = 1, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, input: Any, weight: Any, offset: Any, bias: Any = ..., mask: Any = ..., *, strides: _In[int | Sequence[int]] = (1, 1), stride: _In[int | Sequence[int]] = (1, 1), pads: _In[str | int | Sequence[int]] = (0, 0, 0, 0), padding: _In[str | int | Sequence[int]] = (0, 0, 0, 0), auto_pad: _In[str | int | Sequence[int]] = (0, 0, 0, 0), dilations: _In[int | Sequence[int]] = (1, 1), dilation: _In[int | Sequence[int]] = (1, 1), dilation_rate: _In[int | Sequence[int]] = (1, 1), groups: _In[int] = 1, group: _In[int] = 1, num_groups: _In[int] = 1, offset_groups: _In[int] = 1, **given: Unpack[_Given]) -> Any: ...
deform_conv: _deform_conv

class _bit_cast(Op):
    def __call__(self, x: Any, *, element: _In[Any] = ..., dtype: _In[Any] = ..., to: _In[Any] = ..., **given: Unpack[_Given]) -> Any: ...
bit_cast: _bit_cast

class _dft(Op):
    def __call__(self, x: Any, *, length: _In[Dimension | None] = None, axis: _In[int] = -2, dim: _In[int] = -2, inverse: _In[bool] = False, onesided: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
dft: _dft

class _stft(Op):
    def __call__(self, x: Any, window: Any = ..., *, step: _In[int] = ..., length: _In[Dimension | None] = None, onesided: _In[bool] = True, **given: Unpack[_Given]) -> Any: ...
stft: _stft

class _mel_weight_matrix(Op):
    def __call__(self, *, num_mel_bins: _In[int] = ..., dft_length: _In[int] = ..., sample_rate: _In[int] = ..., lower_edge: _In[float] = ..., upper_edge: _In[float] = ..., element: _In[Any] = 'f32', dtype: _In[Any] = 'f32', to: _In[Any] = 'f32', **given: Unpack[_Given]) -> Any: ...
mel_weight_matrix: _mel_weight_matrix

class _linear_attention(Op):
    def __call__(self, query: Any, key: Any, value: Any, past: Any = ..., decay: Any = ..., beta: Any = ..., *, heads: _In[int] = ..., kv_heads: _In[int] = ..., update_rule: _In[Literal['gated_delta', 'linear', 'gated', 'delta']] = 'gated_delta', scale: _In[float | None] = None, **given: Unpack[_Given]) -> Any: ...
linear_attention: _linear_attention

class _cond(Op):
    def __call__(self, condition: Any, *values: Any, then: _In[Body] = ..., otherwise: _In[Body] = ..., **given: Unpack[_Given]) -> Any: ...
cond: _cond

class _loop(Op):
    def __call__(self, count: Any = ..., condition: Any = ..., *values: Any, body: _In[Body] = ..., carried: _In[int | None] = None, **given: Unpack[_Given]) -> Any: ...
loop: _loop

class _scan(Op):
    def __call__(self, *values: Any, body: _In[Body] = ..., carried: _In[int] = 0, sequences: _In[int] = 1, axes: _In[int | Sequence[int]] = (), dim: _In[int | Sequence[int]] = (), axis: _In[int | Sequence[int]] = (), backwards: _In[Sequence[bool]] = (), output_axes: _In[int | Sequence[int]] = (), output_backwards: _In[Sequence[bool]] = (), **given: Unpack[_Given]) -> Any: ...
scan: _scan

class _tree_ensemble(Op):
    def __call__(self, x: Any, *, roots: _In[int | Sequence[int]] = ..., features: _In[np.ndarray] = ..., thresholds: _In[np.ndarray] = ..., branches: _In[np.ndarray] = ..., leaves: _In[np.ndarray] = ..., comparisons: _In[np.ndarray | None] = None, missing: _In[np.ndarray | None] = None, aggregate: _In[Literal['sum', 'average', 'min', 'max']] = 'sum', **given: Unpack[_Given]) -> Any: ...
tree_ensemble: _tree_ensemble

class _encode_labels(Op):
    def __call__(self, x: Any, *, keys: _In[Sequence[Any]] = ..., values: _In[Sequence[Any]] = ..., default: _In[Any] = ..., element: _In[Any] = ..., dtype: _In[Any] = ..., to: _In[Any] = ..., **given: Unpack[_Given]) -> Any: ...
encode_labels: _encode_labels

class _string_concat(Op):
    def __call__(self, x: Any, y: Any, **given: Unpack[_Given]) -> Any: ...
string_concat: _string_concat

class _regex_full_match(Op):
    def __call__(self, x: Any, *, pattern: _In[str] = ..., **given: Unpack[_Given]) -> Any: ...
regex_full_match: _regex_full_match

class _string_split(Op):
    def __call__(self, x: Any, *, delimiter: _In[str | None] = None, maxsplit: _In[int | None] = None, **given: Unpack[_Given]) -> Any: ...
string_split: _string_split

class _string_normalize(Op):
    def __call__(self, x: Any, *, case: _In[str] = 'none', stopwords: _In[Sequence[str]] = (), is_case_sensitive: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
string_normalize: _string_normalize

class _nonzero(Op):
    def __call__(self, x: Any, **given: Unpack[_Given]) -> Any: ...
nonzero: _nonzero

class _compress(Op):
    def __call__(self, x: Any, condition: Any, *, axis: _In[int | None] = None, dim: _In[int | None] = None, **given: Unpack[_Given]) -> Any: ...
compress: _compress

class _unique(Op):
    def __call__(self, x: Any, *, axis: _In[int | None] = None, dim: _In[int | None] = None, sorted: _In[bool] = True, **given: Unpack[_Given]) -> Any: ...
unique: _unique

class _non_max_suppression(Op):
    def __call__(self, boxes: Any, scores: Any, *, max_output_boxes_per_class: _In[int] = 0, iou_threshold: _In[float] = 0.0, score_threshold: _In[float | None] = None, center_point_box: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
non_max_suppression: _non_max_suppression

class _rand_like(Op):
    def __call__(self, x: Any, *, low: _In[float] = 0.0, high: _In[float] = 1.0, seed: _In[int] = 0, element: _In[Any] = None, dtype: _In[Any] = None, to: _In[Any] = None, **given: Unpack[_Given]) -> Any: ...
rand_like: _rand_like

class _randn_like(Op):
    def __call__(self, x: Any, *, mean: _In[float] = 0.0, scale: _In[float] = 1.0, seed: _In[int] = 0, element: _In[Any] = None, dtype: _In[Any] = None, to: _In[Any] = None, **given: Unpack[_Given]) -> Any: ...
randn_like: _randn_like

class _tfidf_vectorize(Op):
    def __call__(self, x: Any, *, pool: _In[Sequence[Any]] = ..., starts: _In[int | Sequence[int]] = ..., indexes: _In[int | Sequence[int]] = ..., weights: _In[float | Sequence[float] | None] = None, mode: _In[Literal['TF', 'IDF', 'TFIDF']] = 'TF', shortest: _In[int] = 1, longest: _In[int] = 1, skips: _In[int] = 0, **given: Unpack[_Given]) -> Any: ...
tfidf_vectorize: _tfidf_vectorize

class _attention(Op):
    def __call__(self, q: Any, k: Any, v: Any, mask: Any = ..., *, scale: _In[float | None] = None, is_causal: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
attention: _attention

class _rotary_embedding(Op):
    def __call__(self, x: Any, cos: Any, sin: Any, *, interleaved: _In[bool] = False, **given: Unpack[_Given]) -> Any: ...
rotary_embedding: _rotary_embedding

class _multiply_fixed_point(Op):
    def __call__(self, x: Any, multiplier: Any, exponent: Any, *, input_zero_point: _In[int] = 0, left_shift: _In[int] = 0, zero_point: _In[int] = 0, element: _In[Any] = 'i8', dtype: _In[Any] = 'i8', to: _In[Any] = 'i8', low: _In[int | None] = None, high: _In[int | None] = None, **given: Unpack[_Given]) -> Any: ...
multiply_fixed_point: _multiply_fixed_point

class _round_half_away(Op):
    def __call__(self, x: Any, *, zero_point: _In[int] = 0, element: _In[Any] = 'i8', dtype: _In[Any] = 'i8', to: _In[Any] = 'i8', low: _In[int | None] = None, high: _In[int | None] = None, **given: Unpack[_Given]) -> Any: ...
round_half_away: _round_half_away

class _fixed_point_softmax(Op):
    def __call__(self, x: Any, *, scale: _In[float] = ..., beta: _In[float] = 1.0, **given: Unpack[_Given]) -> Any: ...
fixed_point_softmax: _fixed_point_softmax

class _alloc(Op):
    def __call__(self, *, element: _In[Any] = ..., dtype: _In[Any] = ..., to: _In[Any] = ..., shape: _In[tuple[Dimension, ...]] = ..., layout: _In[str | None] = None, **given: Unpack[_Given]) -> Any: ...
alloc: _alloc

class _into(Op):
    def __call__(self, out: Any, *xs: Any, of: _In[str] = ..., attributes: _In[Mapping[str, Any] | None] = None, outs: _In[int] = 1, then: _In[Body | None] = None, otherwise: _In[Body | None] = None, body: _In[Body | None] = None, **given: Unpack[_Given]) -> Any: ...
into: _into

class _copy(Op):
    @overload
    def __call__(self, out: Any, x: Any, **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, out: Any, input: Any, **given: Unpack[_Given]) -> Any: ...
copy: _copy

class _view(Op):
    def __call__(self, x: Any, *, shape: _In[Sequence[Dimension]] = ..., offset: _In[Dimension] = 0, layout: _In[str | None] = None, **given: Unpack[_Given]) -> Any: ...
view: _view

class _insert(Op):
    @overload
    def __call__(self, out: Any, x: Any, *, starts: _In[Sequence[Dimension]] = ..., **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, out: Any, input: Any, *, starts: _In[Sequence[Dimension]] = ..., **given: Unpack[_Given]) -> Any: ...
insert: _insert

class _extract(Op):
    @overload
    def __call__(self, out: Any, x: Any, *, starts: _In[Sequence[Dimension]] = ..., **given: Unpack[_Given]) -> Any: ...
    @overload
    def __call__(self, out: Any, input: Any, *, starts: _In[Sequence[Dimension]] = ..., **given: Unpack[_Given]) -> Any: ...
extract: _extract

class _fake_quantise(Op):
    def __call__(self, x: Any, exponent: Any, *, width: _In[int] = 8, signed: _In[bool] = True, **given: Unpack[_Given]) -> Any: ...
fake_quantise: _fake_quantise
