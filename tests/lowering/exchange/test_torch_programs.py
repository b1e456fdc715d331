"""Exported programs of PyTorch become graphs, whatever their inputs, sizes and ends; PyTorch is not needed for that."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphrewrite import op
from graphrewrite.formats import to_text
from graphrewrite.lowering import Hook, from_torch
from graphrewrite.lowering.errors import ModelError, UnsupportedOpsError
from tests.support.torch_programs import (
    BRAIN,
    COMPLEX,
    HALF,
    TRUTH,
    WHOLE,
    Example,
    ExportedProgram,
    Node,
    Stored,
    SymFloat,
    SymInt,
    call,
    device,
    doubled,
    install,
    number,
    placeholder,
    symbol,
    target,
)


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    return install(monkeypatch)


ADD, MUL = target("aten.add", "self", "other", ("alpha", 1)), target("aten.mul", "self", "other")
RELU, MM, ABS = target("aten.relu", "self"), target("aten.mm", "self", "mat2"), target("aten.abs", "self")
PERMUTE = target("aten.permute", "self", "dims")
CAT, VIEW = target("aten.cat", "tensors", ("dim", 0)), target("aten.view", "self", "size")
SPLIT, TO = target("aten.split", "self", "size", ("dim", 0)), target("aten.to", "self", "dtype", ("device", None))
GT, FULL = target("aten.gt", "self", "other"), target("aten.full", "size", "fill_value", ("dtype", None))
EQUAL = target("aten.eq", "self", "other")
GETITEM = operator.getitem
X = placeholder("x", Example(2, 3))


def text(program: ExportedProgram, **settings: Any) -> list[str]:
    """The lines of a program's graph."""
    return to_text(from_torch(program, **settings)).splitlines()[1:]


def of(*nodes: Node, ends: tuple[Any, ...] | None = None, **more: Any) -> ExportedProgram:
    """A program that returns its last node."""
    return ExportedProgram(nodes, nodes[-1:] if ends is None else ends, **more)


