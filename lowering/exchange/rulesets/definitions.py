"""Definitions of ops by the frameworks themselves: names of inputs and outputs, types and defaults of attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from graphrewrite.errors import MissingDependencyError
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.attribute_values import number, numbers, plain
from graphrewrite.lowering.exchange.rulesets.messages import new_message, read_message
from graphrewrite.op.descriptor import Argument, OpDescriptor

__all__ = [
    "ELEMENTS",
    "KIND_OF",
    "FrameworkOp",
    "attribute_value",
    "element_of_type",
    "onnx_ops",
    "read_descriptors",
    "read_onnx_ops",
    "read_tensorflow_ops",
    "text_of",
]

KIND_OF = MappingProxyType(
    {
        "FLOAT": "floats",
        "DOUBLE": "floats",
        "INT32": "integers",
        "INT64": "integers",
        "BOOL": "booleans",
        "STRING": "strings",
        "INPUT_TENSOR": "inputs",
        "OUTPUT_TENSOR": "outputs",
        "DATA_TYPE": "types",
        "INPUT_DATA_TYPE": "types",
    }
)
"""The kind of an argument by deeplearning4j's word for it."""
_TYPES_OF_INPUT = "-types"
"""How names of attributes end by which ONNX's definitions list the types of an input."""
_ANY_TYPE = MappingProxyType(
    {
        "FLOAT": "float",
        "INT": "int",
        "STRING": "string",
        "TENSOR": "tensor",
        "GRAPH": "graph",
        "SPARSE_TENSOR": "tensor",
    }
)


ELEMENTS = {
    "DT_FLOAT": "f32",
    "DT_DOUBLE": "f64",
    "DT_HALF": "f16",
    "DT_BFLOAT16": "bf16",
    "DT_INT8": "i8",
    "DT_INT16": "i16",
    "DT_INT32": "i32",
    "DT_INT64": "i64",
    "DT_UINT8": "u8",
    "DT_UINT16": "u16",
    "DT_UINT32": "u32",
    "DT_UINT64": "u64",
    "DT_BOOL": "bool",
}
"""Element types by TensorFlow's names of them."""


@dataclass(frozen=True)
class FrameworkOp:
    """An op as its framework defines it.

    Attributes
    ----------
    name : str
        The framework's name.
    inputs, outputs : tuple of str
        Names in order.
    attributes : mapping of str to str
        Types by name: ``int float bool string type shape tensor graph func``, or a list of such, ``list(int)``.
    defaults : mapping of str to object
        Values of attributes that a node need not have.
    variadic : mapping of str to str
        Inputs that stand for any number, to the attribute that says it; "" where the rest of the inputs are meant.
    choices : mapping of str to tuple of str
        All that attributes can be, where the definition lists it.
    required : tuple of str
        Attributes that each node has, and that do not follow from its inputs.
    optional : tuple of str
        Inputs that a node need not have.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    variadic: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    def __contains__(self, name: object) -> bool:
        """Whether it has an input or attribute of a name."""
        return name in self.inputs or name in self.attributes


def read_descriptors(path: str | Path) -> dict[str, OpDescriptor]:
    """Return the descriptors in a file of deeplearning4j's op definitions, by the names of the ops.

    Raises
    ------
    ModelError
        If the file is missing, or damaged; with line and column.
    """
    message = read_message(text_of(path), new_message("OpDescriptorList"), Path(path).name)
    found = {}
    for op in message.opList:
        arguments = tuple(
            Argument(each.name, KIND_OF[_word(each, "argType")], each.argIndex) for each in op.argDescriptor
        )
        found[op.name] = OpDescriptor(op.name, arguments, _word(op, "opDeclarationType"))
    return found


def _word(message: Any, name: str) -> str:
    """Return the name of an enumeration's value."""
    return str(message.DESCRIPTOR.fields_by_name[name].enum_type.values_by_number[getattr(message, name)].name)


def read_tensorflow_ops(path: str | Path) -> dict[str, FrameworkOp]:
    """Return the ops in a file of TensorFlow's definitions, by name.

    Raises
    ------
    ModelError
        If the file is missing, or damaged; with line and column.
    """
    message = read_message(text_of(path), new_message("OpList"), Path(path).name)
    found = {}
    for op in message.op:
        counts = {arg.number_attr for arg in op.input_arg}
        found[op.name] = FrameworkOp(
            op.name,
            tuple(arg.name for arg in op.input_arg),
            tuple(arg.name for arg in op.output_arg),
            {attr.name: attr.type for attr in op.attr},
            {attr.name: attribute_value(attr.default_value) for attr in op.attr if attr.HasField("default_value")},
            {
                arg.name: arg.number_attr or arg.type_list_attr
                for arg in op.input_arg
                if arg.number_attr or arg.type_list_attr
            },
            {
                attr.name: attribute_value(attr.allowed_values)
                for attr in op.attr
                if attr.type == "string" and attr.HasField("allowed_values")
            },
            tuple(
                attr.name
                for attr in op.attr
                if not attr.HasField("default_value")
                and attr.type not in ("type", "list(type)")
                and attr.name not in counts
            ),
        )
    return found


