"""Classical models against onnxruntime: trees, linear models, support vectors and what prepares features."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from graphrewrite import evaluate, op
from graphrewrite.errors import EvaluationError
from graphrewrite.lowering import ModelError, from_onnx, to_onnx
from tests.support.sessions import session_of

pytest.importorskip("onnxruntime")

DOMAIN = "ai.onnx.ml"
CLASSIFIED = (("label", TensorProto.INT64), ("scores", TensorProto.FLOAT))
REGRESSED = (("y", TensorProto.FLOAT),)
COMPARISONS = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def model(kind, outputs, **attributes):
    node = helper.make_node(kind, ["x"], [name for name, _ in outputs], domain=DOMAIN, **attributes)
    given_input = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])
    results = [helper.make_tensor_value_info(name, element, None) for name, element in outputs]
    imports = [helper.make_opsetid("", 15), helper.make_opsetid(DOMAIN, 3)]
    graph = helper.make_graph([node], "classical", [given_input], results)
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def check(kind, outputs, x, **attributes):
    """Equal to onnxruntime, and again after a round trip."""
    proto = model(kind, outputs, **attributes)
    wanted = session_of(proto.SerializeToString()).run(None, {"x": x})
    graph = from_onnx(proto)
    written = to_onnx(graph)
    assert from_onnx(written) == graph
    again = session_of(written.SerializeToString()).run(None, {"x": x})
    for found in (evaluate(graph, {"x": x}).values(), again):
        for array, right in zip(found, wanted, strict=True):
            assert array.shape == right.shape
            if right.dtype == object:
                assert array.tolist() == right.tolist()
            else:
                assert array.dtype == right.dtype
                np.testing.assert_allclose(array, right, rtol=1e-4, atol=1e-5)


def grown(rng, trees):
    """Nodes of random trees, and the places of their leaves."""
    rows, leaves = [], []
    for tree in range(trees):
        numbers = iter(range(1, 99))
        pending = [(0, 0)]
        while pending:
            node, depth = pending.pop(0)
            if depth == 3 or (depth and rng.random() < 0.3):
                rows.append((tree, node, 0, 0.0, "LEAF", 0, 0, 0))
                leaves.append((tree, node))
                continue
            ends = next(numbers), next(numbers)
            pending += [(end, depth + 1) for end in ends]
            limit = float(np.float32(rng.choice([0.0, 0.5, -0.5, rng.normal()])))
            rows.append((tree, node, int(rng.integers(3)), limit, rng.choice(COMPARISONS), *ends, int(rng.integers(2))))
    names = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    columns = zip(*rows, strict=True)
    wanted = [f"nodes_{name}" for name in (*names, "missing_value_tracks_true")]
    return {name: list(column) for name, column in zip(wanted, columns, strict=True)}, leaves


def samples(rng):
    return rng.choice([0.0, 0.5, -0.5, 1.0, np.nan, *rng.normal(size=3)], (9, 3)).astype(np.float32)


@given(seeds, st.sampled_from(["SUM", "AVERAGE", "MIN", "MAX"]), st.integers(1, 2))
def test_trees_that_regress(rng, aggregate, targets):
    nodes, leaves = grown(rng, 3)
    votes = [(tree, node, target) for tree, node in leaves for target in range(targets)]
    check(
        "TreeEnsembleRegressor",
        REGRESSED,
        samples(rng),
        **nodes,
        target_treeids=[tree for tree, _, _ in votes],
        target_nodeids=[node for _, node, _ in votes],
        target_ids=[target for _, _, target in votes],
        target_weights=rng.normal(size=len(votes)).tolist(),
        n_targets=targets,
        aggregate_function=aggregate,
        base_values=[0.25] * targets,
    )


@given(seeds, st.sampled_from(["NONE", "SOFTMAX", "LOGISTIC"]), st.sampled_from([1, 3]), st.booleans())
def test_trees_that_classify(rng, transform, classes, positive):
    nodes, leaves = grown(rng, 3)
    votes = [(tree, node, kind) for tree, node in leaves for kind in range(classes)]
    weights = rng.normal(size=len(votes))
    check(
        "TreeEnsembleClassifier",
        CLASSIFIED,
        samples(rng),
        **nodes,
        class_treeids=[tree for tree, _, _ in votes],
        class_nodeids=[node for _, node, _ in votes],
        class_ids=[kind for _, _, kind in votes],
        class_weights=(np.abs(weights) if positive else np.append(weights[1:], -1.0)).tolist(),
        classlabels_int64s=[0, 1] if classes == 1 else [5, 3, 8],
        post_transform=transform,
    )


@given(seeds, st.sampled_from(["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]), st.sampled_from([1, 3]), st.booleans())
def test_linear_models_that_classify(rng, transform, rows, named):
    labels = {1: (0, 1), 3: (5, 3, 8)}[rows]
    kind = {"classlabels_strings": [f"class {i}" for i in labels]} if named else {"classlabels_ints": labels}
    check(
        "LinearClassifier",
        ((CLASSIFIED[0][0], TensorProto.STRING if named else TensorProto.INT64), CLASSIFIED[1]),
        rng.normal(size=(7, 3)).astype(np.float32),
        coefficients=rng.normal(size=3 * rows).tolist(),
        intercepts=rng.normal(size=rows).tolist(),
        post_transform=transform,
        **kind,
    )


@given(seeds, st.sampled_from(["LINEAR", "POLY", "RBF", "SIGMOID"]), st.sampled_from([2, 3]))
def test_support_vectors(rng, kernel, classes):
    count = 2 * classes
    common = {"kernel_type": kernel, "kernel_params": [0.5, 0.25, 2.0]}
    vectors = rng.normal(size=3 * count).tolist()
    x = rng.normal(size=(7, 3)).astype(np.float32)
    check(
        "SVMClassifier",
        CLASSIFIED,
        x,
        coefficients=rng.normal(size=count * (classes - 1)).tolist(),
        rho=rng.normal(size=classes * (classes - 1) // 2).tolist(),
        support_vectors=vectors,
        vectors_per_class=[2] * classes,
        classlabels_ints=list(range(classes)),
        **common,
    )
    weights = rng.normal(size=count).tolist()
    regression = {"coefficients": weights, "rho": [0.5], "support_vectors": vectors, "n_supports": count}
    check("SVMRegressor", REGRESSED, x, **regression, **common)


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("Binarizer", {"threshold": 0.3}),
        ("Imputer", {"imputed_value_floats": [1.0, 2.0, 3.0], "replaced_value_float": 0.5}),
        ("LinearRegressor", {"coefficients": [0.1, -0.2, 0.3] * 2, "intercepts": [0.1, 0.2], "targets": 2}),
        ("Normalizer", {"norm": "L1"}),
        ("Normalizer", {"norm": "L2"}),
        ("Normalizer", {"norm": "MAX"}),
        ("OneHotEncoder", {"cats_int64s": [0, 1, -1]}),
        ("Scaler", {"offset": [1.0, 2.0, 3.0], "scale": [2.0, 0.5, 1.0]}),
    ],
)
def test_features(kind, attributes):
    x = np.random.default_rng(0).choice([0.5, -1.0, 2.0, 0.25], (5, 3)).astype(np.float32)
    check(kind, REGRESSED, x, **attributes)


def test_maps_of_classes_are_read_as_probabilities():
    label, scores = ("label", TensorProto.INT64), ("scores", TensorProto.FLOAT)
    proto = model(
        "LinearClassifier", (label, scores), coefficients=[1.0] * 6, intercepts=[0.0, 1.0], classlabels_ints=[4, 9]
    )
    kept = onnx.ModelProto.FromString(proto.SerializeToString())
    proto.graph.node.append(helper.make_node("ZipMap", ["scores"], ["map"], domain=DOMAIN, classlabels_int64s=[4, 9]))
    key = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    proto.graph.output[1].CopyFrom(helper.make_value_info("map", helper.make_sequence_type_proto(key)))
    x = np.ones((2, 3), np.float32)
    found, right = (evaluate(from_onnx(each), {"x": x}) for each in (proto, kept))
    assert np.array_equal(found["map"], right["scores"])
    assert found["label"].tolist() == [9, 9]


TREE = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [0, 0, 0],
    "nodes_values": [0.0, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "target_treeids": [0],
    "target_nodeids": [1],
    "target_ids": [0],
    "target_weights": [1.0],
}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"nodes_truenodeids": [7, 0, 0]}, "has no node 7"),
        ({"nodes_falsenodeids": [0, 0, 0]}, "leads back"),
        ({"nodes_featureids": [9, 0, 0]}, "feature 9"),
        ({"nodes_modes": ["BRANCH_LEQ", "LEAF", "BRANCH_SOME"]}, "BRANCH_SOME"),
        ({"target_ids": [3]}, "votes for target 3 of 1"),
        ({"nodes_nodeids": [0, 1, 1]}, "different nodes"),
    ],
)
def test_trees_that_are_none_are_refused(changed, reason):
    with pytest.raises(ModelError, match=reason):
        from_onnx(model("TreeEnsembleRegressor", REGRESSED, **{**TREE, **changed}))


def test_a_circle_is_refused_when_it_is_met():
    node = {"features": np.array([0]), "thresholds": np.array([0.0]), "branches": np.array([[0, -1]])}
    with pytest.raises(EvaluationError, match="lead back"):
        op.tree_ensemble(np.zeros((1, 1)), roots=(0,), leaves=np.zeros((1, 1)), **node)
