"""Rulesets are read, compared with the definitions of both sides, and interpret nodes."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, GraphRewriteError, Tensor, define_op, op
from graphrewrite.formats import from_calls, to_calls
from graphrewrite.lowering import (
    Entry,
    ModelError,
    from_onnx,
    from_tensorflow,
    interpret_onnx,
    interpret_tensorflow,
    to_onnx,
)
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.rulesets.definitions import (
    FrameworkOp,
    onnx_ops,
    read_descriptors,
    read_onnx_ops,
    read_tensorflow_ops,
)
from graphrewrite.lowering.exchange.rulesets.entries import entries_of, skeleton
from graphrewrite.lowering.exchange.rulesets.interpretation import _kind_of_value, bound_node, by_ruleset
from graphrewrite.lowering.exchange.rulesets.inverse import inverted
from graphrewrite.lowering.exchange.rulesets.kinds import KINDS_OF_RULES, FrameworkNode, MappingRule, RuleArgument
from graphrewrite.lowering.exchange.rulesets.ruleset import OpMapping, read_ruleset
from graphrewrite.lowering.exchange.rulesets.written_nodes import framework_node
from graphrewrite.op.descriptor import Argument, OpDescriptor
from tests.lowering.exchange.test_tensorflow import constant, frozen, placeholder, written

DATA = Path(__file__).parents[4] / "shared" / "data"
published = pytest.mark.skipif(not DATA.exists(), reason="the published rulesets are not here")

CONV = OpDescriptor(
    "conv2d",
    (
        *(Argument(name, "inputs", i) for i, name in enumerate(("input", "weights", "bias"))),
        *(Argument(name, "integers", i) for i, name in enumerate(("kH", "kW", "isSame", "isNCHW"))),
        Argument("output", "outputs", 0),
        Argument("alpha", "floats", 0),
    ),
)
RULES = """
mappings {
  frameworkName: "onnx" opName: "conv2d" inputFrameworkOpName: "Conv"
  rule { ruleName: "ndarraymapping" outputTensorName: "input" outputTensorName: "weights" outputTensorName: "bias"
    inputToOutput { key: "input" value: "X" } inputToOutput { key: "weights" value: "W" }
    inputToOutput { key: "bias" value: "B" } }
  rule { ruleName: "listattributevaluelookuptoindex" outputIntName: "kH"
    inputToOutput { key: "kH" value: "kernel_shape" }
    transformerArgs { key: "kH" transformerArgs { name: "kernel_shape" int64Value: 0 } } }
  rule { ruleName: "listattributevaluelookuptoindex" outputIntName: "kW"
    inputToOutput { key: "kW" value: "kernel_shape" }
    transformerArgs { key: "kW" transformerArgs { name: "kernel_shape" int64Value: 1 } } }
  rule { ruleName: "stringequals" outputIntName: "isSame" inputToOutput { key: "isSame" value: "auto_pad" }
    transformerArgs { key: "isSame" transformerArgs { name: "auto_pad" stringValue: "SAME_UPPER" } } }
  rule { ruleName: "argdescriptorconstant"
    transformerArgs { key: "value" transformerArgs { name: "alpha" argType: DOUBLE doubleValue: 0.5 } } }
}
"""


def ruleset(tmp_path, text=RULES):
    path = tmp_path / "rules.pbtxt"
    path.write_text(text, encoding="utf-8")
    return read_ruleset(path, ops=onnx_ops(13), descriptors={"conv2d": CONV})


def test_a_node_is_interpreted(tmp_path):
    rules = ruleset(tmp_path)
    rules.check()
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[3, 5], auto_pad="SAME_UPPER", name="c")
    found = interpret_onnx(node, ruleset=rules, opset=13)
    assert found.values == {
        "inputs": {"input": "x", "weights": "w"},
        "integers": {"kH": 3, "kW": 5, "isSame": True},
        "floats": {"alpha": 0.5},
        "outputs": {"output": "y"},
    }
    assert str(found.call) == 'conv2d(inputs=("x", "w"), outputs=("y",), floats=(0.5,), integers=(3, 5, True))'


TYPES = {"x": Tensor("f32", (1, 3, 8, 9)), "w": Tensor("f32", (4, 3, 3, 3))}


@pytest.mark.parametrize(
    ("node", "given", "call"),
    [
        (
            {"op_type": "Conv", "inputs": ["x", "w"], "auto_pad": "SAME_UPPER", "strides": [2, 2]},
            {"types": TYPES},
            'conv(inputs=("x", "w"), outputs=("y",), integers=((2, 2), (0, 1, 1, 1), (1, 1), 1))',
        ),
        (
            {"op_type": "Split", "inputs": ["x"], "outputs": ["p", "q"], "axis": 2, "num_outputs": 2},
            {"types": TYPES},
            'split(inputs=("x",), outputs=("p", "q"), integers=(2, 4, 4))',
        ),
        (
            {"op_type": "Clip", "inputs": ["x", "lo", "hi"]},
            {"constants": {"lo": 0.0, "hi": 6.0}},
            'clip(inputs=("x",), outputs=("y",), floats=(0.0, 6.0))',
        ),
    ],
)
def test_a_node_is_a_call_of_the_library(node, given, call):
    made = onnx.helper.make_node(**{"outputs": ["y"], **node})
    assert str(interpret_onnx(made, **given).call) == call
    with pytest.raises(ModelError, match=f"give .* in {next(iter(given))}"):
        interpret_onnx(made)


@pytest.mark.parametrize(("kind", "told"), [("Constant", "to_array"), ("Nope", "node 'y' .*op.generic")])
def test_nodes_that_are_no_call_of_the_library(kind, told):
    with pytest.raises(ModelError, match=told):
        interpret_onnx(onnx.helper.make_node(kind, ["a"] if kind != "Constant" else [], ["y"], value_float=1.0))


def test_the_text_form_is_read_again(tmp_path):
    rules = ruleset(tmp_path)
    assert ruleset(tmp_path, rules.text) == rules


def test_all_that_is_wrong_is_told_at_once(tmp_path):
    text = RULES.replace('value: "X"', 'value: "Y"').replace('"kW"', '"kV"').replace('"stringequals"', '"stringequal"')
    text = text.replace("argType: DOUBLE doubleValue: 0.5", "argType: INT64 int64Value: 1")
    wrong = ruleset(tmp_path, text)
    with pytest.raises(ModelError) as caught:
        wrong.check()
    message = str(caught.value)
    read = ("reads 'Y'", "no rule reads its input 'X'")
    for told in (*read, "gives 'kV'", "did you mean 'stringequals'", "'alpha' as one of its integers"):
        assert told in message
    assert len(wrong.problems()) == 5
    other = ruleset(tmp_path, RULES.replace('"Conv"', '"Convolution"').replace('opName: "conv2d"', 'opName: "conv3d"'))
    assert [("no op" in problem) for problem in other.problems()] == [True, True]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mappings {", r"line 1, column"),
        ('mappings {\n  opNames: "x"\n}', r"rules.pbtxt, line 2.*opNames"),
        ('mappings {\n  opName: "\\m"\n}', "rules.pbtxt: .*escape.*expected the text form"),
        (RULES + RULES, "maps 'Conv' twice"),
        (RULES + RULES.replace('"onnx"', '"tensorflow"'), "onnx and tensorflow"),
    ],
)
def test_damaged_rulesets(tmp_path, text, told):
    with pytest.raises(ModelError, match=told):
        ruleset(tmp_path, text)


def test_files_that_are_not_there(tmp_path):
    for read in (read_descriptors, read_onnx_ops, read_tensorflow_ops):
        with pytest.raises(ModelError, match=r"'none.pbtxt' cannot be read"):
            read(tmp_path / "none.pbtxt")


def by(kind, attributes=(), constants=(), names=(("to", "from"),), arguments=()):
    """What a rule gives for a node."""
    held = {name: np.asarray(array) for name, array in constants}
    node = FrameworkNode("Op", "n", {name: name for name in held}, dict(attributes), held)
    given = {"to": tuple(RuleArgument(name, "", 0, value) for name, value in arguments)}
    return dict(KINDS_OF_RULES[kind](MappingRule(kind, dict(names), given), node))


CONDITION = [("targetValue", "NCHW"), ("trueIndex", 2), ("falseIndex", 1), ("attributeNameOfListAttribute", "strides")]


@pytest.mark.parametrize(
    ("kind", "given", "wanted"),
    [
        ("valuemapping", {"attributes": [("from", 3)]}, {"to": 3}),
        ("valuemapping", {}, {}),
        ("invertbooleannumber", {"attributes": [("from", 1)]}, {"to": True}),
        ("invertbooleannumber", {"attributes": [("from", 0)]}, {"to": False}),
        ("invertbooleannumber", {"attributes": [("from", True)]}, {"to": 1}),
        ("listnumbertolistnumber", {"attributes": [("from", (1, 2))]}, {"to": (1, 2)}),
        ("listattributevaluelookuptoindex", {"attributes": [("from", (4, 5))], "arguments": [("from", 1)]}, {"to": 5}),
        ("listattributevaluelookuptoindex", {"arguments": [("from", 1), ("to", 7)]}, {"to": 7}),
        ("stringequals", {"attributes": [("from", "A")], "arguments": [("from", "A")]}, {"to": True}),
        ("stringnotequalsadapterrule", {"attributes": [("from", "A")], "arguments": [("from", "A")]}, {"to": False}),
        ("stringcontains", {"attributes": [("from", "SAME_UP")], "arguments": [("from", "SAME")]}, {"to": True}),
        ("stringtoindex", {"attributes": [("from", "b")], "arguments": [("m", "a"), ("m", "b")]}, {"to": 1}),
        ("mapstringtoindex", {"attributes": [("from", ("B", "C"))], "arguments": [("B", 5), ("C", 6)]}, {"to": 5}),
        ("ndarrayinputtonumericalattribute", {"constants": [("from", 3)]}, {"to": 3}),
        ("ndarraytointattributevalue", {"constants": [("from", [3, 4])]}, {"to": (3, 4)}),
        ("attributendarraytoscalarattribute", {"attributes": [("from", np.array([2.5]))]}, {"to": 2.5}),
        ("ndarraysizeat", {"constants": [("from", np.zeros((2, 7)))], "arguments": [("from", 1)]}, {"to": 7}),
        (
            "conditionalfieldvalueintindex",
            {"attributes": [("from", "NCHW"), ("strides", (1, 2, 3, 4))], "arguments": CONDITION},
            {"to": 3},
        ),
        (
            "conditionalfieldvalueintindexndarray",
            {"attributes": [("from", "NHWC")], "constants": [("strides", [1, 2, 3, 4])], "arguments": CONDITION},
            {"to": 2},
        ),
    ],
)
def test_a_kind_of_rule(kind, given, wanted):
    assert by(kind, **given) == wanted


def back(kind, wanted, names=(("to", "from"),), arguments=(), unsaid=(), choices=None, types=None):
    """The framework's side of a call by one rule."""
    given = {"to": tuple(RuleArgument(name, "", 0, value) for name, value in arguments)}
    rule = MappingRule(kind, dict(names), given)
    own = types or dict.fromkeys(("from", "strides"), "string")
    source = FrameworkOp("Op", (), (), own, choices=choices or {})
    return inverted(OpMapping("Op", "t", (rule,)), source, lambda _, name: wanted.get(name), {}, dict(unsaid))[1]


