"""Compile a graph into steps, and run them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphrewrite.errors import EvaluationError, UnknownOpError, did_you_mean
from graphrewrite.given import as_graph
from graphrewrite.graph import Graph
from graphrewrite.implementation import Implementation, check_implementations, insert_conversions
from graphrewrite.implementation.insertion import chosen
from graphrewrite.op import constant
from graphrewrite.op.generic import Generic
from graphrewrite.program.call import Call, Values, constant_value
from graphrewrite.program.elsewhere import computed_by, opened
from graphrewrite.program.kernel import MANY, Kernel
from graphrewrite.program.reuse import reusing
from graphrewrite.program.schedule import Steps, has_real_work, scheduled, with_ends
from graphrewrite.progress import progress
from graphrewrite.types import FixedPoint, Stream, Type, hold, out_of_range

__all__ = ["Program", "compile_graph"]

_LONG, _LARGE = 128, 1 << 17
"""How many steps are done is shown from so many on, or from a sixteenth of them if the inputs have so many entries."""


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
        What runs for small batches, one after the other.
    results : tuple of str
        Nodes whose values are returned.
    constants : mapping of str to tuple of ndarray
        Values of constants, by node.
    reals : tuple of Call
        What is to be translated anew for large batches, in which kernels of real numbers pay.

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
    steps: Steps
    results: tuple[str, ...]
    constants: Mapping[str, tuple[np.ndarray, ...]]
    reals: tuple[Call, ...] = ()

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
        given: Values = {name: (array,) for name, array in self._checked(inputs).items()}
        values = {**self.constants, **given}
        steps = self._steps(given)
        if len(steps) >= _LONG or (
            len(steps) >= _LONG // 16 and sum([array.size for (array,) in given.values()]) >= _LARGE
        ):
            with progress(steps, "evaluate") as shown:
                _run(shown, values)
        else:
            _run(steps, values)
        return {node: values[node][0] for node in self.results}

    def watch(self, inputs: Mapping[str, Any]) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
        r"""Give the results of each node as soon as they are computed: constants and inputs first, then the calls.

        What is given may be written over when the next is asked for, unless it is of a chosen node. Nodes whose
        instructions are gathered in kernels are not seen; compile without instructions to see them all.

        Parameters
        ----------
        inputs : mapping of str to array-like
            One array an input, batch first.

        Yields
        ------
        tuple
            A node, and its results.

        Raises
        ------
        EvaluationError
            As of a call.

        Examples
        --------
        >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = relu(a)\ny = output(b)")
        >>> program = compile_graph(g, instructions=False)
        >>> [(node, found[0].tolist()) for node, found in program.watch({"x": [1, -2]})]
        [('x', [1.0, -2.0]), ('a', [-1.0, 2.0]), ('b', [0.0, 2.0]), ('y', [0.0, 2.0])]
        """
        values: Values = {**self.constants, **{name: (array,) for name, array in self._checked(inputs).items()}}
        yield from list(values.items())
        with progress(self.steps, "evaluate") as shown:
            for step, dead in shown:
                step.run(values)
                for call in () if isinstance(step, Kernel) else (step,):
                    yield call.node, values[call.node]
                for node in dead:
                    values.pop(node, None)

    def _steps(self, values: Values) -> Steps:
        if not self.reals or all(len(array) < MANY for (array,) in values.values() if array.ndim):
            return self.steps
        return self.for_many

    @cached_property
    def for_many(self) -> Steps:
        """The steps for large batches, translated when the first one comes."""
        kept = {*self.results, *self.constants}
        return scheduled(self.reals, self.inputs, _single(self.constants), kept, reals=True)

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
            is_whole = array.dtype.kind in "iu" and not isinstance(kind.element, FixedPoint)
            if is_whole and (wrong := out_of_range(kind.element, inputs[name])):
                raise EvaluationError(f"the input {name!r} is {kind}, and {wrong}")
            shape = ("N", *kind.shape) if isinstance(kind, Stream) else kind.shape
            if array.ndim != len(shape) or any(
                isinstance(d, int) and d != s for d, s in zip(shape, array.shape, strict=True)
            ):
                raise EvaluationError(f"the input {name!r} is {kind}, not an array of shape {list(array.shape)}")
            checked[name] = array
        return checked


def _run(steps: Iterable[tuple[Call | Kernel, tuple[str, ...]]], values: Values) -> None:
    for step, dead in steps:
        step.run(values)
        for node in dead:
            values.pop(node, None)


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
        and the same results, but that convolutions of real numbers may be rounded otherwise in large batches.
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
    constants: Values = {}
    calls = []
    for node in plan:
        if node in inputs:
            continue
        value = None if node in own else constant_value(graph, node)
        if value is not None:
            constants[node] = (value,)
            continue
        call = computed_by(own[node], graph, node) if node in own else Call.of(graph, node)
        if not (call.op is constant or _is_folded(call, constants)):
            calls.append(call)
            continue
        try:
            call.run(constants)
        except EvaluationError:
            calls.append(call)  # it says so when it runs
    arrays, kept = _single(constants), {*wanted, *constants}
    steps = scheduled(calls, inputs, arrays, kept) if instructions else with_ends(reusing(calls, kept), kept)
    reals = tuple(calls) if instructions and has_real_work(calls) else ()
    return Program(inputs, frozenset(needed & inputs.keys()), steps, wanted, constants, reals)


def _is_folded(call: Call, constants: Values) -> bool:
    """Whether a node gives the same in every run, by a function of the library's own."""
    return (
        type(call) is Call
        and bool(call.operands)
        and not call.op.stateful
        and call.op.level == "nn"
        and all(o.node in constants for o in call.operands)
    )


def _single(constants: Mapping[str, tuple[np.ndarray, ...]]) -> dict[str, np.ndarray]:
    """The values of nodes that have one."""
    return {node: found[0] for node, found in constants.items() if len(found) == 1}


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
