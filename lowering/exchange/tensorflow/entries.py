"""Entries of users and of rulesets as rows of TensorFlow's table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphrewrite import Tensor
from graphrewrite.lowering.exchange.entry import Entry, Unfit
from graphrewrite.lowering.exchange.rulesets.described_ops import DescribedOp
from graphrewrite.lowering.exchange.tensorflow.importer import Operands, Row
from graphrewrite.op.op import Op

__all__ = ["with_entries"]


def with_entries(table: Mapping[str, Row], entries: Mapping[str, tuple[Entry, ...]]) -> dict[str, Row]:
    """Return a table in which entries take precedence; where none of them fits, the table's own row does."""
    return {**table, **{name: _row(each, table.get(name)) for name, each in entries.items()}}


def _row(entries: tuple[Entry, ...], otherwise: Row | None) -> Row:
    def row(x: Operands) -> Any:
        hindrance: Unfit | None = None
        for entry in entries:
            try:
                attributes, values = _arguments(entry, x)
                return entry.op(*values, **attributes)
            except Unfit as error:
                hindrance = hindrance or error
        if otherwise is not None:
            return otherwise(x)
        assert hindrance is not None  # there is an entry
        raise hindrance

    return row


def _arguments(entry: Entry, x: Operands) -> tuple[dict[str, Any], list[Any]]:
    """Return the attributes and operands of a node by an entry."""
    named = {*entry.attributes, *entry.required, *entry.ignored}
    # Names of types follow from the operands, and those with an underscore are TensorFlow's own remarks.
    said = {
        name: value
        for name, value in x.attributes.items()
        if name in named or not (name.startswith("_") or (isinstance(value, str) and value.startswith("DT_")))
    }
    attributes = entry.read_attributes(said, 1)
    computed = set[int]()
    for index, (ours, convert, *_) in entry.constants.items():
        if index < len(x) and isinstance(entry.op, DescribedOp) and x.known(x[index]) is None:
            computed.add(index)  # nobody computes the node, so that it may read it
        elif index < len(x):
            attributes[ours] = convert(x.array(index))
    attributes = {name: value for name, value in attributes.items() if value is not None}
    places = entry.operands or [at for at in range(len(x)) if at in computed or at not in entry.constants]
    values = [x[at] if at < len(x) else None for at in places]
    values += [x[at] for at in sorted(computed.difference(places))]
    while values and values[-1] is None:
        values.pop()
    kinds = [value.type for value in values if value is not None and isinstance(value.type, Tensor)]
    if entry.complete is not None:
        attributes = entry.complete(attributes, kinds)
    reason = entry.fits(attributes, kinds) if entry.fits is not None else None
    if reason is not None:
        raise Unfit(reason)
    if isinstance(entry.op, Op) and len(values) < entry.op.required:
        raise Unfit(f"it has {len(values)} operands and needs {entry.op.required}")
    return attributes, values
