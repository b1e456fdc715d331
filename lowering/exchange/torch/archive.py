"""Files of exported programs (`.pt2`): what in them would run code is refused before PyTorch reads them.

PyTorch unpickles some members, imports modules that a file names, and evaluates its expressions as Python.
"""

from __future__ import annotations

import ast
import io
import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from graphrewrite.lowering.errors import ModelError

__all__ = ["check_archive", "is_exported_program"]

_MOST_BYTES = 1 << 30
"""Greatest size of a member that describes a model."""
_TARGETS = re.compile(r"torch\.ops\.\w+\.\w+(\.\w+)?|_operator\.[a-z]\w*|math\.[a-z]\w*|torch\.sym_\w+|torch\._sym_\w+")
_IMPORTS = ("__enum__", "default_factory_module")
"""Keys of a tree of arguments by which PyTorch imports a module."""
_FUNCTIONS = frozenset(
    {
        *("Abs", "Add", "And", "CeilDiv", "CeilToInt", "CleanDiv", "Eq", "Equality"),
        *("Float", "FloatPow", "FloatTrueDiv", "FloorDiv", "FloorToInt", "Ge", "GreaterThan", "Gt"),
        *("Identity", "IntTrueDiv", "Integer", "IsNonOverlappingAndDenseIndicator", "Le", "LessThan", "Lt", "Max"),
        *("Min", "Mod", "ModularIndexing", "Mul", "Ne", "Not", "Or", "Pow"),
        *(
            "PowByNatural",
            "PythonMod",
            "Rational",
            "RoundDecimal",
            "RoundToInt",
            "StrictGreaterThan",
            "StrictLessThan",
            "Symbol",
        ),
        *("ToFloat", "TruncToFloat", "TruncToInt", "Unequality", "Where", "ceiling", "floor"),
    }
)
"""What the arithmetic of sizes calls."""
_ASSUMED = ("positive", "integer", "nonnegative", "negative", "real", "nonzero", "nonpositive")
"""What a symbol is said to be."""


def is_exported_program(names: list[str]) -> bool:
    """Tell whether a zip file with these members is an exported program of PyTorch."""
    return any(re.fullmatch(r"[^/]+/models/[^/]+\.json", name) for name in names) or any(
        name.endswith("serialized_exported_program.json") for name in names
    )


def check_archive(path: Path) -> None:
    """Raise if the file is no exported program, or PyTorch would run code of it; says what that is."""
    try:
        with zipfile.ZipFile(path) as archive:
            _check(archive, path.name)
    except (zipfile.BadZipFile, OSError, ValueError, RecursionError, NotImplementedError) as error:
        raise ModelError(f"{path.name!r} is damaged ({str(error)[:120]}); save the program again") from error


def _check(archive: zipfile.ZipFile, file: str) -> None:
    names = archive.namelist()
    if any(name.endswith("serialized_exported_program.json") for name in names):
        raise ModelError(
            f"{file!r} was written by PyTorch 2.8 or earlier, with pickles; load and save it with a later one"
        )
    if not is_exported_program(names):
        raise ModelError(f"{file!r} is no exported program; write one: torch.export.save(program, 'model.pt2')")
    for name in names:
        if name.startswith(("/", "\\")) or ".." in name.split("/"):
            raise ModelError(f"{file!r} has a member outside of its folder: {name!r}")
        place = "/".join(name.split("/")[1:])
        if place.startswith("data/sample_inputs/"):
            _check_pickle(_read(archive, name), f"{file!r}, {name!r}")
        elif place.endswith(("_weights_config.json", "_constants_config.json")):
            _check_payloads(json.loads(_read(archive, name)), f"{file!r}, {name!r}")
        elif place.startswith("models/"):
            _check_model(json.loads(_read(archive, name)), f"{file!r}, {name!r}")


def _read(archive: zipfile.ZipFile, name: str) -> bytes:
    info = archive.getinfo(name)
    if info.file_size > _MOST_BYTES:
        raise ModelError(f"member {name!r} has {info.file_size} bytes, which is too much for a description")
    return archive.read(name)


