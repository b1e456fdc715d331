"""Attributes have the types that their op declares, from when a node is built."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graphrewrite import Constant, Graph, Tensor, define_op, op, rewrite, rule, verify
from graphrewrite.errors import (
    AttributeValueError,
    DataError,
    GraphRewriteError,
    ParseError,
    RuleError,
    TypeMismatchError,
    VerificationError,
)
from graphrewrite.formats import to_text
from graphrewrite.graph.type_inference import infer
from graphrewrite.op.reserved_keys import RESERVED
from graphrewrite.testing import graphs

IMAGE = Tensor("f32", ("N", 3, 8, 8))
OTHER = [
    None,
    True,
    -1,
    2**70,
    0.5,
    float("nan"),
    "no",
    (),
    (1, 2),
    (99,) * 4,
    ((1,),),
    (1, "x"),
    [[]],
    np.ones(2),
    IMAGE,
]
"""Values that some attributes take and others do not."""
NEVER = [object(), print, 1j, b"x", {"k": 1}, (object(),)]
OPEN = {("constant", "value"), ("encode_labels", "default"), ("into", "attributes")}
"""Attributes that take any value that can be stored; entries of others, any number or word."""


def image() -> Graph:
    g = Graph("g")
    g.input("x", IMAGE)
    return g


@pytest.mark.parametrize("value", NEVER, ids=lambda value: type(value).__name__)
def test_what_no_attribute_takes_is_refused_by_all_ops(value: Any) -> None:
    g = image()
    for each in op.LIBRARY.values():
        for name in each.attributes:
            if (each.name, name) in OPEN:
                continue
            with pytest.raises(TypeMismatchError, match=rf"^{each.name}\.{name}(\[\d\])?: "):
                g.add(each, [], {name: value})
            with pytest.raises(TypeMismatchError, match=rf"^{each.name}\.{name}(\[\d\])?: "):
                each(**{name: value})
    assert list(g) == ["x"]


@given(graphs(), st.data())
def test_any_value_is_taken_or_refused_with_a_reason(graph: Graph, data: st.DataObject) -> None:
    nodes = [node for node in graph if graph.op(node).attributes and graph.op(node).level != "structure"]
    assume(nodes)
    node = data.draw(st.sampled_from(nodes))
    its_op, operands = graph.op(node), [graph.value(*operand) for operand in graph.operands(node)]
    name = data.draw(st.sampled_from(sorted(its_op.attributes)))
    given_ = {**graph.attributes(node), name: data.draw(st.sampled_from(OTHER))}
    before = graph.copy()
    try:
        its_op(*operands, **given_)
    except TypeMismatchError:
        assert graph == before
    else:
        verify(graph)


REFUSED = [
    ("clip", {"low": "a"}, r"clip.low: expected int \| float \| None, got str 'a'; for example low=0.5"),
    ("clip", {"low": [1.0]}, r"clip.low: expected int \| float \| None, got list \[1.0\]"),
    ("softmax", {"axis": 1.5}, r"softmax.axis: expected int, got float 1.5; for example axis=-1"),
    ("softmax", {"axis": True}, r"softmax.axis: expected int, got bool True"),
    ("transpose", {"perm": (0, "1", 2, 3)}, r"transpose.perm\[1\]: expected int, got str '1'"),
    ("reshape", {"shape": ("N", 1.5)}, r"reshape.shape\[1\]: expected int \| str, got float 1.5"),
    ("reshape", {"shape": ("2*(", 4)}, r"reshape.shape\[0\]: '2\*\(' is not a size"),
    ("reduce_sum", {"keep_dims": "yes"}, r"reduce_sum.keep_dims: expected bool, got str 'yes'"),
    ("cast", {"element": "f31"}, r"cast.element: .*f31"),
    ("cast", {"element": 3}, r"cast.element: "),
]


@pytest.mark.parametrize(("name", "attributes", "message"), REFUSED, ids=str)
def test_every_way_to_make_a_node_checks(name: str, attributes: dict[str, Any], message: str) -> None:
    g = image()
    own = op.LIBRARY[name]
    for make in (own, lambda x, **given: g.add(own, [x], given)):
        with pytest.raises(AttributeValueError, match=f"^{message}"):
            make(g.value("x"), **attributes)
    assert list(g) == ["x"]
    with pytest.raises(AttributeValueError, match=f"^{message}"):
        own(np.zeros((1, 3, 8, 8), np.float32), **attributes)

    with pytest.raises(RuleError, match=message):

        @rule
        def wrong(x):
            yield own(x, **attributes)
            return x

    @rule
    def makes(x):
        yield op.neg(op.neg(x))
        return own(x, **attributes)

    _ = g.output("y", op.neg(-g.value("x")))
    before = g.copy()
    with pytest.raises(GraphRewriteError, match=message):
        rewrite(g, [makes])
    assert g == before


def test_views_texts_and_the_verifier_check() -> None:
    g = image()
    _ = g.output("y", op.clip(g.value("x"), low=0.0))
    before = g.copy()
    with pytest.raises(DataError, match=r"^nodes.clip_1.low: expected int \| float \| None, got str 'a'"):
        g.node("clip_1").low = "a"
    with pytest.raises(TypeMismatchError, match=r"^nodes.clip_1.low: expected int"):
        g.node("clip_1").low = [1]
    assert g == before
    with pytest.raises(ParseError, match=r"clip.low: expected int \| float \| None, got str 'a'"):
        Graph.parse(str(g).replace("low=0", "low='a'"))
    g.nodes["clip_1"]["low"] = "a"
    with pytest.raises(VerificationError, match=r"clip.low: expected int \| float \| None, got str 'a'"):
        verify(g)


def test_one_form_is_stored_however_it_was_written() -> None:
    g = image()
    x = g.value("x")
    op.clip(x, low=np.float64(0.5), high=np.int8(6))
    op.transpose(x, perm=np.array([0, 2, 3, 1]))
    op.reduce_sum(x, axes=range(2), keep_dims=0)
    assert [g.nodes[n][key] for n, key in (("clip_1", "low"), ("clip_1", "high"))] == [0.5, 6]
    assert type(g.nodes["clip_1"]["low"]) is float
    assert g.nodes["transpose_1"]["perm"] == (0, 2, 3, 1)
    assert g.nodes["reduce_sum_1"]["axes"] == (0, 1)
    assert g.nodes["reduce_sum_1"]["keep_dims"] is False
    verify(g)


def test_attributes_of_an_op_of_ones_own() -> None:
    @define_op
    def tuned(x: Any, *, taps: list[float], mode: str = "a", anything: Any = None) -> Any:
        """Something."""
        return x * taps[0]

    g = image()
    tuned(g.value("x"), taps=[1, 2.5], anything={"a": [1]})
    assert g.attributes("tuned_1") == {"taps": (1, 2.5), "mode": "a", "anything": {"a": (1,)}}

    @rule
    def again(x, t):
        yield (first := tuned(op.neg(x), taps=t))
        return tuned(x, like=first, mode="b")

    g = image()
    _ = g.output("y", tuned(-g.value("x"), taps=[2]))
    assert rewrite(g, [again]).attributes("tuned_2")["taps"] == (2,)
    with pytest.raises(TypeMismatchError, match=r"^tuned.taps\[0\]: expected float, got str 'x'"):
        tuned(np.zeros(1), taps=["x"])


def test_a_value_that_a_rule_binds_is_checked_when_the_rule_fires() -> None:
    @rule
    def swap(x, low, c: Constant):
        yield op.clip(x, low=low) + c
        return op.leaky_relu(x, alpha=low)

    g = image()
    _ = g.output("y", op.clip(g.value("x")) + np.float32(1))
    with pytest.raises(GraphRewriteError, match=r"leaky_relu.alpha: expected float, got None"):
        rewrite(g, [swap])


WEIGHTS = np.ones((4, 3, 3, 3), np.float32)
SAME = [
    (
        op.conv,
        (WEIGHTS,),
        {"stride": 2, "padding": 1, "dilation": 1, "group": 1},
        {"strides": (2, 2), "pads": (1,) * 4},
    ),
    (op.conv, (WEIGHTS,), {"padding": (1, 2)}, {"pads": (1, 2, 1, 2)}),
    (op.conv, (WEIGHTS,), {"padding": "same", "dilation_rate": 2}, {"pads": (2,) * 4, "dilations": (2, 2)}),
    (op.conv, (WEIGHTS,), {"padding": "same", "stride": 2}, {"pads": (0, 0, 1, 1), "strides": (2, 2)}),
    (op.conv, (WEIGHTS,), {"auto_pad": "SAME_LOWER", "stride": 2}, {"pads": (1, 1, 0, 0), "strides": (2, 2)}),
    (op.conv, (WEIGHTS,), {"padding": "valid"}, {}),
    (op.conv, (WEIGHTS,), {"in_channels": 3, "out_channels": 4, "kernel_size": 3, "padding_value": 0}, {}),
    (op.max_pool, (), {"kernel_size": 2, "stride": 2}, {"kernel": (2, 2), "strides": (2, 2)}),
    (op.average_pool, (), {"pool_size": (2, 2), "padding": "same"}, {"kernel": (2, 2), "pads": (0, 0, 1, 1)}),
    (
        op.max_pool,
        (),
        {"kernel": 3, "pads": 1, "ceil_mode": 1},
        {"kernel": (3, 3), "pads": (1,) * 4, "ceil_mode": True},
    ),
    (op.conv_transpose, (WEIGHTS.swapaxes(0, 1),), {"stride": 2, "output_padding": 1}, None),
    (op.reduce_mean, (), {"dim": -1, "keepdim": False}, {"axes": (-1,), "keep_dims": False}),
    (op.reduce_mean, (), {"axis": (2, 3), "keepdims": 0}, {"axes": (2, 3), "keep_dims": False}),
    (op.softmax, (), {"dim": 1}, {"axis": 1}),
    (op.cast, (), {"dtype": np.float16}, {"element": "f16"}),
    (op.transpose, (), {"dims": [0, 2, 3, 1]}, {"perm": (0, 2, 3, 1)}),
    (op.leaky_relu, (), {"negative_slope": 0.5}, {"alpha": 0.5}),
    (op.clip, (), {"min": 0, "max": 6}, {"low": 0, "high": 6}),
    (op.pad, (), {"padding": 1, "value": 2}, {"pads": (1,) * 8, "fill": 2}),
]
CASES = [f"{own.name}-{'-'.join(written)}" for own, _, written, _ in SAME]


@pytest.mark.parametrize(("own", "others", "written", "stored"), SAME, ids=CASES)
def test_what_frameworks_write_is_stored_in_one_form(own: Any, others: Any, written: Any, stored: Any) -> None:
    g = image()
    node = own(g.value("x"), *others, **written).node
    plain = own.stored(g.attributes(node))
    if stored is not None:
        assert plain == stored
    array = np.random.default_rng(0).normal(size=(1, 3, 8, 8)).astype(np.float32)
    np.testing.assert_array_equal(own(array, *others, **written), own(array, *others, **plain))


@pytest.mark.parametrize(("own", "others", "written", "stored"), SAME, ids=CASES)
def test_patterns_understand_what_frameworks_write(own: Any, others: Any, written: Any, stored: Any) -> None:
    def unary(x):
        yield own(op.neg(x), **written)
        return own(x, **written)

    def binary(x, w):
        yield own(op.neg(x), w, **written)
        return own(x, w, **written)

    g = image()
    wanted = image()
    _ = wanted.output("y", own(wanted.value("x"), *others, **written))
    _ = g.output("y", own(-g.value("x"), *others, **written))
    if "in_channels" in written:
        with pytest.raises(RuleError, match="follows from the operands"):
            rule(binary if others else unary)
        return
    made = rule(binary if others else unary)
    assert rewrite(g, [made]).equals(wanted, names=False)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"in_channels": 4}, "in_channels=4 is stated, and the operands say 3"),
        ({"padding": "smae"}, "borders are numbers, 'same' or 'valid', got 'smae'; did you mean 'same'"),
        ({"stride": 2, "strides": (2, 2)}, "'strides', which is given, too"),
        ({"stirde": 2}, "has no attribute 'stirde' .*did you mean 'stride"),
    ],
    ids=str,
)
def test_spellings_that_say_nothing_are_refused(written: dict[str, Any], message: str) -> None:
    g = image()
    with pytest.raises(TypeMismatchError, match=message):
        op.conv(g.value("x"), WEIGHTS, **written)
    assert list(g) == ["x"]


def test_borders_that_depend_on_an_open_size_are_refused_with_a_reason() -> None:
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 3, "H", "W")))
    assert g.attributes(op.conv(x, WEIGHTS, padding="same").node)["pads"] == (1,) * 4
    with pytest.raises(TypeMismatchError, match="the borders of 'same' depend on the size H where the stride is 2"):
        op.conv(x, WEIGHTS, padding="same", stride=2)


@pytest.mark.parametrize("shape", [(3, 16), ("N", 3, 16), ("N", 3, 4, 4, 4)])
def test_same_borders_of_types_that_do_not_fit_are_refused(shape: Any) -> None:
    g = Graph("g")
    x = g.input("x", Tensor("f32", shape))
    for size in (2, 4):
        if size + 2 != len(shape):
            with pytest.raises(TypeMismatchError, match="same rank"):
                op.conv(x, np.ones((4, 3, *(3,) * size), np.float32), padding="same")
    assert list(g) == ["x"]


@pytest.mark.parametrize("layout", ["NCL", "NLC"])
def test_E13_a_convolution_of_one_position_axis_reads_one(layout: str) -> None:
    g = Graph("g")
    shape = {"N": "N", "C": 3, "L": 9}
    x = g.input("x", Tensor("f32", tuple(shape[axis] for axis in layout), layout))
    conv = g.node(op.conv(x, np.ones((4, 3, 3), np.float32)).node)
    assert (conv.stride, conv.padding, conv.dilation, conv.kernel_size) == ((1,), (0, 0), (1,), 3)
    assert (conv.in_channels, conv.out_channels, conv.groups, conv.padding_value) == (3, 4, 1, 0)
    assert conv.bias.shape == (0,)
    conv.padding, conv.stride = "same", 1
    assert (g.nodes["conv_1"]["pads"], conv.stride) == ((1, 1), (1,))
    assert "strides" not in g.nodes["conv_1"]
    infer(g)
    verify(g)
    assert Graph.parse(to_text(g, whole=True)) == g


@pytest.mark.parametrize("name", sorted(RESERVED | {"like"}))
def test_reserved_keys_are_no_names_of_attributes(name: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def mine(x, *, {name}=None): return x", namespace)
    with pytest.raises(TypeMismatchError, match=rf"^mine: '{name}' is a reserved key of nodes"):
        define_op(namespace["mine"])
