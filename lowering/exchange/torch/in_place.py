"""Operations in place on values that nothing else shares, in their functional form.

PyTorch brings a program into such a form by tracing it again, which takes longer than all else of an import. Where an
operation changes a value that an op has made, of which there is no view, the graph says the same without it: all that
reads the value afterwards reads the result.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

__all__ = ["FunctionalProgram", "without_in_place"]

_NAMES = """
abs adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d add addcdiv addcmul addmm amax amin avg_pool1d
avg_pool2d avg_pool3d baddbmm batch_norm bmm cat celu clamp clamp_max clamp_min clone conv1d conv2d conv3d
conv_transpose1d conv_transpose2d conv_transpose3d convolution cos div elu embedding exp full full_like gelu
group_norm hardsigmoid hardswish hardtanh instance_norm layer_norm leaky_relu linear log masked_fill matmul
max_pool1d max_pool2d max_pool3d maximum mean minimum mish mm mul neg ones ones_like pow prelu reciprocal relu relu6
rsqrt rsub scaled_dot_product_attention selu sigmoid silu sin softmax softplus sqrt square stack sub sum tanh
threshold upsample_bilinear2d upsample_nearest2d where zeros zeros_like
"""
_FRESH = frozenset(f"aten.{name}" for name in _NAMES.split())
"""Ops whose results share memory with no operand, whatever their attributes; schemas do not tell of all that do."""


@dataclass(frozen=True)
class FunctionalProgram:
    """What is read of an exported program, with another graph."""

    graph: Any
    graph_signature: Any
    state_dict: Any
    constants: Any
    call_spec: Any


def without_in_place(program: Any, known: Collection[str]) -> FunctionalProgram | None:
    """Return a program in functional form, or None where an operation changes what something else may share."""
    import torch

    graph = copy.deepcopy(program.graph)  # of its nodes only; values that they hold are shared
    nodes = list(graph.nodes)
    place = {node: at for at, node in enumerate(nodes)}
    for node in nodes:
        schema = getattr(node.target, "_schema", None)
        if node.op == "get_attr" or (node.op == "call_function" and schema is None and _is_foreign(node)):
            return None  # a graph, whose nodes may change what they read
        if schema is None or not schema.is_mutable:
            continue
        functional = _functional(torch, node, known)
        changed: Any = node.args[0] if node.args else None
        if functional is None or not _is_own(changed, node, place):
            return None
        node.target = functional
        for user in list(changed.users):
            if user.op == "output":
                return None  # which the signature has by its name
            if place[user] > place[node]:
                user.replace_input_with(changed, node)
    return FunctionalProgram(
        graph, program.graph_signature, program.state_dict, program.constants, getattr(program, "call_spec", None)
    )


def _is_foreign(node: Any) -> bool:
    """Tell whether a function is none of Python's own on sizes and tuples."""
    return getattr(node.target, "__module__", None) not in ("_operator", "operator", "math", "builtins")


def _functional(torch: Any, node: Any, known: Collection[str]) -> Any:
    """Return the op that computes what an operation in place writes, of the same arguments; None if there is none."""
    packet, overload = node.target.overloadpacket, node.target._overloadname
    name = str(packet)
    if not name.startswith("aten.") or not name.endswith("_") or name[:-1] not in known:
        return None
    target = getattr(getattr(torch.ops.aten, name[5:-1], None), overload, None)
    schemas = [each._schema.arguments for each in (node.target, target)] if target is not None else []
    # What is changed stands first in both, sometimes by another name.
    if not schemas or [each.name for each in schemas[0][1:]] != [each.name for each in schemas[1][1:]]:
        return None
    kinds = [str(each.type) for each in schemas[0]], [str(each.type) for each in schemas[1]]
    return target if kinds[0] == kinds[1] else None


def _is_own(changed: Any, node: Any, place: dict[Any, int]) -> bool:
    """Tell whether a value is no other's memory, and an operation on it gives its type whatever it is computed with."""
    if getattr(changed, "op", "") != "call_function" or not _is_fresh(changed):
        return False
    if any(place[user] < place[node] and not _is_fresh(user) for user in changed.users):
        return False  # which may be a view of it
    kind = getattr(changed.meta.get("val"), "dtype", None)
    if kind is None or not (kind.is_floating_point or str(node.target.overloadpacket) == "aten.relu_"):
        return False
    others = (getattr(each.meta.get("val"), "dtype", kind) for each in node.all_input_nodes)
    return all(other == kind or not other.is_floating_point for other in others)


def _is_fresh(node: Any) -> bool:
    return str(getattr(node.target, "overloadpacket", "")) in _FRESH