@pytest.mark.parametrize(
    ("kind", "call", "given", "wanted"),
    [
        ("valuemapping", {"to": 3}, {}, {"from": 3}),
        ("valuemapping", {"to": True}, {"types": {"from": "int"}}, {"from": 1}),
        ("invertbooleannumber", {"to": 1}, {"types": {"from": "bool"}}, {"from": True}),
        ("listattributevaluelookuptoindex", {"to": 5}, {"arguments": [("from", 0)]}, {"from": (5,)}),
        (
            "listattributevaluelookuptoindex",
            {"to": 5},
            {"arguments": [("from", 1)], "unsaid": {"from": (1, 2, 3)}},
            {"from": (1, 5, 3)},
        ),
        ("listattributevaluelookuptoindex", {"to": 7}, {"arguments": [("from", 1), ("to", 7)]}, {}),
        ("stringequals", {"to": False}, {"arguments": [("", "A")], "choices": {"from": ("A", "B")}}, {"from": "B"}),
        ("stringcontains", {"to": True}, {"arguments": [("", "A")], "unsaid": {"from": "XA"}}, {"from": "XA"}),
        ("mapstringtoindex", {"to": 6}, {"arguments": [("B", 5), ("C", 6)]}, {"from": "C"}),
        ("listnumbertondarray", {"to": np.array([1, 2])}, {"types": {"from": "list(int)"}}, {"from": (1, 2)}),
        ("attributendarraytoscalarattribute", {"to": 2.5}, {"unsaid": {"from": np.zeros(1)}}, {"from": [2.5]}),
        (
            "conditionalfieldvalueintindex",
            {"to": 5},
            {"arguments": CONDITION, "unsaid": {"from": "NCHW", "strides": (1, 1, 2, 3)}},
            {"from": None, "strides": (1, 1, 5, 3)},
        ),
    ],
)
def test_a_kind_of_rule_backwards(kind, call, given, wanted):
    found = back(kind, call, **given)
    assert {name: list(v) if isinstance(v, np.ndarray) else v for name, v in found.items()} == {
        name: value for name, value in wanted.items() if value is not None
    }


