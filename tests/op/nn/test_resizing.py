"""Resize: against the reference evaluator of ONNX, and what it leaves as it is."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator

from graphrewrite import Tensor, op
from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.nn.interpolation import COORDINATES, NEAREST
from graphrewrite.types import Quantised

MODES = ["nearest", "linear", "cubic"]


def by_reference(x, named, roi, scales, sizes):
    """What ONNX's own evaluator makes of a Resize."""
    names = ["x", "roi" if roi else "", "scales" if scales else "", "sizes" if sizes else ""]
    node = onnx.helper.make_node("Resize", names, ["y"], **named)
    inputs = [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.DOUBLE, None)]
    given_inputs = {"x": x}
    for name, kind, value in (("roi", "float32", roi), ("scales", "float32", scales), ("sizes", "int64", sizes)):
        if value:
            inputs.append(
                onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)), None)
            )
            given_inputs[name] = np.array(value, kind)
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.DOUBLE, None)
    graph = onnx.helper.make_graph([node], "g", inputs, [output])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 19)])
    return ReferenceEvaluator(model).run(None, given_inputs)[0]


@pytest.mark.parametrize("mode", MODES)
@given(st.data())
def test_it_is_what_onnx_says(mode, data):
    shape = tuple(data.draw(st.integers(2, 4)) for _ in range(2))
    scales = sizes = roi = None
    named = {"mode": mode, "coordinate_transformation_mode": data.draw(st.sampled_from(COORDINATES))}
    assume(named["coordinate_transformation_mode"] != "tf_half_pixel_for_nn")  # which opset 13 has left out
    if data.draw(st.booleans()):
        scales = tuple(data.draw(st.sampled_from([0.5, 1.0, 1.5, 2.0, 0.75])) for _ in shape)
    else:
        sizes = tuple(data.draw(st.integers(1, 6)) for _ in shape)
        named["keep_aspect_ratio_policy"] = data.draw(st.sampled_from(["stretch", "not_larger", "not_smaller"]))
        # A side may shrink to nothing, and what is nearest to the middle of two is decided by rounding errors.
        assume(named["keep_aspect_ratio_policy"] == "stretch" or mode != "nearest")
    if named["coordinate_transformation_mode"] == "tf_crop_and_resize":
        roi = (0.25, -0.5, 0.75, 1.0)
        named["extrapolation_value"] = 10.0
    if mode == "nearest":
        named["nearest_mode"] = data.draw(st.sampled_from(NEAREST))
    else:
        named["antialias"] = int(data.draw(st.booleans()))
        # Outside of all entries, nothing is left to weigh: where a crop lies, or corners of a size that was rounded up.
        rounded_up = sizes is not None and named["coordinate_transformation_mode"] == "align_corners"
        named["exclude_outside"] = int(roi is None and not rounded_up and data.draw(st.booleans()))
    if mode == "cubic":
        named["cubic_coeff_a"] = data.draw(st.sampled_from([-0.75, -0.5]))
    x = np.random.default_rng(data.draw(st.integers(0, 99))).normal(size=shape)
    attributes = {**named, "scales": scales, "sizes": sizes, "roi": roi}
    found = op.resize(x, **attributes)
    assert op.resize.infer(Tensor("f64", shape), **attributes)[0].shape == found.shape
    assume(all(found.shape))
    expected = by_reference(x, named, roi, scales, sizes)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_axes_are_resized_on_their_own_and_one_bad_number_spoils_its_neighbours_only(mode):
    x = np.random.default_rng(0).normal(size=(2, 3, 8, 8)).astype(np.float32)
    both = op.resize(x, sizes=(16, 12), axes=(-2, -1), mode=mode)
    one = op.resize(op.resize(x, scales=(2.0,), axes=(2,), mode=mode), sizes=(12,), axes=(3,), mode=mode)
    np.testing.assert_allclose(both, one, rtol=1e-5, atol=1e-6)
    assert both.dtype == np.float32
    x[0, 0, 0, 0] = np.nan
    spoiled = np.isnan(op.resize(x, scales=(2.0, 2.0), axes=(2, 3), mode=mode))
    assert spoiled.any()
    assert not spoiled[1:].any()
    assert not spoiled[:, :, 6:].any()


def test_layouts_and_channels_stay():
    x = Tensor("f32", ("N", 3, 4, 4), "NCHW")
    assert str(op.resize.infer(x, scales=(1, 1, 2, 2))[0]) == "f32[N,3,8,8] NCHW"
    assert str(op.resize.infer(x, sizes=("N", 3, 2, 2))[0]) == "f32[N,3,2,2] NCHW"
    quantised = Tensor(Quantised("i8", (0.5, 0.25), axis=1), (1, 2, 3))
    assert op.resize.infer(quantised, scales=(2.0,), axes=(2,))[0].shape == (1, 2, 6)
    for refused, message in [
        (lambda: op.resize.infer(x), "one size or by one scale per axis: give 4 sizes or scales"),
        (lambda: op.resize.infer(x, scales=(2,), sizes=(2,), axes=(2,)), "one size or by one scale per axis"),
        (lambda: op.resize.infer(x, scales=(2,), axes=(2,), mode="area"), "unknown mode 'area'"),
        (lambda: op.resize.infer(x, scales=(-2,), axes=(2,)), "give a positive number"),
        (lambda: op.resize.infer(x, scales=(2,), axes=(2,), roi=(0,)), "a crop has 2 bounds"),
        (lambda: op.resize.infer(Tensor("f32", (0, 2)), sizes=(2, 2)), "nothing can be interpolated"),
        (lambda: op.resize.infer(quantised, scales=(2.0,), axes=(1,)), "dequantises first"),
        (lambda: op.resize.infer(quantised, scales=(2.0,), axes=(2,), mode="linear"), "dequantises first"),
    ]:
        with pytest.raises(TypeMismatchError, match=message):
            refused()


def test_nothing_is_resized_to_nothing_and_a_crop_without_ends_is_the_whole():
    assert op.resize(np.zeros((0, 2)), sizes=(0, 4)).shape == (0, 4)
    assert op.resize(np.zeros((2, 3)), sizes=(0,), axes=(1,), mode="cubic", antialias=True).shape == (2, 0)
    x = np.arange(4.0)
    whole = op.resize(x, sizes=(7,), mode="linear", coordinate_transformation_mode="tf_crop_and_resize")
    np.testing.assert_allclose(whole, np.linspace(0, 3, 7))
    named = {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": "floor"}
    np.testing.assert_array_equal(op.resize(x, scales=(2.0,), **named), [0, 0, 1, 1, 2, 2, 3, 3])
