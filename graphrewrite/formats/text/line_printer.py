"""Printing of a node as one line: its name, op, operands, attributes and type."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.formats.text.literal_printer import PEOPLE, WHOLE, Form, quote, write, write_attribute
from graphrewrite.formats.text.node_edges import Reads, reads_of
from graphrewrite.formats.text.regular_nodes import is_regular
from graphrewrite.op import find_op
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import STRUCTURAL, annotations_in
from graphrewrite.types import Tensor, Type, stores

__all__ = ["line_of", "line_of_data", "written", "written_attributes"]


def line_of(graph: Any, node: Any, *, whole: bool = False) -> str:
    """Return the line of one node.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph("g")
    >>> line_of(g, g.input("x", Tensor("f32", ("N",))).node)
    'x = input() : f32[N]'
    """
    data, reads = graph.nodes[node], reads_of(graph.pred[node])
    kind = data.get("type")
    op = find_op(kind, getattr(graph, "ops", None))
    is_plain = is_regular(data, reads, op, None, lambda source: graph.nodes[source].get("result"))
    return written(node, data, reads, WHOLE if whole else PEOPLE, op, is_regular=is_plain)


def line_of_data(
    node: str, data: Mapping[str, Any], sources: Mapping[str, Mapping[str, Any]], op: Op | None, *, whole: bool = False
) -> str:
    """Return the line of a node of an op that need not be in a graph.

    Examples
    --------
    >>> from graphrewrite import op
    >>> line_of_data("y", {"type": "sub"}, {"a": {"slots": ((1, 0),)}, "b": {"slots": ((0, 0),)}}, op.sub)
    'y = sub(b, a)'
    """
    is_plain = isinstance(data.get("type"), str)
    return written(node, data, reads_of(sources), WHOLE if whole else PEOPLE, op, is_regular=is_plain)


def written(
    node: Any,
    data: Mapping[str, Any],
    reads: Reads,
    form: Form,
    op: Op | None = None,
    *,
    is_regular: bool,
    hidden: Collection[str] = (),
) -> str:
    """Return the line of a node, without the keys `hidden`; a node that is not regular is marked by a question mark.

    Examples
    --------
    >>> from graphrewrite.op import mul
    >>> reads = Reads((("x", 0), ("halves", 1)), (("a", "control"),), ())
    >>> written("m", {"type": "mul", "backend": "cpu", "taps": [1, (2,)]}, reads, PEOPLE, mul, is_regular=True)
    "m = mul(x, halves:1, ^a) {backend='cpu', taps=[1, (2,)]}"
    """
    try:
        arguments = list(_edges(reads, form))
        kind, hidden = data.get("type"), {"origin", *hidden}
        if isinstance(kind, str):
            hidden.add("type")
        result = data.get("result")
        results = result if isinstance(result, tuple) and len(result) > 1 else (result,)
        has_types = all(isinstance(each, Type) for each in results)
        if has_types or (is_regular and result == ()):  # a node of a graph without outputs has no result
            hidden.add("result")
        if is_regular and kind in ("input", "output"):
            hidden.add("index")
        if is_regular and kind == "constant" and "value" not in hidden:
            arguments.append(f"value={_payload(data['value'], data.get('result'), form)}")
            hidden.add("value")
        annotations = annotations_in(data, op)
        shown = {key: value for key, value in data.items() if key not in hidden and key not in annotations}
        arguments += written_attributes(shown, form, () if op is None else op.attributes)
        braces = ""
        if annotations:
            braces = f" {{{', '.join(written_attributes(annotations, replace(form, listed=False)))}}}"
        name = ("" if is_regular else "?") + (quote(kind) if isinstance(kind, str) else "")
        types = f" : {', '.join(map(str, results))}" if has_types else ""
        return f"{quote(node, strict=form.strict)} = {name}({', '.join(arguments)}){braces}{types}"
    except GraphRewriteError as error:
        raise error if error.node is not None else type(error)(str(error), node=node) from None


def _edges(reads: Reads, form: Form) -> Iterator[str]:
    for source, result in reads.operands:
        yield quote(source, strict=form.strict) + (f":{result}" if result else "")
    for source, kind in reads.controls:
        yield f"^{quote(source, strict=form.strict)}" + ("" if kind == "control" else f":{quote(kind)}")
    for source, data in reads.others:
        yield f"~{quote(source, strict=form.strict)}" + (write(data, form) if data else "")


def _payload(value: np.ndarray, kind: Any, form: Form) -> str:
    """Return the text of a constant's array, without element type and shape if its type states them."""
    is_said = isinstance(kind, Tensor) and stores(kind.element, value.dtype) and value.shape == tuple(kind.shape)
    return form.array(value, not is_said)


def written_attributes(data: Mapping[Any, Any], form: Form, order: Collection[str] = ()) -> list[str]:
    """Return the texts of attributes: first those in `order`, then by name, then structural keys and non-string names.

    Examples
    --------
    >>> written_attributes({"b": 1, "a b": (2, 3), "type": 6, 4: 5}, PEOPLE)
    ["'a b'=[2, 3]", 'b=1', 'type=6', '**{4: 5}']
    """
    positions = {key: i for i, key in enumerate(order)}
    named = [key for key in data if isinstance(key, str)]
    named.sort(key=lambda key: (key in STRUCTURAL, positions.get(key, len(positions)), key))
    shown = [f"{quote(key)}={write_attribute(data[key], form)}" for key in named]
    if len(named) < len(data):
        rest = sorted((write(key, form), key) for key in data if not isinstance(key, str))
        shown.append("**{" + ", ".join(f"{text}: {write(data[key], form)}" for text, key in rest) + "}")
    return shown