@pytest.mark.parametrize(
    ("kind", "call", "given", "told"),
    [
        (
            "listattributevaluelookuptoindex",
            {"to": 5},
            {"arguments": [("from", 1)]},
            "only the entries 1 are arguments",
        ),
        ("stringcontains", {"to": True}, {"arguments": [("", "A")], "choices": {"from": ("AB", "AC")}}, "are left"),
        ("attributendarraytoscalarattribute", {"to": 2.5}, {}, "shape and element type"),
        ("conditionalfieldvalueintindex", {"to": 5}, {"arguments": CONDITION}, "no other rule"),
        ("stringtoindex", {"to": 3}, {"arguments": [("m", "a")]}, "no place"),
        ("nonsense", {}, {}, "no such kind"),
    ],
)
def test_what_a_call_does_not_say_of_a_node(kind, call, given, told):
    with pytest.raises(Unfit, match=f"^Op.*{told}"):
        back(kind, call, **given)


def test_lists_become_arrays():
    (found,) = by("listnumbertondarray", attributes=[("from", (1, 2))]).values()
    np.testing.assert_array_equal(found, [1, 2])


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        ("stringtoindex", {"attributes": [("from", "c")], "arguments": [("m", "a")]}, "none of"),
        ("mapstringtoindex", {"attributes": [("from", "c")], "arguments": [("m", 1)]}, "none of"),
        ("stringequals", {"attributes": [("from", "c")]}, "lacks a constant"),
    ],
)
def test_what_a_rule_does_not_cover(kind, given, told):
    with pytest.raises(ModelError, match=told):
        by(kind, **given)


def test_numbers_that_must_be_known():
    node = FrameworkNode("TopK", "t", {"K": "k"}, {})
    rule = MappingRule("ndarrayinputtonumericalattribute", {"k": "K"})
    with pytest.raises(ModelError, match="'K' is an argument of the op"):
        list(KINDS_OF_RULES[rule.kind](rule, node))


