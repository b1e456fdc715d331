"""Fresh names against their meaning: the greatest number that any name of the stem has."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from graphrewrite.graph.fresh_names import GreatestNumbers

NAMES = st.lists(st.text("a_1٣²\n", max_size=6) | st.integers(0, 3) | st.just("a_1_7"), max_size=8)


@given(NAMES, st.sampled_from(["a", "a_1", "", "1", "a_"]))
def test_the_greatest_number_of_a_stem(names: list[Any], stem: str) -> None:
    names = [name for name in names if not isinstance(name, str) or "\n" not in name]
    after = [n[len(stem) + 1 :] for n in names if isinstance(n, str) and n.startswith(f"{stem}_")]
    assert GreatestNumbers(names)[stem] == max((int(n) for n in after if n.isdecimal()), default=0)


@given(NAMES, st.sampled_from(["a", "a_1"]))
def test_fresh_names_clash_with_none(names: list[Any], stem: str) -> None:
    numbers = GreatestNumbers(list(names))
    fresh = [numbers.fresh(stem, names) for _ in range(3)]
    assert len({*fresh, *names}) == 3 + len({*names})
