"""Which entry of the table an operator of TensorFlow Lite gets; all that have none are told at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphrewrite import Tensor
from graphrewrite.lowering.errors import UnsupportedOpsError
from graphrewrite.lowering.exchange.entry import Entry, Unfit
from graphrewrite.lowering.exchange.hooks import Hooks
from graphrewrite.lowering.exchange.tflite.control_flow import CONTROL_FLOW, bodies
from graphrewrite.lowering.exchange.tflite.model import Network, Operator
from graphrewrite.lowering.exchange.tflite.variables import OPERATORS as VARYING
from graphrewrite.op.op import Op

__all__ = ["ACTIVATION", "Matching", "Row", "operands"]

ACTIVATION = "fused_activation_function"
"""The option that is no attribute of an entry: results have it."""
_MOST_LISTED = 50
"""Operators that an error lists."""
_DEEPEST = 8
"""Subgraphs that run each other."""

Row = tuple[Entry, dict[str, Any]]
"""An entry, and the attributes of an operator by it."""


@dataclass(frozen=True)
class Matching:
    """Rows of the operators of a subgraph.

    Attributes
    ----------
    networks : sequence of Network
        All subgraphs of the model.
    table : mapping of str to tuple of Entry
        Entries by operator.
    hooks : Hooks, optional
        Those of users; an operator with one that goes before it needs no entry.
    running : tuple of int
        The subgraph, after those that run it.
    rows_of : dict
        Rows of each subgraph that was looked at, and which operators have none: the same for all of a model.
    """

    networks: Sequence[Network]
    table: Mapping[str, tuple[Entry, ...]]
    hooks: Hooks | None = None
    running: tuple[int, ...] = (0,)
    rows_of: dict[int, tuple[list[Row | None], list[str]]] = field(default_factory=dict)

    @property
    def network(self) -> Network:
        """The subgraph."""
        return self.networks[self.running[-1]]

    def within(self, index: int) -> Matching:
        """Return that of a subgraph which an operator of this one runs."""
        if index in self.running:
            raise Unfit(f"subgraph {index} runs itself")
        if len(self.running) > _DEEPEST:
            raise Unfit(f"branches and loops are nested in each other more than {_DEEPEST} times")
        return Matching(self.networks, self.table, self.hooks, (*self.running, index), self.rows_of)

    def rows(self) -> list[Row | None]:
        """Return the entry of each operator with its attributes; an error names all operators that have none.

        Those that handle variables need none.
        """
        rows, missing = self._matched()
        if missing:
            listed = missing[:_MOST_LISTED] + [f"and {len(missing) - _MOST_LISTED} more"] * (
                len(missing) > _MOST_LISTED
            )
            many = f"{len(missing)} operators are" if len(missing) > 1 else "an operator is"
            raise UnsupportedOpsError(
                f"{many} not supported: {'; '.join(listed)}; entries=[Entry(...)] can give a meaning to your own"
            )
        return rows

    def _matched(self) -> tuple[list[Row | None], list[str]]:
        """Return the rows of operators, and which have none, those of further subgraphs with them, each once."""
        if self.running[-1] in self.rows_of:
            return self.rows_of[self.running[-1]][0], []
        rows, missing = self.rows_of.setdefault(self.running[-1], ([], []))
        for operator in self.network.operators:
            try:
                if operator.kind in CONTROL_FLOW:
                    for index in bodies(operator, len(self.networks)):
                        missing += self.within(index)._matched()[1]
                elif operator.kind in VARYING and len(self.running) > 1:
                    raise Unfit("variables inside of branches and loops are not supported")
                is_row = operator.kind not in VARYING and operator.kind not in CONTROL_FLOW
                rows.append(self.row(operator) if is_row else None)
            except Unfit as reason:
                rows.append(None)
                if self.hooks is None or not self.hooks.are_for(operator.kind, operator.label, before=True):
                    missing.append(f"{operator.label!r} ({operator.kind}): {reason}")
        return rows, missing

    def row(self, operator: Operator) -> Row:
        """Return the first entry that fits an operator, and its attributes; raise why the last one does not."""
        options = {key: value for key, value in operator.options.items() if value is not None and key != "_"}
        options.pop(ACTIVATION, None)
        reason = Unfit("the library has no entry for it")
        for entry in self.table.get(operator.kind, ()):
            try:
                attributes = entry.read_attributes(options, len(operator.outputs))
                indices = operands(entry, operator)
                kinds = [self.kind(index) for index in indices if index >= 0]
                to = tuple(self.kind(index) for index in operator.outputs)
                if isinstance(entry.op, Op) and len(indices) < entry.op.required:
                    raise Unfit(f"it has {len(indices)} operands, and needs {entry.op.required}")
                if entry.fits is not None and (why := entry.fits({**attributes, "to": to}, kinds)) is not None:
                    raise Unfit(why)
            except (Unfit, ValueError, TypeError) as error:
                reason = error if isinstance(error, Unfit) else Unfit(str(error))
                continue
            return entry, attributes
        raise reason

    def kind(self, index: int) -> Tensor:
        """Return the declared type of a tensor."""
        tensor = self.network.tensors[index]
        if not tensor.element:
            raise Unfit(f"tensor {tensor.name!r} is a text, a complex number or a resource")
        return Tensor(tensor.format or tensor.element, tensor.shape)


def operands(entry: Entry, operator: Operator) -> list[int]:
    """Return the tensors that are operands by an entry, without missing ones at the end."""
    places = entry.operands or [at for at in range(len(operator.inputs)) if at not in entry.constants]
    indices = [operator.inputs[at] if at < len(operator.inputs) else -1 for at in places]
    while indices and indices[-1] < 0:
        indices.pop()
    return indices
