"""Sequences of known length are lists of values while a model is read; what depends on run time is refused."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator

from graphrewrite import evaluate
from graphrewrite.lowering import ModelError, from_onnx, to_onnx

X = np.arange(20, dtype=np.float32).reshape(4, 5)
NUMBERS = "".join(f"{word} = Constant <value_int = {number}> () " for word, number in (("two", 2), ("last", -1)))
PARTS = "sizes = Constant <value_ints = [1, 3, 1]> () s = SplitToSequence <axis = 1> (x, sizes)"


def parsed(body: str, given: str = "float[4,5] x") -> onnx.ModelProto:
    return parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 17]> g ({given}) => (float[a,b] y) {{ {NUMBERS} {body} }}'
    )


@pytest.mark.parametrize(
    "body",
    [
        f"{PARTS} y = SequenceAt(s, last)",
        f"{PARTS} t = Identity(s) u = SequenceErase(t) y = ConcatFromSequence <axis = 1> (u)",
        f"{PARTS} u = SequenceErase(s, two) v = SequenceInsert(u, x) y = ConcatFromSequence <axis = -1> (v)",
        f"{PARTS} v = SequenceInsert(s, x, last) y = SequenceAt(v, two)",
        "s = SplitToSequence <axis = -1> (x, two) y = SequenceAt(s, two)",
        "s = SplitToSequence(x) y = SequenceAt(s, two)",
        "s = SplitToSequence <axis = 1, keepdims = 0> (x) y = ConcatFromSequence <axis = 1, new_axis = 1> (s)",
        "n = Neg(x) s = SequenceConstruct(x, n) l = SequenceLength(s) f = CastLike(l, x) y = Mul(x, f)",
        "e = SequenceEmpty() s = SequenceInsert(e, x) y = ConcatFromSequence <axis = 0> (s)",
    ],
)
def test_they_compute_what_onnx_says(body: str) -> None:
    model = parsed(body)
    graph = from_onnx(model)
    (wanted,) = ReferenceEvaluator(model).run(None, {"x": X})
    for each in (graph, from_onnx(to_onnx(graph))):
        (found,) = evaluate(each, {"x": X}).values()
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("body", "given", "reason"),
    [
        (f"{PARTS} t = SequenceErase(s) y = SequenceAt(t, two)", "float[4,5] x", "position 2 .* sequence of 2"),
        ("s = SplitToSequence(x) y = SequenceAt(s, two)", "float[M,5] x, float[M] z", "depends on the size"),
        (f"{PARTS} y = SequenceAt(s, i)", "float[4,5] x, int64 i", r"\(SequenceAt\).*must be known"),
        (f"{PARTS} y = Neg(s)", "float[4,5] x", "reads the sequence 's'"),
        ("e = SequenceEmpty() y = ConcatFromSequence <axis = 0> (e)", "float[4,5] x", "is empty"),
        ("y = SequenceAt(x, two)", "float[4,5] x", "no sequence"),
    ],
)
def test_what_only_run_time_knows_is_refused(body: str, given: str, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        from_onnx(parsed(body, given))
