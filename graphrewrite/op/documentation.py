"""Documentation of ops: the signature and the docstring that help() and editors show, made from an op's definition."""

from __future__ import annotations

import inspect
import re
import textwrap
from keyword import iskeyword
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphrewrite.op.op import Op

__all__ = ["aliases", "documentation", "meanings", "signature_of"]

_HEADING = re.compile(r"^([A-Z]\w*)\n-{3,}\n", re.MULTILINE)
"""The heading of a numpydoc section."""


class _Written(str):
    """An annotation as it is written, which signatures print without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def signature_of(op: Op) -> inspect.Signature:
    """Return the signature of an op: operands, and attributes by keyword, with their types and defaults.

    Examples
    --------
    >>> from graphrewrite import op
    >>> print(signature_of(op.layer_norm))
    (x, gain, shift=None, *, axis: int = -1, epsilon: float = 1e-05)
    """
    kinds = inspect.Parameter
    annotations = getattr(op.function, "__annotations__", {})
    fixed = op.operands[:-1] if op.variadic else op.operands
    if not all(name.isidentifier() and not iskeyword(name) for name in fixed):
        fixed = ()  # inputs of a graph may have any names
    parameters = [
        kinds(
            name, kinds.POSITIONAL_OR_KEYWORD, default=None if i >= op.required or name in op.neutral else kinds.empty
        )
        for i, name in enumerate(fixed)
    ]
    if op.variadic or len(fixed) < len(op.operands):
        parameters.append(kinds(op.operands[-1] if op.variadic and op.operands else "operands", kinds.VAR_POSITIONAL))
    for name, default in op.attributes.items():
        annotation = annotations.get(name, kinds.empty)
        stated = _Written(annotation) if isinstance(annotation, str) else annotation
        parameters.append(kinds(name, kinds.KEYWORD_ONLY, default=default, annotation=stated))
    if op.variadic and not op.operands:  # an unknown op: it takes whatever it is given
        parameters.append(kinds("attributes", kinds.VAR_KEYWORD))
    return inspect.Signature(parameters)


def aliases(op: Op) -> dict[str, list[str]]:
    """Return the other names of operands and attributes.

    Examples
    --------
    >>> from graphrewrite import op
    >>> aliases(op.softmax)
    {'axis': ['dim'], 'x': ['input']}
    """
    others: dict[str, list[str]] = {}
    for alias in op.derived:
        if (name := op.canonical_name(alias)) != alias:
            others.setdefault(name, []).append(alias)
    for alias, place in op.operand_positions.items():
        if (name := op.operands[place]) != alias:
            others.setdefault(name, []).append(alias)
    return others


def documentation(op: Op) -> str:
    """Return an op's docstring, with the types and defaults of its parameters.

    Examples
    --------
    >>> from graphrewrite import op
    >>> documentation(op.leaky_relu).splitlines()[6:8]
    ['alpha : float, default 0.01', '    Slope below zero. Also called `negative_slope`.']
    """
    before, _, after = _parts(op.doc)
    said, others, entries = meanings(op), aliases(op), []
    for parameter in op.__signature__.parameters.values():
        lines = [f"{str(parameter).partition(':')[0].partition('=')[0]} : {_kind(parameter)}"]
        text = said.get(parameter.name, "")
        if parameter.name in op.forms:
            text += f" {op.forms[parameter.name].said}"
        if parameter.name in others:
            text += f" Also called {', '.join(f'`{other}`' for other in others[parameter.name])}."
        entries.append("\n    ".join([*lines, *textwrap.wrap(text, 116)]))
    listed = "\n".join(["Parameters", "----------", *entries]) if entries else ""
    return "\n\n".join(part for part in (before, listed, after) if part)


def meanings(op: Op) -> dict[str, str]:
    """Return what the docstring of an op says of each operand and attribute.

    Of an element-wise op, the shapes of its operands need not be said.

    Examples
    --------
    >>> from graphrewrite import op
    >>> meanings(op.add)
    {'x': 'Shapes broadcast.', 'y': 'Shapes broadcast.'}
    """
    from graphrewrite.op.define import elementwise  # which makes ops, whose documentation this is

    said = {}
    if op.infer_types is elementwise:
        several = op.variadic or len(op.operands) > 1
        said = dict.fromkeys(op.operands, "Shapes broadcast." if several else "Any shape.")
    for entry in re.split(r"\n(?=\S)", _parts(op.doc)[1]):
        names, _, text = entry.partition("\n")
        for name in names.partition(" :")[0].split(", "):
            said[name.lstrip("*")] = inspect.cleandoc(text)
    said.pop("", None)
    return said


def _kind(parameter: inspect.Parameter) -> str:
    """Return the type and default of a parameter, in words."""
    if parameter.kind is not parameter.KEYWORD_ONLY:
        return "array" if parameter.default is parameter.empty else "array, optional"
    kind = "" if parameter.annotation is parameter.empty else inspect.formatannotation(parameter.annotation)
    default = "" if parameter.default is parameter.empty else f"default {parameter.default!r}"
    return ", ".join(part for part in (kind, default) if part) or "required"


def _parts(doc: str) -> tuple[str, str, str]:
    """Return what stands before the parameters in a docstring, their section without its heading, and what follows."""
    found = list(_HEADING.finditer(doc))
    at = next((i for i, match in enumerate(found) if match[1] == "Parameters"), None)
    if at is None:
        first = found[0].start() if found else len(doc)
        return doc[:first].rstrip(), "", doc[first:]
    end = found[at + 1].start() if at + 1 < len(found) else len(doc)
    return doc[: found[at].start()].rstrip(), doc[found[at].end() : end].rstrip(), doc[end:]
