"""Cases of graph optimisation in a notation of their own, as graphs of the library.

The notation has images with channels last, and quantised tensors on which arithmetic computes. Here these are types
with a layout, and arithmetic between `dequantize_linear` and `quantize_linear`, as ONNX writes it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphrewrite import Graph, Tensor, evaluate, op
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.op import LIBRARY
from graphrewrite.types import element_dtype, element_of

PAGE = Path(__file__).parents[3] / "shared" / "cases" / "graph_optimisation.json"
CASES = {case["name"]: case for case in json.loads(PAGE.read_text())["cases"]} if PAGE.exists() else {}
OPTIMISED = {name: case for name, case in CASES.items() if case["kind"] == "graph"}

_ELEMENTS = {
    **{name: name for name in ("f16", "f32", "f64", "i8", "u8", "i16", "i32", "i64", "bool")},
    "int8": "i8",
    "uint8": "u8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
}
_NAMES = {
    "integer_add": "Add",
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "div": "Div",
    "maximum": "Max",
    "minimum": "Min",
    "pow": "Pow",
    "where": "Select",
    "batch_norm": "BatchNormalization",
    "cast": "ConvertTo",
    "linear": "MatMul",
    "global_average_pool": "AvgPool",
    "average_pool": "AvgPool",
    "leaky_relu": "LeakyRelu",
    "prelu": "LeakyRelu",
    "silu": "Swish",
    "top_k": "TopK",
    "reduce_sum": "ReduceAdd",
    "reduce_mean": "ReduceMean",
    "softmax": "SoftMax",
    "log_softmax": "LogSoftMax",
    "layer_norm": "LayerNormalization",
    "lrn": "LRN",
    "expand": "Broadcast",
    "tile": "Broadcast",
    "channel_shuffle": "ChannelShuffle",
    "matmul": "MatMul",
    "gemm": "MatMul",
    "quantize_linear": "Quantize",
    "dequantize_linear": "Dequantize",
}
_ARITHMETIC = {
    *("add", "sub", "mul", "div", "maximum", "minimum", "matmul", "linear", "conv", "relu", "integer_add", "silu"),
    *("batch_norm", "gemm"),
}

_TO_FIRST = (0, 3, 1, 2)
_FILTERS = {"Conv": _TO_FIRST, "ConvTranspose": (3, 0, 1, 2)}
"""The axes of weights, as the library has them."""


@dataclass
class Quantity:
    """A quantised value: integers, and what they stand for."""

    stored: Any
    scale: float
    offset: int

    @property
    def real(self) -> Any:
        zero = np.array(self.offset, element_dtype(_element(self.stored)))
        return op.dequantize_linear(self.stored, np.float32(self.scale), zero)


_OF_IMAGES = frozenset(
    {"Conv", "ConvTranspose", "BatchNormalization", "AvgPool", "MaxPool", "LRN", "ChannelShuffle", "SpaceToDepth"}
)


def quantity(real: Any, scale: float, offset: int) -> Quantity:
    """Return a real value quantised to 8 bits."""
    return Quantity(op.quantize_linear(real, np.float32(scale), np.int8(offset)), scale, offset)


@dataclass
class Translation:
    """A case as a graph."""

    case: dict[str, Any]
    graph: Graph = field(init=False)
    values: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.graph = Graph(self.case["name"])
        random = np.random.default_rng(0)
        for each in self.case["inputs"]:
            element, shape = _ELEMENTS[each["dtype"]], tuple(each["shape"])
            layout = "NHWC" if len(shape) == 4 and self._has_images() else None
            if order := self._filters().get(each["name"]):
                shape, layout = tuple(shape[axis] for axis in order), None
            value = self.graph.input(each["name"], Tensor(element, shape, layout))
            self.values[each["name"]] = self._stored(value, each)
        for each in self.case["constants"]:
            array = _array(each, random)
            self.values[each["name"]] = self._stored(array, each)
        for node in self.case["nodes"]:
            self._add(node)
        for number, name in enumerate(self.case["outputs"]):
            value = self._value(name)
            value = value.stored if isinstance(value, Quantity) else value
            self.graph.output(f"out{number}", self.graph.constant(value) if isinstance(value, np.ndarray) else value)

    def _value(self, name: str) -> Any:
        name, _, result = name.partition(":")
        value = self.values[name]
        return value[int(result or 0)] if isinstance(value, tuple) else value

    def _filters(self) -> dict[str, tuple[int, ...]]:
        """The values that convolutions take as their weights, with the order in which the library has their axes."""
        found: dict[str, tuple[int, ...]] = {}
        for node in reversed(self.case["nodes"]):
            if node["op"] in _FILTERS:
                found[node["inputs"][1]] = _FILTERS[node["op"]]
            elif node["name"] in found:
                found |= dict.fromkeys(node["inputs"], found[node["name"]])
        return found

    def _has_images(self) -> bool:
        return any(n["op"] in _OF_IMAGES for n in self.case["nodes"])

    def _stored(self, value: Any, each: dict[str, Any]) -> Any:
        return Quantity(value, each["scale"], each["offset"]) if "scale" in each else value

    def _add(self, node: dict[str, Any]) -> None:
        operands = [self._value(each) for each in node["inputs"]]
        given, kind = node["attrs"], node["op"]
        name = node["name"]
        if kind in _STORED and any(isinstance(each, Quantity) for each in operands):
            one = next(each for each in operands if isinstance(each, Quantity))
            stored = _STORED[kind]([each.stored if isinstance(each, Quantity) else each for each in operands], given)
            result: Any = Quantity(stored, one.scale, one.offset)
        elif kind in ("Quantize", "RescaleQuantized"):
            real = operands[0].real if kind == "RescaleQuantized" else operands[0]
            result = quantity(real, given["scale"], given["offset"])
        elif kind == "Dequantize":
            result = operands[0].real
            result = result if given["dtype"] == "f32" else op.cast(result, element=_ELEMENTS[given["dtype"]])
        elif any(isinstance(each, Quantity) for each in operands[:2]):
            one = next(each for each in operands if isinstance(each, Quantity))
            wanted = given.get("out_type") or {"scale": one.scale, "offset": one.offset}
            real = _FLOAT[kind]([each.real if isinstance(each, Quantity) else each for each in operands], given)
            result = quantity(real, wanted["scale"], wanted["offset"])
        elif kind == "Splat" and "scale" in given:
            real = np.full(given["shape"], given["value"], np.float32)
            result = quantity(self.graph.constant(real), given["scale"], given["offset"])
        else:
            result = _FLOAT[kind](operands, given)
        self.values[name] = result
        if node.get("predicate") and not isinstance(result, np.ndarray):
            self.graph.set_predicate(result.node, self.values[node["predicate"]])


def _array(each: dict[str, Any], random: np.random.Generator) -> np.ndarray:
    shape, start = each["shape"], each["init"]
    dtype = element_dtype(_ELEMENTS[each["dtype"]])
    if "random" in start:
        low, high = start["random"]
        is_whole = dtype.kind in "iu"
        drawn = random.integers(low, high + 1, shape) if is_whole else random.uniform(low, high, shape)
    elif "fill" in start:
        drawn = np.full(shape, start["fill"])
    else:
        drawn = np.array([float(entry) for entry in np.ravel(start["values"])]).reshape(shape)
    return np.asarray(drawn).astype(dtype)


def _conv(operands: list[Any], given: dict[str, Any]) -> Any:
    x, w, b = operands
    w = w.transpose(_TO_FIRST) if isinstance(w, np.ndarray) else w
    dilation = given["dilation"] if isinstance(given["dilation"], list) else [given["dilation"]] * 2
    return op.conv(
        _images(x),
        w,
        b,
        strides=tuple(given["strides"]),
        pads=tuple(given["pads"]),
        groups=given["group"],
        dilations=tuple(dilation),
    )


def _batch_norm(operands: list[Any], given: dict[str, Any]) -> Any:
    x, others, channel = operands[0], operands[1:], given["channel_idx"]
    rank = len(x.type.shape)
    if rank == 4:
        wanted = "NHWC" if channel == 3 else "NCHW"
        if x.type.layout != wanted:
            x = op.name_axes(x, layout=wanted)
        return op.batch_norm(x, *others, epsilon=given["epsilon"])
    if channel == 1:
        return op.batch_norm(x, *others, epsilon=given["epsilon"])
    order = (0, channel, *(axis for axis in range(1, rank) if axis != channel))
    back = tuple(int(axis) for axis in np.argsort(order))
    return op.transpose(op.batch_norm(op.transpose(x, perm=order), *others, epsilon=given["epsilon"]), perm=back)


def _pool(kind: Any) -> Callable[[list[Any], dict[str, Any]], Any]:
    def pool(operands: list[Any], given: dict[str, Any]) -> Any:
        kernel, strides = tuple(given["kernel"]), tuple(given["strides"])
        return kind(operands[0], kernel=kernel, strides=strides, pads=tuple(given["pads"]))

    return pool


def _slice(operands: list[Any], given: dict[str, Any]) -> Any:
    return op.slice(operands[0], starts=tuple(given["start"]), ends=tuple(given["stop"]))


def _tile(operands: list[Any], given: dict[str, Any]) -> Any:
    repeats = [1] * len(_shape(operands[0]))
    repeats[given["axis"]] = given["count"]
    return op.tile(operands[0], repeats=tuple(repeats))


def _shape(value: Any) -> tuple[Any, ...]:
    return value.shape if isinstance(value, np.ndarray) else value.type.shape


def _element(value: Any) -> str:
    return element_of(value.dtype) if isinstance(value, np.ndarray) else value.type.element


def _pad(operands: list[Any], given: dict[str, Any]) -> Any:
    return op.pad(operands[0], pads=tuple(given["pads"]), fill=given["value"], mode=given["mode"])


def _broadcast(operands: list[Any], given: dict[str, Any]) -> Any:
    (x,), shape = operands, tuple(given["shape"])
    behind = len(shape) - given["axis"] - len(_shape(x))
    if behind:
        x = op.reshape(x, shape=(*_shape(x), *[1] * behind))
    return op.expand(x, shape=shape)


def _top_k(operands: list[Any], given: dict[str, Any]) -> Any:
    return op.top_k(operands[0], k=given["k"])


def _resize(mode: str) -> Callable[[list[Any], dict[str, Any]], Any]:
    def resize(operands: list[Any], given: dict[str, Any]) -> Any:
        way = {"mode": mode, "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        return op.resize(operands[0], sizes=tuple(given["shape"]), **way)

    return resize


def _conv_transpose(operands: list[Any], given: dict[str, Any]) -> Any:
    x, w, b = operands
    w = w.transpose(_FILTERS["ConvTranspose"]) if isinstance(w, np.ndarray) else w
    return op.conv_transpose(x, w, b, strides=tuple(given["strides"]), pads=tuple(given["pads"]), groups=given["group"])


def _images(x: Any) -> Any:
    """A value whose axes are those of images with channels last, whatever names they had."""
    named = x.type.layout
    x = op.name_axes(x, layout=None) if named not in (None, "NHWC") else x
    return x if named == "NHWC" else op.name_axes(x, layout="NHWC")


def _blocks(kind: Any) -> Callable[[list[Any], dict[str, Any]], Any]:
    return lambda operands, given: kind(_images(operands[0]), block_size=given["block_size"])


def _channel_shuffle(operands: list[Any], given: dict[str, Any]) -> Any:
    (x,) = operands
    if given["axis"] != 1:
        x = _images(x)
    elif x.type.layout == "NHWC":
        x = op.name_axes(op.name_axes(x, layout=None), layout="NCHW")
    return op.channel_shuffle(x, groups=given["group"])


def _layer_norm(operands: list[Any], given: dict[str, Any]) -> Any:
    x, gain, shift = operands
    return op.layer_norm(x, gain, shift, axis=-len(_shape(gain)), epsilon=given["epsilon"])


def _insert(operands: list[Any], given: dict[str, Any]) -> Any:
    """The small operand, repeated along an axis, in the middle of the parts of the large one around it."""
    large, small = operands
    axis, start = given["axis"], given["start"][given["axis"]]
    part = _tile([small], given)
    before, after = list(_shape(large)), [0] * len(_shape(large))
    before[axis], after[axis] = start, start + _shape(part)[axis]
    parts = (op.slice(large, starts=(0,) * len(after), ends=before), part)
    return op.concat(*parts, op.slice(large, starts=after, ends=_shape(large)), axis=axis)


def _binary(kind: Any) -> Callable[[list[Any], dict[str, Any]], Any]:
    return lambda operands, given: kind(*operands)


def _reduced(kind: Any) -> Callable[[list[Any], dict[str, Any]], Any]:
    return lambda operands, given: kind(operands[0], axes=tuple(given["axes"]), keep_dims=False)


_STORED: dict[str, Callable[[list[Any], dict[str, Any]], Any]] = {
    "Slice": _slice,
    "Tile": _tile,
    "Concat": lambda operands, given: op.concat(*operands, axis=given["axis"]),
    "Reshape": lambda operands, given: op.reshape(operands[0], shape=tuple(given["shape"])),
    "Transpose": lambda operands, given: op.transpose(operands[0], perm=tuple(given["perm"])),
    "Select": lambda operands, given: op.where(*operands),
    "MaxPool": _pool(op.max_pool),
    "SpaceToDepth": _blocks(op.space_to_depth),
    "DepthToSpace": _blocks(op.depth_to_space),
    "ChannelShuffle": _channel_shuffle,
    "Gather": lambda operands, given: op.gather(*operands, axis=given["axis"]),
    "InsertTensor": _insert,
}
_FLOAT: dict[str, Callable[[list[Any], dict[str, Any]], Any]] = {
    **_STORED,
    "Add": _binary(op.add),
    "Sub": _binary(op.sub),
    "Mul": _binary(op.mul),
    "Div": _binary(op.div),
    "Max": _binary(op.maximum),
    "Min": _binary(op.minimum),
    "Pow": _binary(op.pow),
    "Abs": _binary(op.abs),
    "Sin": _binary(op.sin),
    "Exp": _binary(op.exp),
    "Tanh": _binary(op.tanh),
    "Sigmoid": _binary(op.sigmoid),
    "Relu": _binary(op.relu),
    "Swish": _binary(op.silu),
    "MatMul": _binary(op.matmul),
    "BatchMatMul": _binary(op.matmul),
    "FullyConnected": lambda operands, given: op.add(op.matmul(operands[0], operands[1]), operands[2]),
    "BatchedAdd": _binary(op.add),
    "LeakyRelu": lambda operands, given: op.leaky_relu(operands[0], alpha=given["alpha"]),
    "Clip": lambda operands, given: op.clip(operands[0], low=given["min"], high=given["max"]),
    "ConvertTo": lambda operands, given: op.cast(operands[0], element=_ELEMENTS[given["dtype"]]),
    "Splat": lambda operands, given: np.broadcast_to(np.float32(given["value"]), given["shape"]),  # some are huge
    "LRN": lambda operands, given: op.lrn(operands[0], size=5),
    "PRelu": _binary(op.prelu),
    "Gelu": _binary(op.gelu),
    "HardSwish": _binary(op.hard_swish),
    "SoftMax": lambda operands, given: op.softmax(operands[0]),
    "LogSoftMax": lambda operands, given: op.log_softmax(operands[0]),
    "LayerNormalization": _layer_norm,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "BatchNormalization": _batch_norm,
    "AvgPool": _pool(op.average_pool),
    "AdaptiveAvgPool": lambda operands, given: op.global_average_pool(operands[0]),
    "Pad": _pad,
    "Broadcast": _broadcast,
    "TopK": _top_k,
    "ResizeNearest": _resize("nearest"),
    "ResizeBilinear": _resize("linear"),
    "ReduceAdd": _reduced(op.reduce_sum),
    "ReduceMean": _reduced(op.reduce_mean),
}


def counted(graph: Graph) -> Counter[str]:
    """Count the ops of a graph in the words of the notation: quantised arithmetic is one op, and constants are none."""
    kinds = {node: graph.nodes[node]["type"] for node in graph}
    within: set[str] = set()
    for node, kind in kinds.items():
        source = graph.operands(node)[0].node if kind == "quantize_linear" else None
        if source is None or kinds[source] not in _ARITHMETIC:
            continue
        read = [_read_through(graph, each.node) for each in graph.operands(source)]
        if any(kinds[each] == "dequantize_linear" for each in read):
            within |= {node, *(each for each in read if kinds[each] == "dequantize_linear")}
    found: Counter[str] = Counter()
    for node, kind in kinds.items():
        if kind in ("input", "output", "constant", "name_axes") or node in within:
            continue
        if kind == "quantize_linear" and kinds[graph.operands(node)[0].node] == "dequantize_linear":
            found["RescaleQuantized"] += 1
        elif kind == "cast" and kinds[graph.operands(node)[0].node] == "dequantize_linear":
            continue  # which is of that type
        elif kind == "dequantize_linear" and all(kinds[r] == "quantize_linear" for r in graph.successors(node)):
            continue
        else:
            found[_name_of(graph, node)] += 1
    return found


def _read_through(graph: Graph, node: str) -> str:
    """The node of a value before its axes were named, or it was narrowed."""
    while graph.nodes[node]["type"] in ("name_axes", "cast"):
        node = graph.operands(node)[0].node
    return node


def expected_ops(case: dict[str, Any]) -> Counter[str] | None:
    """Return the ops that a case expects: splats are constants, and a product is one op with a bias or without."""
    ops = case["expected"].get("ops")
    if ops is None:
        return None
    found: Counter[str] = Counter()
    for name, count in ops.items():
        if name != "Splat":
            found[_SAME.get(name, name)] += count
    return +found


_SAME = {"FullyConnected": "MatMul", "BatchedAdd": "Add", "PRelu": "LeakyRelu", "Tile": "Broadcast"}


def ops_named(case: dict[str, Any]) -> list[str]:
    """Return the ops that a case asks for."""
    wanted = case["expected"].get("ops", {})
    return [kind for kind in LIBRARY if _NAMES.get(kind, kind.title().replace("_", "")) in wanted]


def complaints(case: dict[str, Any], before: Graph, after: Graph) -> list[str]:
    """Return what a graph has that a case does not want: fewer ops than it asks for are no complaint."""
    expected, found, wanted = case["expected"], counted(after), expected_ops(case)
    said = []
    if wanted is not None and found != wanted and (expected.get("unchanged") or found.total() >= wanted.total()):
        said.append(f"{dict(found)} instead of {dict(wanted)}")
    if wanted is None and "node_count" in expected and found.total() > expected["node_count"]:
        said.append(f"{found.total()} ops instead of {expected['node_count']}")
    is_tiled = any(kind == "tile" for _, kind in after.nodes(data="type"))  # counted as a broadcast elsewhere
    absent = [name for name in expected.get("absent_ops", ()) if name != "Tile" or is_tiled]
    said += [f"{name} is left" for name in absent if found[_SAME.get(name, name)]]
    for name, count in expected.get("present_ops", {}).items():
        least = 0 if _SAME.get(name, name) == "Broadcast" else min(count, 1)  # of a constant it is a constant
        if not least <= found[_SAME.get(name, name)] <= count:  # what is merged further is as good
            said.append(f"{name}: {found[_SAME.get(name, name)]} instead of {count}")
    for number, name in enumerate(expected.get("output_is_input", ())):
        if after.operands(f"out{number}")[0].node != name:
            said.append(f"output {number} is not {name}")
    if expected.get("equivalent"):
        given = inputs_of(before)
        ours, theirs = evaluate(before, given), evaluate(after, given)
        said += [f"values of {name}" for name in ours if not _close(ours[name], theirs[name], expected)]
    return said


def _name_of(graph: Graph, node: str) -> str:
    kind = graph.nodes[node]["type"]
    if isinstance(graph.op(node), GraphOp):  # a layer and its activation
        kind = kind.partition("_")[0]
    if kind == "matmul" and all(len(graph.result_type(*each).shape) > 2 for each in graph.operands(node)):
        return "BatchMatMul"
    if kind == "clip" and graph.result_type(node).element == "i8" and graph.nodes[node].get("high") is None:
        return "Relu"  # of quantised numbers: not below their zero point
    if kind == "resize":
        return "ResizeNearest" if graph.nodes[node].get("mode", "nearest") == "nearest" else "ResizeBilinear"
    return _NAMES.get(kind, kind.title().replace("_", ""))


def _close(one: np.ndarray, other: np.ndarray, expected: dict[str, Any]) -> bool:
    """Tell whether two outputs agree as a case asks."""
    atol = expected.get("atol_lsb") or expected.get("atol") or 1e-5
    return one.shape == other.shape and np.allclose(
        one.astype(np.float64),
        other.astype(np.float64),
        rtol=2e-3 if "atol" in expected else 1e-4,
        atol=atol,
        equal_nan=True,
    )


def inputs_of(graph: Graph) -> dict[str, np.ndarray]:
    """Return inputs of a graph: small numbers above zero, so that quotients and powers are defined."""
    random = np.random.default_rng(1)
    found = {}
    for name in graph.inputs:
        kind = graph.result_type(name)
        shape = tuple(int(size) for size in kind.shape)
        if kind.element == "bool":
            found[name] = random.integers(0, 2, shape).astype(bool)
        elif (dtype := element_dtype(kind.element)).kind in "iu":
            found[name] = random.integers(0 if dtype.kind == "u" else -100, 100, shape).astype(dtype)
        else:
            low = 0.1 if math.prod(shape) else 0
            found[name] = random.uniform(low, 2, shape).astype(dtype)
    return found
