"""Functions of a model, and ops that ONNX defines by others: written out as the nodes that they stand for."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.onnx.generic_nodes import WITHOUT_GRAPHS, is_known, kind_of, one_of_each

if TYPE_CHECKING:
    import onnx

__all__ = ["MAIN", "OURS", "all_nodes", "inlined", "with_definitions"]

OURS = "graphrewrite"
"""Domain of the functions that `to_onnx` writes for ops that ONNX lacks; the import reads them as ops."""
MAIN = ("", "ai.onnx")
_DEFINED = 18
"""First opset in which onnx defines most composite ops by simple ones."""
_MOST_NODES = 100_000
"""A few functions that call one another twice stand for millions."""
_MOST_CALLS = 100
"""Functions that call one another in a row: onnx's inliner calls itself for each."""
_MOST_DEFINITIONS = 4
"""Definitions within definitions."""

_Key = tuple[str, str, str]


def all_nodes(nodes: Iterable[Any]) -> Iterator[Any]:
    """Yield nodes and those of the graphs in their attributes."""
    pending = list(nodes)[::-1]
    while pending:
        node = pending.pop()
        yield node
        for attribute in node.attribute:
            if attribute.type in WITHOUT_GRAPHS:
                continue
            for graph in (attribute.g, *attribute.graphs):
                pending.extend(reversed(graph.node))


def inlined(proto: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """Return a model without functions but the library's own; missing attributes of calls have their defaults."""
    from onnx import inliner

    functions = {(f.domain, f.name, f.overload): f for f in proto.functions if f.domain != OURS}
    _check_sizes(functions, proto.graph, name)
    # The list is made before: a default may be a graph, which calls the function again.
    for node in list(all_nodes((*proto.graph.node, *(node for f in functions.values() for node in f.node)))):
        if _key(node) in functions:
            _complete(node, functions[_key(node)].attribute_proto)
    _unite_imports(proto)
    kept = [(f.domain, f.name) for f in proto.functions if f.domain == OURS]
    try:
        result: onnx.ModelProto = inliner.inline_selected_functions(proto, kept, exclude=True)
    except Exception as error:  # the inliner raises whatever its C++ side throws
        raise ModelError(f"the functions of {name} cannot be inlined: {' '.join(str(error).split())[:200]}") from None
    return result


def _key(node: Any) -> _Key:
    return node.domain, node.op_type, node.overload


def _check_sizes(functions: Mapping[_Key, Any], graph: onnx.GraphProto, name: str) -> None:
    """Raise if functions call themselves, or stand for too many nodes."""
    bodies = {key: [_key(node) for node in all_nodes(function.node)] for key, function in functions.items()}
    calls = {key: [called for called in body if called in functions] for key, body in bodies.items()}
    sizes: dict[_Key, int] = {}
    depths: dict[_Key, int] = {}
    try:
        for key in TopologicalSorter(calls).static_order():
            sizes[key] = sum(sizes.get(called, 1) for called in bodies[key])
            depths[key] = 1 + max((depths[called] for called in calls[key]), default=0)
    except CycleError as error:
        raise ModelError(f"the function {error.args[1][0][1]!r} of {name} calls itself, which ONNX forbids") from None
    used = [_key(node) for node in all_nodes(graph.node)]
    total = sum(sizes.get(key, 1) for key in used)
    called = {key for key in used if key in functions}
    if total > _MOST_NODES and called:
        largest = max(sorted(called), key=lambda key: sizes[key])
        raise ModelError(
            f"{name} stands for {total:,} nodes, of which one call of its function {largest[1]!r} is {sizes[largest]:,}"
            f"; at most {_MOST_NODES:,} are written out: export it without functions, or a part of it"
        )
    deep = next((key for key in sorted(called) if depths[key] > _MOST_CALLS), None)
    if deep is not None:
        raise ModelError(
            f"{depths[deep]} functions of {name} call one another in a row, from {deep[1]!r} on; at most {_MOST_CALLS} "
            "are written out: export it without functions"
        )


def _complete(node: Any, defaults: Iterable[Any]) -> None:
    """Add the attributes that a node lacks and its op has a default of."""
    given = {attribute.name for attribute in node.attribute}
    node.attribute.extend(default for default in defaults if default.name not in given)


def _unite_imports(proto: onnx.ModelProto) -> None:
    """Give a model and its functions the same opsets, the newest of each domain: onnx's inliner wants it so."""
    newest: dict[str, int] = {}
    parts = (proto, *proto.functions)
    for entry in (entry for part in parts for entry in part.opset_import):
        domain = _domain(entry)
        newest[domain] = max(newest.get(domain, entry.version), entry.version)
    for part in parts:
        del part.opset_import[:]
        for domain, version in newest.items():
            part.opset_import.add(domain=domain, version=version)


def with_definitions(proto: onnx.ModelProto, table: Container[str]) -> onnx.ModelProto:
    """Replace ops that the table lacks by onnx's definition of them, if there is one."""
    from onnx import inliner, version_converter

    for _ in range(_MOST_DEFINITIONS):
        versions = {_domain(o): o.version for o in proto.opset_import}
        strange = [n for n in one_of_each(all_nodes(proto.graph.node)) if not is_known(kind_of(n), table)]
        schemas = {_named(n): schema for n in strange if (schema := _definition(n, versions)) is not None}
        if not schemas:
            return proto
        try:
            if versions.get("", 1) < _DEFINED:
                proto = version_converter.convert_version(proto, _DEFINED)
            defaults = {
                key: [a.default_value for a in schema.attributes.values() if a.default_value.name]
                for key, schema in schemas.items()
            }
            for node in all_nodes(proto.graph.node):
                _complete(node, defaults.get(_named(node), ()))
            ids = [(d, kind) for domain, kind in sorted(schemas) for d in (MAIN if not domain else (domain,))]
            proto = inliner.inline_selected_functions(proto, ids, inline_schema_functions=True)
        except Exception:  # whatever the C++ sides throw: then they stay unknown
            return proto
    return proto


def _domain(part: Any) -> str:
    """Return the domain of a node or an import, the main one by its short name."""
    return "" if part.domain in MAIN else str(part.domain)


def _named(node: Any) -> tuple[str, str]:
    return _domain(node), node.op_type


def _definition(node: Any, versions: Mapping[str, int]) -> Any:
    """Return onnx's schema of an op that it defines by others."""
    import onnx

    with suppress(onnx.defs.SchemaError):
        schema: Any = onnx.defs.get_schema(node.op_type, versions.get(_domain(node), 1), _domain(node))
        if schema.has_function or schema.has_context_dependent_function:
            return schema
    return None
