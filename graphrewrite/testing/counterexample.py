"""A graph on which a property does not hold, with explanations."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphrewrite.graph import Graph
from graphrewrite.testing.failure.claims import BITS, EQUAL, INTERFACE, NEAR, WELL_FORMED
from graphrewrite.testing.failure.code import array_code, failing_test
from graphrewrite.testing.failure.columns import ListingLine, aligned, beside, lines
from graphrewrite.testing.failure.culprit import Culprit, culprit_of, members_of, name_of, ports
from graphrewrite.testing.failure.drawing import picture
from graphrewrite.testing.failure.first_difference import FirstDifference, first_difference
from graphrewrite.testing.failure.page import CounterexamplePage
from graphrewrite.testing.failure.values import Values, evaluated
from graphrewrite.testing.meaning import Meaning
from graphrewrite.view import Picture
from graphrewrite.view.display import Display
from graphrewrite.view.layout.drawing import Drawing

__all__ = ["Counterexample"]

_WIDTH = 120
"""Characters in a line if no terminal states its width."""


@dataclass(frozen=True, eq=False)
class Counterexample:
    r"""A graph on which a property does not hold. Explanations are computed on first use.

    Attributes
    ----------
    before : Graph
        The graph to which the rules were applied.
    after : Graph or None
        The result, if there is one.
    reason : str
        What does not hold, in one sentence.
    inputs : dict
        A row of the inputs that shows it, or as many rows as it takes.
    rules : object
        The tested rule, pass, rule set or function; None if unknown.
    seed : int or None
        Seed of the search.
    bound : float or None
        By how much values may differ; None where every bit counts.
    claim : str
        What does not hold, as Python that fails; see `graphrewrite.testing.failure.claims`. Found out where empty.
    cycles : int or None
        For how many cycles graphs with state run; values have a row for each. None of graphs without.
    meaning : Meaning or None
        What changed, if it is no values.

    Examples
    --------
    >>> from graphrewrite import op, rule
    >>> @rule
    ... def forget_sign(x):
    ...     "Wrong: it is not the operand."
    ...     yield op.neg(x)
    ...     return op.identity(x)
    >>> before = Graph.parse("graph g\nx = input() : f32[N]\nn = neg(x)\ny = output(n)")
    >>> example = Counterexample(before, forget_sign(before), "they differ", {"x": np.float32([1])}, forget_sign)
    >>> print(example.first_difference)
    `n` was -1.0, and `identity_1`, which stands for it, is 1.0
    >>> example.values["after"]["y"].tolist()
    [1.0]
    """

    before: Any
    after: Any
    reason: str
    inputs: Mapping[str, np.ndarray] = field(default_factory=dict)
    rules: Any = None
    seed: int | None = None
    bound: float | None = None
    claim: str = ""
    cycles: int | None = None
    meaning: Meaning | None = None

    @property
    def conclusion(self) -> str:
        """What it says about the rules."""
        return "refuted"

    # ------------------------------------------------------------------ explanations

    @property
    def sides(self) -> tuple[tuple[str, Any], tuple[str, Any]]:
        """The two graphs that are shown side by side, each with its title."""
        return ("before", self.before), ("after", self.after)

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines below the reason."""
        notes = [f"first difference: {self.first_difference}"] if self.first_difference is not None else []
        notes += [f"made by: {self.culprit}"] if self.culprit is not None else []
        notes += [
            f"it assumes: {self._assumption}",
            "where that does not hold in this graph, pass graphs in which it does: on=...",
        ] * bool(self._assumption)
        notes += [f"inputs: {', '.join(f'{name} = {array_code(a)}' for name, a in self.inputs.items())}"] * bool(
            self.inputs
        )
        notes += [f"seed: {self.seed}"] if self.seed is not None else []
        return tuple(notes)

    @cached_property
    def values(self) -> dict[str, dict[str, np.ndarray]]:
        """The value of every node on the inputs: title of the side, then node, such as ``"split_1:1"``, to array."""
        return {
            title: {f"{at.node}{f':{at.result}' if at.result else ''}": array for at, array in side.arrays.items()}
            for (title, _), side in zip(self.sides, self._values, strict=True)
        }

    @cached_property
    def first_difference(self) -> FirstDifference | None:
        """The first node whose value differs from that of its counterpart; None if there is none."""
        (_, left), (_, right) = self.sides
        if self.claim not in ("", BITS, NEAR) or not (isinstance(left, Graph) and isinstance(right, Graph)):
            return None
        culprit = self.culprit
        if culprit is not None and culprit.steps > 1:  # a single step pairs nodes most reliably
            difference = self._difference(culprit.before, culprit.after)
            if difference is not None:
                return difference
        return self._difference(left, right)

    @cached_property
    def culprit(self) -> Culprit | None:
        """The rule that caused it, with the step; None if unknown."""
        changed = None if self.meaning is None else self.meaning.change
        return culprit_of(self.rules, self.before, self.inputs, self.bound, self.cycles, changed)

    @property
    def _assumption(self) -> str:
        """What the culprit says, if it keeps values under an assumption only."""
        name = "" if self.culprit is None else self.culprit.name
        those = [member for member in members_of(self.rules) if name_of(member) == name]
        said = [member.__doc__ for member in those if getattr(member, "keeps", "") == "assumes"]
        return " ".join((said[0] or "").split()) if said else ""

    @cached_property
    def code(self) -> str:
        """A test that rebuilds this and fails, ready to paste."""
        is_name = self.reason.partition(" ")[0] in {name_of(member) for member in members_of(self.rules)}
        comments = [f"{self.reason if is_name else self.reason[:1].upper() + self.reason[1:]}."]
        if self.first_difference is not None:
            comments.append(f"First difference: {self.first_difference}.")
        return failing_test(
            self.before,
            self.inputs,
            self.rules,
            self._claim(),
            comments=comments,
            bound=self.bound,
            cycles=self.cycles,
            needs=[] if self.meaning is None else [self.meaning.origin],
        )

    @cached_property
    def picture(self) -> Picture:
        """Both graphs with their values, side by side, the first difference ringed."""
        (left, one), (right, other) = self.sides
        columns = [old for old, _ in self._pairs if old], [new for _, new in self._pairs if new]
        return picture((one, other), (left, right), columns, self.text())

    # ------------------------------------------------------------------ displays

    def text(self, *, width: int = _WIDTH) -> str:
        """Return all of it as text: two columns if they fit, else one graph below the other."""
        parts = [self.reason, "", *self.notes, ""]
        if all(graph is not self.before for _, graph in self.sides):
            parts += ["before", *map(str, lines(self.before, self._evaluated(self.before))), ""]
        parts += [*beside(self._titles, self._pairs, width), "", "a test that fails:", "", self.code]
        return "\n".join(parts)

    def __str__(self) -> str:
        return self.text(width=shutil.get_terminal_size((_WIDTH, 24)).columns)

    def __repr__(self) -> str:
        return f"<counterexample of {len(self.before)} nodes: {self.reason}>"

    @cached_property
    def page(self) -> CounterexamplePage:
        """The content of the display, as data."""
        original = ""
        if all(graph is not self.before for _, graph in self.sides):
            original = "\n".join(map(str, lines(self.before, self._evaluated(self.before))))
        drawing = Drawing(self.picture.scenes)
        return CounterexamplePage(
            self.reason, self.notes, original, self._titles, tuple(self._pairs), drawing, self.code
        )

    def show(self) -> Display:
        """Return the display of it: both graphs, the first difference ringed, and what to paste into a test."""
        return Display(self.page, str(self), template="counterexample.html", title=self.reason)

    def _repr_html_(self) -> str:
        """Let Jupyter show it."""
        return self.show()._repr_html_()

    # ------------------------------------------------------------------ internals

    @cached_property
    def _values(self) -> tuple[Values, Values]:
        (_, left), (_, right) = self.sides
        return self._evaluated(left), self._evaluated(right)

    def _evaluated(self, graph: Any) -> Values:
        return evaluated(graph, self.inputs, self.cycles)

    def _difference(self, before: Graph, after: Graph) -> FirstDifference | None:
        return first_difference(before, after, self._evaluated(before), self._evaluated(after), self.bound)

    @property
    def _titles(self) -> tuple[str, str]:
        (left, one), (right, other) = self.sides
        return _titled(left, one), _titled(right, other)

    @cached_property
    def _pairs(self) -> list[tuple[ListingLine | None, ListingLine | None]]:
        columns = [
            [] if graph is None else lines(graph, values)
            for (_, graph), values in zip(self.sides, self._values, strict=True)
        ]
        difference = self.first_difference
        if self.sides[1][1] is None:
            return [(line, None) for line in columns[0]]
        return aligned(columns[0], columns[1], None if difference is None else (difference.stands_for, difference.node))

    def _claim(self) -> str:
        if self.claim:
            return self.claim
        if self.meaning is not None:
            return self.meaning.claim
        if not isinstance(self.before, Graph) or not isinstance(self.after, Graph):
            return WELL_FORMED
        after = ports(self.after)
        if after is None:
            return WELL_FORMED
        if after != ports(self.before):
            return INTERFACE
        values = self._values[0].arrays
        if any(array.dtype == object for array in values.values()):
            return EQUAL
        return WELL_FORMED if not values else BITS if self.bound is None else NEAR


def _titled(title: str, graph: Any) -> str:
    return title if graph is not None or not title else f"{title}: there is no graph"