def test_a_whole_program() -> None:
    batch = symbol("s0")
    x, unread = placeholder("x", Example(batch, 4)), placeholder("unread", Example(2, dtype=WHOLE))
    flag, weight = placeholder("flag", True), placeholder("p_weight", Example(4, 2))
    mask, steps = placeholder("b_mask", Example(2)), placeholder("b_steps", Example(2, dtype=WHOLE))
    lost, count = placeholder("p_lost", Example(9)), placeholder("b_count", Example(2))
    fixed = placeholder("c_lifted", Example(2, dtype=BRAIN))
    product = call("mm", MM, x, weight, val=Example(batch, 2))
    shifted = call("add", ADD, product, mask, val=Example(batch, 2), alpha=2)
    stepped = call("add_1", ADD, shifted, steps, val=Example(batch, 2))
    halves = call("split", SPLIT, stepped, 1, 1, val=[Example(batch, 1), Example(batch, 1)])
    left, right = (call(f"item{i}", GETITEM, halves, i, val=Example(batch, 1)) for i in range(2))
    joined = call("cat", CAT, [right, left], 1, val=Example(batch, 2))
    size = number("sym_size", doubled(batch), x, 0)
    flat = call("view", VIEW, joined, [size], val=Example(doubled(batch)))
    half = call("to", TO, flat, HALF, device(), val=Example(doubled(batch), dtype=HALF))
    dead = call("dead", target("aten.nobody_knows", "self"), x, val=Example(3))
    counted = call("add_2", ADD, count, fixed, val=Example(2))
    program = ExportedProgram(
        [
            x,
            unread,
            flag,
            weight,
            mask,
            steps,
            lost,
            count,
            fixed,
            product,
            shifted,
            stepped,
            halves,
            left,
            right,
            joined,
            size,
            flat,
            half,
            dead,
            counted,
        ],
        [half, None, counted],
        {
            "p_weight": ("PARAMETER", "lin.weight"),
            "b_mask": ("BUFFER", "mask"),
            "b_steps": ("BUFFER", "steps"),
            "p_lost": ("PARAMETER", "lost"),
            "b_count": ("BUFFER", "count"),
            "c_lifted": ("CONSTANT_TENSOR", "c_lifted"),
        },
        {"count": counted},
        {
            "lin.weight": Stored(np.arange(8).reshape(4, 2).astype("f4")),
            "mask": Stored(np.ones(2, "f4")),
            "steps": Stored(np.array([3, 4]), dtype=WHOLE),
            "lost": Stored(np.ones(9)),
            "count": Stored(np.zeros(2, "f4")),
            "c_lifted": Stored([0.5, 2], dtype=BRAIN),
        },
    )
    graph = from_torch(program)
    assert graph.graph.get("name", graph.name) == "model"
    assert [(name, str(graph.result_type(name))) for name in graph.inputs] == [
        ("x", "f32[N,4]"),
        ("unread", "i64[2]"),
        ("count", "f32[2]"),
    ]
    assert [(name, str(graph.result_type(*next(iter(graph.operands(name)))))) for name in graph.outputs] == [
        ("output", "f16[2*N]"),
        ("output_2", "f32[2]"),
        ("count.next", "f32[2]"),
    ]
    assert [name for name in graph if graph.nodes[name]["type"] == "constant"] == [
        "lin.weight",
        "mask",
        "steps",
        "c_lifted",
        "add.constant",
    ]
    trained = {name: graph.nodes[name].get("trainable") for name in ("lin.weight", "mask", "steps", "c_lifted")}
    assert trained == {"lin.weight": None, "mask": False, "steps": None, "c_lifted": False}
    assert {key: graph.nodes["count"][key] for key in ("initial", "next")}.__repr__() == repr(
        {"initial": np.zeros(2, "f4"), "next": "count.next"}
    )
    weight_array = graph.nodes["lin.weight"]["value"]
    assert np.shares_memory(weight_array, program.state_dict["lin.weight"].numbers)
    assert not weight_array.flags.writeable
    data = np.arange(12, dtype="f4").reshape(3, 4)
    found = graph.evaluate({"x": data, "unread": np.zeros(2, int), "count": np.float32([1, 2])})
    wanted = (data @ weight_array + 2 + [3, 4])[:, ::-1]
    np.testing.assert_array_equal(found["output"], wanted.reshape(-1).astype("f2"))
    np.testing.assert_array_equal(found["output_2"], [1.5, 4])
    np.testing.assert_array_equal(found["count.next"], [1.5, 4])


def test_arguments_of_every_kind() -> None:
    size, truth, real = number("n", symbol("s0")), number("t", True), number("r", 2.5)
    x = placeholder("x", Example(symbol("s0"), 3))
    shape = [size, SymInt(symbol("s1").node.expr), 2]
    filled = call("full", FULL, shape, truth, val=Example(symbol("s0"), symbol("s1"), 2, dtype=TRUTH), dtype=TRUTH)
    scaled = call("mul", MUL, x, real, val=Example(symbol("s0"), 3))
    assert text(of(x, size, truth, real, filled, scaled, ends=(filled, scaled))) == [
        "x = input() : f32[N,3]",
        "full = constant_of_shape(shape=['N', 's1', 2], value=True, element='bool') : bool[N,s1,2]",
        "mul.constant = constant(value=2.5) : f32[]",
        "mul = mul(x, mul.constant) : f32[N,3]",
        "output = output(full)",
        "output_1 = output(mul)",
    ]


@pytest.mark.parametrize(
    ("one", "other", "element"),
    [
        (Example(2, dtype=WHOLE), 0.5, "f32"),
        (Example(2, dtype=WHOLE), 1, "i64"),
        (Example(2, dtype=HALF), 0.5, "f16"),
        (Example(2, dtype=HALF), Example(2), "f32"),
        (Example(2, dtype=WHOLE), Example(2, dtype=HALF), "f16"),
        (1, Example(2, dtype=TRUTH), "i64"),
        (Example(2, dtype=TRUTH), True, "bool"),
    ],
)
def test_operands_are_compared_in_their_common_type(one: Any, other: Any, element: str) -> None:
    places = [placeholder(f"x{i}", each) for i, each in enumerate((one, other)) if isinstance(each, Example)]
    given = iter(places)
    args = [next(given) if isinstance(each, Example) else each for each in (one, other)]
    equal = call("eq", EQUAL, *args, val=Example(2, dtype=TRUTH))
    graph = from_torch(of(*places, equal))
    (node,) = [name for name in graph if graph.nodes[name]["type"] == "equal"]
    assert {graph.result_type(*each).element for each in graph.operands(node)} == {element}


