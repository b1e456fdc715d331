"""Ops that onnxruntime's quantiser writes: they give what onnxruntime computes, up to one step of the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

from graphrewrite import evaluate
from graphrewrite.lowering import from_onnx
from tests.support.sessions import session_of

RANDOM = np.random.default_rng(0)
BYTES = {name: RANDOM.integers(0, 256, (2, 3, 4, 4), dtype=np.uint8) for name in ("x", "other")}
ROWS = {"x": RANDOM.integers(0, 256, (5, 3), dtype=np.uint8), "w": RANDOM.integers(0, 256, (3, 4), dtype=np.uint8)}
TURNED = {name: np.ascontiguousarray(array.T) for name, array in ROWS.items()}
REAL = {**ROWS, "x": RANDOM.normal(size=(5, 3)).astype(np.float32)}
SCALES = {"sx": np.float32(0.1), "zx": np.uint8(120), "so": np.float32(0.03), "zo": np.uint8(90)}
RESULT = {"sy": np.float32(0.07), "zy": np.uint8(100), "ss": np.float32(1 / 256), "zs": np.uint8(0)}
BIASES = {"whole": RANDOM.integers(-900, 900, 4, dtype=np.int32), "real": RANDOM.normal(size=4).astype(np.float32)}
CASES: dict[str, tuple[str, dict[str, np.ndarray], dict[str, Any]]] = {
    "QLinearAdd": ("x sx zx other so zo sy zy", BYTES, {}),
    "QLinearMul": ("x sx zx other so zo sy zy", BYTES, {}),
    "QLinearConcat": ("sy zy x sx zx other so zo", BYTES, {"axis": 1}),
    "QLinearAveragePool": ("x sx zx sy zy", BYTES, {"kernel_shape": [2, 3], "pads": [1, 0, 0, 2]}),
    "QLinearAveragePool, border": (
        "x sx zx sy zy", BYTES, {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0], "count_include_pad": 1},
    ),
    "QLinearGlobalAveragePool": ("x sx zx sy zy", BYTES, {"channels_last": 0}),
    "QLinearLeakyRelu": ("x sx zx sy zy", BYTES, {"alpha": 0.3}),
    "QLinearSigmoid": ("x sx zx ss zs", BYTES, {}),
    "QLinearSoftmax": ("x sx zx ss zs", BYTES, {"axis": 1, "opset": 13}),
    "QGemm": ("x sx zx w so zo", ROWS, {}),
    "QGemm, stored": ("x sx zx w so zo whole sy zy", ROWS, {"alpha": 0.2}),
    "QGemm, transposed": ("x sx zx w so zo whole", TURNED, {"transA": 1, "transB": 1}),
    "MatMulIntegerToFloat": ("x w sx so zx zo real", ROWS, {}),
    "MatMulIntegerToFloat, plain": ("x w sx so", ROWS, {}),
    "DynamicQuantizeMatMul": ("x w so zo real", REAL, {}),
    "DynamicQuantizeMatMul, plain": ("x w so", REAL, {}),
    "Gelu": ("x", REAL, {}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_they_give_what_onnxruntime_does(case: str) -> None:
    names, arrays, attributes = CASES[case]
    domain = "com.microsoft"
    node = helper.make_node(case.partition(",")[0], names.split(), ["y"], domain=domain, **attributes)
    x, held = arrays["x"], {**arrays, **SCALES, **RESULT, **BIASES}
    constants = [numpy_helper.from_array(np.asarray(held[n]), n) for n in dict.fromkeys(names.split()) if n != "x"]
    given = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
    stored = "sy" in names or "ss" in names
    result = helper.make_tensor_value_info(
        "y", helper.np_dtype_to_tensor_dtype(np.dtype("u1" if stored else "f4")), None
    )
    graph = helper.make_graph([node], "one", [given], [result], constants)
    proto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)], ir_version=8
    )
    (wanted,) = session_of(proto.SerializeToString()).run(None, {"x": x})
    (found,) = evaluate(from_onnx(proto, batch=None), {"x": x}).values()
    assert found.dtype == wanted.dtype
    if stored:
        assert len(np.unique(wanted)) > 4
        assert np.abs(found.astype(int) - wanted.astype(int)).max() <= 1
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
