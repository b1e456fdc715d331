"""Ops of one's own, blamed themselves where their inference says another type than their function gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphrewrite.execution.program import compile_graph
from graphrewrite.execution.program.call import Call
from graphrewrite.execution.program.size_values import sizes_of_inputs
from graphrewrite.graph import Graph
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.op import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.testing.applying import Refuted
from graphrewrite.testing.comparison import moderated
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.failure.culprit import Culprit
from graphrewrite.testing.failure.values import shown
from graphrewrite.testing.rows import row_of
from graphrewrite.types import ElementType, Tensor, Type, hold, with_sizes
from graphrewrite.view.source import place_of

__all__ = ["Misinferred", "check_own_ops"]

_HOME = __name__.partition(".")[0] + "."
"""The package, whose components have tests of their own."""
_KINDS = {"b": "biu", "i": "iu", "u": "iu", "f": "f", "c": "c"}
"""Kinds of numpy's types that a function may give, by the kind of the inferred one: it may compute in more bits, and
arithmetic makes integers of truth values."""
_CLAIM = """\
operands = [evaluate_nodes(before, inputs, [node])[node] for node in {sources!r}]
results = before.op({node!r}).compute(operands, before.attributes({node!r}))
assert {claim}
"""


@dataclass(frozen=True, eq=False)
class Misinferred(Counterexample):
    """A graph with an op that gives another type than its inference says. No rule is to blame.

    Attributes
    ----------
    op : Op
        The op.
    """

    op: Op = field(kw_only=True)

    @property
    def conclusion(self) -> str:
        """The verdict on the rules, which were not tested."""
        return "not compared"

    @property
    def sides(self) -> tuple[tuple[str, Any], tuple[str, Any]]:
        """The graph with the op, alone."""
        return ("graph", self.before), ("", None)

    @property
    def first_difference(self) -> None:
        """None: this is about one graph."""
        return

    @property
    def culprit(self) -> Culprit:
        """The op."""
        return Culprit(self.op.name, place_of(self.op))


def check_own_ops(graph: Any, inputs: Mapping[str, np.ndarray]) -> None:
    """Refute a graph with an op of one's own whose inference says another type than its function gives.

    Raises
    ------
    Refuted
        With the op to blame, and the row or batch of the inputs that shows it.
    """
    own = _own(graph) if isinstance(graph, Graph) and graph.ops else {}
    if not own:
        return
    for batch in (inputs, moderated(inputs)):
        for part in (row_of(graph, batch, 0), batch):
            with np.errstate(all="ignore"):
                fault = next(_faults(graph, own, part), None)
            if fault is not None:
                raise Refuted(fault, f"op {fault.op.name}")


def _own(graph: Graph) -> dict[str, Op]:
    """Return the nodes of a graph whose ops are no part of the library, each with its op."""
    ops = {
        name: op
        for name, op in graph.ops.items()
        if LIBRARY.get(name) is not op and not isinstance(op, GraphOp) and not op.function.__module__.startswith(_HOME)
    }
    return {name: ops[data["type"]] for name, data in graph._node.items() if data.get("type") in ops} if ops else {}


def _faults(graph: Graph, own: Mapping[str, Op], inputs: Mapping[str, np.ndarray]) -> Iterator[Misinferred]:
    """Yield a counterexample for each node of which inference says something else than its function gives."""
    values, sizes = _computed(graph, own, inputs)
    for node, op in own.items():
        sources = graph.operands(node)
        if any(source.node not in values for source in sources):
            continue
        call = Call.of(graph, node)
        try:
            call = call.with_sizes(sizes) if call.names else call
            found = op.compute([values[o.node][o.result] for o in sources], call.attributes, call.arrangement)
        except Exception:  # this graph cannot be evaluated, which is another matter
            continue
        said = ", ".join(map(str, call.results))
        types = ", ".join(str(graph.result_type(*source)) for source in sources)
        wanted = [with_sizes(kind, sizes) for kind in call.results]
        if found and (but := _unlike(wanted, found)):
            here = ", ".join(map(str, wanted))
            where = f", which is {here} here" if here != said else ""
            what, holds = but
            reason = (
                f"the op {op.name!r} is wrong, and not the rule: its infer says {said} for ({types}){where}, "
                f"and its function gave {what}"
            )
            claim = _CLAIM.format(node=node, sources=[source.node for source in sources], claim=holds)
            yield Misinferred(graph, None, reason, dict(inputs), claim=claim, op=op)


def _computed(
    graph: Graph, own: Mapping[str, Op], inputs: Mapping[str, np.ndarray]
) -> tuple[dict[str, tuple[np.ndarray, ...]], dict[str, int]]:
    """Return the values of nodes up to the first that fails, and the sizes of the inputs."""
    values: dict[str, tuple[np.ndarray, ...]] = {}
    needed = set(own).union(*(graph.upstream(node) for node in own))
    with suppress(Exception):
        program = compile_graph(graph, sorted(needed), instructions=False, implementations=None)
        values.update(program.watch({name: inputs[name] for name in graph.inputs}))
    return values, sizes_of_inputs({name: graph.result_type(name) for name in inputs}, inputs)


def _unlike(wanted: Sequence[Type], found: Sequence[np.ndarray]) -> tuple[str, str] | None:
    """Return what was found instead of values of some types, in words, and what should hold, as Python."""
    if len(wanted) != len(found):
        return f"{len(found)} results", f"len(results) == {len(wanted)}"
    for place, (kind, array) in enumerate(zip(wanted, found, strict=True)):
        if not isinstance(kind, Tensor) or isinstance(kind.element, ElementType):
            continue
        if len(kind.shape) != array.ndim or any(
            isinstance(size, int) and size != got for size, got in zip(kind.shape, array.shape, strict=True)
        ):
            return f"{array.dtype}{list(array.shape)}", f"results[{place}].shape == {kind.shape}"
        held = hold(kind.element, array)
        if held.dtype.kind in "iub" and array.dtype.kind == "f" and (other := array[array != held]).size:
            same = f"np.array_equal(results[{place}], results[{place}].astype(np.{held.dtype.type.__name__}))"
            return f"{shown(other.flat[0])}, which is no {kind.element}", same
        numbers = _KINDS.get(held.dtype.kind, array.dtype.kind)
        if array.dtype.kind not in numbers:
            return f"{array.dtype}{list(array.shape)}", f"results[{place}].dtype.kind in {numbers!r}"
    return None
