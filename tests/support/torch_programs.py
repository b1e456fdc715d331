"""Exported programs of a PyTorch that is not there: as much of both as `from_torch` reads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

__all__ = [
    "BRAIN",
    "COMPLEX",
    "FLOAT",
    "HALF",
    "TRUTH",
    "WHOLE",
    "Dim",
    "Example",
    "ExportedProgram",
    "Network",
    "Node",
    "Stored",
    "SymFloat",
    "SymInt",
    "call",
    "device",
    "doubled",
    "install",
    "number",
    "placeholder",
    "symbol",
    "target",
]


class DType:
    """An element type."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return f"torch.{self.name}"


FLOAT, HALF, BRAIN, WHOLE, TRUTH, COMPLEX = map(DType, ("float32", "float16", "bfloat16", "int64", "bool", "complex64"))


class device:  # its name is read
    """Where a tensor is."""


class Example:
    """A tensor without numbers, as programs hold them."""

    def __init__(self, *shape: Any, dtype: DType = FLOAT) -> None:
        self.shape, self.dtype, self.ndim = shape, dtype, len(shape)


class Stored(Example):
    """A tensor with numbers; each step on the way to them is noted."""

    def __init__(self, numbers: Any, *, dtype: DType = FLOAT, place: str = "cpu", layout: str = "strided") -> None:
        self.numbers = np.asarray(numbers)
        super().__init__(*self.numbers.shape, dtype=dtype)
        self.device, self.layout = SimpleNamespace(type=place.partition(":")[0]), layout

    def detach(self) -> Stored:
        return self

    resolve_conj = resolve_neg = detach

    def to(self, dtype: DType) -> Stored:
        return Stored(self.numbers.astype("f4"), dtype=dtype)

    def numpy(self) -> np.ndarray:
        if self.dtype is BRAIN:
            raise TypeError("numpy has no bfloat16")
        return self.numbers

    def is_floating_point(self) -> bool:
        return self.dtype in (FLOAT, HALF, BRAIN)


def expression(kind: str, *args: Any, value: int | str | None = None) -> Any:
    """An expression as sympy has them."""
    known = {"is_Integer": isinstance(value, int), "is_Symbol": isinstance(value, str), "args": args, "name": value}
    return type(kind, (), known | {"__int__": lambda self: value})()


class SymInt:
    """A whole number that follows from open sizes."""

    def __init__(self, expr: Any) -> None:
        self.node = SimpleNamespace(expr=expr)


class SymFloat:
    """A real number that follows from open sizes."""


def symbol(name: str) -> SymInt:
    return SymInt(expression("Symbol", value=name))


def doubled(size: SymInt) -> SymInt:
    return SymInt(expression("Mul", expression("Integer", value=2), size.node.expr))


class Argument:
    """An argument in a schema, told as ``name`` or ``name=default``."""

    def __init__(self, told: Any) -> None:
        self.name, self.default_value = told if isinstance(told, tuple) else (told, self)

    def has_default_value(self) -> bool:
        return self.default_value is not self


class Overload:
    """An overload of an op, by its schema."""

    def __init__(self, name: str, arguments: Sequence[Any], changes: bool) -> None:
        self.overloadpacket = name
        self._schema = SimpleNamespace(arguments=[*map(Argument, arguments)], is_mutable=changes)


def target(name: str, *arguments: Any, changes: bool = False) -> Overload:
    """An overload of an op: ``aten.add``; arguments are names, or names with defaults."""
    return Overload(name, arguments, changes)


class Node:
    """A node of a program's graph."""

    def __init__(self, op: str, name: str, target: Any, *args: Any, val: Any = None, **kwargs: Any) -> None:
        self.op, self.name, self.target, self.args, self.kwargs, self.meta = (
            op,
            name,
            target,
            args,
            kwargs,
            {"val": val},
        )

    @property
    def all_input_nodes(self) -> list[Node]:
        return [*_nodes((self.args, self.kwargs))]


def _nodes(value: Any) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple | list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _nodes(each)


def call(name: str, kind: Any, *args: Any, val: Any, **kwargs: Any) -> Node:
    return Node("call_function", name, kind, *args, val=val, **kwargs)


def number(name: str, val: Any, *args: Any) -> Node:
    """A node that gives a number."""
    return call(name, target("aten.sym_size", "self", "dim"), *args, val=val)


def placeholder(name: str, val: Any) -> Node:
    return Node("placeholder", name, name, val=val)


