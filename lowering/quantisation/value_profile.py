"""Profiles: the histogram of each value that quantising rounds, gathered from many batches, merged and edited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphrewrite.errors import did_you_mean
from graphrewrite.execution.distribution import BINS, Distribution
from graphrewrite.lowering.errors import ProfileError
from graphrewrite.lowering.quantisation.format_choice import Method, check_method, format_by, format_for
from graphrewrite.lowering.quantisation.profile_files import read_profile, write_profile
from graphrewrite.lowering.quantisation.value_histogram import ValueHistogram
from graphrewrite.runtime.display import Displayed
from graphrewrite.types import FixedPoint

__all__ = ["Ranges", "ValueProfile"]


@dataclass(frozen=True)
class ValueProfile(Displayed, shown_by="numbers.show_value_profile"):
    r"""What values a network has: for `quantise`, in place of samples or beside them.

    Made by `profile_values`, or read from a file. The sum of two profiles of one network is that of all samples.

    Attributes
    ----------
    model : str
        Name of the network.
    fingerprint : str
        Of its inputs, layers and weights: profiles of other networks are refused.
    samples : int
        Number of samples.
    values : mapping of str to ValueHistogram
        By input or layer, called as in the parameter ``bits`` of `quantise`.
    ranges : mapping of str to pair of float
        Ranges given by hand; they go before the histogram.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> from graphrewrite.lowering import profile_values, quantise
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\ny = output(x)")
    >>> batches = [np.float32([[0.5, -0.25]]), np.float32([[3, 0]])]
    >>> profile = profile_values(g, batches)
    >>> profile
    <ValueProfile of 'g': 1 value, 2 samples>
    >>> profile == profile_values(g, batches[:1]) + profile_values(g, batches[1:])
    True
    >>> print(profile.format("x", 8), profile.with_ranges(x=(-1, 0.9)).format("x", 8))
    s8f5 s8f7
    """

    model: str
    fingerprint: str
    samples: int
    values: Mapping[str, ValueHistogram]
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, given in self.ranges.items():
            if name not in self.values:
                raise ProfileError(f"there is a range for {name!r}, not a value{did_you_mean(name, self.values)}")
            if not _is_range(given):
                raise ProfileError(
                    f"the range of {name!r} is {given!r}; give two finite numbers, the lower one first, as [-1, 1]"
                )

    def __add__(self, other: ValueProfile) -> ValueProfile:
        """Return the profile of the samples of both; a range of both holds either."""
        if not isinstance(other, ValueProfile):
            return NotImplemented
        if self.fingerprint != other.fingerprint or self.values.keys() != other.values.keys():
            raise ProfileError(
                f"these are profiles of different networks, {self.model!r} and {other.model!r}; gather both of the same"
            )
        values = {name: own + other.values[name] for name, own in self.values.items()}
        ranges = dict(self.ranges)
        for name, (low, high) in other.ranges.items():
            least, most = ranges.get(name, (low, high))
            ranges[name] = min(low, least), max(high, most)
        return replace(self, samples=self.samples + other.samples, values=values, ranges=ranges)

    def __repr__(self) -> str:
        count = f"{len(self.values)} value{'s' * (len(self.values) != 1)}"
        return f"<ValueProfile of {self.model!r}: {count}, {self.samples} sample{'s' * (self.samples != 1)}>"

    def __str__(self) -> str:
        return str(self.show())

    def with_ranges(
        self, ranges: Mapping[str, tuple[float, float] | None] | None = None, /, **more: Any
    ) -> ValueProfile:
        """Return the profile with other ranges for some values; None takes one away."""
        merged = {**self.ranges, **(ranges or {}), **more}
        return replace(self, ranges={name: given for name, given in merged.items() if given is not None})

    def format(self, name: str, width: int, method: Method = "mse", **options: Any) -> FixedPoint:
        """Return the format of so many bits for a value: of its range, or as `format_by` chooses it."""
        check_method(method)
        if name not in self.values:
            raise ProfileError(
                f"the profile of {self.model!r} has no values of {name!r}{did_you_mean(name, self.values)}; gather it "
                "again from this network"
            )
        if name in self.ranges:
            low, high = self.ranges[name]
            return format_for(float(low), float(high), width)
        return format_by(method, self.values[name], width, **options)

    def distributions(self, width: int = 8, method: Method = "mse") -> dict[str, Distribution]:
        """Return what the numbers view shows of each value, with the format that a method chooses."""
        return {name: _distribution(each, self.format(name, width, method)) for name, each in self.values.items()}

    def save(self, path: Path | str) -> None:
        """Write the profile to a JSON file, a line for each value, which may be edited."""
        write_profile(self, Path(path))

    @classmethod
    def load(cls, path: Path | str) -> ValueProfile:
        """Read a profile from a JSON file; what is wrong in it is named."""
        return cls(**read_profile(Path(path)))


@dataclass(frozen=True)
class Ranges:
    """How values get their ranges.

    Attributes
    ----------
    method : str or float
        As for `format_by`.
    profile : ValueProfile or None
        Where they come from; None for samples.
    """

    method: Method = "mse"
    profile: ValueProfile | None = None

    def __post_init__(self) -> None:
        check_method(self.method)
        if self.profile is not None and not isinstance(self.profile, ValueProfile):
            raise ProfileError(f"the profile is {self.profile!r}; read a file by ValueProfile.load(path)")


def _is_range(given: Any) -> bool:
    if not isinstance(given, tuple | list) or len(given) != 2:
        return False
    is_number = all(isinstance(end, int | float) and not isinstance(end, bool) and np.isfinite(end) for end in given)
    return is_number and given[0] <= given[1] and any(given)


def _distribution(values: ValueHistogram, element: FixedPoint) -> Distribution:
    least, most = element.minimum * element.step, element.maximum * element.step
    points, weights = values.points()
    whole = np.rint(np.ldexp(points, element.fraction))
    beyond = weights[(whole < element.minimum) | (whole > element.maximum)].sum()
    ends = [round(end / element.step) for end in (values.low, values.high)]
    bars = min(BINS, max(1, values.counts.size)) if values.low < values.high else 1
    counts, bounds = np.histogram(points, bars, (values.low, values.high), weights=weights)
    return Distribution(
        kind="",
        type=str(element),
        count=values.count,
        low=values.low,
        high=values.high,
        mean=float(points @ weights / values.count) if values.count else np.nan,
        zeros=values.zeros,
        not_finite=0,
        limits=(least, most),
        clipped=round(float(beyond)),
        bits=FixedPoint.holding(min(*ends, 0), max(*ends, 0)).width,
        width=element.width,
        counts=tuple(np.rint(counts).astype(int).tolist()),
        bounds=tuple(bounds.tolist()),
    )
