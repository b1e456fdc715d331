"""What names of sizes stand for: found from sizes and what they are elsewhere."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Tensor
from graphrewrite.types import Size, evaluate_size, solved, substitute, symbols, with_sizes, with_sizes_in

NAMES = ("N", "M", "seq", "?1")
NUMBERS = st.integers(0, 50)
LINEAR = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 6), min_size=1, max_size=3).flatmap(
    lambda terms: NUMBERS.map(lambda n: " + ".join([str(n), *(f"{k}*{name}" for name, k in terms.items())]))
)
VALUES = st.fixed_dictionaries(dict.fromkeys(NAMES, NUMBERS))


@given(st.lists(LINEAR, max_size=5), st.permutations(NAMES), VALUES)
def test_every_name_is_found_that_is_alone_or_left_alone(sizes, order, values):
    """A bare name is found, then one after the other that is alone with those that are known."""
    chained = [order[0], *(f"2*{a} + 3*{b}" for a, b in pairwise(order))]
    found = solved((size, evaluate_size(size, values)) for size in [*sizes, *chained])
    assert found == values


@given(LINEAR, VALUES)
def test_what_is_found_makes_sizes_equal(size, values):
    number = evaluate_size(size, values)
    found = solved([(size, number)])
    assert not found or substitute(size, found) == number
    assert bool(found) == (len(symbols(size)) == 1)


@given(st.lists(LINEAR, min_size=1, max_size=4), st.permutations(NAMES))
def test_names_are_found_in_terms_of_other_names_that_may_be_called_alike(sizes, order):
    """The names on the right are other ones: N may be 2*M there, and M be N."""
    renamed = dict(zip(NAMES, (f"2*{name} + 1" for name in order), strict=True))
    pairs = [(name, renamed[name]) for name in NAMES]
    found = solved([*((size, substitute(size, renamed)) for size in sizes), *pairs])
    assert found == {name: Size(text) for name, text in renamed.items()}


def test_only_wanted_names_are_found():
    assert solved([("2*?a + N", "4*K + N"), ("?b", 3)], ["?a", "?b"]) == {"?b": 3, "?a": "2*K"}


def test_what_is_not_linear_or_no_whole_number_is_not_found():
    assert solved([("(H + 1)//2", 4)]) == {}
    assert solved([("2*H", 7)]) == {}
    assert solved([("N*M", 6)]) == {}
    assert solved([("N*M", 6), ("M", 2)]) == {"M": 2, "N": 3}


def test_sizes_are_put_in_place_all_at_once():
    kind = Tensor("f32", ("N", "2*M", 4, "?1"))
    assert with_sizes(kind, {"N": "M", "M": 3, "?1": "?7"}) == Tensor("f32", ("M", 6, 4, "?7"))
    assert with_sizes_in((1, ("N", "2*M"), None, "no size!"), {"N": 2}) == (1, (2, "2*M"), None, "no size!")