class TestLibrary:
    @pytest.mark.parametrize(
        ("kind", "inputs", "attributes", "call"),
        [
            ("Relu", ["x"], {}, 'relu(inputs=("x",), outputs=("y",))'),
            ("Softmax", ["x"], {"axis": 1}, 'softmax(inputs=("x",), outputs=("y",), integers=(1,))'),
            ("Concat", ["a", "b", "c"], {"axis": 0}, 'concat(inputs=("a", "b", "c"), outputs=("y",), integers=(0,))'),
        ],
    )
    def test_nodes_are_calls_of_its_ops(self, kind, inputs, attributes, call):
        assert str(interpret_onnx(onnx.helper.make_node(kind, inputs, ["y"], **attributes)).call) == call

    def test_constants_are_arguments(self):
        node = onnx.helper.make_node("Reshape", ["x", "s"], ["y"], name="r")
        with pytest.raises(ModelError, match="'s' is the attribute 'shape'"):
            interpret_onnx(node)
        assert interpret_onnx(node, constants={"s": np.array([2, -1])}).values["integers"]["shape"] == (2, -1)

    def test_a_node_of_several_ops_has_their_graph(self):
        node = onnx.helper.make_node("Scaler", ["x"], ["y"], domain="ai.onnx.ml", offset=[1.0], scale=[2.0])
        with pytest.raises(ModelError, match=r"several ops.*type of its input 'x' in types"):
            interpret_onnx(node)
        found = interpret_onnx(node, types={"x": Tensor("f32", ("N", 3))})
        assert str(found.call) == 'ai.onnx.ml.Scaler(inputs=("x",), outputs=("y",))'
        np.testing.assert_array_equal(found.graph(np.float32([[1, 2, 3]])), [[0, 2, 4]])

    def test_what_is_not_known(self):
        with pytest.raises(ModelError, match="generic"):
            interpret_onnx(onnx.helper.make_node("Swirl", ["x"], ["y"]))
        with pytest.raises(ModelError, match="'alpah' has no meaning"):
            interpret_onnx(onnx.helper.make_node("LeakyRelu", ["x"], ["y"], alpah=0.5))
        with pytest.raises(ModelError, match=r"an onnx\.NodeProto, not str"):
            interpret_onnx("Relu")


def alone(*arguments, **attributes):
    """The text of a node without a graph around it."""
    return written(*arguments, **attributes).removeprefix("node {").removesuffix("}")


