"""Gradients at computed positions are difference quotients: every way to sample, to resize and to scatter."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, differentiate, evaluate, op, rewrite
from graphrewrite.lowering import GRADIENTS
from graphrewrite.types import element_of

REGIONS = np.array([[0.3, -2.1, 3.2, 4.4], [1.1, 1.2, 1.3, 9.4], [2.6, 3.1, 2.4, 3.9]])


def _gradients(kind: str, arrays: list[np.ndarray], along: tuple[int, ...], **attributes: Any) -> Graph:
    """Return a graph with products of an op's Jacobian along some operands."""
    graph, node_op = Graph("g"), getattr(op, kind)
    batched = {"grid_sample": (0, 1), "deform_conv": (0, 2, 4), "roi_align": (0,), "resize": (0,)}.get(kind, ())
    shapes = [("N", *a.shape[1:]) if i in batched else a.shape for i, a in enumerate(arrays)]
    values = [
        graph.input(f"x{i}", Tensor(element_of(a.dtype), shape))
        for i, (a, shape) in enumerate(zip(arrays, shapes, strict=True))
    ]
    value = graph.add(node_op, values, attributes)
    gradient = value if value.type.unknowns else graph.input("g", value.type)
    for i in along:
        own = {"wrt": i} if len(values) > 1 else {}
        graph.output(f"d{i}", graph.add(node_op.vjp, [gradient, *values], {**graph.attributes(value.node), **own}))
    return graph


def _differences(kind: str, arrays: list[np.ndarray], along: tuple[int, ...], **attributes: Any) -> list[float]:
    """Return by how much the rules differ from the difference quotients."""
    graph = _gradients(kind, arrays, along, **attributes)
    given = {f"x{i}": a for i, a in enumerate(arrays)}
    if "g" in graph.inputs:
        result = getattr(op, kind).function(*arrays, **attributes)
        given["g"] = np.random.default_rng(1).normal(size=result.shape)
    made = rewrite(graph, GRADIENTS)
    assert not any(made.nodes[node]["type"].startswith("vjp_") for node in made)
    found, wanted = evaluate(made, given), evaluate(graph, given)
    assert any(np.abs(array).max() > 0.1 for array in wanted.values())
    return [float(np.abs(found[name] - wanted[name]).max()) for name in wanted]


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_of_images_sampled_on_a_grid(mode):
    rng = np.random.default_rng(0)
    for padding, align in product(("zeros", "border", "reflection"), (False, True)):
        size, places = ((4,), (5,)) if align or (mode, padding) == ("cubic", "border") else ((3, 2), (2, 3))
        arrays = [rng.normal(size=(2, 2, *size)), rng.uniform(-2.2, 2.2, (2, *places, len(size)))]
        assert (
            max(_differences("grid_sample", arrays, (0, 1), mode=mode, padding_mode=padding, align_corners=align))
            < 1e-8
        )


@pytest.mark.parametrize("rank", [1, 2])
def test_of_deformable_convolutions(rank):
    rng = np.random.default_rng(rank)
    window = {"strides": (2, 1)[:rank], "pads": (1, 0, 0, 1)[: 2 * rank], "dilations": (1, 2)[:rank], "groups": 2}
    x, w = rng.normal(size=(2, 4, *(3, 4)[:rank])), rng.normal(size=(2, 2, *(2, 2)[:rank]))
    places, taps = op.conv.function(x, w, **window).shape[2:], 2**rank
    more = [rng.normal(size=(2, 2 * taps * rank, *places)), rng.normal(size=2), rng.normal(size=(2, 2 * taps, *places))]
    arrays = [x, w, *more][: 5 if rank == 2 else 3]
    assert max(_differences("deform_conv", arrays, tuple(range(len(arrays))), offset_groups=2, **window)) < 1e-8


@pytest.mark.parametrize(("ratio", "mode"), [(0, "half_pixel"), (2, "half_pixel"), (0, "output_half_pixel")])
def test_of_regions(ratio, mode):
    arrays = [np.random.default_rng(0).normal(size=(2, 2, 5, 4)), REGIONS, np.array([1, 0, -1])]
    form = {"output_height": 3, "output_width": 2, "spatial_scale": 0.8, "coordinate_transformation_mode": mode}
    assert max(_differences("roi_align", arrays, (0, 1), sampling_ratio=ratio, **form)) < 1e-8