def test_numbers_alone_are_compared_as_floats() -> None:
    equal = call("gt", GT, 1, 2, val=Example(dtype=TRUTH))
    assert "constant(value=1.0) : f32[]" in " ".join(text(of(X, equal)))


S, T = symbol("s0"), symbol("s1")


@pytest.mark.parametrize(
    ("shapes", "dynamic", "types"),
    [
        ([(S, 3)], None, ["N,3"]),
        ([(S, T)], None, ["N,s1"]),
        ([(3, T)], None, ["3,s1"]),
        ([(S, 3), (S, T)], None, ["N,3", "N,s1"]),
        ([(S, 3), (T, 3)], None, ["s0,3", "s1,3"]),
        ([(S, T)], {"x0": {0: "batch", -1: "steps"}}, ["batch,steps"]),
        ([(S, T)], {"x0": {1: "steps"}}, ["s0,steps"]),
        ([(S, 3), (S, T)], {"x1": {0: "late"}, "x0": {0: "batch"}}, ["batch,3", "batch,s1"]),
        ([(S, 3)], {"other": {0: "batch"}}, ["N,3"]),
        ([(doubled(S), T)], None, ["2*s0,s1"]),
        ([None, (S, 3)], None, ["N,3"]),
    ],
)
def test_open_sizes_are_named(shapes: list[Any], dynamic: Any, types: list[str]) -> None:
    class Sized(Example):
        pass

    places = [placeholder(f"x{i}", None if shape is None else Sized(*shape)) for i, shape in enumerate(shapes)]
    program = of(*places, ends=(places[-1],))
    program.graph_signature.input_specs.append(
        SimpleNamespace(kind=SimpleNamespace(name="USER_INPUT"), arg=7, target=None)
    )
    graph = from_torch_with_sizes(program, dynamic)
    assert [str(graph.result_type(name)) for name in graph.inputs] == [f"f32[{each}]" for each in types]


def from_torch_with_sizes(program: ExportedProgram, sizes: Any) -> Any:
    from graphrewrite.lowering.exchange.torch.importer import Importer
    from graphrewrite.lowering.exchange.torch_import import TORCH

    return Importer(program, TORCH, "g", sizes or {}).run()


def unknown(*kinds: str) -> list[Node]:
    return [call(f"n{i}", target(f"aten.{kind}", "self"), X, val=Example(2, 3)) for i, kind in enumerate(kinds)]


def outside(value: Any, **settings: Any) -> ExportedProgram:
    weight = placeholder("w", Example(*value.shape) if value is not None else Example(2))
    return of(weight, stored={"w": ("PARAMETER", "w")}, tensors={} if value is None else {"w": value})


