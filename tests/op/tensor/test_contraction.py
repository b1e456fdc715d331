"""Sums of products in Einstein's notation, and matrix products of every rank."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphrewrite import Graph, Tensor, evaluate, op
from graphrewrite.errors import TypeMismatchError
from graphrewrite.summary import multiply_accumulates
from tests.support.node_cases import assert_case, cases_of

GEMM = {"transA": "trans_a", "transB": "trans_b"}


@pytest.mark.parametrize(("kind", "tested"), {"Einsum": op.einsum, "MatMul": op.matmul, "Gemm": op.gemm}.items())
def test_onnx_s_cases(kind, tested):
    for case in cases_of(kind):
        attributes = {GEMM.get(k, k): v.decode() if isinstance(v, bytes) else v for k, v in case.attributes.items()}
        kinds = [Tensor(e, x.shape) for e, x in zip(case.elements, case.operands, strict=False)]
        (kind,) = tested.infer(*kinds, **attributes)
        assert (kind.element, kind.shape) == (case.elements[-1], case.results[0].shape)
        found = tested(*case.operands, **attributes)
        if "bf16" in case.elements:
            np.testing.assert_allclose(found, case.results[0], rtol=2**-7)
        else:
            assert_case(found, case)


EQUATIONS = [
    "ij,jk->ik",
    "ij->ji",
    "ii->i",
    "ii",
    "i,i->",
    "i,j->ij",
    "...ij,...jk->...ik",
    "ij,ij",
    "ba",
    "b...a,b->a...",
]
EQUATIONS += ["ij,jk,kl->il", "Ab,bA", "...,...->...", "i...->...", "iij,j->ij"]


@given(st.sampled_from(EQUATIONS), st.sampled_from(["f64", "i8", "u64", "f32"]), st.data())
def test_every_combination_of_positions_gives_one_product(equation, element, data):
    left = equation.partition("->")[0].split(",")
    sizes = {letter: data.draw(st.integers(0, 3)) for letter in sorted({*equation} - {*"->,."})}
    rest = tuple(data.draw(st.lists(st.integers(1, 3), max_size=2))) if "..." in equation else ()
    shapes = [[n for c in term.replace("...", "*") for n in (rest if c == "*" else (sizes[c],))] for term in left]
    dtype = {"f64": np.float64, "f32": np.float32, "i8": np.int8, "u64": np.uint64}[element]
    xs = [data.draw(hnp.arrays(dtype, tuple(shape), elements=st.integers(0, 3))) for shape in shapes]
    found = op.einsum(*xs, equation=equation)
    (kind,) = op.einsum.infer(*(Tensor(element, x.shape) for x in xs), equation=equation)
    assert (found.shape, found.dtype) == (kind.shape, dtype)
    np.testing.assert_array_equal(found, np.einsum(equation, *xs))


def test_sizes_may_be_symbolic_and_products_are_counted():
    g = Graph("g")
    made = op.einsum(
        g.input("x", Tensor("f32", ("N", 8, "T", 4))),
        g.input("y", Tensor("f32", ("N", 8, "T", 4))),
        equation="bhqd,bhqe->bhde",
    )
    assert made.type == Tensor("f32", ("N", 8, 4, 4))
    g.output("z", made)
    assert multiply_accumulates(g, made.node) == 8 * 4 * 4
    assert (
        evaluate(g, {name: np.ones((2, 8, 3, 4)) for name in "xy"})["z"].tolist() == np.full((2, 8, 4, 4), 3).tolist()
    )


@given(
    st.sampled_from([((3,), (3,)), ((3,), (2, 3, 4)), ((2, 3), (3,)), ((5, 1, 2, 3), (4, 3, 2)), ((0, 3), (3, 2))]),
    st.sampled_from([("f64", np.float64), ("i32", np.int32), ("u8", np.uint8)]),
)
def test_matrix_products_of_every_rank(shapes, kinds):
    element, dtype = kinds
    x, y = ((np.arange(np.prod(shape)) % 5).reshape(shape).astype(dtype) for shape in shapes)
    found = np.asarray(op.matmul(x, y))
    (kind,) = op.matmul.infer(*(Tensor(element, shape) for shape in shapes))
    assert (kind.element, kind.shape, found.dtype) == (element, found.shape, dtype)
    np.testing.assert_array_equal(found, np.matmul(x.astype(np.int64), y.astype(np.int64)).astype(dtype))


def test_refusals():
    x = Tensor("f32", ("N", 3))
    for words, equation in (
        ("names? the axes|does not name", "ijk->i"),
        ("must occur once, and in an operand", "ij->ik"),
        ("must occur once, and in an operand", "ij->ii"),
        ("must have one letter per axis", "i1->i"),
        ("must have one letter per axis", "i.j->i"),
        ("has 2 operands, got 1", "ij,j->i"),
        ("unnamed axes must be in the result", "i...->i"),
    ):
        with pytest.raises(TypeMismatchError, match=words):
            op.einsum.infer(x, equation=equation)
    with pytest.raises(TypeMismatchError, match="the axis 'j' has sizes 3 and 4"):
        op.einsum.infer(x, Tensor("f32", (4,)), equation="ij,j->i")
    with pytest.raises(TypeMismatchError, match="expected vectors or matrices"):
        op.matmul.infer(x, Tensor("f32", ()))
    with pytest.raises(TypeMismatchError, match="must be the size of"):
        op.matmul.infer(x, Tensor("f32", (4,)))
    with pytest.raises(TypeMismatchError, match="must be the last but one of"):
        op.matmul.infer(x, Tensor("f32", (4, 3)))
