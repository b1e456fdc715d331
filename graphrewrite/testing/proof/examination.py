"""Examination of one graph: whether a rule keeps its values for all inputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import z3

from graphrewrite.formats.text import format_exactly
from graphrewrite.graph import Graph
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.testing.comparison import compare
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.proof.array import SymbolicArray
from graphrewrite.testing.proof.decisions import names_in, variables_in
from graphrewrite.testing.proof.floating import same_float
from graphrewrite.testing.proof.number import Number
from graphrewrite.testing.proof.proof import Instance
from graphrewrite.testing.proof.refusal import RoundedSum, Undefined, Untranslatable
from graphrewrite.testing.proof.refutation import Refutation
from graphrewrite.testing.proof.rounding import roundings, subterms
from graphrewrite.testing.proof.sign import both, opposite, same_sign
from graphrewrite.testing.proof.solver import Question, possible
from graphrewrite.testing.proof.translation import Inputs, Translation, bits_of_variable
from graphrewrite.testing.snapshot import interface
from graphrewrite.types import FixedPoint, Type

__all__ = ["Pair", "differing", "distinct", "examined", "overflows", "refuted", "stated"]


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
            return refuted(Pair(before, after, rules), inputs, {}, keeps)
        was = translation.values(before, inputs.arrays)
        became = translation.values(after, inputs.arrays)
        differs = _differences(_outputs(before, was), _outputs(after, became), inputs)
    except Undefined as error:
        return Instance(before, "left out", str(error))
    except RoundedSum as error:  # a rule that assumes something about floats assumes that sums are exact
        return Instance(before, "left out" if keeps == "assumes" else "unknown", str(error))
    except Untranslatable as error:
        return Instance(before, "unknown", str(error))
    if keeps == "assumes" and roundings(subterms(d for d in differs if d is not True)):
        return Instance(before, "left out", "floats round here, which it assumes they do not")
    if not any(overflows(stated(before, was))):
        differs += overflows(stated(after, became))
    for difference in differs:
        if difference is True:
            return refuted(Pair(before, after, rules), inputs, {}, keeps)
        widths = [(v.name, bits_of_variable(v.number)) for v in inputs.variables if not v.number.is_known]
        answer = Question(inputs.constraints, difference, effort=effort).answer(widths)
        if answer.verdict == "unknown":
            return Instance(before, "unknown", f"z3 gave up on {_called(before)} after {effort:,} units of work")
        if answer.verdict == "sometimes":
            return refuted(Pair(before, after, rules), inputs, answer.values, keeps)
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
    """Return the conditions under which outputs differ."""
    conditions = (each for name, a in was.items() for each in differing(a, became[name]))
    return distinct(conditions, inputs.constraints)


def distinct(conditions: Iterable[Any], constraints: Sequence[Any] = (), known: Collection[str] = ()) -> list[Any]:
    """Return conditions, of those that are equal up to the names of variables only one; True alone if it is among them.

    Variables are exchanged together with all constraints that speak of them, so that the others hold as before.

    Parameters
    ----------
    constraints : sequence of z3.BoolRef
        What holds of the variables.
    known : collection of str
        Names that are not exchanged.
    """
    about: dict[str, list[tuple[Any, set[str]]]] = {}
    for constraint in constraints:
        names = names_in([constraint])
        for name in names:
            about.setdefault(name, []).append((constraint, names))
    found: dict[int, list[tuple[Any, Any, set[str]]]] = {}
    for condition in conditions:
        if condition is True:
            return [True]
        variables = {name: term for name, term in variables_in([condition]).items() if name not in known}
        free = set(variables)
        linked = {each.get_id(): (each, names) for n in sorted(free) for each, names in about.get(n, ())}.values()
        alike = condition
        if all(names <= free.union(known) for _, names in linked):
            alike = _numbered(z3.And(condition, *(each for each, _ in linked)), variables.values())
        same = found.setdefault(alike.get_id(), [])
        if all(linked and free != names and free & names for *_, names in same):  # no exchange of one for the other
            same.append((alike, condition, free))
    return [condition for same in found.values() for _, condition, _ in same]


def differing(a: Any, b: Any) -> Iterator[Any]:
    """Yield the conditions under which entries of two arrays differ, or True."""
    was, became = SymbolicArray.of(a), SymbolicArray.of(b)
    if was.shape != became.shape or was.dtype != became.dtype:
        yield True
        return
    for left, right in zip(was.entries.reshape(-1), became.entries.reshape(-1), strict=True):
        same = _same(left, right, was.dtype)
        if same is not True:
            yield opposite(same)


def _numbered(condition: Any, variables: Iterable[Any]) -> Any:
    """Return a condition in which variables have numbers instead of their names."""
    numbered = ((each, z3.Const(f"entry {number}", each.sort())) for number, each in enumerate(variables))
    return z3.substitute(condition, *numbered)


def _same(a: Number, b: Number, dtype: np.dtype[Any]) -> Any:
    if a.opaque or b.opaque:
        return same_float(a, b, dtype)
    equal = a.equals(b)
    if a is b or equal is False or not (a.may_be_zero and b.may_be_zero):
        return equal
    alike = same_sign(a.negative_zero, b.negative_zero)
    if alike is None:
        raise Untranslatable("a result may be a zero of either sign")
    return both(equal, opposite(both(opposite(a.truth), opposite(alike))))


class Pair(NamedTuple):
    """A graph before and after a rule."""

    before: Graph
    after: Graph
    rules: Any


def refuted(pair: Pair, inputs: Inputs, values: dict[str, int], keeps: str) -> Instance:
    """Return what numpy says of inputs for which z3 found a difference."""
    arrays = {name: np.zeros(array.shape, array.dtype) for name, array in inputs.arrays.items()}
    for variable in inputs.variables:
        number, array = variable.number, arrays[variable.input]
        if number.is_known:
            array[variable.position] = number.value
        elif number.opaque:
            size, width = 8 * array.dtype.itemsize, bits_of_variable(number)
            bits = values.get(variable.name, 0) % (1 << width) << size - width
            array.view(np.dtype(f"uint{size}"))[variable.position] = bits
        else:
            value = values.get(variable.name, 0)
            array[variable.position] = value if number.low < 0 else value % (1 << bits_of_variable(number))
    example = compare(pair.before, pair.after, arrays, keeps="exact", tolerance=None)
    if example is None:
        shown = ", ".join(f"{name}={array.tolist()}" for name, array in arrays.items())
        why = (
            f"z3 says that {_called(pair.before)} and {_called(pair.after)} differ for {shown}, numpy that they do not"
        )
        return Instance(pair.before, "unknown", why)
    if keeps != "exact" and compare(pair.before, pair.after, arrays, keeps=keeps, tolerance=None) is None:
        verdict = "left out" if keeps == "assumes" else "unknown"
        return Instance(pair.before, verdict, "it keeps its result within rounding only, and bits do differ")
    return Instance(pair.before, "refuted", counterexample=Refutation.of(example, pair.rules))


def stated(graph: Graph, values: Mapping[str, tuple[Any, ...]]) -> Iterator[tuple[Type, Any]]:
    """Yield the results of nodes, each with its type."""
    for node, results in values.items():
        if node in graph and graph.nodes[node]["type"] != "output":
            for index, array in enumerate(results):
                yield graph.result_type(node, index), array


def overflows(results: Iterable[tuple[Type, Any]]) -> Iterator[Any]:
    """Yield the condition under which an entry exceeds the format of its type, or True, for each entry that may.

    Numpy holds such mantissas, hardware does not.

    Examples
    --------
    >>> import numpy as np
    >>> from graphrewrite import Tensor
    >>> from graphrewrite.testing.proof.number import unknown_number
    >>> a = SymbolicArray(np.array([unknown_number("a", -8, 9)]), np.dtype(np.int8))
    >>> list(overflows([(Tensor(FixedPoint(True, 4), (1,)), a)]))
    [7 < a]
    """
    for kind, array in results:
        element = kind.element
        if not isinstance(element, FixedPoint) or not isinstance(array, SymbolicArray):
            continue
        least, most = Number.of(element.minimum), Number.of(element.maximum)
        for number in array.entries.reshape(-1):
            yield from (beyond for beyond in (most.less(number), number.less(least)) if beyond is not False)
