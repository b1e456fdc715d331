"""Messages of protocol buffers in which frameworks define ops and map them, read from text."""

from __future__ import annotations

import re
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

from graphrewrite.errors import MissingDependencyError
from graphrewrite.lowering.errors import ModelError

if TYPE_CHECKING:
    from google.protobuf.message import Message

__all__ = ["new_message", "read_message", "written"]

_ENUMS = {
    "ArgType": "FLOAT DOUBLE INT32 INT64 BOOL STRING INPUT_TENSOR OUTPUT_TENSOR DATA_TYPE INPUT_DATA_TYPE",
    "OpDeclarationType": (
        "CUSTOM_OP_IMPL BOOLEAN_OP_IMPL LIST_OP_IMPL LOGIC_OP_IMPL OP_IMPL DIVERGENT_OP_IMPL CONFIGURABLE_OP_IMPL "
        "REDUCTION_OP_IMPL BROADCASTABLE_OP_IMPL BROADCASTABLE_BOOL_OP_IMPL LEGACY_XYZ PLATFORM_IMPL PLATFORM_CHECK"
    ),
    "DataType": (
        "DT_INVALID DT_FLOAT DT_DOUBLE DT_INT32 DT_UINT8 DT_INT16 DT_INT8 DT_STRING DT_COMPLEX64 DT_INT64 DT_BOOL "
        "DT_QINT8 DT_QUINT8 DT_QINT32 DT_BFLOAT16 DT_QINT16 DT_QUINT16 DT_UINT16 DT_COMPLEX128 DT_HALF DT_RESOURCE "
        "DT_VARIANT DT_UINT32 DT_UINT64 DT_FLOAT8_E5M2 DT_FLOAT8_E4M3FN"
    ),
}
"""Enumerations, numbered from 0."""

_MESSAGES = {
    # Ops and mapping rules of deeplearning4j; numbers of fields matter in binary files only, and there are none.
    "ArgDescriptor": (
        "name:string floatValue:float doubleValue:double int32Value:int32 int64Value:int64 boolValue:bool "
        "stringValue:string argType:ArgType argIndex:int32 argOptional:bool convertBoolToInt:bool isArray:bool"
    ),
    "OpDescriptor": "name:string *argDescriptor:ArgDescriptor opDeclarationType:OpDeclarationType",
    "OpDescriptorList": "*opList:OpDescriptor",
    "Pair": "key:string=1 value:string=2",
    "IndexPair": "key:int64 value:int64",
    "TransformerArgs": "key:string *transformerArgs:ArgDescriptor",
    "MappingRule": (
        "ruleName:string functionName:string *inputStringAttrName:string *outputStringAttrName:string "
        "*inputIntName:string *outputIntName:string *inputFloatName:string *outputFloatName:string "
        "*inputDoubleName:string *outputDoubleName:string *inputBooleanName:string *outputBooleanName:string "
        "*inputTensorName:string *outputTensorName:string *inputDataTypeName:string *outputDataTypeName:string "
        "*inputToOutput:Pair ruleType:string *transformerArgs:TransformerArgs inputFrameworkOpName:string"
    ),
    "MapperDeclaration": (
        "frameworkName:string opName:string inputFrameworkOpName:string *rule:MappingRule *indexOverrides:IndexPair"
    ),
    "MappingDefinitionSet": "*mappings:MapperDeclaration",
    # TensorFlow's definitions of ops (tensorflow/core/framework: op_def.proto, attr_value.proto, types.proto).
    "Dim": "size:int64=1 name:string=2",
    "TensorShape": "*dim:Dim=2 unknown_rank:bool=3",
    "TensorValue": (
        "dtype:DataType=1 tensor_shape:TensorShape=2 tensor_content:bytes=4 *half_val:int32=13 *float_val:float=5 "
        "*double_val:double=6 *int_val:int32=7 *string_val:bytes=8 *int64_val:int64=10 *bool_val:bool=11 "
        "*uint32_val:uint32=16 *uint64_val:uint64=17"
    ),
    "NameAttrList": "name:string=1 *attr:AttrEntry=2",
    "AttrEntry": "key:string=1 value:AttrValue=2",
    "AttrList": (
        "*s:bytes=2 *i:int64=3 *f:float=4 *b:bool=5 *type:DataType=6 *shape:TensorShape=7 *tensor:TensorValue=8 "
        "*func:NameAttrList=9"
    ),
    "AttrValue": (
        "list:AttrList=1 s:bytes=2 i:int64=3 f:float=4 b:bool=5 type:DataType=6 shape:TensorShape=7 "
        "tensor:TensorValue=8 placeholder:string=9 func:NameAttrList=10"
    ),
    "ArgDef": (
        "name:string=1 description:string=2 type:DataType=3 type_attr:string=4 number_attr:string=5 "
        "type_list_attr:string=6 is_ref:bool=16"
    ),
    "AttrDef": (
        "name:string=1 type:string=2 default_value:AttrValue=3 description:string=4 has_minimum:bool=5 "
        "minimum:int64=6 allowed_values:AttrValue=7"
    ),
    "Deprecation": "version:int32=1 explanation:string=2",
    "OpDef": (
        "name:string=1 *input_arg:ArgDef=2 *output_arg:ArgDef=3 *attr:AttrDef=4 summary:string=5 description:string=6 "
        "deprecation:Deprecation=8 is_aggregate:bool=16 is_stateful:bool=17 is_commutative:bool=18 "
        "allows_uninitialized_input:bool=19 *control_output:string=20 is_distributed_communication:bool=21"
    ),
    "OpList": "*op:OpDef=1",
    "FunctionDef": "signature:OpDef=1 *node_def:NodeDef=3 *ret:Pair=4",
    "FunctionDefLibrary": "*function:FunctionDef=1",
    "VersionDef": "producer:int32=1 min_consumer:int32=2 *bad_consumers:int32=3",
    "GraphDef": "*node:NodeDef=1 library:FunctionDefLibrary=2 version:int32=3 versions:VersionDef=4",
    "NodeDef": "name:string=1 op:string=2 *input:string=3 device:string=4 *attr:AttrEntry=5",
    # Saved models and checkpoints of TensorFlow (tensorflow/core/protobuf: saved_model, meta_graph, tensor_bundle,
    # saved_object_graph, trackable_object_graph).
    "SavedModel": "*meta_graphs:MetaGraphDef=2",
    "MetaGraphDef": (
        "meta_info_def:MetaInfoDef=1 graph_def:GraphDef=2 *signature_def:SignatureEntry=5 "
        "object_graph_def:SavedObjectGraph=7"
    ),
    "SavedObjectGraph": "*nodes:SavedObject=1 *concrete_functions:ConcreteFunctionEntry=2",
    "SavedObject": "variable:SavedVariable=7",
    "SavedVariable": "dtype:DataType=1 shape:TensorShape=2 name:string=6",
    "ConcreteFunctionEntry": "key:string=1 value:SavedConcreteFunction=2",
    "SavedConcreteFunction": "*bound_inputs:int32=2",
    "TrackableObjectGraph": "*nodes:TrackableObject=1",
    "TrackableObject": "*attributes:SerializedTensor=2",
    "SerializedTensor": "name:string=1 full_name:string=2 checkpoint_key:string=3",
    "MetaInfoDef": "*tags:string=4 tensorflow_version:string=5",
    "SignatureEntry": "key:string=1 value:SignatureDef=2",
    "SignatureDef": "*inputs:TensorEntry=1 *outputs:TensorEntry=2",
    "TensorEntry": "key:string=1 value:TensorInfo=2",
    "TensorInfo": "name:string=1 dtype:DataType=2 tensor_shape:TensorShape=3",
    "BundleHeader": "num_shards:int32=1 endianness:int32=2",
    "BundleEntry": (
        "dtype:DataType=1 shape:TensorShape=2 shard_id:int32=3 offset:int64=4 size:int64=5 *slices:TensorSlice=7"
    ),
    "TensorSlice": "has_extent:bool=1",
}
"""Messages and their fields, those that repeat with a star; an entry of a map is a message of its own."""

