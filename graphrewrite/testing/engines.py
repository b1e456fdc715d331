"""Other engines that compute graphs: what a rule preserves is asked of them as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches

import numpy as np

from graphrewrite.errors import EvaluationError, GraphRewriteError, MissingDependencyError, RuleError
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.execution.program.size_values import sizes_of_inputs
from graphrewrite.execution.sequence import batch_sizes, keeps_state
from graphrewrite.graph import Graph
from graphrewrite.testing.applying import Refuted
from graphrewrite.testing.comparison import NoVerdictError, OutputDifference, difference_of_values, rounding_of

__all__ = ["ENGINES", "Engine", "check_by_engine", "engine_of"]

Engine = Callable[[Graph, Graph, Mapping[str, np.ndarray], float | None], OutputDifference | None]
"""Returns what differs between a graph and the result of a rule by more than rounding, and than a tolerance if there is
one; raises `NoVerdictError` if it cannot compute them."""
_FRAMES = 4


def engine_of(name: str) -> Engine:
    """Return the engine of a name.

    Examples
    --------
    >>> engine_of("onnxrutnime")
    Traceback (most recent call last):
    ...
    graphrewrite.errors.RuleError: there is no engine 'onnxrutnime'; did you mean 'onnxruntime'? There are ...
    """
    if name in ENGINES:
        return ENGINES[name]
    if name in _WITHOUT_GRAPHS:
        raise RuleError(f"{name!r} is no engine: {_WITHOUT_GRAPHS[name]}; there are {', '.join(map(repr, ENGINES))}")
    near = get_close_matches(str(name), ENGINES, n=1)
    hint = f"; did you mean {near[0]!r}? There are " if near else "; there are "
    raise RuleError(f"there is no engine {name!r}{hint}{', '.join(map(repr, ENGINES))}")


def check_by_engine(
    name: str, graph: Graph, after: Graph, inputs: Mapping[str, np.ndarray], tolerance: float | None
) -> str:
    """Refute a result of which another engine computes other values; return why it cannot, if it cannot."""
    try:
        differing = engine_of(name)(graph, after, inputs, tolerance)
    except NoVerdictError as reason:
        return str(reason)
    if differing is not None:
        raise Refuted(replace(differing, reason=f"by {name}, {differing.reason}").between(graph, after), name)
    return ""


def _by_onnxruntime(
    before: Graph, after: Graph, inputs: Mapping[str, np.ndarray], tolerance: float | None = None
) -> OutputDifference | None:
    old, new = (_run(graph, inputs) for graph in (before, after))
    bound = rounding_of(before, after, (*_inside(before, inputs), *old.values(), *new.values())) + (tolerance or 0)
    return difference_of_values(before, old, new, inputs, bound)


def _inside(graph: Graph, inputs: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
    """Return all values: an engine reorders sums of floats, where they are greater than what comes of them."""
    dead = graph.dead_nodes()
    try:
        return tuple(evaluate_nodes(graph, inputs, [node for node in graph.in_order() if node not in dead]).values())
    except EvaluationError as error:
        raise NoVerdictError(str(error)) from None


def _run(graph: Graph, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return what onnxruntime computes for the outputs of a graph."""
    from graphrewrite.lowering.exchange.onnx.onnxruntime_session import session_of

    try:
        return session_of(graph, threads=1)(inputs)
    except MissingDependencyError:
        raise
    except EvaluationError as error:
        raise NoVerdictError(str(error)) from None
    except (GraphRewriteError, KeyError, TypeError, ValueError) as error:
        raise NoVerdictError(f"onnxruntime cannot compute it: {error}") from None


def _by_c(
    before: Graph, after: Graph, inputs: Mapping[str, np.ndarray], tolerance: float | None = None
) -> OutputDifference | None:
    old, new = (_run_c(graph, inputs) for graph in (before, after))
    inside = () if keeps_state(before) else _inside(before, inputs)
    bound = rounding_of(before, after, (*inside, *old.values(), *new.values())) + (tolerance or 0)
    return difference_of_values(before, old, new, inputs, bound)


def _run_c(graph: Graph, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return what a program in C computes for the outputs of a graph: the whole batch as one frame, or its cycles."""
    from graphrewrite.lowering import run_c, to_c

    try:
        kinds = {name: graph.result_type(name) for name in graph.inputs}
        given = {name: inputs[name] for name in graph.inputs}
        sizes = sizes_of_inputs(kinds, given)
        if keeps_state(graph):  # a frame a cycle
            sizes = {name: size for name, size in sizes.items() if name not in batch_sizes(graph)}
        return run_c(to_c(_without_variables(graph), sizes=sizes), given)
    except MissingDependencyError:
        raise
    except (GraphRewriteError, KeyError) as error:
        raise NoVerdictError(f"C cannot compute it: {error}") from None


def _without_variables(graph: Graph) -> Graph:
    """Return a graph in which what a variable is before a step, and after it, is an input and an output as others."""
    plain = graph.copy()
    for name in plain.inputs:
        plain.nodes[name].pop("next", None)
    return plain


def _by_ghdl(
    before: Graph, after: Graph, inputs: Mapping[str, np.ndarray], tolerance: float | None = None
) -> OutputDifference | None:
    from graphrewrite.hdl import cosimulate, emit
    from graphrewrite.hdl.buffering import insert_forks
    from graphrewrite.hdl.errors import GhdlMissingError
    from graphrewrite.testing.timing import design_of, designs_in

    designs = [design for ports in designs_in(after) if (design := design_of(after, ports)) is not None]
    if not designs:
        raise NoVerdictError("no part of the result is a design of streams")
    for design in designs:
        try:
            report = cosimulate(emit(insert_forks(design), frames=_FRAMES))
        except GhdlMissingError:
            raise
        except GraphRewriteError as error:
            raise NoVerdictError(f"no design can be made of it: {error}") from None
        if not report:
            return OutputDifference(f"the design is {report}", {})
    return None


ENGINES: Mapping[str, Engine] = {"onnxruntime": _by_onnxruntime, "c": _by_c, "ghdl": _by_ghdl}
"""By name: ONNX models of both graphs, and C of both, compared up to rounding; the VHDL of a result, compared with its
prediction."""
_WITHOUT_GRAPHS: Mapping[str, str] = {
    "litert": "it runs files of TensorFlow Lite, which graphs are read from (from_tflite) and never written as"
}
"""Engines that one may ask for, and why they cannot be asked."""
