"""Exported programs of PyTorch: made from a module, read from a file, and brought into the form that is imported."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from graphrewrite.errors import did_you_mean
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.torch.archive import checked_archive
from graphrewrite.lowering.exchange.torch.in_place import without_in_place

__all__ = ["Dynamic", "op_name", "program_of", "purified", "require_torch"]

Dynamic = bool | Mapping[str, Mapping[int, str]]


def require_torch() -> Any:
    """Return PyTorch; an error says how it is installed."""
    try:
        import torch
        import torch.export
    except ImportError as error:
        raise ModelError("PyTorch is not installed; install the extra: pip install 'graphrewrite[torch]'") from error
    return torch


def op_name(target: Any) -> str:
    """Return the name of an op without its overload: ``aten.add``, ``getitem``."""
    packet = getattr(target, "overloadpacket", None)
    if packet is not None:
        return str(packet)
    return str(getattr(target, "__name__", target))


def program_of(model: Any, examples: Sequence[Any], named: Mapping[str, Any], dynamic: Dynamic | None) -> Any:
    """Return the exported program of a module, a file, or a program."""
    torch = require_torch()
    is_module = isinstance(model, torch.nn.Module)
    if not is_module and (examples or named or dynamic):
        raise ModelError("examples and dynamic= belong to a module; an exported program has its sizes already")
    if is_module:
        return _exported(torch, model, [_tensor(torch, each) for each in examples], _tensors(torch, named), dynamic)
    if isinstance(model, torch.export.ExportedProgram):
        return model
    if isinstance(model, str | Path):
        return _loaded(torch, Path(model))
    raise ModelError(
        f"a module of PyTorch, an exported program or the path of a .pt2 file is expected, got {type(model).__name__}"
    )


def _loaded(torch: Any, path: Path) -> Any:
    if not path.exists():
        near = [each.name for each in path.parent.glob("*.pt2")]
        raise ModelError(f"there is no file {str(path)!r}{did_you_mean(path.name, near) or '; check its path'}")
    archive = checked_archive(path)
    try:
        with _quiet():
            return torch.export.load(archive)
    except Exception as error:  # a corrupt file breaks any assumption
        raise ModelError(f"{path.name!r} cannot be read ({_first_line(error)}); save the program again") from error


def _tensor(torch: Any, value: Any) -> Any:
    return torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray) else value


def _tensors(torch: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _tensor(torch, value) for name, value in named.items()}


def _exported(
    torch: Any, module: Any, examples: Sequence[Any], named: Mapping[str, Any], dynamic: Dynamic | None
) -> Any:
    """Export a module; its mode, training or inference, stays as it is."""
    forward = module.forward
    try:
        bound = inspect.signature(forward).bind(*examples, **named)
    except TypeError as error:
        raise ModelError(f"the examples do not fit {type(module).__name__}.forward: {error}") from None
    shapes = None
    if dynamic:
        shapes, bound = _dynamic_shapes(torch, bound, dynamic)
    try:
        with torch.no_grad(), _quiet():
            return torch.export.export(module, bound.args, bound.kwargs, dynamic_shapes=shapes, strict=False)
    except Exception as error:  # code of the module runs
        raise ModelError(f"{type(module).__name__} cannot be exported by torch.export: {_first_line(error)}") from error


def _dynamic_shapes(torch: Any, bound: inspect.BoundArguments, dynamic: Dynamic) -> tuple[Any, Any]:
    """Return which axes are open, by argument, and examples that have at least two entries along them."""
    pytree = torch.utils._pytree
    sizes: dict[str, Any] = {}

    def dimension(name: str) -> Any:
        return sizes.setdefault(name, torch.export.Dim(name))

    def open_axes(name: str, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return None
        if dynamic is True:
            return {0: dimension("N")} if value.ndim else None
        return {axis: dimension(size) for axis, size in dict(dynamic).get(name, {}).items()}  # type: ignore[arg-type]

    def lengthened(name: str, value: Any) -> Any:
        for axis in open_axes(name, value) or ():
            if not -value.ndim <= axis < value.ndim:
                raise ModelError(f"dynamic= names axis {axis} of {name!r}, which has {value.ndim} axes")
            if value.shape[axis] == 1:  # PyTorch takes a size of 1 for fixed
                value = torch.cat([value, value], axis)
        return value

    if dynamic is not True:
        for name in dict(dynamic):  # type: ignore[arg-type]
            if name not in bound.arguments:
                raise ModelError(f"dynamic= names {name!r}, which is no argument{did_you_mean(name, bound.arguments)}")
    leaves = {
        name: pytree.tree_map(lambda leaf, name=name: lengthened(name, leaf), value)
        for name, value in bound.arguments.items()
    }
    shapes = {
        name: pytree.tree_map(lambda leaf, name=name: open_axes(name, leaf), value) for name, value in leaves.items()
    }
    bound.arguments.update(leaves)
    return shapes, bound


def purified(program: Any, known: Collection[str]) -> Any:
    """Return a program without operations in place; what is not known is decomposed where PyTorch knows how."""
    torch = require_torch()
    nodes = program.graph.nodes
    if not any(_is_missing(node, known) or _is_in_place(node) for node in nodes):
        return program  # tracing it again takes most of the time of an import
    if not any(_is_missing(node, known) and not _is_in_place(node) for node in nodes):
        functional = without_in_place(program, known)
        if functional is not None:
            return functional
    try:
        with _quiet():
            program = program.run_decompositions({})
            missing = {node.target for node in program.graph.nodes if _is_missing(node, known)}
            rules = torch.export.default_decompositions() if missing else {}
            chosen = {target: rules[target] for target in missing if target in rules}
            return program.run_decompositions(chosen) if chosen else program
    except Exception as error:  # PyTorch traces the program again
        raise ModelError(f"PyTorch cannot decompose the program: {_first_line(error)}") from error


def _is_missing(node: Any, known: Collection[str]) -> bool:
    return node.op == "call_function" and hasattr(node.target, "overloadpacket") and op_name(node.target) not in known


def _is_in_place(node: Any) -> bool:
    """Tell whether a node changes an operand, or is a graph whose nodes may."""
    schema = getattr(node.target, "_schema", None)
    return node.op == "get_attr" or (schema is not None and schema.is_mutable)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep warnings of PyTorch about its own code from callers, who can do nothing about them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]
