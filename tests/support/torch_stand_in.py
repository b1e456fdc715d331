"""A stand-in for PyTorch that writes down what is called: what `to_torch` makes of a graph can be read without it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["StandIn"]

_OPERATORS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "@": "matmul",
    "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne",
}  # fmt: skip


class Term:
    """A tensor, a size, a function or a module of PyTorch: what is done with it becomes a line of text."""

    def __init__(self, lines: list[str], text: str, parts: int = 0) -> None:
        self._lines, self._text, self._parts = lines, text, parts

    def __repr__(self) -> str:
        return self._text

    def __bool__(self) -> bool:
        raise TypeError(f"{self._text} has no truth before it is computed")

    def __hash__(self) -> int:
        return hash(self._text)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self if name == "node" else Term(self._lines, f"{self._text}.{name}")

    def __getitem__(self, key: Any) -> Term:
        return Term(self._lines, f"{self._text}[{key!r}]")

    def __neg__(self) -> Term:
        return Term(self._lines, f"(-{self._text})")

    def __iter__(self) -> Iterator[Term]:
        return iter([self[at] for at in range(self._parts)])

    def __call__(self, *arguments: Any, **named: Any) -> Term:
        given = [*map(_told, arguments), *(f"{name}={_told(value)}" for name, value in named.items())]
        self._lines.append(f"v{len(self._lines)} = {self._text}({', '.join(given)})")
        parts = arguments[1] if self._text == "torch.chunk" else 0
        return Term(self._lines, self._lines[-1].partition(" ")[0], parts)


def _told(value: Any) -> str:
    return f"{value:.7g}" if isinstance(value, float) else repr(value)


def _operation(sign: str, *, turned: bool = False) -> Callable[[Term, Any], Term]:
    def compute(self: Term, other: Any) -> Term:
        pair = (_told(other), repr(self)) if turned else (repr(self), _told(other))
        return Term(self._lines, f"({pair[0]} {sign} {pair[1]})")

    return compute


for sign, name in _OPERATORS.items():
    setattr(Term, f"__{name}__", _operation(sign))
    if hasattr(operator, f"i{name}"):
        setattr(Term, f"__r{name}__", _operation(sign, turned=True))


class Module:
    """A module: what is registered is an attribute, as there."""

    def add_module(self, name: str, module: Module) -> None:
        setattr(self, name, module)

    register_parameter = register_buffer = add_module


def _held(module: Module, name: str) -> Iterator[str]:
    for part, value in vars(module).items():
        if isinstance(value, Module):
            yield from _held(value, f"{name}.{part}")
        else:
            yield f"{name}.{part} = {value!r}"


class StandIn:
    """What `to_torch` needs of PyTorch; everything else is a `Term`."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.nn = _Names(Module=Module, Parameter=self.parameter, functional=Term(self.lines, "functional"))
        self.fx = _Names(
            Graph=lambda: self,
            Proxy=lambda node, tracer: node,
            GraphModule=lambda root, graph, name: "\n".join([*self.lines, *_held(root, "self")]),
            node=_Names(map_aggregate=lambda given, function: tuple(map(function, given))),
            proxy=_Names(GraphAppendingTracer=lambda graph: None),
        )
        self.lint = lambda: None
        self.placeholder = self.get_attr = lambda name: Term(self.lines, name)
        self.call_function = lambda function, arguments, named=None: function(*arguments, **(named or {}))

    def __getattr__(self, name: str) -> Term:
        return Term(self.lines, f"torch.{name}")

    def from_numpy(self, array: np.ndarray) -> Term:
        """Show the numbers of a tensor."""
        shown = np.array2string(array, separator=",", precision=4, threshold=80, floatmode="fixed")
        made = Term(self.lines, f"tensor({''.join(shown.split())})")
        made.__dict__["ndim"] = array.ndim
        converted = made.to
        made.__dict__["to"] = lambda kind: _with_rank(converted(kind), array.ndim)
        return made

    def parameter(self, tensor: Term) -> Term:
        """Mark what is trained."""
        return Term(self.lines, "nn.Parameter")(tensor)

    def output(self, found: Any) -> None:
        """Write what a module returns."""
        self.lines.append(f"return {found!r}")


def _with_rank(tensor: Term, rank: int) -> Term:
    tensor.__dict__["ndim"] = rank
    return tensor


class _Names:
    def __init__(self, **names: Any) -> None:
        self.__dict__.update(names)
