"""The pattern language: what stands above a rule's ``yield``, as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite.errors import RuleError
from graphrewrite.op.define import Op
from graphrewrite.op.symbolic import Symbolic

__all__ = ["Constant", "Literal", "Nodes", "Pattern", "PatternNode", "Term", "Variable"]


_UNDECIDED = "a condition above the yield cannot be decided; test below the yield and return decline(reason)"


class Constant:
    """Annotation of a rule's variable: it binds a constant, whose array is then known as ``w.value``.

    Examples
    --------
    >>> from graphrewrite import op
    >>> from graphrewrite.rule import rule
    >>> @rule
    ... def double_constant(x, c: Constant):
    ...     "A sum with a constant."
    ...     yield op.add(x, c)
    ...     return op.add(x, c)
    >>> print(double_constant.pattern)
    add(x, c: Constant)
    """

    if TYPE_CHECKING:  # what such a variable offers below the yield (see `graphrewrite.replacement.Bound`)
        value: np.ndarray[Any, Any]
        shape: tuple[int, ...]
        type: Any


class Nodes(list["PatternNode"]):
    """The nodes of a pattern, in the order of the source; closed when the rule has yielded."""

    closed = False


class _Traced(Symbolic):
    """What variables and nodes of a pattern have in common: ops applied to them make pattern nodes."""

    __slots__ = ()
    made: list[PatternNode]
    """All nodes of the pattern so far; shared by all that is traced."""

    def apply_op(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> PatternNode:
        """Make a pattern node; literals become `Literal` terms."""
        op.check(len(operands), attributes, complete=False)
        terms = tuple(x if isinstance(x, Variable | PatternNode) else Literal(np.asarray(x)) for x in operands)
        node = PatternNode(self.made, op, terms, attributes)
        self.made.append(node)
        return node

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise RuleError(
            f"{name!r} of a matched node is known only below the yield; above it, bind an attribute with a "
            f"parameter: op.conv(x, w, {name}={name})"
        )

    def __bool__(self) -> bool:
        raise RuleError(_UNDECIDED)

    def __eq__(self, other: object) -> bool:
        if not getattr(self.made, "closed", True) and self is not other:
            raise RuleError(_UNDECIDED)
        return self is other

    __hash__ = object.__hash__

    def _undecided(self, other: object) -> bool:
        raise RuleError(_UNDECIDED)

    __lt__ = __le__ = __gt__ = __ge__ = _undecided

    def __iter__(self) -> Iterator[Any]:
        raise RuleError("a pattern node has one result, which cannot be unpacked")


@dataclass(eq=False, repr=False)
class Variable(_Traced):
    """A parameter of a rule: binds a value where it is an operand, an attribute where it is one."""

    made: list[PatternNode]
    name: str
    constant: bool = False

    def __repr__(self) -> str:
        return f"{self.name}: Constant" if self.constant else self.name


@dataclass(eq=False, repr=False)
class PatternNode(_Traced):
    """An op with operand terms and attributes that must be equal or are bound."""

    made: list[PatternNode]
    op: Op
    operands: tuple[Term, ...]
    attributes: dict[str, Any]
    name: str | None = field(default=None)

    def __repr__(self) -> str:
        shown = [repr(x) for x in self.operands] + [f"{k}={v!r}" for k, v in self.attributes.items()]
        return f"{self.op.name}({', '.join(shown)})"


@dataclass(frozen=True, eq=False, repr=False)
class Literal:
    """A number or an array in a pattern: matches a constant all of whose entries equal it."""

    value: np.ndarray

    def __repr__(self) -> str:
        return repr(self.value.tolist())


Term = Variable | PatternNode | Literal


@dataclass(frozen=True, eq=False)
class Pattern:
    """What a rule looks for.

    Attributes
    ----------
    roots : tuple of PatternNode
        The nodes whose values are replaced.
    nodes : tuple of PatternNode
        All nodes, in the order in which the rule's source makes them.
    variables : tuple of Variable
        The rule's parameters.
    depth : int
        Nodes on the longest path from a root to a variable, the variable included.
    """

    roots: tuple[PatternNode, ...]
    nodes: tuple[PatternNode, ...]
    variables: tuple[Variable, ...]
    depth: int

    @classmethod
    def of(
        cls, roots: tuple[PatternNode, ...], variables: tuple[Variable, ...], complain: Callable[[str], Exception]
    ) -> Pattern:
        """Check what a rule yielded and make a pattern of it.

        Parameters
        ----------
        roots : tuple of PatternNode
            What was yielded.
        variables : tuple of Variable
            The rule's parameters.
        complain : callable
            Makes an exception that names the rule and its place.

        Returns
        -------
        Pattern
        """
        if not roots:
            raise complain("yields nothing; yield the node that is to be replaced")
        for root in roots:
            if not isinstance(root, PatternNode):
                raise complain(f"yields {root!r}, which is no op; yield the node that is to be replaced")
        depths: dict[PatternNode, int] = {}
        as_operand: set[Variable] = set()
        as_attribute: set[Variable] = set()

        def visit(node: PatternNode) -> int:
            if node not in depths:
                below = 1
                for term in node.operands:
                    if isinstance(term, PatternNode):
                        below = max(below, visit(term))
                    elif isinstance(term, Variable):
                        as_operand.add(term)
                as_attribute.update(v for v in node.attributes.values() if isinstance(v, Variable))
                depths[node] = below + 1
            return depths[node]

        depth = max(map(visit, roots))
        for variable in variables:
            if variable in as_operand and variable in as_attribute:
                raise complain(f"uses {variable.name!r} both as an operand and as an attribute; take two parameters")
            if variable not in as_operand | as_attribute:
                raise complain(
                    f"never uses its parameter {variable.name!r} above the yield; use it in the pattern or drop it"
                )
        made = roots[0].made
        for node in made:
            if node not in depths:
                raise complain(
                    f"makes {node!r} above the yield, which is no part of what it yields; yield it too or drop it"
                )
        return cls(roots, tuple(made), variables, depth)

    def __str__(self) -> str:
        return ", ".join(map(repr, self.roots))
