"""Float networks of joins, parts, borders, means, products and repetitions: the same numbers down to hardware."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op, verify
from graphrewrite.graph import Value
from graphrewrite.hdl import cosimulate, emit
from graphrewrite.lowering import LoweringError, QuantisationError, partition, quantise, to_integer, to_stream
from tests.support.random_networks import Network, combined_networks, quantised
from tests.support.trained_networks import stored

Build = Callable[["Layers", Value], Value]


class Layers:
    """Layers with weights of their own."""

    def __init__(self, element: str) -> None:
        self.random = np.random.default_rng(0)
        self.dtype = np.float64 if element == "f64" else np.float32

    def weights(self, *shape: int) -> np.ndarray:
        return self.random.normal(scale=0.5, size=shape).astype(self.dtype)

    def conv(self, x: Value, outputs: int, size: int = 3, groups: int = 1) -> Value:
        rank = len(x.type.shape) - 2
        w = self.weights(outputs, x.type.shape[1] // groups, *[size] * rank)
        pads, ones = (size // 2,) * 2 * rank, (1,) * rank
        return op.conv(x, w, self.weights(outputs), strides=ones, pads=pads, dilations=ones, groups=groups)

    def linear(self, x: Value, outputs: int) -> Value:
        return op.linear(x, self.weights(outputs, x.type.shape[1]), self.weights(outputs))


def dense_block(of: Layers, x: Value) -> Value:
    """Results of layers beside what they were made of (Huang et al. 2017)."""
    joined = op.concat(op.relu(of.conv(x, 3)), x, op.sigmoid(of.conv(x, 2, 1)), axis=1)
    return op.add(of.conv(joined, 2), x)


def squeeze_and_excite(of: Layers, x: Value) -> Value:
    """Channels weighted by what their means say (Hu et al. 2018)."""
    y = op.relu(of.conv(x, 4))
    squeezed = op.relu(of.linear(op.flatten(op.global_average_pool(y)), 2))
    gates = op.reshape(op.sigmoid(of.linear(squeezed, 4)), shape=("N", 4, 1, 1))
    return op.add(op.mul(y, gates), of.conv(x, 4, 1))


def decoder(of: Layers, x: Value) -> Value:
    """Down and up again, beside what was there before (Ronneberger et al. 2015)."""
    small = op.relu(of.conv(op.max_pool(x, kernel=(2, 2), strides=(2, 2)), 3))
    scales = {"scales": (1.0, 1.0, 2.0, 2.0), "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return of.conv(op.concat(op.resize(small, **scales), x, axis=1), 2)


def shuffle_block(of: Layers, x: Value) -> Value:
    """One half of the channels convolved, and all shuffled (Ma et al. 2018)."""
    y = op.relu(of.conv(x, 4, 1))
    left, right = op.split(y, axis=1, sizes=(2, 2))
    right = op.relu(of.conv(of.conv(right, 2, groups=2), 2, 1))
    return op.channel_shuffle(op.concat(left, right, axis=1), groups=2)


def attention(of: Layers, x: Value) -> Value:
    """Positions weighted."""
    return op.mul(of.conv(x, 3), op.sigmoid(of.conv(x, 1)))


def means(of: Layers, x: Value) -> Value:
    """Means and maxima over some and over all positions."""
    pooled = op.average_pool(of.conv(x, 3), kernel=(3, 3), strides=(1, 1), pads=(1, 1, 1, 1), count_include_pad=True)
    greatest = op.flatten(op.global_max_pool(pooled))
    along = op.reduce_mean(op.reduce_max(pooled, axes=(-1,), keep_dims=True), axes=(2, 3), keep_dims=False)
    return of.linear(op.sub(op.concat(greatest, along, axis=1), op.concat(along, greatest, axis=1)), 3)


def borders(of: Layers, x: Value) -> Value:
    """A border on no grid, one that fits, and one of zeros."""
    y = op.pad(of.conv(x, 2, 1), pads=(0, 0, 1, 0, 0, 0, 0, 1), fill=0.3)
    y = op.pad(op.clip(y, low=-2.0, high=2.0), pads=(0, 0, 0, 1, 0, 0, 1, 0), fill=-0.5)
    return op.max_pool(op.pad(y, pads=(0, 0, 1, 1, 0, 0, 1, 1)), kernel=(2, 2), strides=(2, 2))


def parts_of_a_line(of: Layers, x: Value) -> Value:
    """The same over one axis of positions."""
    y = op.flatten(x, axis=2) if len(x.type.shape) == 3 else op.reshape(x, shape=("N", 2, 16))
    y = op.relu(of.conv(y, 4))
    mean = op.average_pool(y, kernel=(3,), strides=(1,), pads=(1, 1), count_include_pad=True)
    ends = op.slice(y, starts=(2,), ends=(4,), axes=(1,)), op.slice(mean, starts=(0,), ends=(2,), axes=(1,))
    return op.sub(of.conv(op.concat(*ends, axis=1), 2), op.mul(*ends))


def sums(of: Layers, x: Value) -> Value:
    """A sum of three, a norm that no layer takes up, and a value beside itself."""
    total = op.relu(op.sum(of.conv(x, 2), x, op.sub(x, of.conv(x, 2, 1))))
    mean, var = of.weights(2), np.abs(of.weights(2)) + of.dtype(0.5)
    norm = op.batch_norm(total, of.weights(2), of.weights(2), mean, var)
    return of.conv(op.concat(norm, norm, axis=1), 2)


def inception(of: Layers, x: Value) -> Value:
    """Means of as much as there is, beside convolutions, and fewer of them, rounded up (Szegedy et al. 2015)."""
    mean = op.average_pool(x, kernel=(3, 3), strides=(1, 1), pads=(1, 1, 1, 1))
    joined = op.concat(op.relu(of.conv(mean, 2, 1)), op.relu(of.conv(x, 2)), axis=1)
    return of.conv(op.average_pool(joined, kernel=(3, 3), strides=(2, 2), ceil_mode=True), 2, 1)


def pyramid(of: Layers, x: Value) -> Value:
    """What was seen from afar beside what is near (Lin et al. 2017), and positions made of channels and back."""
    far = of.conv(op.max_pool(x, kernel=(2, 2), strides=(2, 2)), 2, 1)
    near = op.add(of.conv(x, 2, 1), op.resize(far, scales=(1.0, 1.0, 2.0, 2.0), mode="linear"))
    deep = of.conv(op.relu(op.space_to_depth(near, block_size=2)), 4, 1)
    return op.depth_to_space(deep, block_size=2)


def tokens(of: Layers, x: Value) -> Value:
    """A token more than there are patches, and where each of them is (Dosovitskiy et al. 2021)."""
    patches = op.reshape(of.conv(x, 3), shape=("N", 3, 16))
    token = op.reduce_mean(patches, axes=(2,), keep_dims=True)
    return of.conv(op.add(op.concat(token, patches, axis=2), of.weights(1, 3, 17)), 2, 1)


NETWORKS: dict[str, Build] = {
    build.__name__: build
    for build in (
        *(dense_block, squeeze_and_excite, decoder, shuffle_block, attention, means, borders, parts_of_a_line, sums),
        *(inception, pyramid, tokens),
    )
}


def network(build: Build, element: str = "f64") -> Network:
    graph = Graph(getattr(build, "__name__", "g"))
    graph.output("y", build(Layers(element), graph.input("x", Tensor(element, ("N", 2, 4, 4)))))
    samples = np.random.default_rng(1).normal(size=(10, 2, 4, 4))
    return Network(graph, samples.astype(np.float64 if element == "f64" else np.float32))


def assert_same_down_to_streams(fixed: Graph, samples: np.ndarray, parallelism: str | int) -> Graph:
    integer = to_integer(fixed)
    verify(integer)
    stream = to_stream(integer, parallelism=parallelism)
    verify(stream)
    parts = partition(integer)
    for scale in (1.0, -99.0):  # beyond the calibration samples too, where values saturate
        x = {"x": samples * samples.dtype.type(scale)}
        wanted = evaluate(fixed, x)["y"]
        np.testing.assert_array_equal(evaluate(integer, x)["y"], wanted)
        np.testing.assert_array_equal(parts.decode(evaluate(stream, parts.encode(x)))["y"], wanted)
    return stream


def kinds(graph: Graph) -> list[str]:
    return [graph.nodes[n]["type"] for n in graph.in_order()]


@pytest.mark.slow
@pytest.mark.parametrize(("bits", "per_channel", "parallelism"), [(4, True, "full"), (8, False, 2), (12, True, 1)])
@pytest.mark.parametrize("name", NETWORKS)
def test_every_number_is_the_same(name: str, bits: int, per_channel: bool, parallelism: str | int) -> None:
    made = network(NETWORKS[name])
    fixed = quantise(made.graph, made.samples, bits=bits, per_channel=per_channel)
    assert_same_down_to_streams(fixed, made.samples, parallelism)


@pytest.mark.slow
@given(combined_networks(), st.integers(4, 12), st.booleans(), st.sampled_from(["full", "folded", 3]))
def test_so_it_is_in_any_order(made: Network, bits: int, per_channel: bool, parallelism: str | int) -> None:
    assert_same_down_to_streams(quantised(made, bits, per_channel=per_channel), made.samples, parallelism)


@pytest.mark.ghdl
@pytest.mark.parametrize(
    "name", ["dense_block", "squeeze_and_excite", "decoder", "means", "inception", "pyramid", "tokens"]
)
def test_values_and_cycles_equal_ghdl(name: str) -> None:
    made = network(NETWORKS[name], "f32")
    stream = to_stream(to_integer(quantise(made.graph, made.samples)), parallelism="folded")
    report = cosimulate(emit(stream, frames=2, seed=1))
    assert report.equal, str(report)


@pytest.mark.parametrize("name", NETWORKS)
def test_more_bits_are_closer(name: str) -> None:
    made = network(NETWORKS[name])
    real = evaluate(made.graph, {"x": made.samples})["y"]
    found = [evaluate(quantise(made.graph, made.samples, bits=b), {"x": made.samples})["y"] for b in (4, 8, 12)]
    errors = [float(np.abs(each - real).mean()) for each in found]
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert errors[2] < 0.005 * np.abs(real).max()


@pytest.mark.parametrize(
    ("build", "times"),
    [
        (lambda x: op.concat(x, op.mul(x, op.sigmoid(x)), axis=1), 1),
        (lambda x: op.pad(x, pads=(0, 0, 1, 1, 0, 0, 1, 1), fill=0.7), 1),
        (lambda x: op.sub(x, op.max_pool(x, kernel=(1, 3), strides=(1, 1), pads=(0, 1, 0, 1))), 2),
        (lambda x: op.mul(x, op.max_pool(x, kernel=(3, 1), strides=(1, 1), pads=(1, 0, 1, 0))), 2),
        (lambda x: op.mul(x, op.global_max_pool(x)), 2),
        (lambda x: op.reduce_mean(x, axes=(2, 3)), 1),
        (lambda x: op.average_pool(x, kernel=(3, 1), strides=(1, 1)), 1),
        (lambda x: op.average_pool(x, kernel=(3, 3), strides=(1, 1), pads=(1, 1, 1, 1)), 1),
        (lambda x: op.average_pool(x, kernel=(3, 2), strides=(2, 3), pads=(2, 0, 0, 0), ceil_mode=True), 1),
        (lambda x: op.resize(x, scales=(1.0, 1.0, 2.0, 2.0), mode="linear"), 1),
        (lambda x: op.add(x, np.linspace(-9, 9, 16).reshape(4, 4)), 2),
        (lambda x: op.sub(np.linspace(-9, 9, 32).reshape(2, 4, 4), x), 2),
    ],
)
def test_what_is_lost_is_a_few_steps_of_the_formats(build: Callable[[Value], Value], times: int) -> None:
    g = Graph("g")
    x = g.input("x", Tensor("f64", ("N", 2, 4, 4)))
    g.output("y", build(x))
    samples = np.random.default_rng(2).uniform(-1, 1, (40, 2, 4, 4))
    fixed = quantise(g, samples)
    # A mean has weights too, which are off by one part in 128 at most.
    steps = [fixed.nodes[n]["element"].step for n in fixed if fixed.nodes[n]["type"] == "quantise"]
    lost = np.abs(evaluate(fixed, {"x": samples})["y"] - evaluate(g, {"x": samples})["y"]).max()
    assert 0 < lost <= times * sum(steps) + 1 / 128


class TestFormats:
    def test_values_of_one_format_are_joined_as_they_are(self) -> None:
        g = Graph("g")
        x = g.input("x", Tensor("f64", ("N", 4)))
        first, rest = op.split(x, axis=1, sizes=(1, 3))
        g.output("y", op.concat(rest, first, axis=1))
        fixed = quantise(g, np.eye(4))
        assert kinds(fixed).count("quantise") == 1
        assert "requantise" not in kinds(to_integer(fixed))

    def test_values_of_two_formats_get_one_that_holds_both(self) -> None:
        g = Graph("g")
        x, y = (g.input(n, Tensor("f64", ("N", 1))) for n in "xy")
        g.output("z", op.concat(x, y, axis=1))
        samples = {"x": np.array([[0.0], [0.99]]), "y": np.array([[-15.0], [15.0]])}
        fixed = quantise(g, samples)
        assert [str(fixed.nodes[n]["element"]) for n in fixed if fixed.nodes[n]["type"] == "quantise"] == [
            "u8f8", "s8f3", "s13f8",
        ]  # fmt: skip
        np.testing.assert_allclose(evaluate(fixed, samples)["z"], evaluate(g, samples)["z"], atol=0.02)

    @pytest.mark.parametrize(("fill", "more"), [(0.0, 0), (-0.5, 0), (0.3, 1), (3.0, 1)])
    def test_a_border_on_the_grid_needs_no_other_format(self, fill: float, more: int) -> None:
        g = Graph("g")
        x = g.input("x", Tensor("f64", ("N", 1, 2)))
        g.output("y", op.pad(x, pads=(0, 0, 1, 0, 0, 1), fill=fill))
        samples = np.array([[[0.9, -0.9]], [[0.4, 0.1]]])
        fixed = quantise(g, samples)
        assert kinds(fixed).count("quantise") == 1 + more
        stream = assert_same_down_to_streams(fixed, samples, "full")
        assert kinds(stream).count("stream_pad") == 1


class TestHardware:
    @pytest.mark.parametrize("parallelism", ["full", "folded"])
    def test_a_mean_is_a_sum_and_one_product(self, parallelism: str) -> None:
        g = Graph("g")
        g.output("y", op.global_average_pool(g.input("x", Tensor("f64", ("N", 3, 3, 4)))))
        samples = np.random.default_rng(0).normal(size=(9, 3, 3, 4))
        stream = assert_same_down_to_streams(quantise(g, samples), samples, parallelism)
        assert "accumulate" in kinds(stream)
        assert "matvec" not in kinds(stream)

    def test_channels_with_weights_of_their_own_are_sums_too(self) -> None:
        g = Graph("g")
        x = g.input("x", Tensor("f64", ("N", 2, 4)))
        w = np.broadcast_to(np.array([0.3, -1.7])[:, None, None], (2, 1, 3))
        y = op.conv(x, w, np.array([0.2, -0.4]), groups=2, strides=(1,), pads=(1, 1), dilations=(1,))
        g.output("y", op.linear(op.flatten(y), np.ones((1, 8)), np.zeros(1)))
        samples = np.random.default_rng(0).normal(size=(9, 2, 4))
        for per_channel in (False, True):
            fixed = quantise(g, samples, per_channel=per_channel)
            assert "affine" in kinds(assert_same_down_to_streams(fixed, samples, "full"))

    def test_operands_of_quantised_models_are_spread_as_well(self) -> None:
        random, g = np.random.default_rng(0), Graph("g")
        a = stored(random, g.input("x", Tensor("f32", ("N", 3, 4, 4))))
        gates = stored(random, op.sigmoid(stored(random, op.global_average_pool(a))))
        g.output("y", stored(random, op.mul(a, gates)))
        samples = random.normal(size=(5, 3, 4, 4)).astype(np.float32)
        assert {"stream_repeat", "multiply"} <= {*kinds(assert_same_down_to_streams(g, samples, "full"))}


SHAPE = (2, 4, 4)


class TestErrors:
    @pytest.mark.parametrize(
        ("build", "told"),
        [
            (
                lambda x: op.resize(
                    x, scales=(1.0, 1.0, 2.0, 2.0), mode="linear", coordinate_transformation_mode="align_corners"
                ),
                r"node 'resize_1': is resize.*; let it repeat numbers \(mode='nearest'\), or make both axes longer",
            ),
            (lambda x: op.reduce_mean(x, axes=(1,)), "node 'reduce_mean_1': .*; take it over axes of positions"),
            (
                lambda x: op.mul(op.global_max_pool(x), np.arange(16.0).reshape(1, 1, 4, 4)),
                r"is a constant of shape \[4, 4\] beside .*gives values another shape; repeat these by op.tile",
            ),
        ],
    )
    def test_what_has_no_fixed_point_form(self, build: Callable[[Value], Value], told: str) -> None:
        g, of = Graph("g"), Layers("f64")
        g.output("y", of.conv(build(op.relu(of.conv(g.input("x", Tensor("f64", ("N", *SHAPE))), 2))), 2))
        with pytest.raises(QuantisationError, match=told):
            quantise(g, np.random.default_rng(0).normal(size=(4, *SHAPE)))

    def test_a_constant_beside_values(self) -> None:
        g, of = Graph("g"), Layers("f64")
        x = g.input("x", Tensor("f64", (3, 2)))
        g.output("y", of.linear(op.concat(x, np.ones((3, 1)), axis=1), 2))
        with pytest.raises(QuantisationError, match=r"is a constant that is concatenated with values, .*; leave it"):
            quantise(g, np.ones((3, 2)))

    @pytest.mark.parametrize(
        ("build", "told"),
        [
            (lambda x: op.pad(x, pads=(0, 0, 1, 1, 0, 0, 1, 1), mode="edge"), "pad_1.*: only a constant border"),
            (
                lambda x: op.slice(x, starts=(-1,), ends=(-5,), axes=(2,), steps=(-1,)),
                "slice_1.*: it neither reshapes nor selects",
            ),
        ],
    )
    def test_what_has_no_hardware(self, build: Callable[[Value], Value], told: str) -> None:
        g = Graph("g")
        g.output("y", build(g.input("x", Tensor("f64", ("N", *SHAPE)))))
        with pytest.raises(LoweringError, match=told):
            to_stream(to_integer(quantise(g, np.random.default_rng(0).normal(size=(4, *SHAPE)))))
