"""On which graphs the rules of the lowerings and their mutants are tried."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from graphrewrite import Graph, Pass, Rule, rewrite
from graphrewrite.lowering import LOWER_TO_STREAM, SHARE_SUMS, UNROLL_SHIFT_ADD
from graphrewrite.lowering.streaming.movement import split_channels
from graphrewrite.lowering.streaming.multiplier_free import MAP_COUNTING, count_agreements, recognise_signs
from graphrewrite.lowering.streaming.multiplier_free import recognise_signs_in_windows as recognise_in_windows
from graphrewrite.testing import graphs
from graphrewrite.testing.generation.instance import NoInstanceError
from tests.quality.instances import TRAINED, instances_of
from tests.support.matrix_products import (
    counted_products,
    probabilities,
    rounded_sums,
    scalar_products,
    split_streams,
    stream_products,
)

__all__ = ["HARDWARE", "TRAINED", "ground_of"]

HARDWARE = (*LOWER_TO_STREAM, split_channels, *MAP_COUNTING, *SHARE_SUMS, *UNROLL_SHIFT_ADD)
"""Rules and passes from integers to components, and from components to cheaper ones."""
_MEMBERS = {member.name: member for member in (*HARDWARE, *TRAINED)}
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
_LOWERED = {member.name for member in (*LOWER_TO_STREAM, *TRAINED)} - set(_GIVEN)
"""Rules that are tried on places of networks too."""


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
    cut_out = _cut_out(name) if name in _LOWERED else []
    own = [graphs(containing=mutant, every_type=True)] if not cut_out or _has_instances(name) else []
    return st.one_of(*([st.sampled_from(cut_out)] if cut_out else []), *own)


@cache
def _cut_out(name: str) -> list[Graph]:
    member = _MEMBERS[name]
    assert isinstance(member, Rule)
    return instances_of(member)


@cache
def _has_instances(name: str) -> bool:
    """Tell whether the generator makes graphs that contain a rule's pattern."""
    try:
        graphs(containing=_MEMBERS[name], every_type=True)
    except NoInstanceError:
        return False
    return True
