"""A dialect of query plans, whose edges carry relations: lists of rows, which are dictionaries."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import Dialect, EdgeType, Tensor, define_op, rule
from graphrewrite.errors import TypeMismatchError

rel = Dialect("rel", levels=("logical", "physical"), version=2)

Rows = list[dict[str, int]]


class Relation(EdgeType, dialect=rel):
    """Rows with named columns of whole numbers."""

    columns: tuple[str, ...]

    def as_value(self, given: Any) -> Rows:
        rows = sorted((dict(sorted(row.items())) for row in given), key=lambda row: [*row.values()])
        wrong = next((row for row in rows if set(row) != set(self.columns)), None)
        if wrong is not None:
            raise TypeMismatchError(f"the row {wrong} has other columns than {', '.join(self.columns)}")
        return rows

    def sample(self, rng: np.random.Generator) -> Rows:
        return [{c: int(rng.integers(0, 4)) for c in self.columns} for _ in range(rng.integers(0, 5))]


def _kept(x: Relation, *, column: str, low: int) -> Relation:
    if column not in x.columns:
        raise TypeMismatchError(f"there is no column {column!r} in {', '.join(x.columns)}")
    return x


@define_op(dialect=rel, name="filter", level="logical", infer=_kept)
def filter_(x: Rows, *, column: str, low: int) -> Rows:
    """The rows with at least some number in a column."""
    return [row for row in x if row[column] >= low]


@define_op(dialect=rel, infer=lambda x, columns: Relation(columns))
def project(x: Rows, *, columns: tuple[str, ...]) -> Rows:
    """Some of the columns."""
    return [{column: row[column] for column in columns} for row in x]


@define_op(dialect=rel, infer=lambda a, b, on: Relation(tuple(dict.fromkeys((*a.columns, *b.columns)))))
def join(a: Rows, b: Rows, *, on: str) -> Rows:
    """The pairs of rows that agree in a column."""
    return [{**right, **left} for left in a for right in b if left[on] == right[on]]


@define_op(dialect=rel, level="physical", infer=lambda a, b, on: join.infer(a, b, on=on)[0])
def hash_join(a: Rows, b: Rows, *, on: str) -> Rows:
    """The same as a join, by a table of the rows of one side."""
    table: dict[int, Rows] = {}
    for row in b:
        table.setdefault(row[on], []).append(row)
    return [{**right, **left} for left in a for right in table.get(left[on], ())]


@define_op(dialect=rel, infer=lambda x: Tensor("i64", ()))
def count(x: Rows) -> int:
    """The number of rows."""
    return len(x)


@rule
def filter_early(a, b, column, low, on):
    """A filter goes below a join, to the side that has the column."""
    yield filter_(join(a, b, on=on), column=column, low=low)
    if column in a.type.columns:
        return join(filter_(a, column=column, low=low), b, on=on)
    return join(a, filter_(b, column=column, low=low), on=on)


@rule(kind="lowering")
def join_by_table(a, b, on):
    """A join is a hash join."""
    yield join(a, b, on=on)
    return hash_join(a, b, on=on)


RULES = (filter_early,)