def attribute_value(value: Any) -> Any:
    """Return what an attribute of TensorFlow holds: a number, string, name of a type, shape, or a tuple of these."""
    if value.HasField("f"):
        return number(value.f)
    for name in ("i", "b"):
        if value.HasField(name):
            return getattr(value, name)
    if value.HasField("s"):
        return value.s.decode("utf-8", "replace")
    if value.HasField("type"):
        return _type_name(value.type)
    if value.HasField("shape"):
        return _shape(value.shape)
    if value.HasField("list"):
        each = value.list
        texts = tuple(entry.decode("utf-8", "replace") for entry in each.s)
        types, shapes = tuple(map(_type_name, each.type)), tuple(map(_shape, each.shape))
        return next((tuple(found) for found in (each.i, numbers(each.f), each.b, texts, types, shapes) if found), ())
    return next((getattr(value, name) for name in ("tensor", "func", "placeholder") if value.HasField(name)), None)


def _type_name(number: int) -> str:
    values = new_message("NodeDef").DESCRIPTOR.file.enum_types_by_name["DataType"].values_by_number
    return values[number].name if number in values else f"DT_{number}"


def _shape(shape: Any) -> tuple[int, ...] | None:
    return None if shape.unknown_rank else tuple(dim.size for dim in shape.dim)


def read_onnx_ops(path: str | Path) -> dict[str, FrameworkOp]:
    """Return the ops in a file of ONNX's definitions, which are nodes in the text form with lines ``--`` between them.

    Raises
    ------
    ModelError
        If the file is missing, or damaged; with line and column within the definition.
    """
    try:
        import onnx
    except ImportError:
        raise MissingDependencyError.of_extra("definitions of ops", "onnx") from None
    source, found = Path(path).name, {}
    for part in text_of(path).split("\n--\n"):
        if not part.strip(" \n-"):
            continue
        node = read_message(part, onnx.NodeProto(), source)
        named = [each for each in node.attribute if not each.name.endswith(_TYPES_OF_INPUT)]
        types = {each.name: _onnx_type(onnx.AttributeProto.AttributeType.Name(each.type)) for each in named}
        found[node.op_type] = FrameworkOp(node.op_type, tuple(node.input), tuple(node.output), types)
    return found


def onnx_ops(opset: int | None = None) -> dict[str, FrameworkOp]:
    """Return ONNX's own ops as the installed package defines them, for an opset or the newest one.

    Examples
    --------
    >>> conv = onnx_ops(13)["Conv"]
    >>> conv.inputs, conv.attributes["strides"], conv.defaults["group"]
    (('X', 'W', 'B'), 'list(int)', 1)
    """
    try:
        import onnx
    except ImportError:
        raise MissingDependencyError.of_extra("definitions of ops", "onnx") from None
    version = onnx.defs.onnx_opset_version() if opset is None else opset
    found = {}
    for name in {schema.name for schema in onnx.defs.get_all_schemas_with_history() if not schema.domain}:
        if not onnx.defs.has(name, max_inclusive_version=version):
            continue
        schema = onnx.defs.get_schema(name, max_inclusive_version=version)
        variadic = onnx.defs.OpSchema.FormalParameterOption.Variadic
        optional = onnx.defs.OpSchema.FormalParameterOption.Optional
        found[name] = FrameworkOp(
            name,
            tuple(each.name for each in schema.inputs),
            tuple(each.name for each in schema.outputs),
            {key: _onnx_type(str(each.type).rpartition(".")[2]) for key, each in schema.attributes.items()},
            dict(_onnx_defaults(schema.attributes)),
            {each.name: "" for each in schema.inputs if each.option == variadic},
            required=tuple(key for key, each in schema.attributes.items() if each.required),
            optional=tuple(each.name for each in schema.inputs if each.option == optional),
        )
    return dict(sorted(found.items()))


def _onnx_defaults(attributes: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    import onnx

    for key, each in attributes.items():
        if each.default_value.type:
            yield key, plain(onnx.helper.get_attribute_value(each.default_value))


def _onnx_type(word: str) -> str:
    """Return the type of an attribute in the one notation, such as ``list(int)`` for INTS."""
    single = word.removesuffix("S")
    plain = _ANY_TYPE.get(single, single.lower())
    return plain if single == word else f"list({plain})"


def text_of(path: str | Path) -> str:
    """Return the text of a file, or raise a `ModelError`."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ModelError(f"{Path(path).name!r} cannot be read: {reason}") from None


def element_of_type(name: Any) -> str:
    """Return the element type for TensorFlow's name of one.

    Examples
    --------
    >>> element_of_type("DT_FLOAT")
    'f32'
    """
    if name not in ELEMENTS:
        raise ModelError(f"numbers of type {name} are not supported; there are {', '.join(ELEMENTS)}")
    return ELEMENTS[name]
