"""The view class of an op's nodes, made from the op's definition for help and tab completion."""

from __future__ import annotations

import inspect
from typing import Any

from graphrewrite.op.op import Op

__all__ = ["class_of"]


class OpProperty:
    """A descriptor for a name of the op's definition; the view reads and writes it."""

    def __init__(self, name: str, doc: str) -> None:
        self.name, self.__doc__ = name, doc

    def __get__(self, view: Any, owner: Any = None) -> Any:
        return self if view is None else view._read(self.name)

    def __set__(self, view: Any, value: Any) -> None:
        view._write(self.name, value)


def class_of(base: Any, op: Op) -> Any:
    """Return the view class of an op's nodes; the op caches it."""
    cls = vars(op).get("node_class")
    if cls is None:
        cls = vars(op)["node_class"] = _make(base, op)
    return cls


def _make(base: Any, op: Op) -> Any:
    docs = {name: f"Operand {i}." for i, name in enumerate(op.operands)}
    if op.variadic and op.operands:
        docs[op.operands[-1]] = "All further operands, as a tuple."
    for name, default in op.attributes.items():
        ending = "required" if default is inspect.Parameter.empty else f"{default!r} if not given"
        docs[name] = f"Attribute: {op.checks[name].kind.name}, {ending}."
    for name, meaning in op.derived.items():
        docs[name] = f"Another name of `{meaning}`." if isinstance(meaning, str) else inspect.getdoc(meaning) or ""
    taken = {name: OpProperty(name, doc) for name, doc in docs.items() if not hasattr(base, name)}
    title = "".join(part.capitalize() for part in op.name.split("_"))
    space = {**taken, "_op": op, "__doc__": op.__doc__, "__module__": base.__module__}
    return type(f"{title}Node" if title.isidentifier() else "Node", (base,), space)
