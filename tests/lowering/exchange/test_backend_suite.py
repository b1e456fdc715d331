"""All cases of ONNX's backend suite that need the library's ops: right numbers, and back to ONNX and in again."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest

from graphrewrite import evaluate, verify
from graphrewrite.lowering import ModelError, UnsupportedOpsError, from_onnx, to_onnx
from tests.lowering.exchange.suite import CORE, EXTENDED, cases, differences, imported, some_of_each_op, subset
from tests.support.sessions import session_of

pytestmark = pytest.mark.slow

NO_NUMBERS = {
    "test_identity_sequence": "sequences",
    "test_identity_opt": "optionals",
}
"""Cases about a sequence and an optional: what flows through a graph here are tensors."""


REFUSALS = ("ModelError", "OpenSizesError", "UnsupportedOpsError", "UnknownOpError", "EvaluationError")
"""Errors that say what is not supported."""


@pytest.fixture(scope="module")
def results():
    """For each case of the extended set what is wrong with it; None where nothing is."""
    found = {}
    for case in subset(EXTENDED):
        if case.name not in NO_NUMBERS:
            each = [_outcome(case, number) for number in range(len(case.sets))]
            found[case.name] = next((wrong for wrong in each if wrong is not None), None)
    return found


def _outcome(case, number):
    try:
        graph, rest = imported(case, number)
        return next(differences(case, graph, evaluate(graph, rest), case.sets[number][1]), None)
    except Exception as error:  # whatever it is, it is the case's result
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(("name", "ops", "least"), [("core", CORE, 355), ("extended", EXTENDED, 784)])
def test_every_case_is_right(results, name, ops, least, capsys):
    chosen = [case for case in subset(ops) if case.name in results]
    right = Counter(op for case in chosen for op in case.ops if results[case.name] is None)
    every = Counter(op for case in chosen for op in case.ops)
    with capsys.disabled():
        print(f"\n{name}: {sum(results[case.name] is None for case in chosen)} of {len(chosen)} cases right; by op")
        for op in sorted(every):
            print(f"  {op:24}{right[op]:4} of {every[op]}")
    assert {case.name: results[case.name] for case in chosen if results[case.name]} == {}
    if onnx.__version__.startswith("1.23."):
        assert len(chosen) == least


@pytest.mark.slow(cases=0)
def test_nearly_every_case_is_right_and_no_other_one_is_wrong(results, capsys):
    found, wrong = Counter(), {}
    for case in cases().values():
        for number in range(len(case.sets)):
            said = results[case.name] if case.name in results else _outcome(case, number)
            found[said is None] += 1
            if said is not None and not said.startswith(REFUSALS):
                wrong[case.name] = said
    with capsys.disabled():
        print(f"\nall: {found[True]} of {found.total()} data sets right")
    assert wrong == {}
    assert found[True] > 0.95 * found.total()
    if onnx.__version__.startswith("1.23."):
        assert found[True] >= 1970, "what was right is refused"


@pytest.mark.parametrize(("name", "reason"), NO_NUMBERS.items())
def test_what_is_no_tensor_is_refused(name, reason):
    if name not in cases():
        pytest.skip(f"this onnx has no case {name}")
    with pytest.raises(ModelError, match=reason):
        from_onnx(cases()[name].model, batch=None)


def test_every_case_comes_back_from_onnx_equal():
    different, counted = [], 0
    for case in some_of_each_op(EXTENDED):
        if case.name in NO_NUMBERS:
            continue
        graph, _ = imported(case)
        verify(graph)
        counted += 1
        try:
            again = from_onnx(to_onnx(graph), batch=None)
        except UnsupportedOpsError as error:
            different.append(f"{case.name}: {error}")
            continue
        # States of zeros for a batch are left out, and come back under other names.
        is_recurrent = case.name.startswith(("test_gru", "test_lstm", "test_rnn", "test_simple_rnn"))
        if not again.equals(graph, names=not is_recurrent):
            different.append(case.name)
    assert different == []
    assert counted


def test_onnxruntime_computes_the_same_of_what_is_written():
    ort = pytest.importorskip("onnxruntime")
    ort.set_default_logger_severity(4)
    compared, refused = 0, 0
    for case in some_of_each_op(EXTENDED):
        if case.name in NO_NUMBERS or "training_dropout" in case.name:  # its draws are its own
            continue
        graph, rest = imported(case)
        if any(_is_small(graph.nodes[node]) for node in graph):
            continue  # it hands these over as bytes
        wanted = evaluate(graph, rest)
        try:
            session = session_of(to_onnx(graph).SerializeToString())
            found = session.run(None, rest)
        except Exception:  # it has no kernel for this type, or says that a form is not implemented
            refused += 1
            continue
        compared += 1
        for array, right in zip(found, wanted.values(), strict=True):
            np.testing.assert_allclose(
                np.asarray(array, np.float64), np.asarray(right, np.float64), rtol=1e-3, atol=1e-5, err_msg=case.name
            )
    assert compared > 0.85 * (compared + refused)


def _is_small(data):
    """Whether a node gives floats of 8 bits or less, or bfloat16."""
    kinds = data.get("result", ())
    return any(str(k.element)[:2] in ("f8", "f4", "bf") for k in (kinds if isinstance(kinds, tuple) else (kinds,)))
