"""ONNX models with something wrong that protobuf cannot see; run as a program, it tries many in processes of their own.

    python -m tests.support.mutated_models 0 1000

imports the models of these numbers, evaluates and exports what loads, and prints those that end otherwise than by a
result or an error of the library, take longer than a few seconds, or a gigabyte of memory.
"""

from __future__ import annotations

import math
import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

from graphrewrite import Graph, GraphRewriteError, evaluate, verify
from graphrewrite.lowering import from_onnx, to_onnx
from tests.support.lowering_networks import mlp, residual_cnn
from tests.support.mutant_runs import main
from tests.support.mutated_messages import INTEGERS, TEXTS, change_field, put, sites

__all__ = ["mutant", "outcome", "seeds"]


# ---------------------------------------------------------------------- what is mutated

_CONTROL = """
<ir_version: 9, opset_import: ["" : 17]>
g (float[2,4] x, bool c) => (float[2,4] y, float[k,2,4] s, float[2,4] z) {
    three = Constant <value_int = 3> ()
    one = Constant <value = bool[1] {1}> ()
    h = If (c) <then_branch = a () => (float[2,4] t) { t = Relu(x) },
                else_branch = b () => (float[2,4] e) { e = Neg(x) }>
    y, s = Loop (three, one, h) <body = l (int64 i, bool k, float[2,4] v) => (bool k1, float[2,4] w, float[2,4] o)
        { k1 = Identity(k) w = Add(v, x) o = Mul(w, h) }>
    z, zs = Scan <num_scan_inputs = 1, body = m (float[2,4] u, float[2,4] q) => (float[2,4] p, float[2,4] r)
        { p = Add(u, q) r = Tanh(p) }> (x, s)
}
"""
_FUNCTIONS = """
<ir_version: 9, opset_import: ["" : 17, "own" : 1]>
g (float[N,4] x) => (float[N,4] y) { h = own.f <alpha = 0.5> (x) y = own.g(h) }
<domain: "own", opset_import: ["" : 17]>
f <alpha: float = 0.25> (a) => (b) { b = LeakyRelu <alpha: float = @alpha> (a) }
<domain: "own", opset_import: ["" : 17, "own" : 1]>
g <beta: float = 2.0> (a) => (b) { c = own.f <alpha: float = @beta> (a) d = Shrink(c) b = own.f(d) }
"""
_SIZES = """
<ir_version: 9, opset_import: ["" : 17]>
g (float[batch,seq,8] x) => (float[batch,k,8] y) {
    s = Shape(x)
    zero = Constant <value_ints = [0]> ()
    one = Constant <value_ints = [1]> ()
    b = Gather <axis = 0> (s, zero)
    n = Gather(s, one)
    heads = Constant <value_ints = [2]> ()
    rest = Constant <value_ints = [-1]> ()
    t = Concat <axis = 0> (b, n, heads, rest)
    r = Reshape(x, t)
    p = Transpose <perm = [0, 2, 1, 3]> (r)
    a = Softmax <axis = -1> (p)
    q = Transpose <perm = [0, 2, 1, 3]> (a)
    u = Concat <axis = 0> (b, rest, one)
    e = Constant <value_ints = [8]> ()
    w = Concat <axis = 0> (b, n, e)
    m = Reshape(q, w)
    end = Sub(n, one)
    l = Slice(m, zero, end, one)
    z = Concat <axis = 1> (l, x)
    ones = ConstantOfShape <value = float[1] {1}> (w)
    v = Concat <axis = 1> (z, ones)
    i, order = TopK <axis = -1> (v, e)
    y = Cast <to = 1> (i)
}
"""
_SEQUENCE = """
<ir_version: 9, opset_import: ["" : 17, "onnx.brevitas" : 1, "com.microsoft" : 1]>
g (float[1,3,6] x, int64[2] i) => (float[1,2,4] y, int64[3] o) <
    float[1,16,6] w = {RANDOM96}, float[1,16,4] r = {RANDOM64}, float scale = {0.5}, float zero = {0}, float bits = {4},
    uint8 point = {3}
> {
    l, hidden, cell = LSTM <hidden_size = 4> (x, w, r)
    axes = Constant <value_ints = [1]> ()
    q = Squeeze(l, axes)
    f = onnx.brevitas.Quant <signed = 1, narrow = 0, rounding_mode = "ROUND"> (q, scale, zero, bits)
    n = QuantizeLinear(f, scale, point)
    d = DequantizeLinear(n, scale, point)
    g = com.microsoft.Gelu(d)
    k = Gather <axis = 1> (g, i)
    t = Split <axis = 0> (k)
    pads = Constant <value_ints = [0, 0, 0, 0, 0, 0]> ()
    m = Pad(t, pads)
    y = Unsqueeze <axes = [0]> (k)
    o = NonZero(t)
}
"""


