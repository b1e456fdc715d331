"""Schedule: the nodes of a graph as kernels and calls, in order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np

from graphrewrite.execution.program.call import Call
from graphrewrite.execution.program.exact_layers import ExactLayer, ExactMean
from graphrewrite.execution.program.kernel import MANY, TABLE, Kernel
from graphrewrite.execution.program.quantised_islands import ISLANDS, is_island
from graphrewrite.execution.program.reals import REALS
from graphrewrite.execution.program.reuse import reusing
from graphrewrite.execution.program.translation import Translate, Translation
from graphrewrite.execution.program.workspace import Workspaces
from graphrewrite.op import batch_norm, conv
from graphrewrite.op.op import Op
from graphrewrite.types import Type, read_only

__all__ = [
    "Steps",
    "frames_one_by_one",
    "has_real_work",
    "in_kernel_order",
    "multiplied_as_they_lie",
    "scheduled",
    "with_ends",
]

Steps = tuple[tuple[Call | Kernel, tuple[str, ...]], ...]
"""Calls and kernels in order, each with the nodes whose values are not read after it."""

_SINGLE, _SEVERAL = 1 << 17, 1 << 20
"""Products of a frame's convolutions from which a kernel pays for one frame, and for several frames one by one."""
_WEIGHTS = 3 << 20
"""Bytes of weights up to which kernels may hold them in an order of their own; or else a twentieth of all constants."""


def scheduled(
    calls: Sequence[Call],
    inputs: Mapping[str, Type],
    constants: Mapping[str, np.ndarray],
    wanted: Collection[str],
    *,
    reals: bool = False,
) -> Steps:
    """Group calls into few kernels: the calls of stage 0, kernel 0, the calls of stage 1, kernel 1, and so on.

    Kernels of integers are at even stages, those of real numbers at odd ones.
    """
    tables_of = _tables(calls, constants, reals=reals)
    if tables_of is None:
        return with_ends(reusing(calls, wanted), wanted)
    kinds = dict(inputs)
    kinds.update((call.node, call.results[0]) for call in calls if call.results)
    reads = Counter(o.node for call in calls for o in call.operands)
    reads.update(wanted)
    translations: dict[int, Translation] = {}
    stage: dict[str, int] = {}
    called: dict[int, list[Call]] = {}
    inside: dict[int, list[Call]] = {}
    translated: set[str] = set()
    effects = 0  # the stage of the last effect: they stay in order
    for call in calls:
        sources = [o.node for o in call.operands]
        for table in tables_of(call):
            at = max((stage.get(n, 0) for n in sources), default=0)
            at += at % 2 != (table is REALS)  # even stages hold kernels of integers, odd ones of reals
            translation = translations.setdefault(at, Translation(table, constants, reads))
            types = {n: kinds[n] for n in sources if n not in translation.held and n in kinds}
            if translation.translate(call, types):
                stage[call.node] = at
                inside.setdefault(at, []).append(call)
                translated.add(call.node)
                break
        if call.node in translated:
            continue
        # A call comes before the kernel of its own stage, and so after the kernels of its operands.
        at = max((stage.get(n, 0) + (n in translated) for n in sources), default=0)
        if call.op.has_effects(call.attributes):
            at = effects = max(at, effects)
        stage[call.node] = at
        called.setdefault(at, []).append(call)
    steps: list[Call | Kernel] = []
    workspaces = Workspaces()
    for at in range(max(stage.values(), default=0) + 1):
        steps += called.get(at, [])
        if at in inside:
            members = {call.node for call in inside[at]}
            read = {o.node for call in calls if call.node not in members for o in call.operands}
            exported = [n.node for n in inside[at] if n.node in read or n.node in wanted]
            few = None if at % 2 == 0 else frames_one_by_one(calls, constants)
            kernel = Kernel.of(inside[at], translations[at], exported, workspaces, few=few)
            steps += [kernel] if kernel.fits else kernel.calls
    return with_ends(reusing(steps, wanted), wanted)


def _tables(
    calls: Sequence[Call], constants: Mapping[str, np.ndarray], *, reals: bool
) -> Callable[[Call], tuple[Mapping[Op, Translate], ...]] | None:
    """Return the choice of translation tables for a call; None if there is too little work to pay for a kernel."""
    whole = any((call.op.level == "integer" and call.op in TABLE) or is_island(call) for call in calls)
    real = reals and has_real_work(calls, constants)
    if not (whole or real):
        return None

    def tables_of(call: Call) -> tuple[Mapping[Op, Translate], ...]:
        integers = (ISLANDS,) if whole and call.op in ISLANDS else ()
        return (*integers, REALS) if real and call.op in REALS and _is_float(call) else integers

    return tables_of


