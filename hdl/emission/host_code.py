"""Code for the host of a design: a Python module and a C header that make beats of numbers, and numbers of beats."""

import inspect
import keyword
import math
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from graphrewrite.hdl import port_encoding
from graphrewrite.hdl.emission.description import version
from graphrewrite.hdl.port_encoding import Encoding, Port, Step
from graphrewrite.types import Stream

__all__ = ["HostPort", "host_files", "port_of"]

_OPERATORS = {"divide": "/", "multiply": "*", "add": "+", "subtract": "-"}
_COMPARISONS = {"greater_equal": ">=", "not_equal": "!="}
_FUNCTIONS = {"floor": "floor", "ceil": "ceil", "rint": "nearbyint"}


class HostPort(NamedTuple):
    """A port, and whether the design takes its beats."""

    port: Port
    is_input: bool


def port_of(name: str, stream: Stream, encoding: Encoding | None) -> Port:
    """Return a port as its host sees it; of integers, as they are, where no more is known of them."""
    element = stream.element
    known = encoding or Encoding(
        name, "int64", stream.shape, stream.shape, element.minimum, element.maximum, rounding="", meaning="mantissas"
    )
    return Port(name, element.width, element.signed, stream.lanes, known)


def host_files(render: Callable[..., str], name: str, ports: Sequence[HostPort]) -> dict[str, str]:
    """Return the host's files: their text by path."""
    module = f"{name}_host"  # neither a keyword nor the name of a module or header of the system, as `math` would be
    takes, gives = ([_python(p.port) for p in ports if p.is_input is side] for side in (True, False))
    about = {"name": name, "version": version(), "module": module, "class_name": _class_name(name)}
    return {
        f"host/{module}.py": render("host.py.j2", **about, takes=takes, gives=gives, library=_library()),
        f"host/{module}.h": render("host.h.j2", **about, prefix=name.upper(), ports=[_c(name, p) for p in ports]),
    }


def _class_name(name: str) -> str:
    written = "".join(word.capitalize() for word in name.split("_"))
    return f"{written}_" if keyword.iskeyword(written) else written


def _library() -> str:
    """The classes of `port_encoding`, from the first import on, without the names that it exports."""
    imports, _, rest = inspect.getsource(port_encoding).partition('"""\n\n')[2].partition("__all__ = ")
    return imports + rest.partition("\n\n")[2]


# ---------------------------------------------------------------------- Python


def _python(port: Port) -> dict[str, Any]:
    argument = f"{port.name}_" if keyword.iskeyword(port.name) else port.name
    encoding = [(field.name, ascii(getattr(port.encoding, field.name))) for field in fields(Encoding)]
    return {
        "name": port.name,
        "argument": argument,
        "words": f"{port.name}_words",
        "encoded": f'PORTS["{port.name}"].encode({argument})',
        "decoded": f'PORTS["{port.name}"].decode({argument})',
        "port": port,
        "encoding": encoding,
        "about": _about(port),
    }


def _about(port: Port) -> str:
    """What the numbers of a port are, for people."""
    known = port.encoding
    shape = ", ".join(map(str, ("N", *known.shape)))
    # A name of the model stands in a comment of C and in a text of Python.
    tensor = "".join(c if c.isascii() and c.isprintable() and c not in "\\*/\"'" else "_" for c in known.tensor)
    return f"{tensor}, {known.element} [{shape}]" + (f": {known.meaning}" if known.meaning else "")


# ---------------------------------------------------------------------- C


def _c(design: str, host: HostPort) -> dict[str, Any]:
    port, is_input = host
    known = port.encoding
    integers = math.prod(known.port_shape)
    folds, positions = known.port_shape[0] // port.lanes, integers // known.port_shape[0]
    steps, tables, last = _c_steps(known, "int64" if not is_input else known.element, positions)
    beat = f"(k % {positions}u) * {folds}u + k / {positions * port.lanes}u"
    return {
        "name": port.name,
        "is_input": is_input,
        "about": _about(port),
        "host": known.host,
        "macro": f"{design}_{port.name}".upper(),
        "function": f"{design}_{'encode' if is_input else 'decode'}_{port.name}",
        "type": _c_type(known.element),
        "numbers": math.prod(known.shape),
        "integers": integers,
        "beats": positions * folds,
        "words": -(-port.width * port.lanes // 32),
        "width": port.width,
        "signed": int(port.signed),
        "low": _c_integer(known.low),
        "high": _c_integer(known.high),
        "place": _c_place(known.gather),
        "beat": beat,
        "lane": f"k / {positions}u % {port.lanes}u",
        "tables": tables,
        "steps": steps,
        "result": last,
        "refuses_nan": known.rounds_between and np.dtype(known.element).kind == "f",
        "is_whole": np.dtype(known.element).kind in "iu" and not known.steps,
    }


def _c_type(dtype: str) -> str:
    kind = np.dtype(dtype)
    return {"float32": "float", "float64": "double", "bool": "int"}.get(kind.name, f"{kind.name}_t")


def _c_place(gather: Sequence[tuple[int, int]]) -> str:
    """The index in what is read of the `i`th number that is written."""
    terms, inner = list[str](), 1
    for size, stride in reversed(gather):
        terms.insert(0, f"i / {inner}u % {size}u * {stride}u")
        inner *= size
    return " + ".join(terms) or "i"


def _c_steps(known: Encoding, dtype: str, positions: int) -> tuple[list[str], list[str], str]:
    """Statements of the arithmetic, tables of its constants, and the last variable."""
    statements: list[str] = []
    tables: list[str] = []
    value = "v"
    for number, step in enumerate(known.steps, start=1):
        kind = _c_type(step.dtype)
        operand = f"({kind}){value}" if step.dtype != dtype else value
        constant = ""
        if len(step.constant) == 1:
            constant = _c_constant(step.constant[0], step.dtype)
        elif step.constant:
            at = f"[k / {positions}u]" if len(step.constant) == known.port_shape[0] else "[k]"
            rows = ", ".join(_c_constant(c, step.dtype) for c in step.constant)
            tables.append(f"static const {kind} c{number}[{len(step.constant)}] = {{{rows}}};")
            constant = f"c{number}{at}"
        result, text = _c_step(step, operand, constant)
        statements.append(f"const {_c_type(result)} v{number} = {text};")
        value, dtype = f"v{number}", result
    return statements, tables, value


def _c_step(step: Step, operand: str, constant: str) -> tuple[str, str]:
    """The dtype and the expression of one step."""
    suffix = "f" if step.dtype == "float32" else ""
    if step.function in _OPERATORS:
        return step.dtype, f"{operand} {_OPERATORS[step.function]} {constant}"
    if step.function in _FUNCTIONS:
        return step.dtype, f"{_FUNCTIONS[step.function]}{suffix}({operand})"
    if step.function in ("maximum", "minimum"):
        return step.dtype, f"{operand} {'>' if step.function == 'maximum' else '<'} {constant} ? {operand} : {constant}"
    if step.function in _COMPARISONS:
        return "bool", f"{operand} {_COMPARISONS[step.function]} {constant}"
    if step.function == "negative":
        return step.dtype, f"-{operand}"
    return step.dtype, operand  # positive: a conversion


def _c_constant(number: float, dtype: str) -> str:
    """A number in the digits that make no rounding."""
    if np.dtype(dtype).kind in "iu":
        return _c_integer(int(number))
    return f"{float(number).hex()}{'f' if dtype == 'float32' else ''}"


def _c_integer(number: int) -> str:
    return f"INT64_C({number})" if number >= 0 else f"(-INT64_C({-number}))"