class Spec:
    """A kind of input or output, its name in the graph, and what it is called outside."""

    def __init__(self, kind: str, arg: Any, target: str | None) -> None:
        self.kind, self.target = SimpleNamespace(name=kind), target
        self.arg = SimpleNamespace(name=arg.name) if isinstance(arg, Node) else arg


class ExportedProgram:
    """An exported program.

    Parameters
    ----------
    nodes : sequence of Node
        Of its graph, in order.
    ends : sequence
        What is returned: nodes, or other values.
    stored : mapping
        Of placeholders that are no inputs: their kind, and the name in the model.
    changed : mapping
        Of buffers that change: the node of the next value.
    tensors : mapping
        Parameters, buffers and constants.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        ends: Sequence[Any],
        stored: Mapping[str, tuple[str, str]] | None = None,
        changed: Mapping[str, Node] | None = None,
        tensors: Mapping[str, Stored] | None = None,
    ) -> None:
        stored, changed, tensors = stored or {}, changed or {}, tensors or {}
        self.graph = SimpleNamespace(nodes=[*nodes])
        places = [node for node in nodes if node.op == "placeholder"]
        inputs = [
            Spec(*stored.get(n.name, ("USER_INPUT", ""))[:1], n, stored.get(n.name, ("", None))[1]) for n in places
        ]
        outputs = [Spec("BUFFER_MUTATION", node, name) for name, node in changed.items()]
        outputs += [Spec("USER_OUTPUT", each, None) for each in ends]
        self.graph_signature = SimpleNamespace(input_specs=inputs, output_specs=outputs)
        self.state_dict = {name: tensor for name, tensor in tensors.items() if not name.startswith("c")}
        self.constants = {name: tensor for name, tensor in tensors.items() if name.startswith("c")}
        self.call_spec = SimpleNamespace(out_spec=SimpleNamespace(num_leaves=len(ends)))
        self.decomposed: list[Any] = []
        self.simpler: ExportedProgram | Exception | None = None

    def run_decompositions(self, rules: Mapping[Any, Any]) -> ExportedProgram:
        """Note the rules, and become a simpler program."""
        self.decomposed.append(rules)
        if isinstance(self.simpler, Exception):
            raise self.simpler
        return self.simpler or self


class Network:
    """A module: `forward` is what it computes."""

    def __init__(self, forward: Callable[..., Any]) -> None:
        self.forward = forward


class Dim:
    """An open axis."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


def _tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    if isinstance(tree, tuple | list):
        return type(tree)(_tree_map(function, each) for each in tree)
    if isinstance(tree, dict):
        return {key: _tree_map(function, each) for key, each in tree.items()}
    return function(tree)


def _promoted(one: Any, other: Any) -> DType:
    """The type of two operands, where a number counts for less than a tensor of its kind."""
    tensors = [each.dtype for each in (one, other) if isinstance(each, Example)]
    kinds = [*tensors, *(_OF_NUMBERS[type(each)] for each in (one, other) if not isinstance(each, Example))]
    kind = max(map(_KINDS.__getitem__, kinds))
    fitting = [each for each in tensors if _KINDS[each] == kind]
    return FLOAT if FLOAT in fitting else (fitting or [each for each in kinds if _KINDS[each] == kind])[0]


_KINDS = {TRUTH: 0, WHOLE: 1, BRAIN: 2, HALF: 2, FLOAT: 2}
_OF_NUMBERS = {bool: TRUTH, int: WHOLE, float: FLOAT}


def install(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a PyTorch in place that has what is needed of it; return it."""
    torch, export = ModuleType("torch"), ModuleType("torch.export")
    pytree = SimpleNamespace(
        tree_map=_tree_map,
        tree_unflatten=lambda leaves, spec: leaves,
        tree_flatten_with_path=lambda tree: ([((), each) for each in tree], None),
    )
    named = {each.name: each for each in (FLOAT, HALF, BRAIN, WHOLE, TRUTH)}
    torch.__dict__.update(
        Tensor=Example,
        SymInt=SymInt,
        dtype=DType,
        strided="strided",
        __version__="2.99",
        export=export,
        fx=SimpleNamespace(Node=Node),
        nn=SimpleNamespace(Module=Network),
        result_type=_promoted,
        utils=SimpleNamespace(_pytree=pytree),
        **named,
    )
    export.__dict__.update(ExportedProgram=ExportedProgram, Dim=Dim, default_decompositions=dict)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.export", export)
    return torch
