"""Generic ops: stand-ins for unknown ops, which can be printed, found and replaced, but not computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.op.attribute_check import ANYTHING, AttributeCheck
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import RESERVED
from graphrewrite.types import Type

__all__ = ["Generic", "generic"]


@dataclass(frozen=True, eq=False)
class Generic(Op):
    """An unknown op, with any operands and attributes; made by `generic`."""

    any_attributes: ClassVar[bool] = True

    def check(self, operands: int, attributes: Mapping[str, Any], *, complete: bool = True) -> None:
        """Accept any operands, and any attributes that are not reserved keys."""
        taken = sorted(attributes.keys() & (RESERVED - {"result"}))
        if taken:
            raise TypeMismatchError(f"{self.name}: {taken[0]!r} is a reserved key of nodes; rename the attribute")

    def check_of(self, attribute: str) -> AttributeCheck:
        """Return that an attribute takes any value that can be stored."""
        return ANYTHING

    def stands_for(self, other: Op) -> bool:
        """Tell whether another op is a generic one of the same shape."""
        return isinstance(other, Generic) and self.results == other.results

    def stored(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes as they are; what `result` says is the node's type."""
        return {key: value for key, value in attributes.items() if key != "result"}

    def __repr__(self) -> str:
        return f"<generic op {self.name}>"

    def __reduce__(self) -> Any:
        return generic, (self.name, self.results)


def generic(name: str, results: int = 1) -> Generic:
    """Return an op that stands for an unknown one.

    A node of it can be printed, drawn, searched for and replaced by rules; evaluating it raises an error. What type its
    result has, the node says itself, by the keyword `result`; without, it is that of the first operand.

    Parameters
    ----------
    name : str
        Any name; it is the ``type`` of the nodes.
    results : int
        How many results it has.

    Raises
    ------
    TypeMismatchError
        If the name is empty, or the number of results is negative.

    Examples
    --------
    >>> from graphrewrite import Graph, Tensor
    >>> g = Graph("g")
    >>> x = g.input("x", Tensor("f32", ("N", 4)))
    >>> _ = g.output("y", generic("Swirl")(x, turns=3, result=Tensor("f32", ("N", 2))))
    >>> g.attributes("Swirl_1"), str(g.result_type("Swirl_1"))
    ({'turns': 3}, 'f32[N,2]')
    """
    if not name:
        raise TypeMismatchError(f"generic ops need a non-empty name, got {name!r}")
    if results < 0:
        raise TypeMismatchError(f"{name} cannot have {results} results")

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise EvaluationError(
            f"the generic op {name!r} has no implementation; replace its nodes by a rule, or pass one"
        )

    def infer(*types: Type, result: Any = None, **_: Any) -> Any:
        stated = (types[0] if types else None) if result is None else result
        if stated is None:
            raise TypeMismatchError("has no result type and no operand to take it from; pass result=Tensor(…)")
        listed = tuple(stated) if isinstance(stated, tuple | list) else (stated,) * results
        if len(listed) != results:
            raise TypeMismatchError(f"has {results} results, and result= lists {len(listed)} types")
        return listed

    return Generic(
        name=name,
        function=refuse,
        level="generic",
        infer_types=infer,
        operands=(),
        required=0,
        variadic=True,
        attributes={},
        stateful=True,  # whatever it does: it is never folded or merged
        results=results,
        doc=f"Unknown: stands for an op called {name!r}.",
    )
