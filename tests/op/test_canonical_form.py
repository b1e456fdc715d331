"""Equal attributes are stored in one form, however they are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from graphrewrite import FixedPoint, Graph, Tensor, decline, op, rewrite, rule, verify
from graphrewrite.errors import RuleError, TypeMismatchError, VerificationError
from graphrewrite.formats import from_dict, to_dict, to_text
from graphrewrite.lowering import from_onnx, to_onnx
from graphrewrite.op import LIBRARY
from graphrewrite.rules import merge_equal_nodes
from graphrewrite.testing import graphs


def windows(own: Any, positions: int, written: list[dict[str, Any]]) -> Graph:
    """Return a graph of one op on one value, with attributes written in several ways."""
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 3, *(9, 8, 7)[:positions])))
    others = [np.ones((2, 3, *(2,) * positions), np.float32)] if own is op.conv else []
    sizes = {} if own is op.conv else {"kernel": 2}
    for i, each in enumerate(written):
        g.output(f"y{i}", own(x, *others, **sizes, **each))
    return g


@pytest.mark.parametrize("positions", [1, 2, 3])
@pytest.mark.parametrize("own", [op.conv, op.max_pool, op.average_pool])
def test_defaults_of_windows_are_not_stored_for_any_number_of_positions(own: Any, positions: int) -> None:
    ones, zeros = (1,) * positions, (0,) * (2 * positions)
    written = [
        *({}, {"stride": 1}, {"padding": 0}, {"padding": "valid"}, {"dilation": 1}),
        *({"strides": ones}, {"pads": zeros}, {"strides": 1, "pads": list(zeros)}),
    ]
    g = windows(own, positions, written)
    plain = windows(own, positions, [{}] * len(written))
    assert g == plain == Graph.parse(to_text(g, whole=True))
    assert from_onnx(to_onnx(g)) == g
    merged = rewrite(g, [merge_equal_nodes])
    assert [merged.nodes[n]["type"] for n in merged].count(own.name) == 1
    assert merged.attributes(f"{own.name}_1")["strides"] == ones

    def of_conv(x, w):
        yield (top := op.conv(x, w, strides=ones, padding=0))
        return op.relu(top)

    def of_pool(x):
        yield (top := own(x, strides=ones, padding=0, kernel=2))
        return op.relu(top)

    assert len(rule(of_conv if own is op.conv else of_pool).find(g)) == len(written)


def test_defaults_of_windows_that_earlier_versions_stored_are_dropped_on_reading() -> None:
    g = windows(op.conv, 1, [{}])
    document = {**to_dict(g), "version": 1}
    document["nodes"]["conv_1"] |= {"strides": [1], "pads": [0, 0], "dilations": [2]}
    read = from_dict(document)
    assert {"strides", "pads"}.isdisjoint(read.nodes["conv_1"])
    assert read.attributes("conv_1")["dilations"] == (2,)


@pytest.mark.parametrize(
    ("own", "first", "others"),
    [
        (op.leaky_relu, {"alpha": 1.0}, [{"alpha": 1}, {"negative_slope": np.int8(1)}]),
        (op.clip, {"low": 0, "high": 6}, [{"low": 0.0, "high": 6.0}, {"min": 0, "max": np.float32(6)}]),
        (
            op.resize,
            {"scales": (1.0, 1.0, 1.0, 1.0)},
            [{"scales": [1, 1, 1, 1]}, {"scales": np.float32([1, 1, 1, 1])}],
        ),
    ],
)
def test_equal_numbers_are_stored_in_one_form(own: Any, first: dict[str, Any], others: list[dict[str, Any]]) -> None:
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 3, 8, 8)))
    nodes = [own(x, **each).node for each in [first, *others]]
    assert len({repr(g.nodes[node]) for node in nodes}) == 1
    assert all(type(g.nodes[nodes[0]][key]) is type(value) for key, value in first.items())
    document = {**to_dict(g), "version": 1}
    document["nodes"][nodes[0]] |= others[0]
    assert from_dict(document) == g

    @rule
    def written(x):
        yield op.neg(x)
        return own(x, **others[0])

    h = Graph("h")
    h.output("y", -h.input("x", Tensor("f32", ("N", 3, 8, 8))))
    assert rewrite(h, [written]).nodes[f"{own.name}_1"].items() >= first.items()


def test_bounds_of_mantissas_stay_exact_and_signs_of_zeros_stay() -> None:
    for value in (2**60 + 1, -(2**53) - 1, 1e300, -0.0, 0.5, float("inf")):
        stored = op.clip.as_attributes({"low": value})["low"]
        assert (repr(stored), type(stored)) == (repr(value), type(value))


def test_other_names_of_an_attribute_are_neither_annotations_nor_given_twice() -> None:
    g = windows(op.max_pool, 2, [{"stride": 2}])
    g.nodes["max_pool_1"]["stride"] = 3
    with pytest.raises(VerificationError, match=r"'stride' is an annotation here, and another name of .* 'strides'"):
        verify(g)
    for written in ({"stride": 2, "strides": 3}, {"strides": 3, "stride": 2}):
        with pytest.raises(TypeMismatchError, match=r"'stride' is another name of 'strides', which is given, too"):
            windows(op.conv, 2, [written])
    with pytest.raises(
        TypeMismatchError, match=r"'padding' is another name of 'pads', which is given as 'auto_pad', too"
    ):
        windows(op.conv, 2, [{"padding": 1, "auto_pad": "same"}])

    @rule(keeps="assumes")
    def stated(x):
        yield op.relu(x)
        return op.max_pool(x, kernel=1, annotations={"stride": 2})

    @rule(keeps="assumes")
    def taken(x):
        yield op.relu(x)
        return op.max_pool(x, kernel=1)

    g = Graph.parse("graph g\nx = input() : f32[N,1,4]\nr = relu(x) {stride=3, latency=2}\ny = output(r)")
    assert rewrite(g, [taken], verify=True).annotations("max_pool_1") == {"latency": 2}
    with pytest.raises(RuleError, match=r"'stride' is another name of the attribute 'strides', no annotation"):
        rewrite(g, [stated])


def test_a_matched_node_has_the_names_that_its_pattern_may_use() -> None:
    seen: list[Any] = []

    @rule
    def looks(x, w, s):
        c = op.conv(x, w, stride=s, padding=1)
        yield op.relu(c)
        seen.append((c.padding, c.stride, c.kernel_size, c.in_channels))
        return decline(f"sees {c.paddin}")

    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 3, 8, 8)))
    g.output("y", op.relu(op.conv(x, np.ones((2, 3, 2, 2), np.float32), stride=2, padding=1)))
    with pytest.raises(RuleError, match="has no attribute 'paddin'; did you mean 'padding'"):
        rewrite(g, [looks], verify=True)
    assert seen == [((1, 1, 1, 1), (2, 2), (2, 2), 3)]


def test_marks_in_a_call_are_refused_with_the_way_to_write_them() -> None:
    for written in ({"backend": "dsp"}, {"latency": 3}):
        ((name, _),) = written.items()
        with pytest.raises(TypeMismatchError, match=rf"nodes\[…\]\['{name}'\] = …, in a rule annotations="):
            windows(op.conv, 2, [written])


EIGHT = np.ones(8, np.float32)
FILTERS = np.ones((4, 3, 3, 3), np.float32)
FRAMEWORKS = [
    (op.conv, (FILTERS,), {"kernel_shape": [3, 3]}, {}, {"kernel_shape": [3, 5]}),
    (op.flatten, (), {"start_dim": 1, "end_dim": -1}, {}, {"start_dim": 2}),
    (op.resize, (), {"scale_factor": 2}, {"scales": (1, 1, 2, 2)}, {"scale_factor": (2, 2)}),
    (op.resize, (), {"scale_factor": 2.0, "axes": (3,)}, {"scales": (2,), "axes": (3,)}, {"scale_factor": -1}),
    (op.layer_norm, (EIGHT,), {"normalized_shape": (8,)}, {}, {"normalized_shape": (8, 8)}),
    (op.quantise, (), {"element": "s8f4"}, {"element": FixedPoint(True, 8, 4)}, {"element": "s8g4"}),
]


@pytest.mark.parametrize(("own", "others", "written", "plain", "wrong"), FRAMEWORKS)
def test_words_of_frameworks_are_understood_or_contradicted(
    own: Any, others: Any, written: dict[str, Any], plain: dict[str, Any], wrong: dict[str, Any]
) -> None:
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 3, 8, 8)))
    assert repr(g.nodes[own(x, *others, **written).node]) == repr(g.nodes[own(x, *others, **plain).node])
    array = np.random.default_rng(0).normal(size=(1, 3, 8, 8)).astype(np.float32)
    np.testing.assert_array_equal(own(array, *others, **written), own(array, *others, **plain))
    with pytest.raises(TypeMismatchError):
        own(x, *others, **wrong)


def test_a_factor_of_a_resize_is_for_positions_in_any_layout_and_in_patterns() -> None:
    @rule
    def doubled(x):
        yield op.resize(op.neg(x), scale_factor=2)
        return op.neg(op.resize(x, scale_factor=2))

    for kind in (Tensor("f32", ("N", 3, 4, 4)), Tensor("f32", ("N", 4, 4, 3), "NHWC"), Tensor("f32", ("N", 3, 4))):
        g = Graph("g")
        g.output("y", op.resize(-g.input("x", kind), scale_factor=2))
        sizes = [2 * size if size == 4 else size for size in kind.shape]
        assert list(g.result_type("resize_1").shape) == sizes
        assert (
            rewrite(g, [doubled], once=True, verify=True).nodes["resize_2"]["scales"] == g.nodes["resize_1"]["scales"]
        )


def test_values_may_come_in_a_list_where_there_is_any_number_of_them() -> None:
    @rule
    def swapped(x, y):
        yield op.neg(op.concat([x, y], axis=1))
        return op.concat([op.neg(x), op.neg(y)], axis=1)

    g = Graph("g")
    x = g.input("x", Tensor("f32", (2, 3)))
    g.output("y", -op.concat([x, np.ones((2, 1), np.float32)], axis=1))
    assert g.result_type("concat_1").shape == (2, 4)
    assert rewrite(g, [swapped], verify=True).nodes["concat_2"]["axis"] == 1
    assert op.concat([np.ones((1, 2)), np.zeros((1, 1))], axis=1).tolist() == [[1, 1, 0]]
    for own in (op.relu, op.add):
        with pytest.raises(TypeMismatchError, match="got a list of values; give them one by one"):
            own([x, x])


def test_borders_of_same_in_a_pattern_follow_from_the_sizes_of_a_match() -> None:
    @rule(keeps="assumes")
    def moved(x, w, s):
        yield op.neg(op.conv(x, w, stride=s, padding="same"))
        return op.conv(op.neg(x), w, stride=s, padding="same")

    x = Tensor("f32", ("N", 3, 7, 8))
    for written, is_same in (
        ({"padding": 1}, True),
        ({"padding": 0}, False),
        ({"padding": (1, 1, 1, 1), "stride": 2}, False),
        ({"pads": (1, 0, 1, 1), "stride": 2}, True),
        ({"pads": (1, 1, 1, 0), "stride": 2}, False),
        ({"padding": 2, "dilation": 2}, True),
    ):
        g = Graph("g")
        g.output("y", -op.conv(g.input("x", x), FILTERS, **written))
        rewritten = rewrite(g, [moved], verify=True)
        assert (rewritten != g) is is_same, written
        if not is_same:
            assert "the pattern needs: it is 'same' for the sizes" in str(moved.explain(g, at="neg_1"))


def test_the_size_of_recurrent_states_follows_from_the_weights() -> None:
    rng = np.random.default_rng(0)
    w, r = (rng.normal(size=(1, 16, size)).astype(np.float32) for size in (3, 4))
    g = Graph("g")
    g.output("y", op.lstm(g.input("x", Tensor("f32", (5, "N", 3))), w, r)[1])
    stated = Graph("g")
    stated.output("y", op.lstm(stated.input("x", Tensor("f32", (5, "N", 3))), w, r, hidden_size=4)[1])
    assert g == stated
    written = {each.name: each.i for each in to_onnx(g).graph.node[0].attribute}
    assert written["hidden_size"] == 4  # onnxruntime wants it
    assert "hidden_size" not in from_onnx(to_onnx(g)).nodes["lstm_1"]
    node = g.node("lstm_1")
    assert (node.hidden_size, node.input_size) == (4, 3)
    document = {**to_dict(g), "version": 1}
    document["nodes"]["lstm_1"]["hidden_size"] = 4
    assert from_dict(document) == g


@rule(keeps="assumes")
def windowed(x, w):
    """Numbers that stand for all positions, and borders that follow from sizes."""
    pooled = op.max_pool(x, kernel=3, stride=2, padding=1)
    conv = op.conv(pooled, w, stride=2, padding="same")
    yield op.neg(conv)
    return op.conv(op.neg(pooled), w, like=conv)


@given(graphs(containing=windowed))
@settings(max_examples=8)
def test_graphs_are_generated_for_patterns_in_the_words_of_frameworks(graph: Graph) -> None:
    assert windowed.find(graph)


def test_a_negative_zero_is_no_default() -> None:
    zeros = [
        (o, name) for o in LIBRARY.values() for name, d in o.attributes.items() if type(d) in (int, float) and d == 0
    ]
    assert len(zeros) > 10
    for each, name in zeros:
        assert each.stored({name: 0.0}) == {}
        assert str(each.stored({name: -0.0})) == str({name: -0.0}), each
    g = Graph("g")
    g.output("y", op.pad(g.input("x", Tensor("f32", (1,))), pads=(1, 0), fill=-0.0))
    x = np.array([1], np.float32)
    assert g.evaluate(x=x)["y"].tobytes() == op.pad(x, pads=(1, 0), fill=-0.0).tobytes()
