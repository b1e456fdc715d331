"""What `to_torch` writes for each op: calls of PyTorch that were recorded, and compute what the op computes.

`TEXTS` was written by ``python -m tests.lowering.exchange.test_written_torch`` where the values of all cases were equal
with PyTorch 2.14. Where it is installed, `test_modules_compute_what_graphs_do` compares them again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import graphrewrite.lowering.exchange.torch.module as writing
from graphrewrite import Graph, evaluate, op
from graphrewrite.errors import GraphRewriteError
from graphrewrite.lowering import to_torch
from graphrewrite.types import parse_type
from tests.support.torch_stand_in import StandIn
from tests.support.torch_written_cases import inputs_of, written_cases

TEXTS = Path(__file__).with_name("written_torch.txt")


def written(graph: Graph, patch: pytest.MonkeyPatch, **options: object) -> str:
    """The calls of PyTorch that a graph becomes, or why it does not."""
    with patch.context() as context:
        context.setattr(writing, "require_torch", StandIn)
        try:
            return str(to_torch(graph, **options))  # type: ignore[arg-type]
        except GraphRewriteError as error:
            return f"{type(error).__name__}: {error}"


def cases_by_name() -> Iterator[tuple[str, Graph]]:
    """Cases of one op, and graphs with what modules hold."""
    yield from written_cases()
    yield "sizes", sizes()
    yield "weights", weights()


def sizes() -> Graph:
    """Sizes that are computed from those of inputs."""
    graph = Graph("sizes")
    x, y = graph.input("x", parse_type("f32[N,3,M]")), graph.input("1st y", parse_type("f32[M]"))
    grown = op.pad(x, pads=(0, 0, 1, 0, 0, 2))
    graph.output("a", op.reshape(op.add(x, y), shape=(-1, 3)))
    computed = ("3*M + 9", "N//2", "min(N, 4)", "max(N - M, 1)", "N % 3")
    graph.output("b", graph.add(op.constant_of_shape, [], {"shape": computed}))
    graph.output("c", op.shape(op.concat(x, grown, axis=2)))
    graph.output("d", op.slice(x, starts=(0,), ends=("N//2",), axes=(0,)))
    return graph


def weights() -> Graph:
    """Constants that are parameters or buffers of modules in modules."""
    graph = Graph("weights")
    x = graph.input("x", parse_type("f32[2,3]"))
    held = {
        name: graph.constant(np.full(shape, at, np.float32), name=name)
        for at, (name, shape) in enumerate(
            {"a.w": (3, 3), "a.b": (3,), "a.w.s": (3,), ".c": (), "a": (3,), "d w": (3,)}.items()
        )
    }
    graph.nodes["a.b"]["trainable"] = False
    y = op.add(op.matmul(x, held["a.w"]), held["a.b"])
    for name in ("a.w.s", ".c", "a", "d w"):
        y = op.mul(y, held[name])
    y = op.reshape(
        op.batch_norm(
            op.reshape(y, shape=(2, 3, 1, 1)), *(held["a"],) * 2, *[graph.constant(np.ones(3, np.float32))] * 2
        ),
        shape=(2, 3),
    )
    graph.output("y", op.gather(y, graph.constant(np.array([0, 2])), axis=1))
    return graph


def recorded() -> dict[str, str]:
    """Texts by the names of cases."""
    return dict(part.rstrip().split("\n", 1) for part in TEXTS.read_text(encoding="utf-8").split("# ")[1:])


def test_calls_are_those_that_were_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = recorded()
    found = {name: written(graph, monkeypatch) for name, graph in cases_by_name()}
    assert found.keys() == wanted.keys()
    for name, text in found.items():
        assert text == wanted[name], name


def test_every_op_that_is_written_has_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "require_torch", StandIn)
    table = writing.Writer(Graph("empty"), None).table
    assert table.keys() == {name.partition(" ")[0] for name, _ in written_cases()}


def test_what_is_trained_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert written(weights(), monkeypatch, trainable=["a.b"]).count("nn.Parameter") == 1
    assert "'e', which is no constant" in written(weights(), monkeypatch, trainable=["e"])


def test_what_has_no_form_is_named_together(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.parse("graph g\nx = input() : u16[4]\nn = nonzero(x)\nm = nonzero(x)\ny = output(n)\nz = output(m)")
    told = written(graph, monkeypatch)
    assert told.startswith(
        "UnsupportedOpsError: the graph has ops that have no form in PyTorch: input of u16[4] ('x'); "
    )
    assert "nonzero ('n', 'm')" in told
    graph = Graph("open")
    graph.output("y", graph.add(op.constant_of_shape, [], {"shape": ("K",)}))
    assert "the size K does not follow from sizes of inputs (K)" in written(graph, monkeypatch)


def compared() -> int:
    """Compare values with PyTorch's; return of how many cases."""
    torch, count = pytest.importorskip("torch", reason="PyTorch is not installed: the extra [torch]"), 0
    for name, graph in cases_by_name():
        inputs = inputs_of(graph)
        try:
            module = to_torch(graph)
        except GraphRewriteError:
            continue
        with np.errstate(all="ignore"):
            wanted = evaluate(graph, inputs)
        with torch.no_grad():
            found = module(*map(torch.from_numpy, inputs.values()))
        for output, array in wanted.items():
            made = (found[output] if len(wanted) > 1 else found).numpy()
            assert (made.shape, made.dtype) == (array.shape, array.dtype), name
            np.testing.assert_allclose(made, array, rtol=1e-4, atol=1e-5, err_msg=name)
        count += 1
    return count


def test_modules_compute_what_graphs_do() -> None:
    assert compared() > 250


if __name__ == "__main__":
    compared()
    with pytest.MonkeyPatch.context() as patch:
        texts = [f"# {name}\n{written(graph, patch)}\n" for name, graph in cases_by_name()]
    TEXTS.write_text("\n".join(texts), encoding="utf-8")
