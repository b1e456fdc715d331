"""Evaluation of a graph with state over a sequence of cycles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from graphrewrite.errors import EvaluationError
from graphrewrite.execution.program import Program, compile_graph
from graphrewrite.execution.program.arguments import by_name
from graphrewrite.execution.program.call import Call
from graphrewrite.execution.program.kernel import Kernel
from graphrewrite.execution.program.size_values import shape_of, sizes_of_inputs
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import as_graph
from graphrewrite.hierarchy import flattened
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.op import find_op
from graphrewrite.types import element_dtype, symbols, with_sizes

__all__ = ["batch_sizes", "evaluate_sequence", "first_value", "has_batch", "keeps_state", "variables_of"]


def keeps_state(graph: Graph) -> bool:
    r"""Tell whether a graph has ops whose values depend on earlier cycles, in nested graphs, too.

    Examples
    --------
    >>> keeps_state(Graph.parse("graph g\nx = input() : f32[N]\nr = register(x)\ny = output(r)"))
    True
    """
    found = [find_op(kind, graph.ops) for kind in {data.get("type") for data in graph._node.values()}]
    return any(op.stateful if isinstance(op, GraphOp) else op.step is not None for op in found if op is not None)


def evaluate_sequence(
    graph: Graph, inputs: Any, nodes: Iterable[str] | None = None, *, cycles: int | None = None
) -> dict[str, np.ndarray]:
    r"""Return the outputs of a graph in each cycle of a sequence, which begins in the initial state.

    Parameters
    ----------
    graph : Graph
        Any graph; ops with a state have a ``step`` (see `graphrewrite.define_op`).
    inputs : mapping of str to array-like, or array-like
        As for `graphrewrite.evaluate`. The frames of a batch come one a cycle, and from the first on again after the
        last; an input without a batch is the same in every cycle.
    nodes : iterable of str, optional
        Nodes whose values to return; by default the outputs, without those of variables.
    cycles : int, optional
        How many; by default as many as there are frames.

    Returns
    -------
    dict of str to ndarray
        The values of each cycle, one behind the other along a new first axis.

    Raises
    ------
    EvaluationError
        As for `graphrewrite.evaluate`; or if an op keeps a state inside a loop or a branch.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nd = delay(x, cycles=2, initial=9.0)\ny = output(d)")
    >>> evaluate_sequence(g, {"x": [1, 2, 3, 4]})["y"].tolist()
    [[9.0], [9.0], [1.0], [2.0]]
    """
    graph = as_graph(graph, "that can be evaluated")
    given = {name: np.asarray(array) for name, array in by_name(graph.inputs, (inputs,), {}).items()}
    names = batch_sizes(graph)
    kept = variables_of(graph)
    fed = [name for name in graph.inputs if name in given and name not in kept]
    batched = [n for n in fed if given[n].ndim and has_batch(graph.result_type(n), names)]
    if cycles is None:
        cycles = max((len(given[name]) for name in batched), default=1)
    if empty := [name for name in batched if not len(given[name])]:
        raise EvaluationError(f"the input {empty[0]!r} has no frame; a cycle needs one")
    if nodes is None:  # a nested graph keeps its state where it is used
        graph = flattened(graph)
    following = set(kept.values())
    wanted = [name for name in graph.outputs if name not in following] if nodes is None else list(nodes)
    computed = dict.fromkeys([*wanted, *kept.values()])
    program = _with_states(compile_graph(graph, computed if kept else nodes, instructions=False, implementations=None))
    found: dict[str, list[np.ndarray]] = {node: [] for node in (wanted if kept else program.results)}
    sizes = (
        sizes_of_inputs(
            {n: graph.result_type(n) for n in fed}, {n: given[n][:1] if n in batched else given[n] for n in fed}
        )
        if kept
        else {}
    )
    state = {name: given[name] if name in given else first_value(graph, name, sizes) for name in kept}
    for cycle in range(cycles):
        frame = {name: given[name][[cycle % len(given[name])]] for name in batched}
        values = program({**given, **frame, **state})
        for node, rows in found.items():
            rows.append(np.array(values[node]))
        state = {name: np.array(values[after]) for name, after in kept.items()}
    return {node: np.stack(values) if values else np.empty(0) for node, values in found.items()}


def variables_of(graph: Graph) -> dict[str, str]:
    r"""Return the inputs that are variables, each with the output that has its value in the next cycle.

    Examples
    --------
    >>> variables_of(Graph.parse("graph g\ns = input() {next='y'} : f32[]\nn = neg(s)\ny = output(n)"))
    {'s': 'y'}
    """
    named = {name: graph.nodes[name].get("next") for name in graph.inputs}
    return {name: after for name, after in named.items() if after in graph.outputs}


def first_value(graph: Graph, name: str, sizes: Mapping[str, int]) -> np.ndarray:
    r"""Return the value of a variable in the first cycle, for numbers of the sizes of other inputs.

    Examples
    --------
    >>> g = Graph.parse("graph g\ns = input() {next='y', initial=2} : f32[N]\nn = neg(s)\ny = output(n)")
    >>> first_value(g, "s", {"N": 3}).tolist()
    [2.0, 2.0, 2.0]
    """
    kind = with_sizes(graph.result_type(name), sizes)
    if names := {each for size in kind.shape for each in symbols(size)}:
        raise EvaluationError(f"the variable {name!r} is {kind}, and no input says {min(names)}; pass its first value")
    first = np.empty(tuple(map(int, kind.shape)), element_dtype(kind.element))
    np.copyto(first, graph.nodes[name].get("initial", 0), casting="unsafe")  # as `numpy.full` does
    return first


def batch_sizes(graph: Graph) -> set[str]:
    """Return the names of sizes that inputs have in front and nowhere else, so that any number of rows will do."""
    front, elsewhere = set[str](), set[str]()
    kept = variables_of(graph)
    for kind in [graph.result_type(name) for name in graph.inputs if name not in kept]:
        for axis, size in enumerate(shape_of(kind)):
            is_free = axis == 0 and (size,) == symbols(size)
            (front if is_free else elsewhere).update(symbols(size))
    return front - elsewhere


def has_batch(kind: Any, names: set[str]) -> bool:
    """Tell whether the first axis of values of a type is that of the batch, by the names of its sizes."""
    return any(size in names for size in shape_of(kind)[:1])


def _with_states(program: Program) -> Program:
    """Return a program for one run through a sequence: each op with a state has its own."""
    return replace(program, steps=tuple((_with_state(step), dead) for step, dead in program.steps))


def _with_state(step: Call | Kernel) -> Call | Kernel:
    if not isinstance(step, Call) or step.op.step is None:
        return step
    advance, state = step.op.step, None

    @wraps(step.op.function)
    def next_cycle(*operands: Any, **attributes: Any) -> Any:
        nonlocal state
        # Later ops of the same cycle may overwrite arrays, those that are kept and those that are given.
        kept = (x.copy() if isinstance(x, np.ndarray) else x for x in operands)
        result, state = advance(state, *kept, **attributes)
        return result.copy() if isinstance(result, np.ndarray) else result

    return step.replaced(type(step), op=replace(step.op, function=next_cycle))
