"""Operations in place of an exported program become functions where nothing else shares memory; without PyTorch."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from graphrewrite.lowering.exchange.torch.in_place import without_in_place

FLOAT, HALF, WHOLE = (SimpleNamespace(name=n, is_floating_point=f) for n, f in (("f", True), ("h", True), ("i", False)))
KNOWN = ("aten.add", "aten.relu", "aten.abs", "aten.absent", "aten.renamed", "aten.retyped", "aten.add_out")


class Node:
    """A node of a program's graph."""

    def __init__(self, op: str, target: Any, *args: Any, dtype: Any = FLOAT) -> None:
        self.op, self.target, self.args, self.meta = op, target, args, {"val": SimpleNamespace(dtype=dtype)}
        self.users: dict[Node, None] = {}
        for each in self.all_input_nodes:
            each.users[self] = None

    @property
    def all_input_nodes(self) -> list[Node]:
        return [each for each in self.args if isinstance(each, Node)]

    def replace_input_with(self, old: Node, new: Node) -> None:
        self.args = tuple(new if each is old else each for each in self.args)


def target(name: str, *arguments: str, changes: bool = False) -> Any:
    """An overload of an op, whose arguments are told as ``name: type``."""
    split = [each.split(": ") for each in arguments]
    schema = SimpleNamespace(is_mutable=changes, arguments=[SimpleNamespace(name=n, type=t) for n, t in split])
    packet, _, overload = name.rpartition(".")
    return SimpleNamespace(overloadpacket=packet, _overloadname=overload, _schema=schema)


PAIR = ("self: Tensor", "other: Tensor")
FUNCTIONS = {
    "add": target("aten.add.Tensor", "input: Tensor", PAIR[1]),
    "relu": target("aten.relu.default", PAIR[0]),
    "renamed": target("aten.renamed.Tensor", PAIR[0], "source: Tensor"),
    "retyped": target("aten.retyped.Tensor", PAIR[0], "other: Scalar"),
}
ADD, RELU = (
    target("aten.add_.Tensor", *PAIR, changes=True),
    target("aten.relu_.default", "self: Tensor", changes=True),
)


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    packets = {name: SimpleNamespace(**{each._overloadname: each}) for name, each in FUNCTIONS.items()}
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(ops=SimpleNamespace(aten=SimpleNamespace(**packets))))


def call(name: str, *args: Any, dtype: Any = FLOAT) -> Node:
    return Node("call_function", target(f"aten.{name}.default"), *args, dtype=dtype)


def functional(*nodes: Node) -> Any:
    program = SimpleNamespace(
        graph=SimpleNamespace(nodes=nodes), graph_signature="s", state_dict="d", constants="c", call_spec="p"
    )
    return without_in_place(program, KNOWN)


def test_what_reads_a_changed_value_afterwards_reads_the_result() -> None:
    x = Node("placeholder", "x")
    made, size = call("abs", x), Node("call_function", math.floor, x)
    before, changed = call("relu", made), Node("call_function", ADD, made, x)
    after, last = call("mul", made, made), Node("output", "output")
    found = functional(x, made, size, before, changed, after, last)
    assert (found.graph_signature, found.state_dict, found.constants, found.call_spec) == ("s", "d", "c", "p")
    x2, made2, _, before2, changed2, after2, _ = found.graph.nodes
    assert (changed2.target.overloadpacket, changed2.args) == ("aten.add", (made2, x2))
    assert (before2.args, after2.args) == ((made2,), (changed2, changed2))
    assert (changed.target, after.args) == (ADD, (made, made))  # the program itself stays
    assert without_in_place(SimpleNamespace(graph=found.graph, graph_signature=0, state_dict=0, constants=0), ()).graph


def changing(how: Any, *others: Any, of: str = "abs", dtype: Any = FLOAT) -> tuple[Node, ...]:
    made = call(of, dtype=dtype)
    return made, Node("call_function", how, made, *others)


def seen_before(kind: str) -> tuple[Node, ...]:
    made = call("abs")
    return made, call(kind, made), Node("call_function", ADD, made)


def returned() -> tuple[Node, ...]:
    made, changed = changing(RELU)
    return made, changed, Node("output", "output", made)


def of_unknown_type() -> tuple[Node, ...]:
    made, changed = changing(ADD)
    made.meta.clear()
    return made, changed


def mutable(name: str) -> Any:
    return target(name, *PAIR, changes=True)


CASES: dict[str, tuple[bool, Callable[[], tuple[Node, ...]]]] = {
    "a sum": (True, lambda: changing(ADD, 2.0)),
    "with whole numbers": (True, lambda: changing(ADD, call("abs", dtype=WHOLE))),
    "a relu of whole numbers": (True, lambda: changing(RELU, dtype=WHOLE)),
    "another own value before": (True, lambda: seen_before("relu")),
    "a graph": (False, lambda: (Node("get_attr", "body"),)),
    "a foreign function": (False, lambda: (Node("call_function", pytest.importorskip),)),
    "an input": (False, lambda: (x := Node("placeholder", "x"), Node("call_function", ADD, x))),
    "no operand": (False, lambda: (Node("call_function", ADD),)),
    "a view": (False, lambda: changing(ADD, of="view")),
    "a view before": (False, lambda: seen_before("view")),
    "a result": (False, returned),
    "an unknown type": (False, of_unknown_type),
    "a sum of whole numbers": (False, lambda: changing(ADD, dtype=WHOLE)),
    "with other floats": (False, lambda: changing(ADD, call("abs", dtype=HALF))),
    "an op that is not known": (False, lambda: changing(mutable("aten.other_.Tensor"))),
    "an op of another library": (False, lambda: changing(mutable("acme.add_.Tensor"))),
    "no op in place": (False, lambda: changing(mutable("aten.add.Tensor"))),
    "no function": (False, lambda: changing(mutable("aten.absent_.Tensor"))),
    "no such overload": (False, lambda: changing(mutable("aten.add_.Scalar"))),
    "another argument": (False, lambda: changing(mutable("aten.renamed_.Tensor"))),
    "an argument of another type": (False, lambda: changing(mutable("aten.retyped_.Tensor"))),
}


@pytest.mark.parametrize("case", CASES)
def test_nothing_else_may_share_the_memory(case: str) -> None:
    is_own, nodes = CASES[case]
    assert (functional(*nodes()) is not None) == is_own