@cache
def seeds() -> tuple[bytes, ...]:
    """Small models of many kinds, as files."""
    rng = np.random.default_rng(0)
    sequence = _SEQUENCE
    for count in (96, 64):
        numbers = ", ".join(f"{value:.3f}" for value in rng.normal(size=count))
        sequence = sequence.replace(f"RANDOM{count}", numbers)
    models = [
        mlp(),
        mlp(softmax=True),
        residual_cnn(),
        *map(parser.parse_model, (_CONTROL, _FUNCTIONS, _SIZES, sequence)),
    ]
    old = mlp()
    old.opset_import[0].version = 9
    outside = mlp(inputs=40, hidden=120)
    for tensor in outside.graph.initializer:
        length = tensor.ByteSize() if not tensor.raw_data else len(tensor.raw_data)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "weights.bin"), ("offset", "0"), ("length", str(length))):
            tensor.external_data.add(key=key, value=value)
    models += [old, outside]
    for model in models[:]:  # onnx's checker gives up on models with an op that only we know
        strange = onnx.ModelProto()
        strange.CopyFrom(model)
        strange.graph.node.add(
            op_type="Gelu", domain="com.microsoft", input=[model.graph.input[0].name], output=["unused"]
        )
        models.append(strange)
    return tuple(model.SerializeToString() for model in models)


# ---------------------------------------------------------------------- how


def _change(model: onnx.ModelProto, rng: random.Random) -> str:
    """Change one thing in a model; return what."""
    how = _change_field
    if model.graph.node:
        (how,) = rng.choices([_change_field, _rename, _other_op, _add_node, _other_attribute], [12, 1, 2, 2, 1])
    return how(model, rng)


def _change_field(model: onnx.ModelProto, rng: random.Random) -> str:
    return change_field(model, rng, _names(model))


def _rename(model: onnx.ModelProto, rng: random.Random) -> str:
    """Give a value another name wherever it has one."""
    old, new = rng.choice(_names(model)), rng.choice(TEXTS)
    for message, field in list(sites(model.graph)):
        if field.cpp_type != field.CPPTYPE_STRING or field.type == field.TYPE_BYTES or field.name == "op_type":
            continue
        if field.is_repeated:
            values = getattr(message, field.name)
            values[:] = [new if value == old else value for value in values]
        elif getattr(message, field.name) == old:
            setattr(message, field.name, new)
    return f"rename {old!r} to {new!r:.40}"


def _other_op(model: onnx.ModelProto, rng: random.Random) -> str:
    node = rng.choice(model.graph.node)
    node.op_type, before = rng.choice(_ops()), node.op_type
    return f"{before} is {node.op_type}"


