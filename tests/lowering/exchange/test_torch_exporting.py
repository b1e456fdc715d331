"""Programs of PyTorch are made of modules, read, and brought into a form that is imported; without PyTorch."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphrewrite.lowering import from_torch
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.torch import program as programs
from tests.support.torch_programs import (
    Dim,
    Example,
    ExportedProgram,
    Network,
    Node,
    Stored,
    call,
    install,
    placeholder,
    target,
)

X = placeholder("x", Example(2, 3))
RELU = target("aten.relu", "self")


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    return install(monkeypatch)


def of(*nodes: Node, ends: tuple[Any, ...] | None = None) -> ExportedProgram:
    """A program that returns its last node."""
    return ExportedProgram(nodes, nodes[-1:] if ends is None else ends)


def unknown(kind: str) -> Node:
    return call("odd", target(f"aten.{kind}", "self"), X, val=Example(2, 3))


@pytest.fixture
def calls(torch: Any) -> list[Any]:
    made: list[Any] = []

    def export(module: Any, args: Any, kwargs: Any, *, dynamic_shapes: Any, strict: bool) -> Any:
        made.append((args, kwargs, dynamic_shapes, strict))
        if module.forward.__name__ == "broken":
            raise ValueError("\n\n  too bad \nand more")
        return of(X)

    class Guard:
        def __enter__(self) -> None:
            made.append("without gradients")

        def __exit__(self, *_: object) -> None: ...

    torch.export.export, torch.no_grad = export, Guard
    torch.cat = lambda parts, axis: Stored(np.concatenate([each.numbers for each in parts], axis))
    torch.from_numpy = Stored
    return made


def test_a_module_is_exported_as_it_is(calls: list[Any]) -> None:
    def forward(x: Any, y: Any = None, *, z: Any = None) -> None: ...

    x, array = Stored(np.ones((2, 3))), np.zeros(3)
    graph = from_torch(Network(forward), x, array, z=array)
    assert graph.name == "Network"
    assert calls[0] == "without gradients"
    (args, kwargs, shapes, strict) = calls[1]
    assert (shapes, strict, args[0], [type(each) for each in (args[1], kwargs["z"])]) == (
        None,
        False,
        x,
        [Stored] * 2,
    )
    array[0] = 7
    assert args[1].numbers[0] == 0  # a copy


@pytest.mark.parametrize(
    ("dynamic", "shapes"),
    [
        (True, {"x": {0: "N"}, "pair": ({0: "N"}, None), "k": None}),
        ({"x": {0: "a", -1: "b"}}, {"x": {0: "a", -1: "b"}, "pair": ({}, {}), "k": None}),
        ({"pair": {0: "a"}, "x": {0: "a"}}, {"x": {0: "a"}, "pair": ({0: "a"}, {0: "a"}), "k": None}),
    ],
)
def test_open_axes(calls: list[Any], dynamic: Any, shapes: Any) -> None:
    def forward(x: Any, pair: Any, k: Any) -> None: ...

    last = Stored(1.0) if dynamic is True else Stored([1.0, 2.0])
    from_torch(Network(forward), Stored(np.ones((1, 2, 1))), (Stored([[1.0]]), last), 3, dynamic=dynamic)
    (args, _, found, _) = calls[1]

    def named(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {key: named(each) for key, each in tree.items()}
        return tuple(map(named, tree)) if isinstance(tree, tuple) else tree.name if isinstance(tree, Dim) else tree

    assert named(found) == shapes
    sizes = [args[0].shape, args[1][0].shape]
    open_last = dynamic is not True and -1 in dynamic.get("x", {})
    assert sizes == [(2, 2, 2 if open_last else 1), (2, 1) if dynamic is True or "pair" in dynamic else (1, 1)]
    dims = [each for tree in (found["x"], *found["pair"]) for each in (tree or {}).values()]
    assert len({id(each) for each in dims}) == len({each.name for each in dims})  # one of each name


@pytest.mark.parametrize(
    ("dynamic", "reason"),
    [
        ({"y": {0: "N"}}, r"dynamic= names 'y', which is no argument"),
        ({"x": {3: "N"}}, r"dynamic= names axis 3 of 'x', which has 3 axes"),
        ({"x": {-4: "N"}}, r"dynamic= names axis -4 of 'x', which has 3 axes"),
    ],
)
def test_axes_that_are_not_there(calls: list[Any], dynamic: Any, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        from_torch(Network(lambda x: x), Stored(np.ones((2, 2, 2))), dynamic=dynamic)
    assert not calls


def test_what_is_no_model(calls: list[Any], tmp_path: Path, torch: Any) -> None:
    def broken(x: Any) -> None: ...

    (tmp_path / "near.pt2").touch()
    cases: list[tuple[Any, tuple[Any, ...], dict[str, Any], str]] = [
        (of(X), (1,), {}, "belong to a module"),
        (of(X), (), {"x": 1}, "belong to a module"),
        (of(X), (), {"dynamic": True}, "belong to a module"),
        (3, (), {}, r"path of a \.pt2 file is expected, got int"),
        (Network(broken), (), {}, r"the examples do not fit Network\.forward: missing a required argument: 'x'"),
        (Network(broken), (1,), {}, r"Network cannot be exported by torch\.export: too bad$"),
        (tmp_path / "neat.pt2", (), {}, r"there is no file '.*neat\.pt2'.*near\.pt2"),
        (str(tmp_path / "unlike" / "this"), (), {}, r"there is no file '.*this'; check its path"),
    ]
    for model, args, named, reason in cases:
        with pytest.raises(ModelError, match=reason):
            from_torch(model, *args, **named)


@pytest.mark.parametrize("error", ["", "not now\nnor ever"])
def test_a_file(tmp_path: Path, torch: Any, monkeypatch: pytest.MonkeyPatch, error: str) -> None:
    def load(content: Any) -> Any:
        if content == "checked bad.pt2":
            raise KeyError(error) if not error else ValueError(error)
        return of(X)

    monkeypatch.setattr(programs, "checked_archive", lambda path: f"checked {path.name}")
    torch.export.load = load
    for name in ("good.pt2", "bad.pt2"):
        (tmp_path / name).touch()
    assert from_torch(str(tmp_path / "good.pt2")).name == "good"
    with pytest.raises(
        ModelError, match=rf"^'bad\.pt2' cannot be read \({error.partition(chr(10))[0] or repr('')}\); save"
    ):
        from_torch(tmp_path / "bad.pt2")


def test_what_is_not_known_is_decomposed(torch: Any) -> None:
    odd, other = target("aten.odd", "self"), target("aten.stranger", "self")
    plain, simpler = of(X, call("r", RELU, X, val=Example(2, 3))), of(X, call("o", odd, X, val=Example(2, 3)))
    torch.export.default_decompositions = lambda: {odd: "rule", other: "rule"}
    assert programs.purified(plain, {"aten.relu"}) is plain
    assert plain.decomposed == []
    start = of(X, call("o", other, X, val=Example(2, 3)))
    start.simpler, simpler.simpler = simpler, plain
    assert programs.purified(start, {"aten.relu"}) is plain
    assert (start.decomposed, simpler.decomposed) == ([{}], [{odd: "rule"}])
    start.simpler, plain.simpler = plain, None
    assert programs.purified(start, {"aten.relu"}) is plain
    assert plain.decomposed == []
    start.simpler = RuntimeError("")
    with pytest.raises(ModelError, match=r"^PyTorch cannot decompose the program: RuntimeError$"):
        programs.purified(start, {"aten.relu"})


@pytest.mark.parametrize("functional", [True, False])
def test_operations_in_place(monkeypatch: pytest.MonkeyPatch, functional: bool) -> None:
    changing = target("aten.relu_", "self", changes=True)
    program, found = of(X, call("r", changing, X, val=Example(2, 3))), of(X)
    monkeypatch.setattr(programs, "without_in_place", lambda program, known: found if functional else None)
    program.simpler = simpler = of(X)
    assert programs.purified(program, {"aten.relu_"}) is (found if functional else simpler)
    assert programs.purified(program, set()) is (found if functional else simpler)  # only what is in place is missing
    body = of(X, Node("get_attr", "body", "body"), ends=(X,))
    assert programs.purified(body, set()) is (found if functional else body)
    program = of(X, unknown("odd"), call("r", changing, X, val=Example(2, 3)))
    program.simpler = simpler
    assert programs.purified(program, {"aten.relu_"}) is simpler
    assert len(program.decomposed) == 1


def test_names_of_ops() -> None:
    assert [programs.op_name(each) for each in (RELU, math.floor, "text")] == ["aten.relu", "floor", "text"]
