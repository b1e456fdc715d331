"""Optimising a network for a target: the rules of the library, in one function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphrewrite import Graph, Pass, Pipeline, Rule, rewrite
from graphrewrite.errors import RuleError, did_you_mean
from graphrewrite.hdl import Design, emit
from graphrewrite.lowering.c import C_OPS, to_c
from graphrewrite.lowering.composite import LOWER_COMPOSITE, lowered_ops
from graphrewrite.lowering.composite.movement import write_split_by_slices
from graphrewrite.lowering.quantisation.preparation import PREPARE
from graphrewrite.op import LIBRARY
from graphrewrite.rules import (
    APPROXIMATE,
    AS_LAYERS,
    AS_MEANS,
    BROADCASTING,
    FEWER_TRANSPOSES,
    FOLDING,
    MERGE_PRODUCTS,
    MOVE_INTEGERS,
    PRODUCTS,
    RECOGNITION,
    ROWS,
    RULES,
    SHARED_STEPS,
    fold_input_norm,
    join_slices,
    slice_as_gather,
)

__all__ = ["HARDWARE", "INTEGER", "ONNX", "TARGETS", "C", "Target", "optimise"]

LEVELS = ("nn", "integer", "stream")
"""Levels of the graphs that code is written for."""


@dataclass(frozen=True)
class Target:
    """What a network is optimised for.

    Parameters
    ----------
    name : str
        Its name.
    fused : tuple of Rule and Pass
        Rules that make the forms that it likes. Those that are not exact apply where approximation is allowed.
    enlarged : tuple of tuple of Rule and Pass
        Sets of rules that make larger ops of these, one after the other; where approximation is allowed, and kept
        where fewer ops are left.
    ops : frozenset of str, optional
        The ops that it has; by default all. An op that it has stays, even if `lowerings` could write it by others.
    lowerings : tuple of Rule and Pass
        Rules that write ops that it does not have by others.
    finish : tuple of Rule and Pass
        What is done once, when nothing else is left to do, such as `fuse_activations`.
    is_of_layers : bool
        Whether pools and norms become convolutions, `AS_LAYERS`, where approximation is allowed.
    generate : callable, optional
        Writes code: called with a graph and `name`, returns a `graphrewrite.hdl.Design`. For the level ``"stream"`` it
        is called with the other keywords of `graphrewrite.hdl.emit`, too. None if no code is written for it.
    level : str
        Of the graphs that `generate` takes: ``"nn"`` as they are optimised, float or integer; ``"integer"`` quantised
        and lowered to integers; ``"stream"`` lowered to hardware.

    Raises
    ------
    RuleError
        If there is no op of a name in `ops`, or no such level.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> small = Target("small", ops=frozenset({"add", "sub", "mul", "exp", "reciprocal"}))
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N,3]
    ... a = sigmoid(x)
    ... y = output(a)''')
    >>> print(optimise(g, small))
    graph g
    x = input() : f32[N,3]
    neg_1 = neg(x) : f32[N,3]
    exp_1 = exp(neg_1) : f32[N,3]
    constant_1 = constant(value=1.0) : f32[]
    add_1 = add(exp_1, constant_1) : f32[N,3]
    reciprocal_1 = reciprocal(add_1) : f32[N,3]
    y = output(reciprocal_1)
    """

    name: str
    fused: tuple[Rule | Pass, ...] = ()
    enlarged: tuple[tuple[Rule | Pass, ...], ...] = ()
    ops: frozenset[str] | None = None
    lowerings: tuple[Rule | Pass, ...] = LOWER_COMPOSITE
    finish: tuple[Rule | Pass, ...] = ()
    is_of_layers: bool = False
    generate: Callable[..., Design] | None = None
    level: str = "nn"

    def __repr__(self) -> str:
        return f"<target {self.name}>"

    def __post_init__(self) -> None:
        for name in sorted(self.ops or ()):
            if name not in LIBRARY:
                raise RuleError(f"target {self.name!r} has no op {name!r}{did_you_mean(name, LIBRARY)}")
        if self.level not in LEVELS:
            known = f"{did_you_mean(self.level, LEVELS)}; there are {', '.join(LEVELS)}"
            raise RuleError(f"target {self.name!r} takes graphs of no level {self.level!r}{known}")

    def pipeline(self, *, approximate: bool = False, also: Sequence[Rule | Pass] = ()) -> Pipeline:
        """Return the phases in which a network is optimised for it: clean-up, and what it lacks by other ops.

        Parameters
        ----------
        approximate : bool
            Whether results may change by rounding, and of numbers that are not finite.
        also : sequence of Rule and Pass
            Further rules, which apply in any case.
        """
        folding: Sequence[Rule | Pass] = ()
        if approximate and self.is_of_layers:
            folding = (*FOLDING, *APPROXIMATE)
        elif approximate:
            # A norm that stays one belongs to the layer behind it; elsewhere it is a layer of its own by then.
            others = (member for member in FOLDING if member not in AS_LAYERS)
            folding = (*others, *APPROXIMATE, fold_input_norm)
        fused = (member for member in self.fused if approximate or member.keeps == "exact")
        rules = tuple(dict.fromkeys((*RULES, *folding, *fused, *also)))
        phases: list[Any] = [rules]
        if approximate and self.enlarged:
            phases.append(_if_fewer((*RULES, *folding), self.enlarged))
        if self.ops is not None:
            lowerings = (member for member in self.lowerings if not lowered_ops(member) & self.ops)
            phases.append((*lowerings, *RULES))
        return Pipeline(*phases, *([self.finish] if self.finish else ()), name=self.name)


class _Changes:
    """Notes whether a rewrite did anything."""

    any = False

    def tried(self, member: Any, node: Any, outcome: Any) -> None:
        pass

    def rewritten(self, graph: Any, member: Any, change: Any) -> None:
        self.any = True

    def passing(self, graph: Graph) -> None:
        pass

    def passed(self, graph: Graph, name: str, removed: list[str]) -> None:
        self.any = True


def _if_fewer(rules: Sequence[Rule | Pass], sets: Sequence[Sequence[Rule | Pass]]) -> Callable[[Graph], Graph]:
    """Return a phase that makes larger ops by sets of rules, and keeps what they give only where it has fewer ops.

    Where what the first set makes needs sizes that are computed, it is tried to do without it.
    """

    def enlarge(graph: Graph) -> Graph:
        """Make larger ops, where fewer are left."""
        found = [graph, _enlarged(graph, rules, sets)]
        if _computed_sizes(found[1]):
            found.append(_enlarged(graph, rules, sets[1:]))
        return min(found, key=_operations)

    return enlarge


def _enlarged(graph: Graph, rules: Sequence[Rule | Pass], sets: Sequence[Sequence[Rule | Pass]]) -> Graph:
    for each in sets:
        changes = _Changes()
        begun = rewrite(graph, each, watcher=changes)
        if changes.any:  # else there is nothing for the other rules to do: they have been applied
            graph = rewrite(begun, (*rules, *each))
    return graph


def _operations(graph: Graph) -> int:
    """Return the number of ops, with those that compute shapes."""
    computing = [node for node in graph if graph.nodes[node]["type"] != "constant"]
    return len(computing) + _computed_sizes(graph)


def _computed_sizes(graph: Graph) -> int:
    """Return the number of different shapes of several open sizes that reshapes do not find in their operands."""
    shapes = set()
    for node in graph:
        if graph.nodes[node]["type"] == "reshape":
            before, after = (graph.result_type(*each).shape for each in (graph.operands(node)[0], (node, 0)))
            new = [size for i, size in enumerate(after) if isinstance(size, str) and before[i : i + 1] != (size,)]
            if len(new) > 1:  # that of one follows from the others
                shapes.add(after)
    return len(shapes)


ONNX = Target(
    "onnx",
    fused=(
        write_split_by_slices,  # there are rules of slices; what is left of them is joined at the end
        *(*BROADCASTING, *SHARED_STEPS, *MOVE_INTEGERS, *RECOGNITION, *PRODUCTS, *AS_MEANS, *FEWER_TRANSPOSES),
    ),
    enlarged=(ROWS, MERGE_PRODUCTS),
    finish=(slice_as_gather, join_slices),
)
"""Files that other runtimes read: ops for which ONNX has one."""
INTEGER = Target("integer", fused=PREPARE, is_of_layers=True)
"""Networks that are quantised next: layers, and positions where `quantise` has them."""
HARDWARE = replace(INTEGER, name="hardware", generate=emit, level="stream")
"""Networks that become hardware: as for `INTEGER`."""
C = Target(
    "c",
    fused=(*BROADCASTING, *SHARED_STEPS, *MOVE_INTEGERS, *PRODUCTS, *FEWER_TRANSPOSES),
    ops=C_OPS,
    generate=to_c,
)
"""Programs in plain C, of float networks and of integers."""
TARGETS = {target.name: target for target in (ONNX, INTEGER, HARDWARE, C)}
"""The targets of the library by name."""


def optimise(graph: Graph, target: Target = ONNX, *, approximate: bool = False) -> Graph:
    """Return a graph that computes the same with less.

    Parameters
    ----------
    graph : Graph
        A network; it is untouched.
    target : Target
        What it is for.
    approximate : bool
        Whether results may change by rounding, and of numbers that are not finite. Without it, all bits are the same
        but where the target lacks an op.

    Returns
    -------
    Graph
        With the same inputs and outputs.

    Raises
    ------
    RuleError
        If the target is none, or `approximate` is not a truth value.

    Examples
    --------
    >>> from graphrewrite import models
    >>> from graphrewrite.lowering import from_onnx
    >>> network = from_onnx(models.path("digits"))
    >>> len(network), len(optimise(network)), len(optimise(network, approximate=True))
    (24, 24, 16)
    """
    given: Any = target
    if not isinstance(given, Target):
        named = f"; write lowering.TARGETS[{given!r}]" if isinstance(given, str) and given in TARGETS else ""
        raise RuleError(f"expected a Target, such as lowering.ONNX, got {given!r:.80}{named}")
    if not isinstance(approximate, bool | np.bool_):
        raise RuleError(f"approximate is True or False, got {approximate!r:.80}")
    return target.pipeline(approximate=approximate)(graph)