def _add_node(model: onnx.ModelProto, rng: random.Random) -> str:
    """Put a node of any op between a value and its readers."""
    nodes = list(model.graph.node)
    at = rng.randrange(len(nodes))
    names = _names(model)
    inputs = [rng.choice(names) for _ in range(rng.randrange(4))]
    new = helper.make_node(rng.choice(_ops()), inputs, ["added"], name="added")
    if nodes[at].input:
        nodes[at].input[rng.randrange(len(nodes[at].input))] = "added"
    put(model.graph.node, [*nodes[:at], new, *nodes[at:]])
    return f"add {new.op_type} of {inputs}"


def _other_attribute(model: onnx.ModelProto, rng: random.Random) -> str:
    """Give a node an attribute of any kind."""
    node = rng.choice(model.graph.node)
    known = [*onnx.defs.get_schema(node.op_type).attributes] if onnx.defs.has(node.op_type) else []
    name = rng.choice([*known, "axis", "perm", *TEXTS[:4]])
    values: list[Any] = [rng.choice(INTEGERS[:-5]), [rng.choice(INTEGERS) for _ in range(3)], 0.5, [math.nan], "text"]
    value = rng.choice([*values, ["a", "b"], numpy_helper.from_array(np.zeros(rng.randrange(3)))])
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    put(node.attribute, [*kept, helper.make_attribute(name, value)])
    return f"{node.op_type} has {name!r:.20} = {value!r:.40}"


@cache
def _ops() -> list[str]:
    return sorted({schema.name for schema in onnx.defs.get_all_schemas() if schema.domain == ""})


def _names(model: onnx.ModelProto) -> list[str]:
    return [name for node in model.graph.node for name in (*node.input, *node.output)] or ["x"]


def mutant(number: int) -> tuple[bytes, str]:
    """Return the model of a number, with one to four things wrong, and what these are."""
    rng = random.Random(number)
    which = rng.randrange(len(seeds()))
    model = onnx.load_model_from_string(seeds()[which])
    done = [_change(model, rng) for _ in range(rng.choice([1, 1, 1, 2, 4]))]
    return model.SerializeToString(), " ".join(f"seed {which}: {'; '.join(done)}".split())


# ---------------------------------------------------------------------- what comes of it


def outcome(data: bytes, folder: Path) -> str:
    """Import a model, evaluate and export what loads; return how far it came. Any error but the library's is raised."""
    file = folder / "model.onnx"
    file.write_bytes(data)
    (folder / "weights.bin").write_bytes(np.linspace(-1, 1, 6000, dtype=np.float32).tobytes())
    try:
        graph = from_onnx(file)
    except GraphRewriteError:
        return "refused"
    str(graph)
    verify(graph)
    reached = "loaded"
    try:
        if _is_small(graph):
            evaluate(graph, _inputs(graph))
            reached = "evaluated"
        to_onnx(graph)
        reached = f"{reached} and exported"
    except GraphRewriteError:
        pass
    return reached


def _inputs(graph: Graph) -> dict[str, np.ndarray]:
    kinds = {name: graph.result_type(name) for name in graph.inputs}
    return {name: np.zeros([2 if isinstance(d, str) else d for d in kind.shape]) for name, kind in kinds.items()}


def _is_small(graph: Graph) -> bool:
    """Tell whether no value has a million numbers, and no loop many turns: they take what the model asks for."""
    kinds = [kind for node in graph for kind in _results(graph.nodes[node].get("result"))]
    counts = [data["value"] for _, data in graph.nodes(data=True) if "value" in data and np.ndim(data["value"]) == 0]
    if "loop" in {data["type"] for _, data in graph.nodes(data=True)} and any(abs(count) > 1e4 for count in counts):
        return False
    return all(math.prod(d for d in kind.shape if isinstance(d, int)) < 1e6 for kind in kinds)


def _results(kind: Any) -> tuple[Any, ...]:
    return kind if isinstance(kind, tuple) else () if kind is None else (kind,)


if __name__ == "__main__":
    main("mutated_models", lambda number, folder: outcome(mutant(number)[0] if number >= 0 else seeds()[0], folder))
