"""Evaluation of a graph of any level on arrays, vectorised over the batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from graphrewrite.errors import EvaluationError, did_you_mean
from graphrewrite.execution.implementation import Implementations
from graphrewrite.execution.kept_programs import program_of, session_of
from graphrewrite.execution.program.arguments import by_name, checked
from graphrewrite.execution.program.size_values import sizes_of_inputs
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import as_graph, check_digraph
from graphrewrite.hierarchy.region import GraphView
from graphrewrite.types import unboxed

__all__ = ["evaluate", "evaluate_nodes"]


_OWN, _OTHERS = ("numpy", "cpu"), ("onnxruntime",)
"""Names of backends: of this package, and of other engines."""


def evaluate(
    graph: Graph | GraphView,
    inputs: Any,
    *,
    implementations: Implementations | None = (),
    backend: str | None = None,
) -> dict[str, np.ndarray]:
    r"""Return the outputs of a graph for inputs.

    The graph keeps the program that it is compiled to, for the next call. That finds out whether anything in the graph
    has changed since; `graphrewrite.execution.compile_graph` gives a program that does not even ask.

    Parameters
    ----------
    graph : Graph or GraphView
        A graph of any level, or a region of one.
    inputs : mapping of str to array-like, or array-like
        One array per input, batch first; mantissas if the type is fixed point. Only the array, if there is one input.
        Lists of numbers are arrays, and so is what numpy takes for one, such as a tensor of PyTorch.
    implementations : iterable of Implementation, or mapping of str to Graph, Op or Component
        Functions that compute ops in place of the ops' own (see `graphrewrite.execution.implementation`), or what nodes
        name by their annotation ``implementation`` (see `graphrewrite.hierarchy.implemented`); names are looked up in
        the module of the graph, too. Ops compute themselves where no other backend than ``cpu`` or ``numpy`` is asked
        for; None lets them compute themselves wherever nodes are to run, and whatever they name that no module has.

    backend : str, optional
        Another engine that computes the whole graph, as `graphrewrite.lowering.to_onnx` writes it: ``"onnxruntime"``,
        where that is installed. It sums floats in an order of its own, and approximates functions such as the
        exponential by itself: in float32, results differ by about 1e-5 of the greatest numbers that are added up on the
        way.

    Returns
    -------
    dict of str to ndarray
        One array per output, batch first; of a type of a dialect, what its ops give.

    Raises
    ------
    EvaluationError
        If inputs are missing, unknown or of the wrong shape, an op is unknown, or an op fails; or if a node asks for a
        backend that no implementation has; where implementations are passed, for such a kernel, too.
    ImplementationError
        If an implementation that a node names is missing, or does not fit.
    MissingDependencyError
        If the engine is not installed.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    >>> evaluate(g, {"x": [[-1, 2]]})["y"].tolist()
    [[0.0, 2.0]]
    >>> evaluate(g.set(backend="dsp"), {"x": [[-1, 2]]}, implementations=None)["y"].tolist()
    [[0.0, 2.0]]
    """
    if isinstance(graph, GraphView):
        return graph.evaluate(inputs, implementations=implementations, backend=backend)
    if backend is not None and backend not in _OWN:
        return _by_engine(graph, inputs, implementations, backend)
    program = program_of(graph, None, implementations, _frames(inputs))
    return {name: unboxed(value) for name, value in program(inputs).items()}


def evaluate_nodes(
    graph: Graph,
    inputs: Mapping[str, Any],
    nodes: Iterable[str] | None = None,
    *,
    implementations: Implementations | None = None,
    by_functions: bool = True,
) -> dict[str, np.ndarray]:
    r"""Return the values of chosen nodes, or of the outputs; a node with several results gives its first.

    Ops compute themselves, whatever backends nodes ask for, unless implementations are given. Each op of real numbers
    is computed by its own function, so that equal ops have equal bits whatever stands around them; without
    `by_functions` in the way of `evaluate`, which is faster. What is no tensor comes in an array without axes that
    holds it.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    >>> sorted(evaluate_nodes(g, {"x": [[-1, 2]]}, ["x", "r"]))
    ['r', 'x']
    """
    return program_of(graph, nodes, implementations, _frames(inputs), reals=not by_functions)(inputs)


def _by_engine(
    graph: Graph, inputs: Any, implementations: Implementations | None, backend: Any
) -> dict[str, np.ndarray]:
    if backend not in _OTHERS:
        names = (*_OTHERS, *_OWN)
        hint = did_you_mean(str(backend), names)
        raise EvaluationError(
            f"there is no backend {backend!r}{hint}; there are {', '.join(map(repr, names))}; "
            "what nodes are to run on is passed as implementations=[…]"
        )
    if implementations:
        raise EvaluationError(f"implementations compute here, not by {backend}; pass implementations or a backend")
    check_digraph(graph, "that can be evaluated")
    session = session_of(graph, backend)
    graph = as_graph(graph, "that can be evaluated")
    types = {name: graph.result_type(name) for name in graph.inputs}
    arrays = checked(by_name(types, (inputs,), {}), types, types)
    sizes_of_inputs(types, arrays)  # raises if they contradict each other
    return session(arrays)


def _frames(inputs: Any) -> int:
    """Return the greatest number of frames of an input."""
    most = 0
    for array in inputs.values() if isinstance(inputs, Mapping) else (inputs,):
        try:
            most = max(most, len(array))
        except TypeError:  # a number, which is rejected with a better message later
            continue
    return most