@pytest.mark.parametrize(
    ("axis", "kept"), [(0, [True, False]), (-1, [False, True, True, True]), (None, [True, False, True, True])]
)
def test_of_compressed_values(axis, kept):
    x = np.random.default_rng(0).normal(size=(3, 2, 3))
    assert max(_differences("compress", [x, np.array(kept)], (0,), axis=axis)) < 1e-8


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_of_scattered_values(reduction):
    rng = np.random.default_rng(0)
    x, updates = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    if reduction == "mul":  # one factor that is zero, several, and what they are multiplied with
        updates[0, 0] = updates[1:3, 1] = x[2, 2] = 0.0
    at = np.array([[2, 1, 0], [2, 1, -2], [0, 1, 0], [2, 0, 0], [-1, 3, 2]])
    arrays = [x, at, updates]
    assert max(_differences("scatter_elements", arrays, (0, 2), axis=0, reduction=reduction)) < 1e-8
    arrays = [x, np.array([[2], [1], [2], [2], [0]]), updates]
    assert max(_differences("scatter_nd", arrays, (0, 2), reduction=reduction)) < 1e-8


def test_kinks_have_the_slopes_of_pytorch():
    arrays = [np.array([1.0, 2.0]), np.array([0, 0]), np.array([1.0, 0.5])]
    shared = rewrite(_gradients("scatter_elements", arrays, (0, 2), axis=0, reduction="max"), GRADIENTS)
    given = {f"x{i}": array for i, array in enumerate(arrays)}
    found = evaluate(shared, {**given, "g": np.array([3.0, 5.0])})
    assert (found["d0"].tolist(), found["d2"].tolist()) == ([1.5, 5.0], [1.5, 0.0])
    image, grid = np.array([[[1.0, 3.0, 7.0]]]), np.array([[[-1.0], [0.0], [1.0]]])
    for padding, slopes in (("zeros", [2.0, 4.0, -7.0]), ("border", [0.0, 4.0, 0.0])):
        form = {"padding_mode": padding, "align_corners": True}
        made = rewrite(_gradients("grid_sample", [image, grid], (1,), **form), GRADIENTS)
        found = evaluate(made, {"x0": image, "x1": grid, "g": np.ones((1, 1, 3))})
        assert found["d1"].ravel().tolist() == slopes


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_of_cropped_images(mode):
    x = np.random.default_rng(0).normal(size=(2, 2, 4, 3))
    form = {"roi": [0.1, -0.3, 0.9, 0.8], "axes": (2, 3), "extrapolation_value": 7.0, "mode": mode}
    crop = {"coordinate_transformation_mode": "tf_crop_and_resize", **form}
    for sizes in ((5, 3), (4, 2)):
        assert max(_differences("resize", [x], (0,), sizes=sizes, **crop)) < 1e-8


def test_second_derivatives_and_positions_that_are_no_numbers():
    graph = Graph("g")
    x, grid = graph.input("x", Tensor("f64", ("N", 1, 3, 3))), graph.input("grid", Tensor("f64", ("N", 1, 2, 2)))
    graph.output("loss", op.reduce_sum(op.sin(op.grid_sample(x, grid)), keep_dims=False))
    once = differentiate(graph)
    slopes = op.reduce_sum(op.sin(once.value(*once.operands("d_grid")[0])), keep_dims=False)
    once.output("bend", slopes)
    for name in ("d_x", "d_grid"):
        once.remove_node(name)
    twice = differentiate(once, "bend")
    rng = np.random.default_rng(0)
    given = {"x": rng.normal(size=(1, 1, 3, 3)), "grid": rng.uniform(-0.9, 0.9, (1, 1, 2, 2))}
    found = evaluate(twice, given)
    for name, array in given.items():
        step = 1e-6 * rng.normal(size=array.shape)
        ends = [evaluate(once, {**given, name: array + sign * step})["bend"] for sign in (1, -1)]
        assert np.isclose(ends[0] - ends[1], 2 * (found[f"d_{name}"] * step).sum(), rtol=1e-5)
    given["grid"] = np.array([[[[np.nan, 0.1], [np.inf, 1e30]]]])
    assert np.abs(evaluate(differentiate(graph), given)["d_x"]).max() == 0


@pytest.mark.parametrize(("strides", "pads"), [((1, 1), (0, 0, 0, 0)), ((2, 1), (1, 0, 2, 1)), ((2, 3), (2, 1, 0, 0))])
@pytest.mark.parametrize(("dilations", "groups"), [((1, 1), 2), ((2, 1), 1), ((1, 3), 2)])
def test_of_windows_with_gaps(strides, pads, dilations, groups):
    """Gaps between windows, and in them; of a larger image than the windows read."""
    rng, shape = np.random.default_rng(0), {"strides": strides, "pads": pads, "dilations": dilations, "groups": groups}
    arrays = [rng.normal(size=(2, 2, 7, 6)), rng.normal(size=(4, 2 // groups, 3, 2)), rng.normal(size=4)]
    assert max(_differences("conv", arrays, (0, 1, 2), **shape)) < 1e-8
    more = {**shape, "output_padding": (strides[0] - 1, 0)}
    arrays = [rng.normal(size=(2, 4, 4, 3)), rng.normal(size=(4, 2 // groups, 3, 2)), rng.normal(size=2)]
    assert max(_differences("conv_transpose", arrays, (0, 1, 2), **more)) < 1e-8
