"""ONNX models with something wrong that protobuf cannot see; run as a program, it tries many in processes of their own.

    python -m tests.support.mutated_models 0 1000

imports the models of these numbers, evaluates and exports what loads, and prints those that end otherwise than by a
result or an error of the library, take longer than a few seconds, or a gigabyte of memory.
"""

from __future__ import annotations

import math
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

from graphrewrite import Graph, GraphRewriteError, evaluate, verify
from graphrewrite.lowering import from_onnx, to_onnx
from tests.support.lowering_networks import mlp, residual_cnn

__all__ = ["SECONDS", "mutant", "outcome", "seeds", "try_many"]

SECONDS = 5
_BYTES = 1 << 30

_INTEGERS = (0, 1, -1, 2, 3, 7, 8, 9, 16, 17, 23, 99, 2**31 - 1, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63))
_FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-45, 3e38, math.inf, -math.inf, math.nan)
_TEXTS = (
    *("", " ", "x", "y", "N", "-1", "2*N", "N//0", "N+", "?1", "?a", "x:1", "a.b", "N" * 3000, "../../x", "/dev/zero"),
    *("\u202etxt", "é", "\x00", "\n", "e\u0301", "'); drop", "__class__", "input", "constant", "{0}", "%s", "\ud7ff"),
    *("weights.bin", ".", "..", "Relu", "If", "Loop", "Scan", "Reshape", "Constant", "ai.onnx", "com.microsoft", "f"),
)


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

_Site = tuple[Any, Any]


def _sites(message: Any) -> Iterator[_Site]:
    """Every message in a model with each of its fields, set or not."""
    pending = [message]
    while pending:
        here = pending.pop()
        for field in here.DESCRIPTOR.fields:
            yield here, field
        for field, value in here.ListFields():
            if field.message_type is not None:
                pending.extend(value if field.is_repeated else [value])


def _scalar(field: Any, old: Any, rng: random.Random, names: list[str]) -> Any:
    kind = field.cpp_type
    if field.type == field.TYPE_BYTES:
        cut = old[: rng.randrange(len(old) + 1)] if old else b""
        return rng.choice([b"", cut, old + b"\0\1\2", b"\xff" * 4, rng.choice(_TEXTS).encode(), bytes(64)])
    if kind == field.CPPTYPE_STRING:
        return rng.choice([rng.choice(_TEXTS), rng.choice(names), rng.choice(names), old + "_", old[:-1]])
    if kind in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return rng.choice(_FLOATS)
    value = rng.choice([*_INTEGERS, old + 1, old - 1, old * 2, rng.randrange(30)])
    low, high = (-(2**63), 2**63 - 1) if kind == field.CPPTYPE_INT64 else (-(2**31), 2**31 - 1)
    if kind == field.CPPTYPE_ENUM:
        return rng.choice([value.number for value in field.enum_type.values])
    if kind in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64):
        low = 0
    return min(max(value, low), high)


def _change(model: onnx.ModelProto, rng: random.Random) -> str:
    """Change one thing in a model; return what."""
    how = _change_field
    if model.graph.node:
        (how,) = rng.choices([_change_field, _rename, _other_op, _add_node, _other_attribute], [12, 1, 2, 2, 1])
    return how(model, rng)


def _rename(model: onnx.ModelProto, rng: random.Random) -> str:
    """Give a value another name wherever it has one."""
    old, new = rng.choice(_names(model)), rng.choice(_TEXTS)
    for message, field in list(_sites(model.graph)):
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
    _put(model.graph.node, [*nodes[:at], new, *nodes[at:]])
    return f"add {new.op_type} of {inputs}"


def _other_attribute(model: onnx.ModelProto, rng: random.Random) -> str:
    """Give a node an attribute of any kind."""
    node = rng.choice(model.graph.node)
    known = [*onnx.defs.get_schema(node.op_type).attributes] if onnx.defs.has(node.op_type) else []
    name = rng.choice([*known, "axis", "perm", *_TEXTS[:4]])
    values: list[Any] = [rng.choice(_INTEGERS[:-5]), [rng.choice(_INTEGERS) for _ in range(3)], 0.5, [math.nan], "text"]
    value = rng.choice([*values, ["a", "b"], numpy_helper.from_array(np.zeros(rng.randrange(3)))])
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    _put(node.attribute, [*kept, helper.make_attribute(name, value)])
    return f"{node.op_type} has {name!r:.20} = {value!r:.40}"


@cache
def _ops() -> list[str]:
    return sorted({schema.name for schema in onnx.defs.get_all_schemas() if schema.domain == ""})


def _names(model: onnx.ModelProto) -> list[str]:
    return [name for node in model.graph.node for name in (*node.input, *node.output)] or ["x"]


def _put(values: Any, messages: list[Any]) -> None:
    """Replace repeated messages by others, some perhaps of the same."""
    copies = []
    for message in messages:
        copies.append(type(message)())
        copies[-1].CopyFrom(message)
    del values[:]
    values.extend(copies)