ERRORS: dict[str, tuple[Callable[[], ExportedProgram], str]] = {
    "an end of another kind": (
        lambda: _with_end(of(X, call("r", RELU, X, val=Example(2, 3))), "LOSS_OUTPUT"),
        r"has a result of the kind LOSS_OUTPUT, which",
    ),
    "unknown ops": (
        lambda: of(X, *(nodes := unknown("zeta", "alpha", "zeta", "zeta", "zeta")), ends=tuple(nodes)),
        r"not supported: aten\.alpha \('alpha'\); aten\.zeta \('zeta', 'zeta_1', 'zeta_2'\)$",
    ),
    "a graph inside": (
        lambda: of(X, n := Node("get_attr", "body", "true_graph"), ends=(n,)),
        r"not supported: get_attr true_graph \('body'\)$",
    ),
    "an input that is no tensor": (
        lambda: of(placeholder("x", [1, 2])),
        r"^the input 'x' is no tensor, which is not supported \(list\)$",
    ),
    "a result that is no tensor": (
        lambda: of(X, n := number("n", S), ends=(X, n)),
        r"^the result 'output_1' is no tensor, which is not supported$",
    ),
    "a number as a result": (
        lambda: of(X, ends=(X, SimpleNamespace(name="k", value=3))),
        r"^the result 'output_1' is no tensor",
    ),
    "no values": (lambda: outside(None), r"^the program has no values for 'w'$"),
    "another device": (
        lambda: outside(Stored([1.0], place="cuda:0")),
        r"a tensor of the model is on .*cuda.*; move it: model\.to\('cpu'\)",
    ),
    "a sparse tensor": (lambda: outside(Stored([1.0], layout="sparse")), r"or sparse; move it"),
    "a weight of another type": (
        lambda: outside(Stored([1.0], dtype=COMPLEX)),
        r"^tensors of torch\.complex64 are not supported$",
    ),
    "an input of another type": (
        lambda: of(placeholder("x", Example(2, dtype=COMPLEX))),
        r"^'model': tensors of torch\.complex64 are not supported$",
    ),
    "a result that nothing gives": (
        lambda: of(
            X,
            n := call("bn", target("aten.thrice", "self"), X, val=[Example(2, 3)] * 3),
            call("i", GETITEM, n, 1, val=Example(2, 3)),
        ),
        r"^node 'thrice' \(aten\.thrice\): its result 1 is not supported$",
    ),
    "another shape": (
        lambda: of(X, call("r", RELU, X, val=Example(3, 3))),
        r"^node 'relu' \(aten\.relu\): it gives f32\[2,3\], and PyTorch says f32\[3,3\]$",
    ),
    "another rank": (lambda: of(X, call("r", RELU, X, val=Example(3))), r"and PyTorch says f32\[3\]$"),
    "a real number of sizes": (
        lambda: of(X, n := number("n", SymFloat()), call("m", MUL, X, n, val=Example(2, 3))),
        r"it computes with .*SymFloat.*, a number that follows from open sizes, which is not supported$",
    ),
    "a missing argument": (
        lambda: of(X, call("m", target("aten.permute", "self"), X, val=Example(2, 3))),
        r"^node 'permute' \(aten\.permute\): its argument 'dims' is missing$",
    ),
    "a wrong argument": (lambda: of(X, call("m", MM, X, X, val=Example(2, 3))), r"^node 'mm' \(aten\.mm\): .*matmul"),
}


def _with_end(program: ExportedProgram, kind: str) -> ExportedProgram:
    program.graph_signature.output_specs[0].kind.name = kind
    return program


