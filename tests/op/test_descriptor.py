"""Descriptors say all of an op, and calls by names and by order are the same calls."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import op
from graphrewrite.errors import SerialError, TypeMismatchError
from graphrewrite.op import LIBRARY
from graphrewrite.op.descriptor import Argument, OpDescriptor
from graphrewrite.op.ordered_call import KINDS, OrderedCall

NAMES = st.text("abcXYZ_", min_size=1, max_size=4)
SCALARS = st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple))


@st.composite
def descriptors(draw):
    names = {kind: draw(st.lists(NAMES, unique=True, max_size=4)) for kind in KINDS}
    arguments = [Argument(name, kind, i) for kind, each in names.items() for i, name in enumerate(each)]
    return OpDescriptor(draw(NAMES), tuple(draw(st.permutations(arguments))), draw(NAMES), draw(st.booleans()))


@st.composite
def calls(draw):
    """A descriptor, and a call by names of it, some of which are left out."""
    descriptor = draw(descriptors())
    values = {
        kind: {name: draw(VALUES) for name in descriptor.names(kind) if draw(st.booleans())}
        for kind in KINDS
        if descriptor.names(kind)
    }
    return descriptor, {kind: named for kind, named in values.items() if named}


@given(calls())
def test_names_and_order_say_the_same(call):
    descriptor, values = call
    ordered = descriptor.ordered(values)
    assert descriptor.named(ordered) == values
    assert descriptor.ordered(descriptor.named(ordered)) == ordered
    assert OrderedCall.parse(str(ordered)) == ordered


@given(descriptors())
def test_what_is_written_is_read(descriptor):
    assert OpDescriptor.from_dict(json.loads(json.dumps(descriptor.to_dict()))) == descriptor


@pytest.mark.parametrize("name", LIBRARY)
def test_each_op_has_a_descriptor(name):
    each, descriptor = LIBRARY[name], LIBRARY[name].descriptor()
    assert descriptor.names("inputs") == each.operands
    attributes = [argument for argument in descriptor.arguments if argument.kind not in ("inputs", "outputs")]
    assert {argument.name: argument.default for argument in attributes}.keys() == each.attributes.keys()
    again = OpDescriptor.from_dict(json.loads(json.dumps(descriptor.to_dict())))
    assert again == descriptor
    assert [argument.default for argument in again.arguments] == [a.default for a in descriptor.arguments]
    assert set(descriptor.axes) <= set(descriptor.names("integers"))


@pytest.mark.parametrize(
    ("name", "is_axis"),
    [
        *((name, True) for name in ("axis", "concatDimension", "dimC", "batch_axis", "sharedAxes")),
        *((name, False) for name in ("batch_dims", "new_axis_mask", "axe0Size", "")),
    ],
)
def test_names_of_axes(name, is_axis):
    assert Argument(name, "integers", 0).is_axis == is_axis
    assert not Argument(name, "floats", 0).is_axis


def test_kinds_follow_from_annotations():
    descriptor = op.leaky_relu.descriptor()
    assert descriptor.names("floats") == ("alpha",)
    assert op.cast.descriptor().kinds_of("element") == ("types",)
    assert op.softmax.descriptor().axes == ("axis",)
    assert op.concat.descriptor().variadic
    assert not descriptor.in_place


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"integers": {"stride": 1}}, "no 'stride' among its integers.*did you mean 'strides'"),
        ({"integers": {"x": 1}}, "one of its inputs"),
        ({"integer": {"groups": 1}}, "did you mean 'integers'"),
    ],
)
def test_calls_by_names_that_are_wrong(values, told):
    with pytest.raises(TypeMismatchError, match=told):
        op.conv.descriptor().ordered(values)


def test_calls_by_order_that_are_wrong():
    with pytest.raises(TypeMismatchError, match="call is of 'conv'"):
        op.relu.descriptor().named(OrderedCall("conv", {}))
    with pytest.raises(TypeMismatchError, match="relu has no integers"):
        op.relu.descriptor().named(OrderedCall("relu", {"integers": (1,)}))
    with pytest.raises(TypeMismatchError, match="places of its inputs"):
        OpDescriptor("f", (Argument("x", "inputs", 1),))
    with pytest.raises(TypeMismatchError, match="one name"):
        OpDescriptor("f", (Argument("x", "inputs", 0), Argument("x", "inputs", 1)))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "character 1"),
        ("conv", "character 5"),
        ("conv(inputs=(", "character 14"),
        ("conv(inputs=(1) 2)", "character 16"),
        ("conv(inputs=(1,), inputs=(2,))", "twice"),
        ("conv(integers=(1x,))", "expected a number"),
        ("conv() conv()", "end of the call"),
    ],
)
def test_texts_that_are_no_calls(text, place):
    with pytest.raises(SerialError) as caught:
        OrderedCall.parse(text)
    assert place in str(caught.value)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({}, "name"),
        ({"name": "f", "input": []}, "did you mean"),
        ({"name": "f", "inputs": 1}, "list"),
        ({"name": "f", "defaults": 1}, "values by kind"),
        ({"name": "f", "floats": ["a"], "defaults": {"floats": {"b": 1}}}, "no argument 'b'"),
    ],
)
def test_data_that_are_no_descriptor(data, told):
    with pytest.raises(SerialError, match=told):
        OpDescriptor.from_dict(data)