class TestLibraryForTensorflow:
    TYPES: ClassVar = {"x": Tensor("f32", ("N", 4)), "image": Tensor("f32", ("N", 8, 8, 1))}
    """Types of inputs."""

    @pytest.mark.parametrize(
        ("kind", "inputs", "attributes", "constants", "call"),
        [
            ("Relu", ["x"], {}, {}, 'relu(inputs=("x",), outputs=("y",))'),
            ("LeakyRelu", ["x"], {"alpha": 0.1}, {}, 'leaky_relu(inputs=("x",), outputs=("y",), floats=(0.1,))'),
            ("ConcatV2", ["x", "x", "a"], {}, {"a": 1}, 'concat(inputs=("x", "x"), outputs=("y",), integers=(1,))'),
            (
                "Split",
                ["a", "x"],
                {"num_split": 2},
                {"a": 1},
                'split(inputs=("x",), outputs=("y", "y:1"), integers=(1, 2, 2))',
            ),
            ("MatMul", ["x", "w"], {}, {"w": np.ones((4, 2), "f4")}, 'matmul(inputs=("x", "w"), outputs=("y",))'),
        ],
    )
    def test_nodes_are_calls_of_its_ops(self, kind, inputs, attributes, constants, call):
        node = alone("y", kind, inputs, **attributes)
        assert str(interpret_tensorflow(node, constants=constants, types=self.TYPES).call) == call

    def test_a_node_of_several_ops_has_their_graph(self):
        node = alone("y", "MaxPool", ["image"], ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
        found = interpret_tensorflow(node, types=self.TYPES)
        assert str(found.call) == 'MaxPool(inputs=("image",), outputs=("y",))'
        kinds = [found.graph.nodes[name]["type"] for name in found.graph.in_order()]
        assert kinds == ["input", "transpose", "max_pool", "transpose", "output"]
        x = np.arange(128, dtype=np.float32).reshape(2, 8, 8, 1)
        np.testing.assert_array_equal(found.graph(x), x[:, 1::2, 1::2])
        assert from_calls(to_calls(found.graph)) == found.graph
        assert interpret_tensorflow(alone("y", "Relu", ["x"]), types=self.TYPES).graph is None

    @pytest.mark.parametrize(
        ("node", "told"),
        [
            (alone("y", "Relu", ["z"]), "node 'y' .*type of its input 'z' in types, or its numbers in constants"),
            (alone("y", "Sqirt", ["x"]), "no such op; did you mean 'Sqrt'.*pass a ruleset"),
            (alone("y", "ConcatV2", ["x", "x", "x"]), "must be known"),
            (alone("y", "Split", ["w", "x"]), "'w'"),
            (onnx.helper.make_node("Relu", ["x"], ["y"]), "not NodeProto"),
            (b"\xff\xff", "no NodeDef"),
        ],
    )
    def test_what_is_no_call(self, node, told):
        with pytest.raises(ModelError, match=told):
            interpret_tensorflow(node, types=self.TYPES)


@cache
def shared(framework):
    read = read_onnx_ops if framework == "onnx" else read_tensorflow_ops
    descriptors = read_descriptors(DATA / "nd4j-op-def.pbtxt")
    ops = read(DATA / f"{framework}-op-def.pbtxt")
    return read_ruleset(DATA / f"{framework}-mapping-ruleset.pbtxt", ops=ops, descriptors=descriptors)


def drawn(source, mapping, pick):
    """A node of an op, with what the rules of its mapping expect: texts that they name, lists as long as they read."""
    texts, length, truths, numbers = defaultdict(list), defaultdict(lambda: 2), set(), {}
    for rule in mapping.rules:
        for argument, name in rule.names.items():
            constants = rule.arguments.get(argument, ())
            texts[name] += [str(c.name if rule.kind == "mapstringtoindex" else c.value) for c in constants]
            if rule.kind == "invertbooleannumber":
                truths.add(name)
            elif rule.kind == "listattributevaluelookuptoindex":
                length[name] = max(length[name], 1 + rule.entry(argument)[0])
            elif rule.kind.startswith("conditional"):
                texts[name] = [rule.constant(argument, "targetValue"), *source.choices.get(name, ())]
                listed = rule.constant(argument, "attributeNameOfListAttribute")
                length[listed] = 4
                numbers[listed] = (4,)
            elif rule.kind in ("ndarraytointattributevalue", "ndarrayinputtonumericalattribute", "ndarraysizeat"):
                numbers[name] = {"t": (2,), "s": (3, 3, 3, 4, 4)}.get(rule.kind[7], ())
    one = {
        "int": lambda name: pick(range(2) if name in truths else range(1, 5)),
        "float": lambda name: pick([0.25, 0.5, 2.0]),
        "bool": lambda name: pick([False, True]),
        "string": lambda name: pick(source.choices.get(name) or texts[name] or ["a"]),
        "type": lambda name: pick(["DT_FLOAT", "DT_INT32"]),
        "tensor": lambda name: np.float32([pick([1.5, 2.0])]),
        "shape": lambda name: (2, 3),
    }
    attributes = {}
    for name, kind in source.attributes.items():
        if name in source.variadic.values():
            attributes[name] = 2
        elif kind.startswith("list"):
            count = 2 * length[name] if name == "pads" else max(length[name], len(source.defaults.get(name) or ()))
            count = 1 if kind == "list(string)" else count
            attributes[name] = tuple(one.get(kind[5:-1], str)(name) for _ in range(count))
        else:
            attributes[name] = one.get(kind, str)(name)
    several = [[f"{name}_{i}" for i in range(2)] if name in source.variadic else [f"{name}_"] for name in source.inputs]
    draw = lambda shape: np.array([pick(range(1, 9)) for _ in range(np.prod(shape, dtype=int))]).reshape(shape)  # noqa: E731
    arrays = {f"{name}_": draw(shape) for name, shape in numbers.items() if name in source.inputs}
    return attributes, [name for each in several for name in each], arrays


@published
class TestPublished:
    @pytest.mark.parametrize(("framework", "wrong"), [("onnx", ["ConstantOfShape"]), ("tensorflow", [])])
    def test_nodes_are_read_and_written_again(self, framework, wrong):
        """Each op of a ruleset but one, whose mapping contradicts the definitions."""
        rules, rng, failed = shared(framework), np.random.default_rng(3), set()
        pick = lambda values: values[rng.integers(len(values))]  # noqa: E731
        for kind, mapping in rules.mappings.items():
            source = rules.ops[kind]
            for _ in range(2):
                attributes, inputs, arrays = drawn(source, mapping, pick)
                node = bound_node(source, "n", inputs, attributes, arrays, {})
                try:
                    found = by_ruleset(node, ["y"], rules)
                    again = framework_node(found, rules, kind)
                except ModelError:
                    failed.add(kind)
                    break
                same = {**source.defaults, **again.attributes}
                for name, value in node.attributes.items():
                    np.testing.assert_array_equal(same.get(name), value, f"{kind} {name}")
                assert again.inputs.keys() == node.inputs.keys()
                assert all(again.inputs[name] in (read, f"n/{name}") for name, read in node.inputs.items())
                assert {name for name, read in again.inputs.items() if read == f"n/{name}"} <= again.constants.keys()
                for name, value in again.constants.items():
                    np.testing.assert_array_equal(value, node.constants[name], f"{kind} {name}")
        assert failed == set(wrong)

    @pytest.mark.parametrize(("framework", "count", "unread"), [("onnx", 95, 6), ("tensorflow", 302, 5)])
    def test_all_but_a_few_rules_are_right(self, framework, count, unread):
        rules = shared(framework)
        assert len(rules.mappings) == count
        problems = [problem for problem in rules.problems() if "no rule reads its input" not in problem]
        assert len(problems) == 2  # an argument of another kind, and one that the op does not have
        assert len(rules.problems()) == 2 + unread

    @given(st.data())
    def test_each_call_by_names_is_one_by_order(self, data):
        descriptor = data.draw(st.sampled_from(list(shared("onnx").descriptors.values())))
        kinds = ["inputs", "outputs", "floats", "integers", "booleans", "types", "strings"]
        values = {
            kind: {name: data.draw(st.integers() | st.tuples(st.integers(), st.integers())) for name in names}
            for kind in kinds
            if (names := descriptor.names(kind))
        }
        assert descriptor.named(descriptor.ordered(values)) == values

    def test_a_convolution_of_tensorflow(self):
        text = """name: "c" op: "DepthwiseConv2dNative" input: "x" input: "w" input: "^before"
          attr { key: "data_format" value { s: "NHWC" } } attr { key: "padding" value { s: "SAME" } }
          attr { key: "strides" value { list { i: 1 i: 2 i: 3 i: 1 } } }"""
        found = interpret_tensorflow(text, shared("tensorflow"), constants={"w": np.zeros((5, 7, 3, 8))})
        assert found.descriptor.name == "depthwise_conv2d"
        integers = found.values["integers"]
        assert (integers["sH"], integers["sW"], integers["isSameMode"], integers["kH"]) == (2, 3, True, 5)
        assert found.values["inputs"] == {"input": "x", "weights": "w"}

    def test_the_first_constant_of_an_entry_is_its_place(self):
        """Whatever its name: here it is "index", elsewhere the list's."""
        text = """name: "p" op: "ExtractImagePatches" input: "x" attr { key: "padding" value { s: "SAME" } }
          attr { key: "ksizes" value { list { i: 1 i: 2 i: 3 i: 1 } } }
          attr { key: "rates" value { list { i: 1 i: 4 i: 5 i: 1 } } }
          attr { key: "strides" value { list { i: 1 i: 6 i: 7 i: 1 } } }"""
        integers = interpret_tensorflow(text, shared("tensorflow")).values["integers"]
        names = ("ksizeRows", "ksizeCols", "krateRows", "krateCols", "kstrideRows", "kstrideCols")
        assert [integers[name] for name in names] == [2, 3, 4, 5, 6, 7]

    def test_any_number_of_inputs(self):
        text = 'name: "p" op: "Pack" input: "a" input: "b" attr { key: "N" value { i: 2 } }'
        message = interpret_tensorflow(text, shared("tensorflow"))
        assert message.values["inputs"]["input"] == ("a", "b")
        assert message.call.values["inputs"][0] == ("a", "b")

    def test_messages_of_tensorflow_itself(self):
        node = SimpleNamespace(SerializeToString=lambda: b"\x0a\x01r\x12\x04Relu\x1a\x01x")
        assert interpret_tensorflow(node, shared("tensorflow")).values["inputs"] == {"input": "x"}

    def test_most_of_its_nodes_are_calls(self):
        rules = shared("onnx")
        for name in ("Abs", "Sigmoid", "Exp", "MatMul", "Add"):
            inputs = [f"in_{i}" for i in range(len(rules.ops[name].inputs))]
            found = interpret_onnx(onnx.helper.make_node(name, inputs, ["y"]), ruleset=rules)
            assert set(found.call.values["inputs"]) == set(inputs)


def test_inputs_that_no_definition_has():
    rules = SimpleNamespace(ops={"F": FrameworkOp("F", ("x",), ("y",))})
    with pytest.raises(ModelError, match="has 2 inputs, and its op takes 1"):
        interpret_onnx(onnx.helper.make_node("F", ["a", "b"], ["y"], name="f"), ruleset=rules)


# ---------------------------------------------------------------------- entries


@define_op(infer=lambda x, y, **attributes: x)
def turn(x, y, *, across=1, down=1, near=False, mode=0, order=(0,), strength=0.5):
    """An op with an attribute for each kind of rule that is written back."""
    return x


TURN = FrameworkOp(
    "com.acme.Turn",
    ("B", "A", "order"),
    ("Y",),
    {"steps": "list(int)", "padding": "string", "mode": "string", "unused": "int"},
    {"padding": "FAR", "unused": 3},
)
TURNS = """
mappings { frameworkName: "onnx" opName: "turn" inputFrameworkOpName: "com.acme.Turn"
  rule { ruleName: "ndarraymapping" inputToOutput { key: "x" value: "A" } inputToOutput { key: "y" value: "B" } }
  rule { ruleName: "listattributevaluelookuptoindex"
    inputToOutput { key: "down" value: "steps" } inputToOutput { key: "across" value: "steps" }
    transformerArgs { key: "down" transformerArgs { name: "steps" int64Value: 0 } }
    transformerArgs { key: "across" transformerArgs { name: "steps" int64Value: 1 } } }
  rule { ruleName: "stringequals" inputToOutput { key: "near" value: "padding" }
    transformerArgs { key: "near" transformerArgs { name: "padding" stringValue: "NEAR" } } }
  rule { ruleName: "stringtoindex" inputToOutput { key: "mode" value: "mode" }
    transformerArgs { key: "mode" transformerArgs { name: "a" stringValue: "CLOCK" }
      transformerArgs { name: "b" stringValue: "COUNTER" } } }
  rule { ruleName: "ndarraytointattributevalue" inputToOutput { key: "order" value: "order" } }
  rule { ruleName: "argdescriptorconstant"
    transformerArgs { key: "value" transformerArgs { name: "strength" argType: DOUBLE doubleValue: 0.25 } } }
}
"""


def turns(tmp_path, text=TURNS):
    (tmp_path / "turns.pbtxt").write_text(text)
    return read_ruleset(tmp_path / "turns.pbtxt", ops={"com.acme.Turn": TURN}, descriptors={})


def turned(**attributes):
    node = onnx.helper.make_node("Turn", ["b", "a", "o"], ["y"], domain="com.acme", **attributes)
    value = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 2])  # noqa: E731
    order = onnx.numpy_helper.from_array(np.array([1, 0], np.int64), "o")
    graph = onnx.helper.make_graph([node], "g", [value("a"), value("b")], [value("y")], [order])
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.acme", 1)]
    return onnx.helper.make_model(graph, opset_imports=opsets)