@pytest.mark.parametrize("case", ERRORS)
def test_what_is_not_supported_is_named(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from graphrewrite.lowering.exchange.torch_import import TORCH

    monkeypatch.setitem(TORCH, "aten.thrice", lambda x: (x[0], None, x[0]))
    make, reason = ERRORS[case]
    with pytest.raises(ModelError, match=reason):
        from_torch(make())


def test_results_that_nothing_reads_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """As are those whose type PyTorch does not say, and a list may have one entry."""
    from graphrewrite.lowering.exchange.torch_import import TORCH

    monkeypatch.setitem(TORCH, "aten.thrice", lambda x: (op.relu(x[0]), None, x[0]))
    monkeypatch.setitem(TORCH, "aten.listed", lambda x: op.abs(x[0]))
    thrice = call("n", target("aten.thrice", "self"), X, val=(Example(2, 3, dtype=HALF), Example(2, 3), None))
    listed = call("l", target("aten.listed", "self"), X, val=[Example(2, 3), Example(4)])
    items = [call(f"i{i}", GETITEM, each, 0, val=Example(2, 3)) for i, each in enumerate((thrice, listed))]
    assert text(of(X, thrice, listed, *items, ends=tuple(items))) == [
        "x = input() : f32[2,3]",
        "thrice.relu = relu(x) : f32[2,3]",
        "thrice = cast(thrice.relu, element='f16') : f16[2,3]",
        "listed = abs(x) : f32[2,3]",
        "output = output(thrice)",
        "output_1 = output(listed)",
    ]


def test_hooks_read_values_and_attributes() -> None:
    told: list[Any] = []
    unknown_op, size = target("aten.strange", "self", "others", "how", ("much", 2)), number("n", 5)
    x, y = X, placeholder("y", Example(2, 3))
    strange = call("s", unknown_op, x, [y, x], "fast", val=Example(2, 3))
    pair = call("c", CAT, [x, strange], 1, val=Example(2, 6))
    last = call("a", ADD, pair, 2.0, val=Example(2, 6))
    turned = call("t", PERMUTE, last, [0, 1], val=Example(2, 6))
    parts = call("p", SPLIT, turned, 3, 1, val=[Example(2, 3), Example(2, 3)])
    program = of(
        x, y, size, strange, pair, last, turned, parts, n := call("g", GETITEM, parts, 1, val=Example(2, 3)), ends=(n,)
    )

    def seen(node: Any) -> Any:
        told.append((node.op, node.name, node.inputs, dict(node.attributes), node.outputs))
        return op.relu(node.inputs[0]) if node.op == "aten.strange" else None

    hooks = [
        Hook(before=lambda model: told.append((model.framework, model.producer, model.versions, model.ops))),
        Hook(before=seen, op="aten.strange"),
        Hook(before=seen, op="aten.cat"),
        Hook(before=seen, op="aten.permute"),
        Hook(before=lambda node: replace(node, op="aten.sub", attributes={"alpha": 3}), op="aten.add"),
        Hook(after=lambda node, left, right: (right, left), op="aten.split"),
    ]
    lines = text(program, hooks=hooks)
    ops = {
        "strange": "aten.strange",
        "cat": "aten.cat",
        "add": "aten.add",
        "permute": "aten.permute",
        "split": "aten.split",
    }
    assert told[0] == ("torch", "torch 2.99", {"torch": "2.99"}, ops)
    kinds = [
        (
            kind,
            label,
            [[str(e.type) for e in each] if isinstance(each, tuple) else str(each.type) for each in read],
            rest,
            count,
        )
        for kind, label, read, rest, count in told[1:]
    ]
    assert kinds == [
        ("aten.strange", "strange", ["f32[2,3]", ["f32[2,3]", "f32[2,3]"]], {"how": "fast", "much": 2}, 1),
        ("aten.cat", "cat", [["f32[2,3]", "f32[2,3]"]], {"dim": 1}, 1),
        ("aten.permute", "permute", ["f32[2,6]"], {"dims": (0, 1)}, 1),
    ]
    assert lines == [
        "x = input() : f32[2,3]",
        "y = input() : f32[2,3]",
        "strange = relu(x) : f32[2,3]",
        "cat = concat(x, strange, axis=1) : f32[2,6]",
        "add.constant = constant(value=2.0) : f32[]",
        "add.constant_1 = constant(value=3.0) : f32[]",
        "add.mul = mul(add.constant, add.constant_1) : f32[]",
        "add = sub(cat, add.mul) : f32[2,6]",
        "split = split(add, axis=1, sizes=[3, 3]) : f32[2,3], f32[2,3]",
        "output = output(split)",
    ]


def test_a_hook_may_not_ask_for_an_op_that_is_not_there() -> None:
    hook = Hook(before=lambda node: replace(node, op="aten.rellu"), op="aten.relu")
    with pytest.raises(
        ModelError, match=r"node 'relu' \(aten\.relu\): the library has no op 'aten\.rellu'.*aten\.relu"
    ):
        from_torch(of(X, call("r", RELU, X, val=Example(2, 3))), hooks=[hook])
    with pytest.raises(UnsupportedOpsError, match=r"aten\.strange"):  # it only sees the results
        from_torch(of(X, *unknown("strange")), hooks=[Hook(after=lambda node, y: y, op="aten.strange")])
