"""Examination of one graph: whether a rule keeps its values for all inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import z3

from graphrewrite.errors import GraphRewriteError
from graphrewrite.formats.text import format_exactly
from graphrewrite.graph import Graph
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.testing.comparison import compare
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.proof.array import SymbolicArray
from graphrewrite.testing.proof.number import Number, RoundedSum, Undefined, Untranslatable
from graphrewrite.testing.proof.proof import Instance
from graphrewrite.testing.proof.refutation import Refutation
from graphrewrite.testing.proof.rounding import roundings, subterms
from graphrewrite.testing.proof.sign import both, opposite, same_sign
from graphrewrite.testing.proof.solver import Question, possible
from graphrewrite.testing.proof.translation import Inputs, Translation
from graphrewrite.testing.snapshot import interface
from graphrewrite.types import FixedPoint

__all__ = ["ReplayError", "examined", "overflows"]


class ReplayError(GraphRewriteError):
    """z3 found a difference that numpy does not show: the translation of an op is wrong."""


def examined(before: Graph, after: Graph, rules: Any, *, keeps: str, effort: int) -> Instance:
    """Return whether two graphs compute the same."""
    old, new = interface(before), interface(after, before)
    for kind, ports in old.items():
        if new[kind] != ports:
            example = Counterexample(before, after, f"the {kind} were {ports} and became {new[kind]}")
            return Instance(before, "refuted", counterexample=Refutation.of(example, rules))
    inputs = Inputs.of(before)
    translation = Translation(lambda condition: possible(inputs.constraints, condition))
    try:
        if _effects(before) != _effects(after):
            return _refuted(Pair(before, after, rules), inputs, {}, keeps)
        was = translation.values(before, inputs.arrays)
        became = translation.values(after, inputs.arrays)
        differs = _differences(_outputs(before, was), _outputs(after, became), inputs)
    except Undefined as error:
        return Instance(before, "left out", str(error))
    except RoundedSum as error:  # a rule that assumes something about floats assumes that sums are exact
        return Instance(before, "left out" if keeps == "assumes" else "unknown", str(error))
    except Untranslatable as error:
        return Instance(before, "unknown", str(error))
    if keeps == "assumes" and roundings(d for d in differs if d is not True):
        return Instance(before, "left out", "floats round here, which it assumes they do not")
    if not any(overflows(before, was)):
        differs += overflows(after, became)
    for difference in differs:
        if difference is True:
            return _refuted(Pair(before, after, rules), inputs, {}, keeps)
        widths = [(v.name, _bits(v.number)) for v in inputs.variables if not v.number.is_known]
        answer = Question(inputs.constraints, difference, effort=effort).answer(widths)
        if answer.verdict == "unknown":
            return Instance(before, "unknown", f"z3 gave up on {_called(before)} after {effort:,} units of work")
        if answer.verdict == "sometimes":
            return _refuted(Pair(before, after, rules), inputs, answer.values, keeps)
    return Instance(before, "proved")


def _outputs(graph: Graph, values: dict[str, tuple[Any, ...]]) -> dict[str, SymbolicArray]:
    """Return what a graph shows of its values: its outputs, and what its effects read."""
    read = [operand for node in graph.effects for operand in graph.operands(node)]
    shown = {f"effect {number}": values[node][result] for number, (node, result) in enumerate(read)}
    shown |= {name: values[name][0] for name in graph.outputs}
    return {name: SymbolicArray.of(value) for name, value in shown.items()}


def _effects(graph: Graph) -> list[tuple[str, str, int]]:
    """Return what the effects of a graph are, in order, but for what they read."""
    if any(not graph.op(node).effects or isinstance(graph.op(node), GraphOp) for node in graph.effects):
        raise Untranslatable("effects of graphs in nodes are not compared")
    effects = [(graph.op(node), graph.attributes(node), len(graph.operands(node))) for node in graph.effects]
    return [(op.name, format_exactly(attributes), count) for op, attributes, count in effects]


def _called(graph: Graph) -> str:
    nodes = [n for n in graph.in_order() if n not in graph.inputs and n not in graph.outputs]
    return ", ".join(f"{graph.nodes[n]['type']} : {graph.result_type(n)}" for n in nodes)


def _differences(was: dict[str, SymbolicArray], became: dict[str, SymbolicArray], inputs: Inputs) -> list[Any]:
    """Return the conditions under which outputs differ; of conditions that are equal up to names, only one."""
    conditions: dict[int, tuple[Any, Any]] = {}
    for name, a in was.items():
        b = became[name]
        if a.shape != b.shape or a.dtype != b.dtype:
            return [True]
        for left, right in zip(a.entries.reshape(-1), b.entries.reshape(-1), strict=True):
            same = _same(left, right)
            if same is False:
                return [True]
            if same is not True:
                alike = same if inputs.constraints else _renamed(same)
                conditions.setdefault(alike.get_id(), (alike, z3.Not(same)))
    return [condition for _, condition in conditions.values()]


def _renamed(condition: Any) -> Any:
    """Return a condition whose variables are numbered in the order in which they appear."""
    names: dict[int, tuple[Any, Any]] = {}
    for term in subterms([condition]):
        if z3.is_const(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            names[term.get_id()] = (term, z3.Const(f"entry {len(names)}", term.sort()))
    return z3.substitute(condition, *names.values())


def _same(a: Number, b: Number) -> Any:
    if a.opaque or b.opaque:
        if a.opaque != b.opaque:
            raise Untranslatable(f"a float of any value is compared with one that is computed ({a.opaque or b.opaque})")
        return True if a.term.eq(b.term) else a.term == b.term
    equal = a.equals(b)
    if a is b or equal is False or not (a.may_be_zero and b.may_be_zero):
        return equal
    alike = same_sign(a.negative_zero, b.negative_zero)
    if alike is None:
        raise Untranslatable("a result may be a zero of either sign")
    return both(equal, opposite(both(opposite(a.truth), opposite(alike))))


def _bits(number: Number) -> int:
    """Return the width of the variable of an input's entry."""
    term = number.term
    return int(term.size() if z3.is_const(term) else term.arg(0).size())


