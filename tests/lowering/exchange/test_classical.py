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
        (
            "LinearRegressor",
            {"coefficients": [0.1, -0.1, 0.05], "intercepts": [0.4], "targets": 1, "post_transform": "PROBIT"},
        ),
        ("SVMRegressor", {"coefficients": [0.1, -0.2, 0.3], "rho": [-0.1], "one_class": 1, "kernel_params": [0.0] * 3}),
        ("SVMRegressor", {"coefficients": [0.1, -0.2, 0.3], "rho": [0.1], "kernel_params": [0.0] * 3}),
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


def test_support_vectors_may_be_a_linear_model():
    x = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    weights = np.random.default_rng(1).normal(size=9).tolist()
    labels = {"classlabels_ints": [4, 9, 7], "kernel_params": [0.0] * 3}
    check("SVMClassifier", CLASSIFIED, x, coefficients=weights, rho=[0.5], **labels)


def labelled(version, kinds, attributes):
    """A table of labels, of an opset of the domain."""
    node = helper.make_node("LabelEncoder", ["x"], ["y"], domain=DOMAIN, **attributes)
    values = [helper.make_tensor_value_info(n, kind, ["N"]) for n, kind in zip("xy", kinds, strict=True)]
    imports = [helper.make_opsetid("", 15), helper.make_opsetid(DOMAIN, version)]
    graph = helper.make_graph([node], "labels", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


FLOAT, INTEGER, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
TENSORS = {
    "keys_tensor": helper.make_tensor("k", INTEGER, [2], [3, 5]),
    "values_tensor": helper.make_tensor("v", FLOAT, [2], [0.5, -2.0]),
}


@pytest.mark.parametrize(
    ("version", "kinds", "attributes", "x", "y"),
    [
        (1, (STRING, INTEGER), {"classes_strings": ["b", "a"]}, ["a", "c"], [1, -1]),
        (1, (STRING, INTEGER), {"classes_strings": ["b", "a"], "default_int64": 7}, ["b", "c"], [0, 7]),
        (1, (INTEGER, STRING), {"classes_strings": ["b", "a"]}, [1, 2], ["a", "_Unused"]),
        (1, (INTEGER, STRING), {"classes_strings": ["b", "a"], "default_string": "-"}, [0, 2], ["b", "-"]),
        (2, (STRING, FLOAT), {"keys_strings": ["a"], "values_floats": [2.5]}, ["a", "b"], [2.5, -0.0]),
        (2, (INTEGER, INTEGER), {"keys_int64s": [4], "values_int64s": [6], "default_int64": 1}, [4, 5], [6, 1]),
        (2, (FLOAT, STRING), {"keys_floats": [0.5], "values_strings": ["x"]}, [0.5, 1.0], ["x", "_Unused"]),
        (4, (INTEGER, FLOAT), TENSORS, [5, 4, 3], [-2.0, -0.0, 0.5]),
        (
            4,
            (INTEGER, FLOAT),
            {**TENSORS, "default_tensor": helper.make_tensor("d", FLOAT, [1], [9.0])},
            [5, 4],
            [-2.0, 9.0],
        ),
        (
            4,
            (INTEGER, INTEGER),
            {"keys_int64s": [3], "values_tensor": helper.make_tensor("v", INTEGER, [1], [8])},
            [3, 4],
            [8, -1],
        ),
        (
            4,
            (INTEGER, STRING),
            {"keys_int64s": [3], "values_tensor": helper.make_tensor("v", STRING, [1], ["s"])},
            [3, 4],
            ["s", "_Unused"],
        ),
    ],
)
def test_labels_of_every_version(version, kinds, attributes, x, y):
    """As the specification of LabelEncoder says."""
    graph = from_onnx(labelled(version, kinds, attributes))
    given_x = np.array(x) if kinds[0] == STRING else np.array(x, {FLOAT: np.float32, INTEGER: np.int64}[kinds[0]])
    (found,) = evaluate(graph, {"x": given_x}).values()
    assert found.tolist() == y
    if kinds[1] == FLOAT:
        assert np.signbit(found).tolist() == np.signbit(y).tolist()
    assert from_onnx(to_onnx(graph)) == graph


@pytest.mark.parametrize("absent", ["keys_tensor", "values_tensor"])
def test_labels_without_a_table_are_refused(absent):
    attributes = {name: value for name, value in TENSORS.items() if name != absent}
    with pytest.raises(ModelError, match="its keys or values are missing"):
        from_onnx(labelled(4, (INTEGER, FLOAT), attributes))


@pytest.mark.parametrize("aggregate", [0, 1, 2, 3])
def test_trees_of_one_op(aggregate):
    """Nodes as lists, leaves of their own, and nodes that ask for members of a set, against onnxruntime."""
    numbers = {
        "nodes_splits": [0.5, 0.0, -0.5, 0.25], "leaf_weights": [1.0, -2.0, 4.0, 8.0, 16.0],
        "membership_values": [0.5, 1.0, np.nan],
    }  # fmt: skip
    tensors = {name: helper.make_tensor(name, FLOAT, [len(each)], each) for name, each in numbers.items()}
    modes = helper.make_tensor("modes", TensorProto.UINT8, [4], [0, 6, 3, 1])  # of a set is the second
    proto = model(
        "TreeEnsemble", REGRESSED, tree_roots=[0, 3], nodes_modes=modes, nodes_featureids=[0, 1, 2, 0],
        nodes_truenodeids=[1, 0, 2, 3], nodes_trueleafs=[0, 1, 1, 1], nodes_falsenodeids=[2, 1, 3, 4],
        nodes_falseleafs=[0, 1, 1, 1], nodes_missing_value_tracks_true=[0, 0, 1, 0], leaf_targetids=[0, 1, 0, 1, 0],
        n_targets=2, aggregate_function=aggregate, **tensors,
    )  # fmt: skip
    del proto.opset_import[:]
    proto.opset_import.extend([helper.make_opsetid("", 15), helper.make_opsetid(DOMAIN, 5)])
    x = samples(np.random.default_rng(0))
    (wanted,) = session_of(proto.SerializeToString()).run(None, {"x": x})
    (found,) = evaluate(from_onnx(proto), {"x": x}).values()
    np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("is_given", [False, True])
def test_slopes_of_old_models_are_of_channels(is_given):
    """Before opset 7 the slopes of PRelu were one a channel (ONNX specification, PRelu-6)."""
    slopes = np.array([0.5, -1.0, 2.0], np.float32)
    values = [helper.make_tensor_value_info(n, FLOAT, s) for n, s in (("x", [2, 3, 2, 2]), ("s", [3]))]
    result = helper.make_tensor_value_info("y", FLOAT, [2, 3, 2, 2])
    kept = [] if is_given else [onnx.numpy_helper.from_array(slopes, "s")]
    graph = helper.make_graph([helper.make_node("PRelu", ["x", "s"], ["y"])], "g", values, [result], kept)
    x = np.random.default_rng(0).normal(size=(2, 3, 2, 2)).astype(np.float32)
    found = from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 6)], ir_version=3))
    column = slopes.reshape(3, 1, 1)
    inputs = {"x": x, "s": column} if "s" in found.inputs else {"x": x}
    np.testing.assert_array_equal(evaluate(found, inputs)["y"], np.where(x < 0, x * column, x))


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
