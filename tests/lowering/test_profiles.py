"""Profiles: the same whatever batches they come from, formats that they choose, files that were edited, sensitivity."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphrewrite import Graph, Tensor, op
from graphrewrite.lowering import ProfileError, QuantisationError, ValueProfile, profile_values, quantise, sensitivity
from graphrewrite.lowering.quantisation.fixed_point_formats import best_fraction
from graphrewrite.lowering.quantisation.format_choice import METHODS, format_by, format_for, share_beyond
from graphrewrite.lowering.quantisation.value_histogram import ValueHistogram
from graphrewrite.op.integer.fixed_point import mantissas
from graphrewrite.types import FixedPoint
from tests.support.random_networks import Network, networks, widths

REALS = st.sampled_from(["f4", "f8"]).flatmap(
    lambda kind: hnp.arrays(kind, st.integers(0, 40), elements={"allow_nan": False, "allow_infinity": False})
)
"""Values of any size."""
SPREAD = st.builds(
    lambda seed, scale, tail: np.random.default_rng(seed).standard_t(tail, 3000) * scale,
    st.integers(0, 999),
    st.sampled_from([1e-3, 1.0, 77.0]),
    st.sampled_from([1.5, 3, 50]),
)
"""Values as layers have them, with tails from light to heavy."""


def noise(values: np.ndarray, element: FixedPoint, weights: object = 1.0) -> float:
    rounded = mantissas(values, element=element) * element.step
    return float((np.square(values - rounded) * weights).sum())


class TestHistograms:
    @given(st.lists(REALS, max_size=4), st.randoms())
    def test_parts_merge_to_the_whole_in_any_order(self, parts, random):
        whole = ValueHistogram.of(np.concatenate([np.zeros(0), *parts]))
        order = random.sample(parts, len(parts))
        made = [ValueHistogram.of(part) for part in order]
        while len(made) > 1:  # from any place, as sums may have any brackets
            place = random.randrange(len(made) - 1)
            made[place : place + 2] = [made[place] + made[place + 1]]
        assert sum(made, ValueHistogram()) == whole
        assert whole.fits
        assert whole.count == sum(part.size for part in parts)

    @given(REALS.filter(len), st.floats(0.01, 1))
    def test_a_percentile_is_within_one_bin(self, values, share):
        found = ValueHistogram.of(values)
        right = np.sort(values.astype(float))[int(np.ceil(share * len(values) * (1 - 1e-12))) - 1]
        assert right <= found.quantile(share) <= right + found.width

    @given(SPREAD, st.integers(4, 12))
    def test_formats_are_those_of_the_values(self, values, width):
        found = ValueHistogram.of(values)
        points, weights = found.points()
        chosen = {method: format_by(method, found, width) for method in METHODS}
        assert noise(points, chosen["mse"], weights) <= noise(points, chosen["minmax"], weights)
        assert np.abs(values).max() <= -chosen["minmax"].minimum * chosen["minmax"].step
        assert share_beyond(found, chosen["percentile"]) <= 1e-4
        best = best_fraction(values, width, signed=True)
        assert noise(values, chosen["mse"]) <= 1.05 * noise(values, best)
        for percentile in (60, 99.5):
            element = format_by(percentile, found, width)
            beyond = np.abs(values) > (element.maximum + 1) * element.step
            assert beyond.mean() <= 1 - percentile / 100 + 2 / len(values)

    @given(st.floats(-50, 0), st.floats(0.01, 50), widths())
    def test_a_range_by_hand_is_held_and_no_more(self, low, high, width):
        element = format_for(low, high, width)
        assert element.minimum * element.step <= low
        assert (element.maximum + 1) * element.step > high
        finer = element.step / 2
        assert element.minimum * finer > low or (element.maximum + 1) * finer <= high


class TestQuantising:
    @given(networks(), widths(), st.sampled_from(METHODS))
    def test_a_profile_gives_what_its_samples_give(self, network: Network, bits: int, method: str) -> None:
        x, graph = network.samples, network.graph
        by_samples = quantise(graph, x, bits=bits, ranges=method, fit=False, equalise=False)
        profile = profile_values(graph, [x])
        assert quantise(graph, bits=bits, ranges=method, profile=profile) == by_samples
        assert quantise(graph, x, bits=bits, ranges=method, profile=profile, fit=False) == by_samples
        parts = profile_values(graph, x[:2]) + profile_values(graph, x[2:])
        assert parts.samples == profile.samples
        assert all(parts.values[n].count == profile.values[n].count for n in profile.values)

    def test_a_range_by_hand_goes_before_the_histogram(self):
        profile = profile_values(NET, X).with_ranges(x=(-0.3, 0.2))
        fixed = quantise(NET, profile=profile, bits=6)
        assert str(fixed.nodes["quantise_1"]["element"]) == "s6f6"
        assert (profile + profile_values(NET, X).with_ranges(x=(0, 1))).ranges == {"x": (-0.3, 1)}
        assert profile.with_ranges(x=None).ranges == {}


def net(gain: float = 1.0, first: str = "x") -> Graph:
    g = Graph("net")
    w = np.float32([[1.0, -1.0], [gain, 0.3]])
    h = op.relu(op.linear(g.input(first, Tensor("f32", ("N", 2))), w, np.float32([0, 0.1])))
    g.output("y", op.linear(h, np.float32([[64.0, 0.01], [0.3, 0.1]]), np.float32([0, 0])))
    return g


NET, X = net(), np.random.default_rng(0).normal(size=(50, 2)).astype("f4")


class TestWrongProfiles:
    @pytest.mark.parametrize(
        ("other", "message"),
        [
            (net(2.0), "other weights or inputs.*give it the fingerprint"),
            (net(first="xs"), "no values of 'xs'; did you mean 'x'"),
        ],
    )
    def test_of_another_network(self, other, message):
        with pytest.raises(ProfileError, match=message):
            quantise(other, profile=profile_values(NET, X))
        with pytest.raises(ProfileError, match="different networks"):
            profile_values(NET, X) + profile_values(other, X)

    def test_in_another_place(self):
        with pytest.raises(ProfileError, match="pass it as profile="):
            quantise(NET, profile_values(NET, X))
        with pytest.raises(ProfileError, match=r"'p.json'; read a file by ValueProfile.load"):
            quantise(NET, X, profile="p.json")

    @pytest.mark.parametrize(
        ("batches", "message"),
        [
            ([], "no batches"),
            ([X, X[:0]], "batch 2: .*empty"),
            ([X, X * np.nan], "batch 2: .*NaN"),
            ([X[:, :1]], "batch 1: .*shape"),
            (3, "batches are int"),
            (None, "missing"),
        ],
    )
    def test_of_samples_that_do_not_fit(self, batches, message):
        with pytest.raises(QuantisationError, match=message):
            profile_values(NET, batches)

    @pytest.mark.parametrize("method", ["entropyy", 3, True, np.nan])
    def test_by_a_way_that_there_is_not(self, method):
        with pytest.raises(QuantisationError, match=r"did you mean 'entropy'|no percentile"):
            quantise(NET, X, ranges=method)

    @pytest.mark.parametrize("given", [(1, -1), (0, 0), (0, np.inf), (1,), "ab", (False, True)])
    def test_with_ranges_that_are_none(self, given):
        with pytest.raises(ProfileError, match=r"the range of 'x' is .*lower one first"):
            profile_values(NET, X).with_ranges(x=given)


EDITS = {
    "is no profile": lambda file, _: file.update(schema="other"),
    "of version 2": lambda file, _: file.update(version=2),
    "'samples' is missing": lambda file, _: file.pop("samples"),
    "'smaples', .* did you mean 'samples'": lambda file, _: file.update(smaples=1),
    "the range of 'x' is": lambda _, x: x.update(range=[2, -2]),
    "'rnage', .* did you mean 'range'": lambda _, x: x.update(rnage=[-2, 2]),
    'bins .* give the value a "range"': lambda _, x: x.update(high=0.01),
    "no ends of values": lambda _, x: x.update(low=9.0),
    "has no 'zeros'": lambda _, x: x.pop("zeros"),
    "counts are whole": lambda _, x: x["counts"].append(-1),
    "is broken": lambda _, x: x.update(counts="many"),
    "not a histogram": lambda file, _: file["values"].update(x=[1, 2]),
    "no values of 'x'": lambda file, _: file["values"].pop("x"),
    "names 'z', .* nowhere": lambda file, x: file["values"].update(z=x),
}


class TestFiles:
    def test_a_profile_is_read_as_it_was(self, tmp_path: Path):
        profile = profile_values(NET, X).with_ranges(x=(-2, 2.5))
        profile.save(tmp_path / "p.json")
        found = ValueProfile.load(tmp_path / "p.json")
        assert found.values == profile.values
        assert (found.ranges, found.samples, found.fingerprint) == ({"x": (-2, 2.5)}, 50, profile.fingerprint)
        assert "range by hand" in found.show().html

    @pytest.mark.parametrize("message", EDITS)
    def test_what_was_edited_to_nonsense_is_named(self, tmp_path: Path, message):
        profile_values(NET, X).save(tmp_path / "p.json")
        file = json.loads((tmp_path / "p.json").read_text())
        EDITS[message](file, file["values"]["x"])
        (tmp_path / "p.json").write_text(json.dumps(file))
        with pytest.raises(ProfileError, match=message):
            quantise(NET, profile=ValueProfile.load(tmp_path / "p.json"))

    def test_what_is_no_file_is_named(self, tmp_path: Path):
        (tmp_path / "p.json").write_text("{")
        for name, message in (("p.json", "no JSON"), ("q.json", "did you mean 'p.json'")):
            with pytest.raises(ProfileError, match=message):
                ValueProfile.load(tmp_path / name)


class TestSensitivity:
    def test_the_layer_that_loses_most_is_first(self):
        w, b = np.diag([1.0, 1e-2]).astype("f4"), np.zeros(2, np.float32)
        g = Graph("g")
        h = op.linear(g.input("x", Tensor("f32", ("N", 2))), np.eye(2, dtype="f4"), b)
        h = op.add(h, op.mul(h, np.float32([0.37])))
        g.output("y", op.linear(op.relu(op.linear(op.relu(h), w, b)), np.float32([[1, 70], [1, -70]]), b))
        found = sensitivity(g, X, bits=5)
        noises = [each.alone_noise for each in found.layers]
        assert noises == sorted(noises, reverse=True)
        assert found.noise > found.least_noise
        some = sensitivity(g, X, bits=5, layers=["x"], test=X)
        assert some.layers == tuple(each for each in found.layers if each.layer == "x")
        assert all(each.layer in str(found) for each in found.layers)

    def test_what_it_cannot_measure_is_said(self):
        for options, message in (({"bits": 16}, "from 4 to 15"), ({"layers": ["z*"]}, "no layer z")):
            with pytest.raises(QuantisationError, match=message):
                sensitivity(NET, X, **options)