def _change_field(model: onnx.ModelProto, rng: random.Random) -> str:
    # Fields that are set are more likely to matter than those that are not.
    sites = list(_sites(model))
    filled = [(m, f) for m, f in sites if (len(getattr(m, f.name)) if f.is_repeated else m.HasField(f.name))]
    message, field = rng.choice(filled if filled and rng.random() < 0.85 else sites)
    where = f"{message.DESCRIPTOR.name}.{field.name}"
    names = _names(model)
    if field.message_type is not None:
        alike = [m for m, _ in sites if m.DESCRIPTOR is field.message_type]
        other = type(alike[0])() if alike else None
        if other is not None:
            other.CopyFrom(rng.choice(alike))
        if field.is_repeated:
            return f"{_rearrange(getattr(message, field.name), other, rng)} {where}"
        if other is None or rng.random() < 0.4:
            message.ClearField(field.name)
            return f"clear {where}"
        getattr(message, field.name).CopyFrom(other)
        return f"replace {where}"
    if field.is_repeated:
        values = list(getattr(message, field.name))
        default = "" if field.cpp_type == field.CPPTYPE_STRING else 0
        how = rng.choice(["set", "set", "drop", "double", "shuffle", "clear"])
        if how == "set" or not values:
            at = rng.randrange(len(values) + 1)
            old = values[at] if at < len(values) else (b"" if field.type == field.TYPE_BYTES else default)
            values[at : at + 1] = [_scalar(field, old, rng, names)]
        elif how == "drop":
            del values[rng.randrange(len(values))]
        elif how == "double":
            values *= 2
        elif how == "shuffle":
            rng.shuffle(values)
        else:
            values = []
        del getattr(message, field.name)[:]
        getattr(message, field.name).extend(values)
        return f"{how} {where}"
    if rng.random() < 0.15:
        message.ClearField(field.name)
        return f"clear {where}"
    value = _scalar(field, getattr(message, field.name), rng, names)
    setattr(message, field.name, value)
    return f"set {where} = {value!r:.40}"


def _rearrange(values: Any, other: Any, rng: random.Random) -> str:
    how = rng.choice(["drop", "double", "shuffle", "insert", "swap"])
    if how == "insert" or not values:
        if other is not None:
            values.append(other)
        return "insert in"
    at, to = rng.randrange(len(values)), rng.randrange(len(values))
    changed = list(values)
    if how == "drop":
        del changed[at]
    elif how == "double":
        changed.append(changed[at])
    elif how == "swap":
        changed[at], changed[to] = changed[to], changed[at]
    else:
        rng.shuffle(changed)
    _put(values, changed)
    return f"{how} in"


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


# ---------------------------------------------------------------------- many, each with limits


def _work(numbers: range, report: Callable[[str], None]) -> None:
    """Try mutants within a gigabyte of address space beyond what is in use."""
    with tempfile.TemporaryDirectory() as folder:
        outcome(seeds()[0], Path(folder))  # all that is loaded later is loaded now
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + _BYTES, used + _BYTES))
        for number in numbers:
            report(f"start {number}")
            data, what = mutant(number)
            start = time.perf_counter()
            try:
                with np.errstate(all="ignore"):
                    result = outcome(data, Path(folder))
            except BaseException as error:  # all else is what is looked for
                result = f"FAULT {type(error).__name__}: {' '.join(str(error).split())[:200]}"
            seconds = time.perf_counter() - start
            report(f"{'SLOW ' if seconds > SECONDS else ''}{result} | {number} | {what} | {seconds:.2f} s")


def try_many(numbers: range) -> tuple[Counter[str], list[str]]:
    """Try mutants in a process of their own, in a further one after each that dies; return counts, and the faults."""
    counts: Counter[str] = Counter()
    faults: list[str] = []
    at = numbers.start
    while at < numbers.stop:
        command = [
            sys.executable,
            "-W",
            "error",
            "-m",
            __spec__.name if __spec__ else __name__,
            "work",
            str(at),
            str(numbers.stop),
        ]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert worker.stdout is not None
        for line in worker.stdout:
            if line.startswith("start "):
                at = int(line.split()[1])
                continue
            result = line.partition(" | ")[0]
            if result.startswith(("FAULT", "SLOW")):
                faults.append(line.rstrip("\n"))
                result = "fault"
            counts[result] += 1
        errors = worker.communicate()[1]
        if worker.returncode:
            counts["fault"] += 1
            faults.append(f"DIED ({worker.returncode}) | {at} | {mutant(at)[1]} | {errors[-300:]}")
            at += 1
        else:
            break
    return counts, faults


if __name__ == "__main__":
    if sys.argv[1] == "work":
        _work(range(int(sys.argv[2]), int(sys.argv[3])), lambda line: print(line, flush=True))
    else:
        found, wrong = try_many(range(int(sys.argv[1]), int(sys.argv[2])))
        print(*wrong, sep="\n")
        print(dict(found.most_common()))