def test_entries_read_and_write(tmp_path):
    entries = entries_of(turns(tmp_path), {"turn": turn})
    graph = from_onnx(turned(steps=[3, 4], padding="NEAR", mode="COUNTER"), entries=entries)
    (name,) = (n for n in graph if graph.nodes[n]["type"] == "turn")
    given = {"across": 4, "down": 3, "near": True, "mode": 1, "order": (1, 0), "strength": 0.25}
    assert graph.attributes(name) == given
    assert [operand.node for operand in graph.operands(name)] == ["a", "b"]
    model = to_onnx(graph, entries=entries)
    again = from_onnx(model, entries=entries)
    assert again.equals(graph, names=False)
    (node,) = (n for n in model.graph.node if n.op_type == "Turn")
    assert node.domain == "com.acme"
    assert {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute} == {
        "steps": [3, 4],
        "padding": b"NEAR",
        "mode": b"COUNTER",
    }


def test_nothing_that_a_ruleset_does_not_say_is_lost(tmp_path):
    entries = entries_of(turns(tmp_path), {"turn": turn})
    with pytest.raises(ModelError, match="unused=4 has no place in the ruleset"):
        from_onnx(turned(steps=[3, 4], mode="CLOCK", unused=4), entries=entries)
    graph = from_onnx(turned(steps=[3, 4], mode="CLOCK"), entries=entries)
    (name,) = (n for n in graph if graph.nodes[n]["type"] == "turn")
    graph.nodes[name]["strength"] = 0.75
    with pytest.raises(GraphRewriteError, match=r"strength is 0\.75"):
        to_onnx(graph, entries=entries)


