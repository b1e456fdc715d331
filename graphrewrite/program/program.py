"""Compile a graph into steps, and run them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite.errors import EvaluationError, UnknownOpError, did_you_mean
from graphrewrite.given import as_graph
from graphrewrite.graph import Graph
from graphrewrite.implementation import Implementation, check_implementations, insert_conversions
from graphrewrite.implementation.insertion import chosen
from graphrewrite.op import constant
from graphrewrite.op.generic import Generic
from graphrewrite.program.call import Call, Values
from graphrewrite.program.elsewhere import computed_by, opened
from graphrewrite.program.kernel import TABLE, Kernel
from graphrewrite.program.translation import Translation
from graphrewrite.types import FixedPoint, Stream, Type, hold, out_of_range

__all__ = ["Program", "compile_graph"]


@dataclass(frozen=True, eq=False)
class Program:
    """A graph as it was when it was compiled, ready to run; what becomes of the graph does not matter to it.

    Attributes
    ----------
    inputs : mapping of str to Type
        Inputs of the graph, in order.
    needed : frozenset of str
        Inputs that must be given.
    steps : tuple
        What runs, one after the other: a call or kernel, and the nodes whose values nobody reads any more after it.
    results : tuple of str
        Nodes whose values are returned.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : s8f4[N,2]
    ... r = requantise(x, shift=2, element=u4f2)
    ... y = output(r)''')
    >>> program = compile_graph(g)
    >>> program({"x": [[6, 10], [-1, 127]]})["y"].tolist()
    [[2, 2], [0, 15]]
    """

    inputs: Mapping[str, Type]
    needed: frozenset[str]
    steps: tuple[tuple[Call | Kernel, tuple[str, ...]], ...]
    results: tuple[str, ...]

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return the values of the chosen nodes for given inputs; several threads may do so at once.

        Parameters
        ----------
        inputs : mapping of str to array-like
            One array an input, batch first.

        Returns
        -------
        dict of str to ndarray
            By node; a node with several results gives its first.

        Raises
        ------
        EvaluationError
            If an input is missing, surplus or of the wrong shape, or an op fails.
        """
        values: Values = {name: (array,) for name, array in self._checked(inputs).items()}
        for step, dead in self.steps:
            step.run(values)
            for node in dead:
                values.pop(node, None)
        return {node: values[node][0] for node in self.results}

    def _checked(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        for name in inputs:
            if name not in self.inputs:
                raise EvaluationError(
                    f"there is no input {name!r}{did_you_mean(name, self.inputs)}; inputs are {', '.join(self.inputs)}"
                )
        checked = {}
        for name, kind in self.inputs.items():
            if name not in inputs:
                if name in self.needed:
                    raise EvaluationError(f"the input {name!r} is missing: {kind}")
                continue
            try:
                array = hold(kind.element, inputs[name])
            except (TypeError, ValueError, OverflowError) as error:
                raise EvaluationError(f"the input {name!r} is {kind}, which takes no such values: {error}") from error
            if not isinstance(kind.element, FixedPoint) and (wrong := out_of_range(kind.element, inputs[name])):
                raise EvaluationError(f"the input {name!r} is {kind}, and {wrong}")
            shape = ("N", *kind.shape) if isinstance(kind, Stream) else kind.shape
            if array.ndim != len(shape) or any(
                isinstance(d, int) and d != s for d, s in zip(shape, array.shape, strict=True)
            ):
                raise EvaluationError(f"the input {name!r} is {kind}, not an array of shape {list(array.shape)}")
            checked[name] = array
        return checked


def compile_graph(
    graph: Graph,
    nodes: Iterable[str] | None = None,
    *,
    instructions: bool = True,
    implementations: Iterable[Implementation] = (),
) -> Program:
    r"""Compile a graph, or the part of it that chosen nodes need.

    Parameters
    ----------
    graph : Graph
        A graph of any level. The program keeps its arrays, which must not be written to as long as it is used; anything
        else about the graph may change.
    nodes : iterable of str, optional
        Whose values to return; the outputs where not given.
    instructions : bool
        Whether to translate what can be translated. Without, every node is a call: quicker to compile, slower to run,
        and the same results.
    implementations : iterable of Implementation
        What computes ops, the best match for each node, with the conversions that it needs. The values of nodes that
        are converted are those that the implementation gives; the outputs are as without.

    Returns
    -------
    Program

    Raises
    ------
    UnknownOpError
        Listing every needed node whose op is not known.
    EvaluationError
        If a node wants a backend or kernel that none of the implementations offers.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    >>> compile_graph(g)({"x": [[-1, 2]]})["y"].tolist()
    [[0.0, 2.0]]
    """
    graph = as_graph(graph, "that can be evaluated")
    wanted = tuple(graph.outputs if nodes is None else nodes)
    given = check_implementations(implementations)
    if given:
        graph = insert_conversions(given)(opened(graph, given, wanted))
    own = chosen(given, graph) if given else {}
    needed, order = set(wanted), graph.in_order()
    for node in reversed(order):
        if node in needed:
            needed.update(graph.predecessors(node))
    plan = [node for node in order if node in needed]
    _check_ops(graph, [node for node in plan if node not in own])
    inputs = {name: graph.result_type(name) for name in graph.inputs}
    calls = [
        computed_by(own[node], graph, node) if node in own else Call.of(graph, node)
        for node in plan
        if node not in inputs
    ]
    steps = _scheduled(graph, calls, wanted) if instructions else list[Call | Kernel](calls)
    return Program(inputs, frozenset(needed & inputs.keys()), _with_ends(steps, wanted), wanted)


def _check_ops(graph: Graph, nodes: list[str]) -> None:
    unknown = []
    for node in nodes:
        try:
            is_unknown = isinstance(graph.op(node), Generic)
        except UnknownOpError:
            is_unknown = True
        if is_unknown:
            unknown.append(f"{graph.nodes[node].get('type')} ({node})")
    if unknown:
        raise UnknownOpError(
            f"no meaning is known for {', '.join(unknown)}; "
            "pass the ops as Graph(ops=[…]) or implementations=[…] of them, or replace the nodes by rules"
        )


def _scheduled(graph: Graph, calls: list[Call], wanted: tuple[str, ...]) -> list[Call | Kernel]:
    """Gather calls into few kernels: the calls of stage 0, kernel 0, the calls of stage 1, kernel 1, and so on."""
    if not any(call.op.level == "integer" and call.op in TABLE for call in calls):
        return list(calls)  # moving data into a kernel's layout pays where there is integer arithmetic
    constants: Values = {}
    for call in calls:
        if call.op is constant:
            call.run(constants)
    reads = Counter(o.node for call in calls for o in call.operands)
    reads.update(wanted)
    translations: dict[int, Translation] = {}
    stage: dict[str, int] = {}
    called: dict[int, list[Call]] = {}
    inside: dict[int, list[Call]] = {}
    translated: set[str] = set()
    for call in calls:
        sources = [o.node for o in call.operands]
        at = max((stage.get(n, 0) for n in sources), default=0)
        if call.op in TABLE:
            translation = translations.setdefault(
                at, Translation(TABLE, {n: value for n, (value,) in constants.items()}, reads)
            )
            types = {
                n: graph.result_type(n)
                for n in sources
                if n not in translation.held and graph.nodes[n].get("result") is not None
            }
            if translation.translate(call, types):
                stage[call.node] = at
                inside.setdefault(at, []).append(call)
                translated.add(call.node)
                continue
        stage[call.node] = at = max((stage.get(n, 0) + (n in translated) for n in sources), default=0)
        called.setdefault(at, []).append(call)
    steps: list[Call | Kernel] = []
    for at in range(max(stage.values(), default=0) + 1):
        steps += called.get(at, [])
        if at in inside:
            members = {call.node for call in inside[at]}
            read = {o.node for call in calls if call.node not in members for o in call.operands}
            steps.append(
                Kernel.of(
                    inside[at], translations[at], [n.node for n in inside[at] if n.node in read or n.node in wanted]
                )
            )
    return steps


def _with_ends(
    steps: list[Call | Kernel], wanted: tuple[str, ...]
) -> tuple[tuple[Call | Kernel, tuple[str, ...]], ...]:
    """Add to each step the nodes of which it is the last reader."""
    last: dict[str, int] = {}
    for index, step in enumerate(steps):
        for call in step.calls if isinstance(step, Kernel) else (step,):
            last.update(dict.fromkeys((o.node for o in call.operands), index))
    ends: dict[int, list[str]] = {}
    for node, index in last.items():
        if node not in wanted:
            ends.setdefault(index, []).append(node)
    return tuple((step, tuple(ends.get(index, ()))) for index, step in enumerate(steps))