class Pair(NamedTuple):
    """A graph before and after a rule."""

    before: Graph
    after: Graph
    rules: Any


def _refuted(pair: Pair, inputs: Inputs, values: dict[str, int], keeps: str) -> Instance:
    """Replay a difference in numpy."""
    arrays = {name: np.zeros(array.shape, array.dtype) for name, array in inputs.arrays.items()}
    for variable in inputs.variables:
        number, array = variable.number, arrays[variable.input]
        if number.is_known:
            array[variable.position] = number.value
        elif number.opaque:
            size, width = 8 * array.dtype.itemsize, _bits(number)
            bits = values.get(variable.name, 0) % (1 << width) << size - width
            array.view(np.dtype(f"uint{size}"))[variable.position] = bits
        else:
            value = values.get(variable.name, 0)
            array[variable.position] = value if number.low < 0 else value % (1 << _bits(number))
    example = compare(pair.before, pair.after, arrays, keeps="exact", tolerance=None)
    if example is None:
        shown = ", ".join(f"{name}={array.tolist()}" for name, array in arrays.items())
        raise ReplayError(
            f"z3 says that {_called(pair.before)} and {_called(pair.after)} differ for {shown}, and in numpy they do "
            "not; please report this as a fault of graphrewrite.testing.proof"
        )
    if keeps != "exact" and compare(pair.before, pair.after, arrays, keeps=keeps, tolerance=None) is None:
        verdict = "left out" if keeps == "assumes" else "unknown"
        return Instance(pair.before, verdict, "it keeps its result within rounding only, and bits do differ")
    return Instance(pair.before, "refuted", counterexample=Refutation.of(example, pair.rules))


def overflows(graph: Graph, values: Mapping[str, tuple[Any, ...]]) -> Iterator[Any]:
    r"""Yield the condition under which an entry exceeds the format of its node, or True, for each entry that may.

    Numpy holds such mantissas, hardware does not.

    Parameters
    ----------
    values : mapping of str to tuple
        The results of nodes, as `graphrewrite.testing.proof.translation.Translation` gives them.

    Examples
    --------
    >>> import numpy as np
    >>> from graphrewrite.testing.proof.number import unknown_number
    >>> g = Graph.parse("graph g\nx = input() : s4f0[1]\na = relu(x)\ny = output(a)")
    >>> a = SymbolicArray(np.array([unknown_number("a", -8, 9)]), np.dtype(np.int8))
    >>> list(overflows(g, {"a": (a,)}))
    [7 < a]
    """
    for node, results in values.items():
        if node not in graph or graph.nodes[node]["type"] == "output":
            continue
        for index, array in enumerate(results):
            element = graph.result_type(node, index).element
            if not isinstance(element, FixedPoint) or not isinstance(array, SymbolicArray):
                continue
            least, most = Number.of(element.minimum), Number.of(element.maximum)
            for number in array.entries.reshape(-1):
                yield from (beyond for beyond in (most.less(number), number.less(least)) if beyond is not False)
