"""Element types of a dialect: numbers that the library does not have, in tensors as any others."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Dialect, ElementType, Graph, Tensor, define_op, evaluate, op, rewrite, rule, verify
from graphrewrite.errors import EvaluationError, ParseError, TypeMismatchError
from graphrewrite.formats import from_dict, to_dict
from graphrewrite.testing import check

num = Dialect("num")


class Complex(ElementType, dialect=num):
    bits: int = 64

    @property
    def dtype(self):
        return np.dtype(f"complex{self.bits}")


class Mod(ElementType, dialect=num):
    """Whole numbers modulo a number."""

    p: int
    dtype = np.dtype(np.int64)

    def hold(self, array):
        return np.asarray(array, np.int64) % self.p


@define_op(dialect=num, elements={"own"})
def conjugate(x):
    return np.conj(x)


@define_op(dialect=num, elements={"own"}, commutative=True)
def plus(a, b):
    return a + b


@define_op(dialect=num, infer=lambda x, *, element: Tensor(element, x.shape, x.layout))
def convert(x, *, element):
    return x


@rule
def drop_conjugations(x):
    """Twice conjugated is the number."""
    yield conjugate(conjugate(x))
    return x


def graph(p: int = 7) -> Graph:
    made = Graph("g", ops=[num])
    x, m = made.input("x", Tensor(Complex(), ("N", 2))), made.input("m", Tensor(Mod(p), ("N", 3), "NC"))
    k = made.constant(np.array([1 + 2j, 3]), type=Complex())
    made.output("y", plus(conjugate(conjugate(x)), k))
    made.output("z", plus(op.transpose(plus(m, p + 1), perm=(1, 0)), 3))
    made.output("w", convert(m, element=Mod(2)))
    return made


@given(st.integers(2, 9), st.lists(st.integers(-20, 20), min_size=3, max_size=3))
def test_they_are_computed_with_stored_and_read(p, numbers):
    made = graph(p)
    verify(made)
    simple = rewrite(made, [drop_conjugations], verify=True)
    for each in (made, simple):
        values = evaluate(each, {"x": [[1j, 2]], "m": [numbers]})
        assert values["y"].tolist() == [[1 + 3j, 5]]
        assert values["y"].dtype == np.complex64
        assert values["z"].T.tolist() == [[(n + 4) % p for n in numbers]]
        assert values["w"].tolist() == [[n % p % 2 for n in numbers]]
        assert Graph.parse(str(each), ops=[num]) == each
        assert from_dict(json.loads(json.dumps(to_dict(each))), ops=[num]) == each
        assert pickle.loads(pickle.dumps(each)) == each


def test_they_are_drawn_and_rules_are_tried_with_them():
    samples = graph()
    samples.remove_nodes_from(["w", "convert_1"])
    assert "num.Mod" in str(samples.show()._repr_html_())
    assert check(drop_conjugations, on=samples, seed=0)


def test_what_is_wrong_with_them_is_said():
    x = graph().value("x")
    with pytest.raises(TypeMismatchError, match=r"does not compute with num.Complex\(bits=64\); only ops that say so"):
        op.relu(x)
    with pytest.raises(EvaluationError, match="its values cannot be converted"):
        evaluate(graph(), {"x": [["a", 2]], "m": [[1, 2, 3]]})
    with pytest.raises(ParseError, match="element type; expected a shape after it"):
        Graph.parse("graph g\nx = input() : num.Mod(p=7)", ops=[num])
    with pytest.raises(ParseError, match="of the dialect 'num', which is missing"):
        Graph.parse(str(graph()))
    with pytest.raises(TypeMismatchError, match="Loose is of no dialect"):

        class Loose(ElementType):
            pass
