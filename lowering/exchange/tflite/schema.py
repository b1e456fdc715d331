"""The schema of TensorFlow Lite files, as far as it is read (tensorflow/compiler/mlir/lite/schema, version 3)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

__all__ = ["ACTIVATIONS", "ELEMENTS", "IDENTIFIER", "OPERATORS", "OPTIONS", "TABLES", "Field", "fields_of"]

IDENTIFIER = b"TFL3"
"""Bytes 4 to 8 of a file."""

ELEMENTS: Mapping[int, str] = {
    0: "f32",
    1: "f16",
    2: "i32",
    3: "u8",
    4: "i64",
    6: "bool",
    7: "i16",
    9: "i8",
    10: "f64",
    12: "u64",
    15: "u32",
    16: "u16",
    17: "i4",
    18: "bf16",
}
"""Element types by the numbers of TensorType; strings, complex numbers, resources and variants are none."""

ACTIVATIONS = ("none", "relu", "relu_n1_to_1", "relu6", "tanh", "sign_bit")
"""ActivationFunctionType."""

_OPERATORS = """
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR
FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM
MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS
SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND
SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN
EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2
GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG
SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT
UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU
SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE
MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5
SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO
RFFT2D CONV_3D IMAG REAL COMPLEX_ABS HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL
CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE
RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX
UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD
STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE
STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION STABLEHLO_SLICE STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS
STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM STABLEHLO_NEGATE
STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH
STABLEHLO_SCATTER STABLEHLO_COMPARE STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE
STABLEHLO_PAD STABLEHLO_IOTA STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE
STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW STABLEHLO_COMPOSITE
STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT
"""
OPERATORS: tuple[str, ...] = tuple(_OPERATORS.split())
"""BuiltinOperator, by number."""

OPTIONS: Mapping[int, str] = {
    1: "Conv2DOptions",
    2: "DepthwiseConv2DOptions",
    5: "Pool2DOptions",
    6: "SVDFOptions",
    8: "FullyConnectedOptions",
    9: "SoftmaxOptions",
    10: "ConcatenationOptions",
    11: "AddOptions",
    12: "L2NormOptions",
    13: "LocalResponseNormalizationOptions",
    15: "ResizeBilinearOptions",
    17: "ReshapeOptions",
    19: "SpaceToDepthOptions",
    21: "MulOptions",
    23: "GatherOptions",
    27: "ReducerOptions",
    28: "SubOptions",
    29: "DivOptions",
    30: "SqueezeOptions",
    32: "StridedSliceOptions",
    35: "SplitOptions",
    37: "CastOptions",
    40: "ArgMaxOptions",
    49: "TransposeConvOptions",
    55: "ShapeOptions",
    57: "ArgMinOptions",
    59: "PackOptions",
    61: "OneHotOptions",
    64: "UnpackOptions",
    74: "ResizeNearestNeighborOptions",
    75: "LeakyReluOptions",
    77: "MirrorPadOptions",
    79: "SplitVOptions",
    87: "ReverseSequenceOptions",
    92: "IfOptions",
    93: "WhileOptions",
    94: "DepthToSpaceOptions",
    101: "BatchMatMulOptions",
    102: "CumsumOptions",
    71: "UnidirectionalSequenceLSTMOptions",
    103: "CallOnceOptions",
    111: "VarHandleOptions",
    116: "GeluOptions",
}
"""BuiltinOptions, by number: those with fields that are read."""

_ACTIVATED = "fused_activation_function:i8"
TABLES: Mapping[str, str] = {
    "Model": "version:u32 operator_codes:[OperatorCode] subgraphs:[SubGraph] description:str buffers:[Buffer] "
    "metadata_buffer:[i32] metadata:[Metadata] signature_defs:[SignatureDef]",
    "OperatorCode": "deprecated_builtin_code:i8 custom_code:str version:i32=1 builtin_code:i32",
    "SubGraph": "tensors:[Tensor] inputs:[i32] outputs:[i32] operators:[Operator] name:str",
    "Buffer": "data:[u8] offset:u64 size:u64",
    "Metadata": "name:str buffer:u32",
    "SignatureDef": "inputs:[TensorMap] outputs:[TensorMap] signature_key:str _:u32 subgraph_index:u32",
    "TensorMap": "name:str tensor_index:u32",
    "Tensor": "shape:[i32] type:i8 buffer:u32 name:str quantization:QuantizationParameters is_variable:bool "
    "sparsity:SparsityParameters shape_signature:[i32] has_rank:bool",
    "QuantizationParameters": "min:[f32] max:[f32] scale:[f32] zero_point:[i64] details_type:u8 "
    "details:QuantizationDetails quantized_dimension:i32",
    "SparsityParameters": "traversal_order:[i32]",
    "Operator": "opcode_index:u32 inputs:[i32] outputs:[i32] builtin_options_type:u8 builtin_options:BuiltinOptions "
    "custom_options:[u8] _:u32 _:u32 intermediates:[i32]",
    "AddOptions": f"{_ACTIVATED} pot_scale_int16:bool=1",
    "ArgMaxOptions": "output_type:i8",
    "ArgMinOptions": "output_type:i8",
    "BatchMatMulOptions": "adj_x:bool adj_y:bool asymmetric_quantize_inputs:bool",
    "CallOnceOptions": "init_subgraph_index:i32",
    "CastOptions": "in_data_type:i8 out_data_type:i8",
    "ConcatenationOptions": f"axis:i32 {_ACTIVATED}",
    "Conv2DOptions": f"padding:i8 stride_w:i32 stride_h:i32 {_ACTIVATED} dilation_w_factor:i32=1 "
    "dilation_h_factor:i32=1 quantized_bias_type:i8",
    "CumsumOptions": "exclusive:bool reverse:bool",
    "DepthToSpaceOptions": "block_size:i32",
    "DepthwiseConv2DOptions": f"padding:i8 stride_w:i32 stride_h:i32 depth_multiplier:i32 {_ACTIVATED} "
    "dilation_w_factor:i32=1 dilation_h_factor:i32=1",
    "DivOptions": _ACTIVATED,
    "FullyConnectedOptions": f"{_ACTIVATED} weights_format:i8 keep_num_dims:bool asymmetric_quantize_inputs:bool "
    "quantized_bias_type:i8",
    "GatherOptions": "axis:i32 batch_dims:i32",
    "GeluOptions": "approximate:bool",
    "IfOptions": "then_subgraph_index:i32 else_subgraph_index:i32",
    "L2NormOptions": _ACTIVATED,
    "LeakyReluOptions": "alpha:f32",
    "LocalResponseNormalizationOptions": "radius:i32 bias:f32 alpha:f32 beta:f32",
    "MirrorPadOptions": "mode:i8",
    "MulOptions": _ACTIVATED,
    "OneHotOptions": "axis:i32",
    "PackOptions": "values_count:i32 axis:i32",
    "Pool2DOptions": f"padding:i8 stride_w:i32 stride_h:i32 filter_width:i32 filter_height:i32 {_ACTIVATED}",
    "ReducerOptions": "keep_dims:bool",
    "ReshapeOptions": "new_shape:[i32]",
    "ResizeBilinearOptions": "_:i32 _:i32 align_corners:bool half_pixel_centers:bool",
    "ResizeNearestNeighborOptions": "align_corners:bool half_pixel_centers:bool",
    "ReverseSequenceOptions": "seq_dim:i32 batch_dim:i32",
    "SVDFOptions": f"rank:i32 {_ACTIVATED} asymmetric_quantize_inputs:bool",
    "ShapeOptions": "out_type:i8",
    "SoftmaxOptions": "beta:f32",
    "SpaceToDepthOptions": "block_size:i32",
    "SplitOptions": "num_splits:i32",
    "SplitVOptions": "num_splits:i32",
    "SqueezeOptions": "squeeze_dims:[i32]",
    "StridedSliceOptions": "begin_mask:i32 end_mask:i32 ellipsis_mask:i32 new_axis_mask:i32 shrink_axis_mask:i32 "
    "offset:bool",
    "SubOptions": f"{_ACTIVATED} pot_scale_int16:bool=1",
    "TransposeConvOptions": f"padding:i8 stride_w:i32 stride_h:i32 {_ACTIVATED} quantized_bias_type:i8",
    "UnidirectionalSequenceLSTMOptions": f"{_ACTIVATED} cell_clip:f32 proj_clip:f32 time_major:bool "
    "asymmetric_quantize_inputs:bool diagonal_recurrent_tensors:bool",
    "UnpackOptions": "num:i32 axis:i32",
    "VarHandleOptions": "container:str shared_name:str",
    "WhileOptions": "cond_subgraph_index:i32 body_subgraph_index:i32",
}
"""Fields of tables in the order of their slots: name, type, and default if that is not zero."""

_UNIONS: Mapping[str, Mapping[int, str]] = {"BuiltinOptions": OPTIONS, "QuantizationDetails": {}}
_NUMBERS = frozenset({"bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32"})


class Field(NamedTuple):
    """A field of a table; a vector has its entries' type as its kind."""

    name: str
    kind: str
    is_vector: bool
    default: Any
    union: Mapping[int, str] | None


@cache
def fields_of(table: str) -> tuple[Field, ...]:
    """Return the fields of a table.

    Examples
    --------
    >>> [field.name for field in fields_of("PackOptions")]
    ['values_count', 'axis']
    """
    fields = []
    for word in TABLES[table].split():
        name, kind = word.split(":")
        kind, _, default = kind.partition("=")
        is_vector, kind = kind.startswith("["), kind.strip("[]")
        is_number = kind in _NUMBERS and not is_vector
        zero: Any = {"bool": False, "f32": 0.0}.get(kind, 0) if is_number else None
        fields.append(Field(name, kind, is_vector, int(default) if default else zero, _UNIONS.get(kind)))
    return tuple(fields)
