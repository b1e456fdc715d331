"""Every op with every element type: it computes what its type says, or says what to do first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, define_op, evaluate, op, verify
from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.domain import ANY, TEXTS
from graphrewrite.testing import graphs
from graphrewrite.testing.generation.indices import limits_in, within
from graphrewrite.types import (
    NAMES,
    TEXT,
    Element,
    Quantised,
    contradiction,
    element_kind,
    evaluate_size,
    hold,
    symbols,
)
from tests.support.central_ops import examples_of
from tests.support.profiles import fewer_examples

OPS = [o for o in op.LIBRARY.values() if o.level not in ("structure", "memory") and o.operands and o.elements != TEXTS]
ELEMENTS: tuple[Element, ...] = (*NAMES, FixedPoint(True, 8, 4), FixedPoint(False, 12), Quantised("i8", 0.5, 3))


def small(kind: Tensor, seed: int) -> np.ndarray:
    """Small numbers that every element type has."""
    shape = tuple(evaluate_size(d, dict.fromkeys(symbols(d), 2)) for d in kind.shape)
    numbers = np.random.default_rng(seed).integers(0, 2, shape)
    return hold(kind.element, numbers.astype(str) if kind.element == TEXT else numbers)


def built(tested, types: list[Tensor], attributes: dict[str, Any]) -> Graph | str:
    """A graph of one node, or what its op refuses."""
    made = Graph("made")
    operands = [made.input(f"x{i}", kind) for i, kind in enumerate(types)]
    try:
        found = tested(*operands, **attributes)
        made.output("y", found[0] if isinstance(found, tuple) else found)
    except TypeMismatchError as error:
        return str(error)
    return made


OF_ANY = [found for found in OPS if found.name != "integer_interpolate"]
"""Ops of which no attribute follows from the whole of an operand's format, so that another one may go with them."""


@pytest.mark.slow
@pytest.mark.parametrize("tested", OF_ANY, ids=lambda tested: tested.name)
def test_it_computes_what_its_type_says_or_refuses_with_advice(tested):
    accepted = set()

    def examine(graph, data):
        nodes = [n for n in graph if graph.nodes[n]["type"] == tested.name]
        assume(nodes)
        node = data.draw(st.sampled_from(nodes))
        given_types = [graph.result_type(*o) for o in graph.operands(node)]
        # Of many examples each tries a few of the types: all are tried all the same.
        turn = data.draw(st.integers(0, 2)) if settings().max_examples > len(ELEMENTS) else None
        for element in ELEMENTS if turn is None else ELEMENTS[turn::3]:
            first = given_types[0].element
            types = [Tensor(element if t.element == first else t.element, t.shape) for t in given_types]
            attributes = graph.attributes(node)
            if "source" in attributes and isinstance(element, Quantised):
                attributes["source"] = element
            made = built(tested, types, attributes)
            takes = tested.elements is None or element_kind(element) in tested.elements
            if isinstance(made, str):
                assert made.startswith(f"{tested.name}(")
                assert takes or "first" in made or "integer level" in made
                continue
            assert takes
            accepted.add(element_kind(element))
            verify(made)
            arrays = {f"x{i}": small(kind, i) for i, kind in enumerate(types)}
            arrays |= {name: within(arrays[name], limits) for name, limits in limits_in(made).items()}
            with np.errstate(all="ignore"):
                found = evaluate(made, arrays)["y"]
            kind = made.result_type(made.operands("y")[0].node)
            assert contradiction(Tensor(kind.element, found.shape), found) is None
            assert all(isinstance(d, str) or d == size for d, size in zip(kind.shape, found.shape, strict=True))

    with fewer_examples():
        examples_of(tested)(given(graphs(ops=[tested]), st.data())(examine))()
    assert accepted


def test_an_op_of_the_user_takes_what_its_inference_takes():
    @define_op(infer=lambda x: x)
    def stored(x):
        """As it is."""
        return x

    for element in ELEMENTS:
        kind = Tensor(element, ("N", 2), "NC")
        assert stored.infer(kind) == (kind,)

    @define_op(infer=lambda x: x, elements=ANY - {"quantised"})
    def computed(x):
        """As it is."""
        return x

    with pytest.raises(TypeMismatchError, match=r"computed\(i8<0.5:3>\[\]\): does not compute with i8<0.5:3>"):
        computed.infer(Tensor(Quantised("i8", 0.5, 3), ()))


def test_a_result_is_held_as_its_type_says():
    @define_op(infer=lambda x: x)
    def in_double(x):
        """A sum that numpy gives in float64."""
        return x.astype(np.float64) + 1e-3

    g = Graph("g")
    for element in ("f16", "bf16", "f32", "f64"):
        g.output(f"y_{element}", in_double(g.input(element, Tensor(element, ("N",)))))
    found = evaluate(g, {name: [1.0] for name in ("f16", "bf16", "f32", "f64")})
    assert {name: array.dtype for name, array in found.items()} == {
        "y_f16": np.float16,
        "y_bf16": np.float32,
        "y_f32": np.float32,
        "y_f64": np.float64,
    }
    assert found["y_bf16"] == 1.0
    assert found["y_f64"] == 1.001


def test_a_number_takes_the_element_type_that_it_meets():
    g = Graph("g")
    for element in ("f16", "bf16", "i4", "u4", "i8", "f64"):
        made = op.mul(op.add(g.input(element, Tensor(element, ("N",), "N")), 1), 2)
        assert made.type == Tensor(element, ("N",), "N")
        g.output(f"y_{element}", made)
    verify(g)
    assert evaluate(g, {n: [1] for n in g.inputs})["y_u4"].tolist() == [4]
    with pytest.raises(TypeMismatchError, match="300 is not a number of i8"):
        op.add(g.value("i8"), 300)


def test_an_inference_need_not_repeat_the_defaults_of_attributes():
    @define_op(infer=lambda x, *, times: Tensor(x.element, (*x.shape[:-1], x.shape[-1] * times)))
    def tiled(x, *, times: int = 2):
        """The last axis several times."""
        return np.tile(x, (1,) * (x.ndim - 1) + (times,))

    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 3)))
    graph.output("y", tiled(x))
    graph.output("z", tiled(x, times=2))
    graph.output("w", tiled(x, times=3))
    verify(graph)
    assert [graph.result_type(graph.operands(name)[0].node).shape[1] for name in "yzw"] == [6, 6, 9]
