"""On which graphs each rule's mutants are tried."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from graphrewrite import Graph, Pass, Rule, rewrite
from graphrewrite.lowering import LOWER_BINARY_POINTS, LOWER_TO_STREAM, SHARE_SUMS, UNROLL_SHIFT_ADD
from graphrewrite.lowering.streaming.counting import MAP_COUNTING, count_agreements, recognise_signs
from graphrewrite.lowering.streaming.counting import recognise_signs_in_windows as recognise_in_windows
from graphrewrite.lowering.streaming.movement import split_channels
from graphrewrite.rules import FOLDING, RULES
from graphrewrite.testing import graphs
from graphrewrite.testing.generation.instance import NoInstanceError
from tests.lowering.matrix_products import (
    counted_products,
    probabilities,
    rounded_sums,
    scalar_products,
    split_streams,
    stream_products,
)
from tests.quality.trained_instances import TRAINED, instances_of

__all__ = ["MEASURED", "ground_of", "is_given"]

HARDWARE = (*LOWER_TO_STREAM, split_channels, *MAP_COUNTING, *SHARE_SUMS, *UNROLL_SHIFT_ADD)
MEASURED: dict[str, Rule | Pass] = {
    member.name: member for member in (*RULES, *FOLDING, *LOWER_BINARY_POINTS, *HARDWARE, *TRAINED)
}
"""The rules and passes of which mutants are made, by name."""
_COUNTS = counted_products().map(count_agreements)
_SIGNS = counted_products().map(lambda g: rewrite(g, (count_agreements, recognise_signs, recognise_in_windows)))
_GIVEN: dict[str, st.SearchStrategy[Graph]] = {
    "map_softmax": probabilities(),
    "split_channels": split_streams(),
    "count_agreements": counted_products(),
    "recognise_signs": _COUNTS,
    "recognise_signs_in_windows": _COUNTS,
    "count_signs": _SIGNS,
    "count_signs_in_windows": _SIGNS,
    **{member.name: scalar_products() for member in SHARE_SUMS},
    "unroll_as_adders": stream_products(),
    "fuse_requantise_into_adders": rounded_sums(),
}
"""Where the generator reaches too little."""
_TRAINED = {member.name for member in TRAINED}


def is_given(name: str) -> bool:
    """Tell whether a rule is tried on graphs that do not follow from its own pattern."""
    return name in _GIVEN or name in _TRAINED


def ground_of(name: str, mutant: Rule | Pass) -> st.SearchStrategy[Graph] | None:
    """Return where a mutant of a rule is tried.

    Parameters
    ----------
    name : str
        Of the rule.
    mutant : Rule or Pass
        It, with one fault.

    Returns
    -------
    SearchStrategy of Graph or None
        None for a pass that has no graphs of its own.
    """
    if name in _GIVEN:
        return _GIVEN[name]
    if not isinstance(mutant, Rule):
        return None
    if name not in _TRAINED:
        return graphs(containing=mutant, every_type=True)
    cut_out, has_own = _cut_out(name), _has_instances(name)
    own = [graphs(containing=mutant, every_type=True)] if has_own else []
    return st.one_of(*([st.sampled_from(cut_out)] if cut_out else []), *own)


@cache
def _cut_out(name: str) -> list[Graph]:
    return instances_of(MEASURED[name])


@cache
def _has_instances(name: str) -> bool:
    """Tell whether the generator makes graphs that contain a rule's pattern."""
    try:
        graphs(containing=MEASURED[name], every_type=True)
    except NoInstanceError:
        return False
    return True