def _check_pickle(data: bytes, where: str) -> None:
    """Read examples as PyTorch does without running code; where it cannot, it would run it."""
    import torch

    if not data:
        return
    try:
        torch.load(io.BytesIO(data), weights_only=True)
    except Exception as error:  # whatever a pickle holds
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise ModelError(
            f"{where}: its example inputs hold more than tensors, and reading them would run code ({reason}); "
            "save the program with plain tensors as examples"
        ) from None


def _check_payloads(config: Any, where: str) -> None:
    """Weights are plain bytes; pickles and objects are refused."""
    for name, payload in config["config"].items():
        path = str(payload["path_name"])
        if payload["use_pickle"] is not False or not re.fullmatch(r"(weight|tensor)_\d+", path):
            raise ModelError(
                f"{where}: {name!r} is stored as a pickle or an object ({path!r}), and reading it would run code; "
                "save the program with plain tensors as weights and constants"
            )


def _check_model(model: Any, where: str) -> None:
    for key, value in _entries(model):
        if key in _IMPORTS:
            raise ModelError(f"{where}: {key!r} would import a module; export with lists, tuples and dictionaries only")
        if key == "expr_str" and not _is_expression(value):
            raise ModelError(f"{where}: {str(value)[:60]!r} is no arithmetic of sizes, and would be run as Python")
        if key == "range_constraints":
            for each in value:
                if not _is_expression(each):
                    raise ModelError(f"{where}: {str(each)[:60]!r} is no symbol, and would be run as Python")
    for node in _nodes(model):
        if not _TARGETS.fullmatch(str(node["target"])):
            raise ModelError(f"{where}: it calls {str(node['target'])[:80]!r}, which is no op of PyTorch")


def _entries(value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield all keys with their values, at any depth; in texts that are JSON themselves, too."""
    if depth > 200:
        raise ValueError("its description is nested too deeply")
    if isinstance(value, dict):
        for key, each in value.items():
            yield key, each
            yield from _entries(each, depth + 1)
    elif isinstance(value, list):
        for each in value:
            yield from _entries(each, depth + 1)
    elif isinstance(value, str) and value.lstrip()[:1] in ("[", "{", '"'):
        try:
            inner = json.loads(value)
        except ValueError:
            return
        yield from _entries(inner, depth + 1)


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the nodes of all graphs, at any depth."""
    if isinstance(value, dict):
        if {"target", "inputs", "outputs"} <= value.keys():
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _nodes(each)


def _is_expression(text: Any) -> bool:
    """Tell whether a text is arithmetic of numbers and symbols, without attributes, texts or other functions."""
    if not isinstance(text, str) or len(text) > 10_000 or "__" in text:
        return False
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return _is_arithmetic(tree.body)


def _is_arithmetic(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=bool() | int() | float()):
            return True
        case ast.Name(id=name):
            return name.isidentifier()
        case ast.Call(func=ast.Name(id="Symbol"), args=[ast.Constant(value=str(name))], keywords=keywords):
            assumed = all(each.arg in _ASSUMED and isinstance(each.value, ast.Constant) for each in keywords)
            return name.isidentifier() and assumed
        case ast.Call(func=function, args=arguments, keywords=[]):
            name = ast.unparse(function).removeprefix("torch.utils._sympy.functions.")
            return name in _FUNCTIONS and all(map(_is_arithmetic, arguments)) and _is_small(name, arguments)
        case ast.BinOp(left=left, op=kind, right=right):
            name = "Pow" if isinstance(kind, ast.Pow | ast.LShift) else ""
            return _is_arithmetic(left) and _is_arithmetic(right) and _is_small(name, [left, right])
        case ast.UnaryOp(operand=operand):
            return _is_arithmetic(operand)
        case ast.Compare(left=left, comparators=others):
            return all(map(_is_arithmetic, (left, *others)))
        case ast.BoolOp(values=values):
            return all(map(_is_arithmetic, values))
    return False


def _is_small(name: str, arguments: Sequence[ast.AST]) -> bool:
    """Tell whether a power has a small exponent: others take for ever."""
    if name not in ("Pow", "PowByNatural", "FloatPow"):
        return True
    exponent = ast.unparse(arguments[-1]).removeprefix("Integer(").removesuffix(")")
    return len(exponent.lstrip("-")) <= 2 and exponent.lstrip("-").isdigit()
