"""Names and origins of nodes by modules of PyTorch, names of results, and sizes; PyTorch is not needed for that."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, op
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.torch.names import Names, output_names
from graphrewrite.lowering.exchange.torch.sizes import size_of

LINEAR, BLOCK, LIST = "torch.nn.modules.linear.Linear", "mine.Block", "torch.nn.modules.container.Sequential"
TRACE = """Traceback
  File "/home/user/net.py", line 7, in forward
    return self.head(x)
  File "/site/torch/nn/modules/linear.py", line 125, in forward
    return F.linear(input)"""


def call(name: str, target: str, *modules: tuple[str, Any], trace: str | None = None, op: str = "call_function") -> Any:
    meta = {"nn_module_stack": {str(i): each for i, each in enumerate(modules)}, "stack_trace": trace}
    return SimpleNamespace(name=name, op=op, target=SimpleNamespace(__name__=target), meta=meta)


@pytest.mark.parametrize(
    ("node", "label"),
    [
        (call("a", "aten.relu_"), "relu"),
        (call("b", "aten.add", ("L['self']", BLOCK)), "add"),
        (call("c", "aten.add", ("L['self'].block", BLOCK)), "block.add"),
        (call("d", "aten.t", ("L__self___head", LINEAR)), "head.t"),
        (call("e", "aten.addmm", ("", BLOCK), ("head", LINEAR)), "head"),
        (call("f", "aten.cat", ("layers", LIST)), "layers.cat"),
        (call("g", "aten.cat", ("head", np.ndarray)), "head.cat"),
        (call("h", "aten.neg", ("_empty_nn_module_stack_from_metadata_hook", "")), "neg"),
    ],
)
def test_a_call_is_called_by_its_module_or_its_op(node: Any, label: str) -> None:
    later = [call("last", "aten.addmm", ("head", LINEAR)), call("get", "getitem", ("head", LINEAR))]
    names = Names(Graph("g"), [node, *(later if node.name == "d" else ())])
    assert names.label(node) == label
    assert names.label(node) == label
    others = [call(f"other{i}", node.target.__name__, *node.meta["nn_module_stack"].values()) for i in range(2)]
    names.last = dict.fromkeys(names.last, "other0") if node.name == "e" else names.last
    wanted = ["head_1", "head.addmm"] if node.name == "e" else [f"{label}_1", f"{label}_2"]
    assert [names.label(each) for each in others] == wanted


def test_a_placeholder_is_no_call_of_a_layer() -> None:
    assert Names(Graph("g"), [call("x", "x", ("head", LINEAR), op="placeholder")]).last == {}


def test_inputs_have_names_of_their_own() -> None:
    graph = Graph("g")
    names = Names(graph, [])
    graph.input("x", Tensor("f32", (2,)))
    assert [names.own("x"), names.own("x"), names.own("y"), names.kept("x"), names.kept("y")] == [
        "x_1", "x_2", "y", "x_2", "y",
    ]  # fmt: skip


def test_nodes_get_their_names_and_where_they_come_from_at_the_end() -> None:
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 2)))
    names = Names(graph, [])
    first = call("a", "aten.addmm", ("", BLOCK), ("block.head", LINEAR), trace=TRACE)
    w = graph.constant(np.eye(2, dtype=np.float32), origin=("weight",))
    before = len(graph) - 1
    y = op.relu(op.matmul(x, w))
    names.note(first, "head", before, y)
    names.note(first, "nothing", len(graph), y)
    library = call("b", "aten.split", trace='File "/site/torch/fx/graph.py", line 3, in split\n    x')
    at = len(graph)
    parts = op.split(y, axis=1, sizes=(1, 1))
    names.note(library, "parts", at, (None, *parts))
    at = len(graph)
    lost = call("c", "aten.neg")
    names.note(lost, "lost", at, (None,))
    op.abs(y)
    names.note(lost, "lost", at, (None,))
    z = graph.output("head", parts[0])
    names.wish(str(getattr(z, "node", z)), "taken")
    made = names.applied()
    assert [*made] == ["x", "weight", "head.matmul", "head_1", "parts", "lost.abs", "head"]
    assert [made.origin(node) for node in made if made.nodes[node]["type"] in ("matmul", "relu", "split")] == [
        ("head",), ("head",), ("parts",),
    ]  # fmt: skip
    target = str(first.target)
    assert made.graph["origin"]["nodes"] == {
        "head": {"metadata": {"op": target, "module": LINEAR, "source": "/home/user/net.py:7 in forward"}},
        "lost": {"metadata": {"op": str(lost.target)}},
        "parts": {"metadata": {"op": str(library.target), "source": "/site/torch/fx/graph.py:3 in split"}},
    }


def test_without_records_nothing_is_said_of_origins() -> None:
    graph = Graph("g")
    graph.output("y", graph.input("x", Tensor("f32", (2,))))
    assert "origin" not in Names(graph, []).applied().graph


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        ([()], ["output"]),
        ([("0",), ("1",)], ["output", "output_1"]),
        ([("scores",), ("boxes", "0")], ["scores", "boxes_0"]),
        ([("0", "left"), ("scores",)], ["output", "scores"]),
        ([], []),
        (None, ["output", "output_1"]),
    ],
)
def test_results_are_called_by_keys(paths: list[tuple[str, ...]] | None, names: list[str]) -> None:
    def with_path(tree: Any) -> Any:
        if paths is None:
            raise TypeError("another container")
        keys = ("key", "name", "idx")
        told = [
            tuple(SimpleNamespace(**{keys[(at + i) % 3]: key}) for i, key in enumerate(path))
            for at, path in enumerate(paths)
        ]
        assert tree == [*range(len(names))]
        return [(path, i) for i, path in enumerate(told)], None

    pytree = SimpleNamespace(tree_flatten_with_path=with_path, tree_unflatten=lambda leaves, spec: leaves)
    spec = SimpleNamespace(num_leaves=len(names))
    program = SimpleNamespace(call_spec=SimpleNamespace(out_spec=spec))
    assert output_names(program, SimpleNamespace(utils=SimpleNamespace(_pytree=pytree))) == names


def expression(kind: str, *args: Any, value: int | str | None = None) -> Any:
    """An expression as sympy has them."""
    known = {"is_Integer": isinstance(value, int), "is_Symbol": isinstance(value, str), "args": args}
    known |= {"base": args[0], "exp": args[1]} if kind == "Pow" else {}
    known |= {"__int__": lambda self: value, "__gt__": lambda self, other: value > other, "name": value}
    return type(kind, (), known)()


S, T, TWO, NONE = (
    expression("Symbol", value="s0"), expression("Symbol", value="T"), expression("Integer", value=2),
    expression("Integer", value=0),
)  # fmt: skip


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (expression("Add", S, TWO, T), "N+T+2"),
        (expression("Mul", TWO, S, T), "2*N*T"),
        (expression("FloorDiv", S, TWO), "N//2"),
        (expression("CleanDiv", S, TWO), "N//2"),
        (expression("Mod", S, TWO), "N-2*(N//2)"),
        (expression("PythonMod", S, TWO), "N-2*(N//2)"),
        (expression("Max", S, T), "max(N,T)"),
        (expression("Min", S, T), "min(N,T)"),
        (expression("Pow", S, TWO), "N*N"),
        (expression("Add", TWO, TWO), "4"),
    ],
)
def test_expressions_of_sizes(size: Any, text: str) -> None:
    found = size_of(SimpleNamespace(node=SimpleNamespace(expr=size)), {"s0": "N"})
    assert str(found).replace(" ", "") == text


def test_a_number_is_itself_and_others_are_refused() -> None:
    assert size_of(3, {}) == 3
    for size in (expression("Pow", S, NONE), expression("Pow", TWO, S), expression("Abs", S)):
        with pytest.raises(Unfit, match=r"is not supported; there are \+ - \* // % min and max"):
            size_of(SimpleNamespace(node=SimpleNamespace(expr=size)), {})