def has_real_work(calls: Iterable[Call], constants: Mapping[str, np.ndarray]) -> bool:
    """Tell whether kernels of real numbers pay, which they do for convolutions with few weights.

    Many weights are better not held twice, in the order of the graph and in that of the kernels.
    """
    weights = _weights(calls, constants)
    most = max(_WEIGHTS, sum(array.nbytes for array in constants.values()) // 20)
    return weights is not None and sum(array.nbytes for array in weights.values()) <= most


def _weights(calls: Iterable[Call], constants: Mapping[str, np.ndarray]) -> dict[str, np.ndarray] | None:
    """Return the constant weights of convolutions of real numbers; None if there is no such convolution."""
    found: dict[str, np.ndarray] | None = None
    for call in calls:
        if call.op is conv and _is_float(call):
            found = {} if found is None else found
            if len(call.operands) > 1 and (node := call.operands[1].node) in constants:
                found[node] = constants[node]
    return found


def multiplied_as_they_lie(
    calls: Sequence[Call], constants: Mapping[str, np.ndarray], wanted: Collection[str]
) -> list[str]:
    """Return the weights that kernels multiply without a copy, if they lie `in_kernel_order`.

    Left out are those that something else reads, those that a norm scales, as kernels hold others in their place, and
    those of single entries, whose order kernels take.
    """
    readers: dict[str, list[Call]] = {}
    for call in calls:
        for source, _ in call.operands:
            readers.setdefault(source, []).append(call)

    def is_plain(node: str, call: Call) -> bool:
        is_weight = call.op is conv and call.operands[1].node == node and call.attributes["groups"] == 1
        return is_weight and all(reader.op is not batch_norm for reader in readers.get(call.node, ()))

    weights = _weights(calls, constants) or {}
    return [
        n
        for n, w in weights.items()
        if n not in wanted and math.prod(w.shape[2:]) > 1 and all(is_plain(n, c) for c in readers[n])
    ]


def in_kernel_order(w: np.ndarray) -> np.ndarray:
    """Return weights [O, C, kernel…] with a memory layout in which those of one column of windows lie side by side.

    Examples
    --------
    >>> in_kernel_order(np.ones((2, 3, 5, 7), np.float32)).strides
    (4, 8, 24, 120)
    """
    order = (w.ndim - 1, *range(2, w.ndim - 1), 1, 0)
    return read_only(np.ascontiguousarray(w.transpose(order)).transpose(np.argsort(order)))


def frames_one_by_one(calls: Iterable[Call], constants: Mapping[str, np.ndarray]) -> int:
    """Return the greatest number of frames that kernels of real numbers compute one by one: 0, 1, or `MANY` - 1.

    Of a single frame, groups of channels are too short for them; the ops' functions are faster by about as much as they
    are slower elsewhere.
    """
    work = 0
    for call in calls:
        if call.op is not conv or not _is_float(call) or len(call.operands) < 2:
            continue
        sizes = call.results[0].shape[1:]
        w = constants.get(call.operands[1].node)
        if w is not None and all(isinstance(size, int) for size in sizes):
            products = math.prod(map(int, sizes)) * math.prod(w.shape[1:])
            work += products if w.shape[1] == 1 or call.attributes["groups"] == 1 else -products
    return MANY - 1 if work >= _SEVERAL else int(work >= _SINGLE)


def _is_float(call: Call) -> bool:
    """Tell whether a call is rounded as floats are, in any order."""
    return call.is_real and not isinstance(call, ExactLayer | ExactMean)


def with_ends(steps: Sequence[Call | Kernel], wanted: Collection[str]) -> Steps:
    """Add to each step the nodes that it reads last."""
    last: dict[str, int] = {}
    for index, step in enumerate(steps):
        for call in step.calls if isinstance(step, Kernel) else (step,):
            for node, _ in call.operands:
                last[node] = index
    ends: dict[int, list[str]] = {}
    for node, index in last.items():
        if node not in wanted:
            ends.setdefault(index, []).append(node)
    return tuple((step, tuple(ends.get(index, ()))) for index, step in enumerate(steps))
