"""Program: a graph compiled into steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphrewrite.errors import EvaluationError, UnknownOpError
from graphrewrite.execution.implementation import (
    Implementation,
    Implementations,
    check_implementations,
    insert_conversions,
)
from graphrewrite.execution.implementation.choice import check_backends, chosen
from graphrewrite.execution.program.arguments import PlainInputs, by_name, checked, plain_inputs, taken
from graphrewrite.execution.program.call import Call, Values, constant_value
from graphrewrite.execution.program.call_order import ordered, sizes_first
from graphrewrite.execution.program.elsewhere import computed_by, opened
from graphrewrite.execution.program.exact_layers import exact_layers
from graphrewrite.execution.program.kernel import MANY, Kernel
from graphrewrite.execution.program.prepared import prepared
from graphrewrite.execution.program.reuse import reusing
from graphrewrite.execution.program.schedule import (
    Steps,
    frames_one_by_one,
    has_real_work,
    in_kernel_order,
    multiplied_as_they_lie,
    scheduled,
    with_ends,
)
from graphrewrite.execution.program.size_values import found_in_results, sizes_of_inputs
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import as_graph
from graphrewrite.hierarchy.implementations import Library, implemented
from graphrewrite.op import constant, find_op
from graphrewrite.op.generic_op import Generic
from graphrewrite.runtime.progress import progress
from graphrewrite.types import Type, owned, read_only

__all__ = ["Program", "compile_graph"]

_LONG, _LARGE = 128, 1 << 17
"""Number of steps from which progress is shown, or a sixteenth of it for inputs of at least so many entries."""


Runs = tuple[tuple[Callable[[Values], None], tuple[str, ...]], ...]
"""The functions that run steps, each with the nodes whose values are not read after it."""


@dataclass(frozen=True, eq=False)
class Program:
    """A compiled graph, independent of later changes of the graph.

    Attributes
    ----------
    inputs : mapping of str to Type
        Inputs of the graph, in order.
    needed : frozenset of str
        Required inputs.
    steps : tuple
        The steps for small batches, in order.
    results : tuple of str
        Nodes whose values are returned.
    constants : mapping of str to tuple of ndarray
        Values of constants, by node.
    calls : tuple of Call
        Calls that compute the same as the steps.
    instructions : bool
        Whether calls are translated to instructions. Those of real numbers are for convolutions, and for few frames
        only where these have enough to do.
    reals : bool
        Whether instructions compute real numbers, which they round in another order; if not, the ops' functions do.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : s8f4[N,2]
    ... r = requantise(x, shift=2, element=u4f2)
    ... y = output(r)''')
    >>> program = compile_graph(g)
    >>> program
    <program from x to y: 2 calls, 0 bytes of constants>
    >>> program({"x": [[6, 10], [-1, 127]]})["y"].tolist()
    [[2, 2], [0, 15]]
    """

    inputs: Mapping[str, Type]
    needed: frozenset[str]
    steps: Steps
    results: tuple[str, ...]
    constants: Values
    calls: tuple[Call, ...] = ()
    instructions: bool = False
    reals: bool = True

    def __repr__(self) -> str:
        weights = sum(array.nbytes for results in self.constants.values() for array in results)
        given, found = ", ".join(self.inputs), ", ".join(self.results)
        return f"<program from {given} to {found}: {len(self.calls)} calls, {weights:,} bytes of constants>"

    def __call__(self, /, *inputs: Any, **named: Any) -> dict[str, np.ndarray]:
        """Return the values of the chosen nodes for inputs, given as for `graphrewrite.Graph.evaluate`; thread-safe."""
        one = inputs[0] if len(inputs) == 1 and not named else None
        given = taken(one, self._plain_inputs) if type(one) is dict and self._plain_inputs else None
        sizes: dict[str, int] = {}
        if given is None:
            given = checked(by_name(self.inputs, inputs, named), self.inputs, self.needed)
            sizes = sizes_of_inputs(self.inputs, given)
        elif self._names:
            sizes = sizes_of_inputs(self.inputs, given)
        values: Values = {**self.constants}
        for name, array in given.items():
            values[name] = (array,)
        steps, runs = self._steps(given)
        is_large = len(steps) >= _LONG // 16 and sum([array.size for array in given.values()]) >= _LARGE
        if is_large or len(steps) >= _LONG or self._names or runs is None:
            with progress(steps, "evaluate") if is_large or len(steps) >= _LONG else nullcontext(steps) as shown:
                for step, dead in shown:
                    self._run(step, values, sizes)
                    for node in dead:
                        values.pop(node, None)
        else:
            for run, dead in runs:
                run(values)
                for node in dead:
                    values.pop(node, None)
        return {node: values[node][0] for node in self.results}

    def watch(self, inputs: Mapping[str, Any]) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
        r"""Yield the results of each node as they are computed: constants and inputs first, then calls.

        Arrays may be overwritten when the next item is requested, unless the node is a chosen one. Nodes inside kernels
        are not yielded; compile without instructions to get all nodes.

        Parameters
        ----------
        inputs : mapping of str to array-like
            One array per input, batch first.

        Yields
        ------
        tuple
            A node, and its results.

        Raises
        ------
        EvaluationError
            As for a call of the program.

        Examples
        --------
        >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = relu(a)\ny = output(b)")
        >>> program = compile_graph(g, instructions=False)
        >>> [(node, results[0].tolist()) for node, results in program.watch({"x": [1, -2]})]
        [('x', [1.0, -2.0]), ('a', [-1.0, 2.0]), ('b', [0.0, 2.0]), ('y', [0.0, 2.0])]
        """
        given = checked(by_name(self.inputs, (inputs,), {}), self.inputs, self.needed)
        sizes = sizes_of_inputs(self.inputs, given)
        values: Values = {**self.constants, **{name: (array,) for name, array in given.items()}}
        yield from list(values.items())
        with progress(self.steps, "evaluate") as shown:
            for step, dead in shown:
                self._run(step, values, sizes)
                for call in () if isinstance(step, Kernel) else (step,):
                    yield call.node, values[call.node]
                for node in dead:
                    values.pop(node, None)

    def _run(self, step: Call | Kernel, values: Values, sizes: dict[str, int]) -> None:
        """Run a step, with numbers for the sizes in its attributes; note unknown sizes of its results."""
        (step.with_sizes(sizes) if self._names and step.names else step).run(values)
        if self._names and isinstance(step, Call) and (missing := self._names - sizes.keys()):
            sizes.update(found_in_results(step.results, values[step.node], missing, sizes))

    @cached_property
    def _names(self) -> frozenset[str]:
        """Names of the sizes in attributes."""
        return frozenset().union(*(step.names for step, _ in self.steps))

    def _steps(self, given: Mapping[str, np.ndarray]) -> tuple[Steps, Runs | None]:
        """Return the steps for inputs, and the functions that run them; None at first, when binding does not pay."""
        own = vars(self)
        is_first = "_has_run" not in own
        own["_has_run"] = True
        if (
            self.instructions
            and self._has_real_work
            and self.is_in_kernels(max([len(a) for a in given.values() if a.ndim], default=0))
        ):
            return self.in_kernels, None if is_first else self._runs_in_kernels
        return self.steps, None if is_first else self._runs

    def is_in_kernels(self, frames: int) -> bool:
        """Tell whether real numbers of so many frames are computed by instructions."""
        if not (self.reals and self._has_real_work):
            return False
        return frames >= MANY or 0 < frames <= self._most_one_by_one

    @cached_property
    def _plain_inputs(self) -> PlainInputs | None:
        return plain_inputs(self.inputs)

    @cached_property
    def _runs(self) -> Runs:
        return _bound(self.steps, self.constants)

    @cached_property
    def _runs_in_kernels(self) -> Runs:
        return _bound(self.in_kernels, self.constants)

    @cached_property
    def in_kernels(self) -> Steps:
        """The steps in which real numbers, too, are computed by instructions; translated on first use."""
        if self._most_one_by_one == MANY - 1:  # otherwise functions compute some numbers of frames
            for node in multiplied_as_they_lie(self.calls, _single(self.constants), self.results):
                self.constants[node] = (in_kernel_order(self.constants[node][0]),)  # in place of the other
        return self._scheduled(reals=True)

    @cached_property
    def _has_real_work(self) -> bool:
        return has_real_work(self.calls, _single(self.constants))

    @cached_property
    def _most_one_by_one(self) -> int:
        return frames_one_by_one(self.calls, _single(self.constants))

    @cached_property
    def translated(self) -> Program:
        """The program with instructions."""
        return self if self.instructions else replace(self, steps=self._scheduled(), instructions=True)

    def _scheduled(self, *, reals: bool = False) -> Steps:
        kept = {*self.results, *self.constants}
        return scheduled(self.calls, self.inputs, _single(self.constants), kept, reals=reals)


def _bound(steps: Steps, constants: Values) -> Runs:
    return tuple(
        (step.run if isinstance(step, Kernel) else step.bound(constants, prepared=prepared(step, constants)), dead)
        for step, dead in steps
    )


def compile_graph(
    graph: Graph,
    nodes: Iterable[str] | None = None,
    *,
    instructions: bool = True,
    implementations: Implementations | None = (),
) -> Program:
    r"""Compile a graph, or the part of it that chosen nodes depend on.

    Parameters
    ----------
    graph : Graph
        A graph of any level. The program keeps its arrays, which must not be written to while it is used; the graph may
        change otherwise.
    nodes : iterable of str, optional
        Nodes whose values to return; the outputs if not given. Nodes with effects run only where the values of others
        need them, or where no nodes are given.
    instructions : bool
        Whether to translate nodes to instructions. Without, every node is a call: faster to compile, slower to run, and
        the same results, except that convolutions of real numbers may be rounded differently.
    implementations : iterable of Implementation, or mapping of str to Graph, Op or Component
        Of functions, the best one computes each node, with the conversions that it needs. Values of converted nodes are
        those of the implementation; outputs have their declared types. A mapping holds what nodes name. None for the
        ops' own functions, whatever backends and kernels nodes ask for, and whatever they name that no module has.

    Raises
    ------
    UnknownOpError
        If ops of needed nodes are unknown; lists all of them.
    EvaluationError
        If a node asks for a backend or kernel that no implementation has.
    ImplementationError
        If an implementation that a node names is missing, or does not fit.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    >>> compile_graph(g)({"x": [[-1, 2]]})["y"].tolist()
    [[0.0, 2.0]]
    """
    graph = as_graph(graph, "that can be evaluated")
    wanted = tuple(graph.outputs if nodes is None else nodes)
    # Without a mapping, what nodes name is in their module, or missing; None lets it be missing.
    library: Library | None = None if implementations is None else {}
    candidates: tuple[Implementation, ...] = ()
    if isinstance(implementations, Mapping):
        library = implementations
    elif implementations is not None:
        candidates = check_implementations(implementations)
    marked, graph = graph, implemented(graph, library)
    if candidates:
        graph = insert_conversions(candidates)(opened(graph, candidates, wanted))
    own = chosen(candidates, graph) if candidates else {}
    needed, order = set(wanted), graph.in_order()
    if nodes is None:  # effects are part of what a graph does
        needed.update(graph.effects)
    for node in reversed(order):
        if node in needed:
            needed.update(graph.sources(node))
    if implementations is not None and not candidates:
        check_backends(marked, needed)
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
            constants[node] = (owned(value),)
            continue
        call = computed_by(own[node], graph, node) if node in own else Call.of(graph, node, candidates)
        if not (call.op is constant or _is_folded(call, constants)):
            calls.append(call)
            continue
        try:
            call.run(constants)
            constants[node] = tuple(map(read_only, constants[node]))  # results of every run
        except EvaluationError:
            calls.append(call)  # raises again when the program runs
    _let_effects_give_nothing(calls, wanted)
    kept = {*wanted, *constants}
    calls = sizes_first(calls, graph)
    if not inputs.keys().isdisjoint(needed):  # what no input reaches is computed once: no order is worth a search
        calls = ordered(calls, graph, wanted)
    calls = exact_layers(calls, _single(constants), inputs)
    steps = () if instructions else with_ends(reusing(calls, kept), kept)
    program = Program(inputs, frozenset(needed & inputs.keys()), steps, wanted, constants, tuple(calls))
    return program.translated if instructions else program


def _let_effects_give_nothing(calls: list[Call], wanted: Iterable[str]) -> None:
    """Let calls of ops with effects give no results where nobody reads them."""
    effects = [index for index, call in enumerate(calls) if call.op.effects]
    read = {*wanted, *(o.node for call in calls for o in call.operands)} if effects else set()
    for index in effects:
        if calls[index].node not in read:
            calls[index] = calls[index].replaced(type(calls[index]), is_read=False)


def _is_folded(call: Call, constants: Values) -> bool:
    """Tell whether a node has the same values in every run and is computed by the library."""
    return (
        type(call) is Call
        and bool(call.operands)
        and not call.op.has_state(call.attributes)
        and call.op.level == "nn"
        and all(o.node in constants for o in call.operands)
        and not call.names
        and not any(kind.unknowns for kind in call.results)
    )


def _single(constants: Mapping[str, tuple[np.ndarray, ...]]) -> dict[str, np.ndarray]:
    """Return the values of nodes with a single result."""
    return {node: results[0] for node, results in constants.items() if len(results) == 1}


def _check_ops(graph: Graph, nodes: list[str]) -> None:
    kinds = [(node, graph._node[node].get("type")) for node in nodes]
    names = {kind for _, kind in kinds if isinstance(kind, str)}
    known = {kind for kind in names if not isinstance(find_op(kind, graph.ops), Generic | None)}
    unknown = [(node, kind) for node, kind in kinds if not (isinstance(kind, str) and kind in known)]
    if unknown:
        raise UnknownOpError(
            f"unknown ops: {', '.join(f'{kind} ({node})' for node, kind in unknown)}; "
            "pass the ops as Graph(ops=[…]) or implementations=[…] of them, or replace the nodes by rules"
        )
