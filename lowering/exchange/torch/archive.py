"""Files of exported programs (`.pt2`): what in them would run code is refused before PyTorch reads them.

PyTorch unpickles some members, imports modules that a file names, and evaluates its expressions as Python.
"""

from __future__ import annotations

import ast
import io
import json
import re
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from graphrewrite.lowering.errors import ModelError

__all__ = ["checked_archive", "is_exported_program"]

_PLACES = re.compile(
    r"(archive_format|archive_version|byteorder|version|\.format_version|\.storage_alignment|\.data/\w+)"
    r"|models/[^/]+\.json|extra/.+|data/sample_inputs/[^/]+\.pt"
    r"|data/(weights|constants)/((weight|tensor)_\d+|[^/]+_(weights|constants)_config\.json)"
)
"""Members that are data. What else PyTorch finds in an archive it may load as a library, and so run."""
_MOST_POWER = 99
"""Greatest product of exponents within each other: greater ones take for ever."""
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
_POWERS = frozenset({"FloatPow", "Pow", "PowByNatural"})
_ASSUMED = ("positive", "integer", "nonnegative", "negative", "real", "nonzero", "nonpositive")
"""What a symbol is said to be."""


def is_exported_program(names: list[str]) -> bool:
    """Tell whether a zip file with these members is an exported program of PyTorch."""
    return any(re.fullmatch(r"[^/]+/models/[^/]+\.json", name) for name in names) or any(
        name.endswith("serialized_exported_program.json") for name in names
    )


def checked_archive(path: Path) -> BinaryIO:
    """Return the archive of an exported program; raise if it is none, or PyTorch would run code of it.

    It is written anew, of the members that were checked: readers differ in what they take for a member.
    """
    checked = io.BytesIO()
    try:
        with zipfile.ZipFile(path) as archive, zipfile.ZipFile(checked, "w") as written:
            for name, content in _checked(archive, path.name, path.stat().st_size):
                written.writestr(name, content)
    except (zipfile.BadZipFile, OSError, ValueError, RecursionError, NotImplementedError) as error:
        raise ModelError(f"{path.name!r} is damaged ({str(error)[:120]}); save the program again") from error
    checked.seek(0)
    return checked


def _checked(archive: zipfile.ZipFile, file: str, size: int) -> Iterator[tuple[str, bytes]]:
    """Yield the members of an archive."""
    names = archive.namelist()
    if any(name.endswith("serialized_exported_program.json") for name in names):
        raise ModelError(
            f"{file!r} was written by PyTorch 2.8 or earlier, with pickles; load and save it with a later one"
        )
    if not is_exported_program(names):
        raise ModelError(f"{file!r} is no exported program; write one: torch.export.save(program, 'model.pt2')")
    if len({name.lower() for name in names}) < len(names):
        raise ModelError(f"{file!r} has members of one name, and readers take one or the other; save the program again")
    stated = sum(info.compress_size for info in archive.infolist())
    if stated > size:  # a reader would take memory for all of it
        raise ModelError(f"{file!r} is damaged: its members have {stated} bytes, and the file {size}")
    for info in archive.infolist():
        name, where = info.filename, f"{file!r}, {info.filename!r}"
        if name.startswith(("/", "\\")) or ".." in name.split("/"):
            raise ModelError(f"{file!r} has a member outside of its folder: {name!r}")
        place = "/".join(name.split("/")[1:])
        if not _PLACES.fullmatch(place):
            raise ModelError(
                f"{where}: it is no description, weight or example, and PyTorch may load it as a library, and run it "
                "(AOTInductor); save the program without compiled ones: torch.export.save(program, 'model.pt2')"
            )
        if info.compress_type != zipfile.ZIP_STORED:
            raise ModelError(f"{where}: it is compressed, which PyTorch's own never are; save the program again")
        if info.file_size != info.compress_size:
            raise ModelError(f"{where} is damaged: it states two sizes; save the program again")
        content = archive.read(name)
        if place.startswith("data/sample_inputs/"):
            _check_pickle(content, where)
        elif place.endswith("_config.json"):
            _check_payloads(json.loads(content), where)
        elif place.startswith("models/"):
            _check_model(json.loads(content), where)
        yield name, content


def _check_pickle(data: bytes, where: str) -> None:
    """Read examples as PyTorch does without running code; where it cannot, it would run it."""
    if not data:
        return
    import torch

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
    payloads = config.get("config") if isinstance(config, dict) else None
    if not isinstance(payloads, dict) or not all(isinstance(payload, dict) for payload in payloads.values()):
        raise ModelError(f"{where}: it does not say where weights are; save the program again")
    for name, payload in payloads.items():
        path = str(payload.get("path_name"))
        if payload.get("use_pickle") is not False or not re.fullmatch(r"(weight|tensor)_\d+", path):
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
            for each in value if isinstance(value, list | dict) else [value]:
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


def _is_arithmetic(node: ast.AST, power: int = _MOST_POWER) -> bool:
    """Tell whether an expression is arithmetic; `power` bounds the product of exponents within each other."""
    inner = partial(_is_arithmetic, power=power)
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
            if name in _POWERS:
                return len(arguments) == 2 and _is_power(arguments[0], arguments[1], power)
            return name in _FUNCTIONS and all(map(inner, arguments))
        case ast.BinOp(left=left, op=ast.Pow() | ast.LShift(), right=right):
            return _is_power(left, right, power)
        case ast.BinOp(left=left, right=right):
            return inner(left) and inner(right)
        case ast.UnaryOp(operand=operand):
            return inner(operand)
        case ast.Compare(left=left, comparators=others):
            return all(map(inner, (left, *others)))
        case ast.BoolOp(values=values):
            return all(map(inner, values))
    return False


def _is_power(base: ast.AST, exponent: ast.AST, most: int) -> bool:
    """Tell whether a power has a small exponent, and what it is a power of is none that makes it great."""
    number = re.fullmatch(r"(?:Integer\()?-?(\d{1,2})\)?", ast.unparse(exponent))
    return number is not None and int(number[1]) <= most and _is_arithmetic(base, most // max(int(number[1]), 1))
