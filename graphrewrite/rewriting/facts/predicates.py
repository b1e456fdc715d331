"""Conditions on values that ask what is known of their numbers."""

from __future__ import annotations

from graphrewrite.rewriting.facts.numbers import numbers

__all__ = ["finite", "never_minus_zero", "never_nan", "never_zero", "nonnegative", "nonpositive", "whole"]

nonnegative = numbers.predicate(
    lambda fact: fact.low >= 0, "it is never negative", lambda fact: f"may be negative: its range is {fact.range}"
)
"""No entry is below zero; one may be NaN or -0."""

nonpositive = numbers.predicate(
    lambda fact: fact.high <= 0, "it is never positive", lambda fact: f"may be positive: its range is {fact.range}"
)
"""No entry is above zero; one may be NaN or -0."""

never_zero = numbers.predicate(
    lambda fact: not fact.may_be_zero, "it is never zero", lambda fact: f"may be zero: its range is {fact.range}"
)
"""No entry is 0 or -0."""

finite = numbers.predicate(
    lambda fact: fact.is_finite,
    "it is finite",
    lambda fact: "may be NaN" if fact.nan else f"may be infinite: its range is {fact.range}",
)
"""No entry is NaN or infinite."""

never_nan = numbers.predicate(lambda fact: not fact.nan, "it is never NaN", lambda _: "may be NaN")
"""No entry is NaN."""

never_minus_zero = numbers.predicate(lambda fact: not fact.minus_zero, "it is never -0", lambda _: "may be -0")
"""No entry is -0."""

whole = numbers.predicate(lambda fact: fact.whole, "it is whole", lambda _: "may have a fraction")
"""All finite entries are whole numbers."""