_SCALARS = ("double", "float", "int64", "int32", "uint32", "uint64", "bool", "string", "bytes")


@cache
def _classes() -> dict[str, Any]:
    """Return the class of each message."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise MissingDependencyError.of_extra("definitions of ops", "onnx") from None
    file = descriptor_pb2.FileDescriptorProto(name="definitions.proto", package="definitions", syntax="proto2")
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, values in _ENUMS.items():
        kind = file.enum_type.add(name=name)
        for index, value in enumerate(values.split()):
            kind.value.add(name=value, number=index)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for place, field in enumerate(fields.split(), 1):
            word, _, rest = field.lstrip("*").partition(":")
            type_name, _, number = rest.partition("=")
            label = kinds.LABEL_REPEATED if field[0] == "*" else kinds.LABEL_OPTIONAL
            entry = message.field.add(name=word, number=int(number or place), label=label)
            if type_name in _SCALARS:
                entry.type = getattr(kinds, f"TYPE_{type_name.upper()}")
            else:
                entry.type = kinds.TYPE_ENUM if type_name in _ENUMS else kinds.TYPE_MESSAGE
                entry.type_name = f".definitions.{type_name}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"definitions.{name}")) for name in _MESSAGES
    }


def new_message(name: str) -> Any:
    """Return an empty message."""
    return _classes()[name]()


def read_message(text: str, message: Message, source: str) -> Any:
    """Fill a message from its text form, and return it.

    Raises
    ------
    ModelError
        If the text is damaged or of another message; with line and column.
    """
    from google.protobuf import text_format

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # Python's, of a backslash before any letter
            return text_format.Parse(text, message)
    except DeprecationWarning as error:
        raise ModelError(f"{source}: {error}; expected the text form of a {message.DESCRIPTOR.name}") from None
    except text_format.ParseError as error:
        line, column = error.GetLine(), error.GetColumn()
        place = f", line {line}, column {column}" if line is not None else ""
        what = re.sub(r"^\d+:\d+ : ", "", str(error)).split("\n", maxsplit=1)[0]
        what = what.replace("definitions.", "")
        name = message.DESCRIPTOR.name
        raise ModelError(f"{source}{place}: {what}; expected the text form of a {name}") from None


def written(message: Message) -> str:
    """Return the text form of a message."""
    from google.protobuf import text_format

    return str(text_format.MessageToString(message))