def test_entries_that_do_not_fit_are_told_at_once(tmp_path):
    text = TURNS.replace('key: "down"', 'key: "up"', 1).replace('key: "y" value: "B"', 'key: "z" value: "C"')
    with pytest.raises(ModelError) as caught:
        entries_of(turns(tmp_path, text), {"turn": turn})
    for told in ("no attribute 'up'", "no operand 'z'", "no input 'C'", "no rule reads its input 'B'"):
        assert told in str(caught.value)
    assert entries_of(turns(tmp_path, text), {}) == ()


LEAKY = FrameworkOp("LeakyRelu", ("features",), ("activations",), {"alpha": "float", "T": "type"}, {"alpha": 0.2})
ROLLED = FrameworkOp("Swirl", ("input", "axis"), ("output",), {"turns": "int", "mode": "string"}, {"mode": "near"})
TF_RULES = """
mappings { frameworkName: "tensorflow" opName: "swirl_it" inputFrameworkOpName: "Swirl"
  rule { ruleName: "ndarraymapping" outputTensorName: "x" inputToOutput { key: "x" value: "input" } }
  rule { ruleName: "ndarraytointattributevalue" inputToOutput { key: "dim" value: "axis" } }
  rule { ruleName: "valuemapping" inputToOutput { key: "count" value: "turns" } } }
mappings { frameworkName: "tensorflow" opName: "relu" inputFrameworkOpName: "Relu"
  rule { ruleName: "ndarraymapping" outputTensorName: "input" inputToOutput { key: "input" value: "features" } } }
"""


def of_tensorflow(tmp_path, text, *ops, descriptors=None):
    (tmp_path / "rules.pbtxt").write_text(text)
    named = {each.name: each for each in (*ops, FrameworkOp("Relu", ("features",), ("activations",), {"T": "type"}))}
    return read_ruleset(tmp_path / "rules.pbtxt", ops=named, descriptors=descriptors or {})


def test_entries_of_tensorflow(tmp_path):
    entry, *others = entries_of(of_tensorflow(tmp_path, skeleton([LEAKY], "tensorflow"), LEAKY))
    assert not others
    nodes = placeholder("x", (-1, 2)), written("y", "LeakyRelu", ["x"], alpha=0.5, T="DT_FLOAT")
    graph = from_tensorflow(frozen(*nodes), entries=[entry])
    np.testing.assert_array_equal(graph(np.float32([[-2, 3]])), [[-1, 3]])
    with pytest.raises(ModelError, match=r"node 'y' \(Swirl\): it has 0 operands and needs 1"):
        from_tensorflow(frozen(nodes[0], written("y", "Swirl", [])), entries=[Entry("Swirl", op.elu)])


