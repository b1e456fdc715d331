"""What is generated from the definitions of ops: the stub that type checkers read, and the page of all ops.

``make reference`` writes both.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from graphrewrite import op
from graphrewrite.op.attribute_forms import Borders
from graphrewrite.op.documentation import aliases
from graphrewrite.op.op import Op

ROOT = Path(__file__).parents[2]
STUB = ROOT / "graphrewrite" / "op" / "__init__.pyi"
PAGE = ROOT / "docs" / "ops.md"

HEAD = '''"""The op library, as type checkers see it; `make reference` writes this file from its definitions."""

import builtins
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, overload

import numpy as np
from typing_extensions import Unpack

from graphrewrite.op.body import Body
from graphrewrite.op.define import define_op as define_op
from graphrewrite.op.generic_op import generic as generic
from graphrewrite.op.library import LIBRARY as LIBRARY
from graphrewrite.op.library import find_op as find_op
from graphrewrite.op.literals import as_constant as as_constant
from graphrewrite.op.literals import constant_type as constant_type
from graphrewrite.op.nn.convolution import depthwise_conv as depthwise_conv
from graphrewrite.op.op import Op as Op
from graphrewrite.types import Dimension, FixedPoint, Quantised

_T = TypeVar("_T")

_In: TypeAlias = _T | AbstractSet[_T] | builtins.range
"""An attribute; in a pattern it may be one of several."""

class _Given(TypedDict, total=False):
    """What a new node may be given besides its attributes."""

    like: Any
    """A matched node, whose attributes and annotations it takes."""
    annotations: Mapping[str, Any]
    """The annotations that it gets, in place of those of the node that it replaces."""
    name: str
    """Its name; a fresh one if not given."""
'''

INTRODUCTION = """# All ops

`help(op.conv)` says what each operand and attribute is. Operands are arrays, values of a graph, or variables of a rule;
they are given by position or by name, also by those of other frameworks: `op.conv(x, weight=w, bias=b)`.
"""

FAMILIES = {
    "nn": "Layers of neural networks",
    "tensor": "Tensors",
    "quantised": "Quantised numbers, as ONNX has them",
    "integer": "Integers and fixed-point numbers",
    "control_flow": "Control flow",
    "memory": "Regions of memory",
    "structure": "Structure of a graph",
}


def stub() -> str:
    """The stub of the package of ops: a class for each, with the signature of its call."""
    return HEAD + "".join(f"\n{_class(each)}\n{each.name}: _{each.name}\n" for each in op.LIBRARY.values())


def _class(each: Op) -> str:
    parameters = list(inspect.signature(each).parameters.values())
    operands = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    attributes = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    others = aliases(each)
    named = [_keyword(each, p, name) for p in attributes for name in (p.name, *others.get(p.name, ()))]
    named += [f"{name}: float = 0" for name in each.expressed]
    # Whoever writes an operand by the name of another framework writes all of them so, and the first without a name.
    most = max((len(others.get(p.name, ())) for p in operands[1:]), default=0)
    spelt = [{p.name: ([*others.get(p.name, ()), p.name] * most)[i] for p in operands} for i in range(most)]
    calls = []
    for names in ({}, *spelt):
        words = [_operand(p.replace(name=names.get(p.name, p.name))) for p in operands]
        star = ["*"] if named and not each.variadic else []
        written = ", ".join(["self", *words, *star, *named, "**given: Unpack[_Given]"])
        calls.append(f"    def __call__({written}) -> Any: ...")
    head = f"class _{each.name}(Op):\n"
    return head + ("    @overload\n" + "\n    @overload\n".join(calls) if spelt else calls[0])


def _operand(parameter: inspect.Parameter) -> str:
    star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
    return f"{star}{parameter.name}: Any{'' if parameter.default is parameter.empty else ' = ...'}"


def _keyword(each: Op, parameter: inspect.Parameter, name: str) -> str:
    """An attribute, by one of its names; it may be left out, since patterns do without attributes."""
    kind = "Any" if parameter.name == "element" else parameter.annotation
    form = each.forms.get(parameter.name)
    numbers = "int|float|Dimension" if form else "int|float"  # one stands for a sequence
    kind = re.sub(rf"Sequence\[({numbers})\]", r"\1 | \g<0>", str(kind))
    kind = f"str | {kind}" if isinstance(form, Borders) else kind
    is_plain = isinstance(parameter.default, bool | int | float | str | tuple | None)
    return f"{name}: _In[{kind}] = {repr(parameter.default) if is_plain else '...'}"


def page() -> str:
    """The page of all ops: a table for each family."""
    return INTRODUCTION + "".join(f"\n## {title}\n\n{_table(family)}" for family, title in FAMILIES.items())


def _table(family: str) -> str:
    return "".join(("| op | what it is |\n|---|---|\n", *_rows(family)))


def _rows(family: str) -> Iterator[str]:
    for name, each in sorted(op.LIBRARY.items()):
        if each.function.__module__.split(".")[2] == family:
            plain = [p.replace(annotation=p.empty) for p in inspect.signature(each).parameters.values()]
            call = f"{name}{inspect.Signature(plain)}".replace("|", "\\|")
            summary = re.sub(r"`(\w+)`", r"`\1`", each.doc.partition("\n")[0]).replace("``", "`").replace("|", "\\|")
            yield f"| `{call}` | {summary} |\n"


if __name__ == "__main__":
    for path, text in ((STUB, stub()), (PAGE, page())):
        path.write_text(text, encoding="utf-8")
