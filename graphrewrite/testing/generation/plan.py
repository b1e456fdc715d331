"""A pattern's reading with types: every value with a type, every attribute with a value, so that all of it fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from graphrewrite.rewriting.pattern import Application, Where
from graphrewrite.testing.generation.arrays import constant_array, holds, literal_array, probe
from graphrewrite.testing.generation.demand import Demand, Pick, Unfit, unmet
from graphrewrite.testing.generation.fitting import Case
from graphrewrite.testing.generation.kinds import POSITIVE
from graphrewrite.testing.generation.open_sizes import extent, holds_for_all
from graphrewrite.testing.generation.tables import meet
from graphrewrite.testing.generation.unfolding import Capture, Leaf, Node, Output, Unfolded
from graphrewrite.types import FixedPoint, Tensor, Type

__all__ = ["Plan"]

_LARGEST = 500
"""Entries of a result, in each row of a batch: faults show in small ones."""
_LARGEST_OPERAND = 1 << 16
"""Entries of an operand: of more, memory may not hold what is computed of it."""
_STYLES = 8
"""Constants to try where a condition asks for something of their values."""


@dataclass
class Plan:
    """Types and attributes for a reading of a pattern.

    Attributes
    ----------
    reading : Unfolded
        What is planned.
    types : dict
        Of each leaf.
    cases : dict
        Types and attributes of each node.
    captured : dict
        Values of the attributes that variables stand for.
    arrays : dict
        Of leaves whose values matter.
    positive : set
        Leaves whose constants should be above zero.
    """

    reading: Unfolded
    types: dict[Leaf, Type] = field(default_factory=dict)
    cases: dict[Node, Case] = field(default_factory=dict)
    captured: dict[Capture, Any] = field(default_factory=dict)
    arrays: dict[Leaf, np.ndarray] = field(default_factory=dict)
    positive: set[Leaf] = field(default_factory=set)

    @property
    def attributes(self) -> dict[Node, Mapping[str, Any]]:
        """Attributes of each node."""
        return {node: case.attributes for node, case in self.cases.items()}

    def copy(self) -> Plan:
        """Return a plan that can go on in another way."""
        tables = ("types", "cases", "captured", "arrays", "positive")
        return replace(self, **{name: getattr(self, name).copy() for name in tables})

    def type_of(self, port: Leaf | Output) -> Type | None:
        """Return the type that is settled for a value, if one is."""
        if isinstance(port, Leaf):
            return self.types.get(port)
        return self.result(port) if port.node in self.cases else None

    def settle(self, port: Leaf | Output, kind: Type, pick: Pick) -> None:
        """Give a value a type, and give types to what lies below it."""
        settled = self.type_of(port)
        if settled is not None:
            if settled != kind:
                raise Unfit("shared, and wanted with two types")
        elif isinstance(port, Leaf):
            self.fill(port, kind, pick)
        else:
            self._settle_node(port, kind, pick)

    def result(self, port: Output) -> Type:
        """Return the type of a node's result."""
        return self.cases[port.node].results[port.index]

    def fill(self, leaf: Leaf, kind: Type, pick: Pick) -> None:
        """Give a leaf a type, and find an array for a constant whose values matter.

        Raises
        ------
        Unfit
            If it is to be a constant, and there is none of the type, or none that meets its condition.
        """
        self.types[leaf] = kind
        if leaf.constant and any(isinstance(d, str) for d in kind.shape):
            raise Unfit("a constant has no symbolic size")
        if any("-" in size if isinstance(size, str) else size < 0 for size in kind.shape):
            raise Unfit("an input's size could be negative")
        if extent(kind, "N") > _LARGEST_OPERAND:
            raise Unfit("an operand has more entries than is worth comparing")
        if leaf.literal is not None:
            self.arrays[leaf] = literal_array(leaf.literal, kind, pick)
        if leaf.condition is None or (not leaf.constant and holds(leaf.condition, kind, None)):
            return
        if any(isinstance(d, str) for d in kind.shape) or not isinstance(kind, Tensor):
            raise Unfit(unmet(leaf.condition, probe(kind, None)))
        first = pick(range(_STYLES))
        for style in (*range(first, _STYLES), *range(first)):
            array = constant_array(kind, style, positive=leaf in self.positive)
            if holds(leaf.condition, kind, array):
                self.arrays[leaf] = array
                return
        raise Unfit(unmet(leaf.condition, probe(kind, array)))

    def settled(self, node: Node) -> tuple[dict[str, Any], dict[str, Where]]:
        """Return the attributes of a node that the pattern leaves no choice of, and conditions for others."""
        given: dict[str, Any] = {}
        conditions: dict[str, Where] = {}
        for name, value in node.attributes.items():
            if isinstance(value, Where):
                conditions[name] = value
            elif not isinstance(value, Capture):
                given[name] = value
            elif value in self.captured:
                given[name] = self.captured[value]
            elif value.condition is not None:
                conditions[name] = value.condition
        return given, conditions

    def place(self, node: Node, case: Case) -> None:
        """Give a node its operand types, attributes and results; its captured attributes are settled by that."""
        conditions = [value for value in node.attributes.values() if isinstance(value, Where) and value.of_node]
        if conditions:
            defaults = node.op.defaults(next(iter(case.types), None), case.attributes)
            application = Application(node.op, tuple(case.types), {**defaults, **case.attributes})
            if wrong := next((each for each in conditions if not each.predicate(application)), None):
                raise Unfit(wrong.reason)
        usual = node.op.defaults(next(iter(case.types), None), case.attributes)
        given, _ = self.settled(node)
        for name in node.op.forms:
            if name in given and given[name] == node.op.attributes[name] != usual[name]:
                raise Unfit(f"{name}={given[name]} stands for {usual[name]} with so many axes")
        sizes = [size for kind in case.results for size in kind.shape if isinstance(size, str)]
        is_partial = any("//" in size or "-" in size for size in sizes)
        if is_partial and not holds_for_all(node.op, case.types, case.attributes, ""):
            raise Unfit(f"{node.op.name} takes not every size")
        if any(extent(kind, "N") > _LARGEST for kind in case.results):
            raise Unfit(f"{node.op.name} gives more than is worth comparing")
        self.cases[node] = case
        for name, value in node.attributes.items():
            if isinstance(value, Capture):
                self.captured[value] = case.attributes.get(name, node.op.attributes[name])
        for operand, name in zip(node.operands, node.op.operands, strict=False):
            if name in POSITIVE and isinstance(operand, Leaf):
                self.positive.add(operand)

    def _settle_node(self, port: Output, kind: Type, pick: Pick) -> None:
        node = port.node
        given, conditions = self.settled(node)
        formats = [t.element for t in self.types.values() if isinstance(t.element, FixedPoint)]
        formats += [v for n in self.cases.values() for v in n.attributes.values() if isinstance(v, FixedPoint)]
        demand = Demand(
            node.op,
            kind,
            len(node.operands),
            pick,
            given=given,
            fixed=tuple(isinstance(t, Leaf) and t.constant for t in node.operands),
            known=tuple(self.type_of(t) for t in node.operands),
            formats=tuple(dict.fromkeys(formats)),
            conditions=conditions,
            index=port.index,
        )
        need = meet(demand)
        self.place(node, Case(need.types, need.attributes, node.op.infer(*need.types, **need.attributes)))
        for operand, wanted in zip(node.operands, need.types, strict=True):
            self.settle(operand, wanted, pick)