def test_ops_that_are_lacking_are_read_as_they_are_described(tmp_path):
    swirl = OpDescriptor("swirl_it", (Argument("x", "inputs", 0), Argument("dim", "integers", 0)))
    relu = OpDescriptor("relu", (Argument("input", "inputs", 0),))
    rules = of_tensorflow(tmp_path, TF_RULES, ROLLED, descriptors={"swirl_it": swirl, "relu": relu})
    entries = entries_of(rules)
    nodes = placeholder("x", (-1, 2)), constant("axis", np.array(1, np.int32))
    reads = written("s", "Swirl", ["x", "axis"], turns=3, mode="far")
    graph = from_tensorflow(frozen(*nodes, reads, written("y", "Relu", ["s"])), entries=entries)
    (name,) = (n for n in graph if graph.nodes[n]["type"] == "nd4j.swirl_it")
    assert graph.attributes(name) == {"count": 3, "dim": 1, "mode": "far"}
    assert {graph.nodes[n]["type"] for n in graph.downstream(name)} == {"relu", "output"}  # the library's own
    assert Graph.parse(str(graph)) == graph
    # An argument that is computed stays an operand.
    nodes = (*nodes[:1], placeholder("axis", (1,), "DT_INT32"))
    graph = from_tensorflow(frozen(*nodes, reads), entries=entries)
    assert [o.node for o in graph.operands(next(n for n in graph if "swirl" in graph.nodes[n]["type"]))] == [
        "x",
        "axis",
    ]
    with pytest.raises(ModelError, match="Relu -> relu: relu has no operand 'input'"):
        entries_of(of_tensorflow(tmp_path, TF_RULES, ROLLED, descriptors={"swirl_it": swirl}))
    with pytest.raises(ModelError, match="Swirl -> swirl_it: there is no such op, and no descriptor of it"):
        entries_of(of_tensorflow(tmp_path, TF_RULES, ROLLED, descriptors={"relu": relu}))


@published
@pytest.mark.parametrize("framework", ["onnx", "tensorflow"])
def test_the_published_rulesets_become_entries(framework):
    rules = shared(framework)
    entries = entries_of(rules)
    assert [e.onnx for e in entries] == [name for name in rules.mappings if rules.ops[name].inputs]
    if framework == "tensorflow":
        shape = written("y", "Betainc", ["x", "x", "x"], T="DT_FLOAT")
        graph = from_tensorflow(frozen(placeholder("x", (-1, 2)), shape), entries=entries)
        assert "nd4j.betainc" in {data["type"] for data in graph.nodes.values()}


def test_a_skeleton_of_ops_that_are_alike_is_complete(tmp_path):
    names = ["Add", "Concat", "Elu", "HardSigmoid", "LeakyRelu", "LogSoftmax", "Relu", "Softmax", "Transpose"]
    (tmp_path / "s.pbtxt").write_text(skeleton([onnx_ops(13)[name] for name in names], "onnx"))
    rules = read_ruleset(tmp_path / "s.pbtxt", ops=onnx_ops(13), descriptors={})
    entries = entries_of(rules)
    assert [entry.onnx for entry in entries] == names
    text = """<ir_version: 8, opset_import: ["": 13]> g (float[N,4] x) => (float[4,N] y)
      { a = LeakyRelu<alpha = 0.3>(x) b = Elu(a) c = Transpose<perm = [1, 0]>(b) y = Softmax<axis = 0>(c) }"""
    model = onnx.parser.parse_model(text)
    graph = from_onnx(model, entries=entries)
    assert graph == from_onnx(model)
    assert graph == from_onnx(to_onnx(graph, entries=entries), entries=entries)
    (tmp_path / "s.pbtxt").write_text(skeleton([onnx_ops(13)["Clip"]], "onnx"))
    with pytest.raises(ModelError, match="no rule reads its input 'min'"):
        entries_of(read_ruleset(tmp_path / "s.pbtxt", ops=onnx_ops(13), descriptors={}))


@published
def test_the_published_mappings_to_ops_of_equal_names(tmp_path):
    ops = read_onnx_ops(DATA / "onnx-op-def.pbtxt")
    rules = read_ruleset(DATA / "onnx-mapping-ruleset.pbtxt", ops=ops, descriptors={})
    with pytest.raises(ModelError, match="mappings that do not fit"):
        entries_of(rules)


@pytest.mark.parametrize(
    ("kinds", "value", "expected"),
    [
        (("inputs", "floats", "integers", "booleans"), True, "booleans"),
        (("floats", "integers"), True, "integers"),
        (("floats", "integers"), 2, "integers"),
        (("floats", "strings"), 2.0, "floats"),
        (("inputs", "floats", "strings"), "a", "strings"),
        (("integers", "floats"), "a", "integers"),
        (("inputs", "strings"), 2, "strings"),
        (("inputs",), 2, "inputs"),
        ((), 2, None),
    ],
)
def test_an_argument_has_the_first_kind_that_fits_its_value(kinds, value, expected):
    descriptor = SimpleNamespace(kinds_of=lambda name: kinds)
    assert _kind_of_value(descriptor, "a", value) == expected
