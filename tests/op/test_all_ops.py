"""What holds for every op of the library, on graphs made from its own definition."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graphrewrite import Tensor, define_op, evaluate, op, verify
from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.hierarchy.conversion import Permuting
from graphrewrite.op.define import broadcast_shape, elementwise
from graphrewrite.op.documentation import meanings
from graphrewrite.op.domain import TEXTS
from graphrewrite.testing import attributes_of, graphs, inputs_for
from graphrewrite.types import Stream, contradiction
from tests.support.central_ops import examples_of
from tests.support.op_reference import PAGE, STUB, page, stub

OPS = [found for found in op.LIBRARY.values() if found.level not in ("structure", "memory")]
GENERATED = [found for found in OPS if found.elements != TEXTS]
"""Generated graphs hold numbers."""


def evaluated(graph, inputs, nodes):
    """Their values, but for a graph that computes indices or lengths which lie outside of an axis."""
    try:
        return evaluate_nodes(graph, inputs, nodes)
    except EvaluationError as error:
        assume("is outside of axis" not in str(error) and "exceeds sequences of" not in str(error))
        raise


@pytest.mark.slow
@pytest.mark.parametrize("tested", GENERATED, ids=lambda tested: tested.name)
def test_an_op_computes_what_its_type_says(tested):
    reached = []

    @examples_of(tested)
    @given(graphs(ops=[tested]).flatmap(lambda g: st.tuples(st.just(g), inputs_for(g))))
    def examine(case):
        graph, inputs = case
        verify(graph)
        nodes = [n for n in graph if graph.nodes[n]["type"] == tested.name]
        with np.errstate(all="ignore"):
            values = evaluated(graph, inputs, nodes)
        for node in nodes:
            kind, array = graph.result_type(node), values[node]
            assert contradiction(Tensor(kind.element, array.shape), array) is None
            shape = ("N", *kind.shape) if isinstance(kind, Stream) else kind.shape
            assert all(isinstance(d, str) or d == size for d, size in zip(shape, array.shape, strict=True))
        reached.extend(nodes)

    examine()
    assert reached, "the generator never makes this op"


@pytest.mark.parametrize("tested", [o for o in OPS if o.commutative], ids=lambda tested: tested.name)
def test_what_is_called_commutative_commutes(tested):
    @examples_of(tested)
    @given(graphs(ops=[tested]).flatmap(lambda g: st.tuples(st.just(g), inputs_for(g))))
    def examine(case):
        graph, inputs = case
        swapped = graph.copy()
        for a, b, data in graph.edges(data=True):
            if graph.nodes[b]["type"] == tested.name:
                swapped.edges[a, b]["slots"] = tuple((1 - slot, result) for slot, result in data["slots"])
        with np.errstate(all="ignore"):
            for name, array in evaluate(graph, inputs).items():
                np.testing.assert_array_equal(evaluate(swapped, inputs)[name], array)

    examine()


@pytest.mark.parametrize("tested", OPS, ids=lambda tested: tested.name)
def test_an_op_is_documented_and_copies_and_pickles_as_itself(tested):
    assert tested.__doc__
    assert tested.__doc__.splitlines()[0].endswith(".")
    assert pickle.loads(pickle.dumps(tested)) is tested
    assert copy.deepcopy(tested) is tested
    assert getattr(op, tested.name) is tested


@pytest.mark.parametrize("tested", op.LIBRARY.values(), ids=lambda tested: tested.name)
def test_help_shows_every_operand_and_attribute(tested):
    names = {*tested.operands, *tested.attributes}
    assert meanings(tested).keys() == names
    assert all(text.endswith(".") for text in meanings(tested).values())
    parameters = inspect.signature(tested).parameters
    assert {name: p.default for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY} == tested.attributes
    shown = pydoc.plain(pydoc.render_doc(tested))
    assert f"{tested.name}{inspect.signature(tested)}" in shown
    assert all(re.search(rf"^    \*?{name} : ", shown, re.MULTILINE) for name in names)


@pytest.mark.parametrize("tested", GENERATED, ids=lambda tested: tested.name)
def test_attributes_come_with_their_op(tested):
    @examples_of(tested)
    @given(attributes_of(tested))
    def examine(attributes):
        tested.check(tested.required, attributes)
        required = {k for k, v in tested.attributes.items() if v is inspect.Parameter.empty}
        assert required <= set(attributes)

    examine()


@pytest.mark.parametrize(("path", "written"), [(STUB, stub()), (PAGE, page())], ids=["stub", "page"])
def test_what_is_written_of_the_ops_is_current(path, written):
    assert path.read_text("utf-8") == written, "run `make reference`"


def test_an_unknown_op_is_suggested():
    with pytest.raises(AttributeError, match=r"unknown op 'max_pol'; did you mean 'max_pool'"):
        op.max_pol  # noqa: B018
    assert "relu" in dir(op)


def test_definition_reads_the_signature():
    @define_op(level="integer", commutative=True, results=2, infer=lambda x, *ys, k, m=2: (x, x))
    def made_(x, y=None, *zs, k, m=2):
        """Something."""

    assert (made_.name, made_.level, made_.operands, made_.required) == ("made", "integer", ("x", "y", "zs"), 1)
    assert made_.variadic
    assert made_.commutative
    assert dict(made_.attributes) == {"k": inspect.Parameter.empty, "m": 2}
    x = Tensor("f32", ("N",))
    assert made_.infer(x, k=1) == (x, x)
    with pytest.raises(TypeMismatchError, match="made needs the attribute 'k'"):
        made_.infer(x)
    with pytest.raises(TypeMismatchError, match=r"has no attribute 'kk'.*did you mean 'k'"):
        made_.infer(x, k=1, kk=2)
    with pytest.raises(TypeMismatchError, match="made needs operand 'x'"):
        made_.infer(k=1)


def test_inference_gets_the_defaults_of_attributes_that_it_does_not_name():
    @define_op(infer=lambda axis, **rest: Tensor("f32", (rest["k"], *axis.shape)))
    def made(x, *, axis=7, k=2): ...

    assert made.infer(Tensor("f32", (3,)))[0].shape == (2, 3)
    assert made.infer(Tensor("f32", (3,)), k=5)[0].shape == (5, 3)


def test_an_op_that_states_that_it_is_element_wise_computes_in_any_order_of_axes():
    @define_op(infer=elementwise)
    def scaled(x, *, by=2.0):
        return x * by

    assert scaled.infer(Tensor("f32", (3,)), by=1.0) == (Tensor("f32", (3,)),)
    assert Permuting.permutes(scaled)


shapes = st.lists(st.integers(0, 3), max_size=4).map(tuple)


@given(st.lists(shapes, min_size=1, max_size=3))
def test_broadcasting_is_numpy_s(given_shapes):
    try:
        expected = np.broadcast_shapes(*given_shapes)
    except ValueError:
        with pytest.raises(TypeMismatchError):
            broadcast_shape(*given_shapes)
    else:
        assert broadcast_shape(*given_shapes) == expected


def test_a_symbolic_size_equals_itself_and_one():
    assert broadcast_shape(("N", 3), (1, 1), (3,)) == ("N", 3)
    for other in [("M", 3), (2, 3)]:
        with pytest.raises(TypeMismatchError, match="do not broadcast"):
            broadcast_shape(("N", 3), other)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_reshape_keeps_sizes_that_are_left_out(sizes, data):
    x = np.arange(np.prod(sizes)).reshape(sizes)
    shape = [data.draw(st.sampled_from([0, size])) for size in sizes]
    if data.draw(st.booleans()):
        shape[data.draw(st.integers(0, len(shape) - 1))] = -1
    found = op.reshape(x, shape=shape)
    assert found.shape == x.shape == op.reshape.infer(Tensor("i64", tuple(sizes)), shape=shape)[0].shape
    symbolic = Tensor("f32", ("N", *sizes))
    assert op.reshape.infer(symbolic, shape=(-1, *sizes))[0] == symbolic
    assume(len(sizes) > 1)
    with pytest.raises(TypeMismatchError, match="does not reshape"):
        op.reshape.infer(symbolic, shape=(*sizes, 7))


def test_batch_norm_softmax_sigmoid_against_their_formulas():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 3, 2, 2))
    gain, shift, mean, var = (rng.uniform(0.5, 2, 3) for _ in range(4))
    each = (slice(None), None, None)
    expected = (x - mean[each]) / np.sqrt(var[each] + 1e-3) * gain[each] + shift[each]
    np.testing.assert_allclose(op.batch_norm(x, gain, shift, mean, var, epsilon=1e-3), expected)
    np.testing.assert_allclose(op.softmax(x, axis=1), np.exp(x) / np.exp(x).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(op.sigmoid(x), 1 / (1 + np.exp(-x)))
    large = np.array([[1e4, -1e4, 0.0]])
    assert op.softmax(large).tolist() == [[1.0, 0.0, 0.0]]
    assert op.sigmoid(large).tolist() == [[1.0, 0.0, 0.5]]


def test_gemm_and_pad_against_the_onnx_definition():
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(4, 2)), rng.normal(size=(3, 4)), rng.normal(size=3)
    found = op.gemm(a, b, c, alpha=0.5, beta=2.0, trans_a=True, trans_b=True)
    np.testing.assert_allclose(found, 0.5 * (a.T @ b.T) + 2 * c)
    x = np.arange(6.0).reshape(2, 3)
    assert op.pad(x, pads=(1, -1, 0, 2), fill=9.0).tolist() == [[9, 9, 9, 9], [1, 2, 9, 9], [4, 5, 9, 9]]
    assert op.pad.infer(Tensor("f32", (2, 3)), pads=(1, -1, 0, 2))[0].shape == (3, 4)
