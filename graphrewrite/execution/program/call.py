"""Call: the evaluation of one node by its op's function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphrewrite.errors import EvaluationError, GraphError, TypeMismatchError, UnknownOpError, did_you_mean
from graphrewrite.execution.effects import note_effect
from graphrewrite.execution.implementation import Implementation
from graphrewrite.execution.program.compiled_body import CompiledBody
from graphrewrite.graph import Graph, Operand
from graphrewrite.hierarchy.bound_sizes import attributes_with_sizes
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.op import LIBRARY, constant, find_op, into, output, reshape
from graphrewrite.op.axes import Arrangement
from graphrewrite.op.memory.destination import attributes_of_into
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import attributes_in
from graphrewrite.types import (
    EdgeType,
    Tensor,
    Type,
    boxed,
    element_dtype,
    hold,
    sizes_in,
    symbols,
    unboxed,
    with_sizes,
)

__all__ = ["Call", "Values", "carries_objects", "constant_value"]

Values = dict[str, tuple[np.ndarray, ...]]
"""The results of each node, batch first."""


@dataclass(frozen=True)
class Call:
    """A call of a node's op, independent of later changes of the graph.

    Attributes
    ----------
    node : str
        Its name.
    op : Op
        Its op.
    attributes : mapping
        Its attributes, with defaults.
    operands : tuple of Operand
        Its operands.
    results : tuple of Type
        Types of its results; empty if none are stated.
    arrangement : Arrangement, optional
        Transposes around the op's function, if the axes are in another order.
    has_objects : bool
        Whether some operand or result is no tensor: the op's function gets and gives objects in their place.
    stated : tuple of Type
        Types of its results before numbers were put in place of sizes in its attributes; empty if there are none.
    is_read : bool
        Whether something reads its results; of an effect that nobody reads, the function may return nothing.
    """

    node: str
    op: Op
    attributes: Mapping[str, Any]
    operands: tuple[Operand, ...]
    results: tuple[Type, ...]
    arrangement: Arrangement | None = None
    stated: tuple[Type, ...] = ()
    has_objects: bool = False
    is_read: bool = True

    @classmethod
    def of(cls, graph: Graph, node: str, implementations: Sequence[Implementation] = ()) -> Call:
        """Return the call of a node, whose op must be known; graphs that it holds run by implementations, if given."""
        op = graph.op(node)
        data, attributes = graph._node[node], op.attributes
        stated = data.get("result", ())
        results = stated if isinstance(stated, tuple) else (stated,)
        operands, own = graph.operands(node), attributes_in(data, op)
        if op is into:  # what is computed is the same, wherever the result lies
            op, operands, own = _computed(graph, own, operands)
            attributes = op.attributes
        arrangement = None if op.axes is None else _arrangement(graph, node, op, operands)
        if own:
            bodies = {key: CompiledBody(v, implementations) for key, v in own.items() if isinstance(v, Graph)}
            attributes = {**attributes, **own, **bodies}
        has_objects = op is not output and carries_objects(graph, operands, results)
        return cls(node, op, attributes, operands, results, arrangement, has_objects=has_objects)

    @property
    def names(self) -> frozenset[str]:
        """Names of the sizes in its attributes, which need values before it runs."""
        return self._names if self.op.sized else frozenset()

    @cached_property
    def _names(self) -> frozenset[str]:
        found = [size for key in self.op.sized & self.attributes.keys() for size in sizes_in(self.attributes[key])]
        shape = self.attributes["shape"] if self.op is reshape else ()
        if self.op is reshape and 0 not in self.results[0].shape and len(found) == 1 and -1 not in shape:
            return frozenset()  # a single size is what the others leave, if there are entries
        return frozenset(name for size in found for name in symbols(size))

    def with_sizes(self, sizes: Mapping[str, int]) -> Call:
        """Return the call with numbers in place of the names of sizes."""
        if missing := self.names - sizes.keys():
            raise EvaluationError(
                f"{self.op.name} needs the size {min(missing)}, which no given input determines; pass the input whose "
                "type has it, or write a number",
                node=self.node,
            )
        results = tuple(with_sizes(kind, sizes) for kind in self.results)
        result = results[0] if len(results) == 1 else None
        attributes = {**self.attributes, **attributes_with_sizes(self.op, self.attributes, result, sizes)}
        return self.replaced(type(self), results=results, attributes=attributes, stated=self.results)

    def replaced(self, kind: type[Call], **changes: Any) -> Call:
        """Return a call of a class with other values of some fields; `dataclasses.replace` is slow."""
        call = object.__new__(kind)
        call.__dict__.update(self.__dict__, **changes)
        return call

    @property
    def is_real(self) -> bool:
        """Whether it has a single f32 or f64 result."""
        return len(self.results) == 1 and self.results[0].element in ("f32", "f64")

    @cached_property
    def plain(self) -> np.dtype | None:
        """The dtype of a single f32 or f64 result, which needs no conversion."""
        return element_dtype(self.results[0].element) if self.is_real else None

    def run(self, values: Values) -> None:
        """Compute the node by its op's function."""
        arrays = [values[node][result] for node, result in self.operands]
        if not isinstance(self.op, GraphOp) and self.op.effects:  # a graph has those of the nodes in it
            note_effect(self.node, self.op.name, arrays, self.attributes)
        try:
            if self.has_objects:
                results = self._of_objects(arrays)
            else:
                results = self.computed(arrays)
            results = self._as_typed(results)
        except GraphError:
            raise
        except Exception as error:
            raise self.failure(arrays, error) from error
        if not results and self.results and self.is_read:
            raise EvaluationError(f"the function of {self.op.name} returned nothing; return its result", node=self.node)
        if self.stated:
            self._check_sizes(results)
        values[self.node] = results

    def bound(
        self,
        constants: Mapping[str, tuple[np.ndarray, ...]],
        *,
        prepared: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> Callable[[Values], None]:
        """Return a function that does what `run` does, with less to ask in each of many runs.

        Parameters
        ----------
        constants : mapping of str to tuple of ndarray
            The results of nodes that are the same in each run.
        prepared : callable, optional
            A function of the first operand that gives the same bits as the op's of all, with its attributes.
        """
        dtype, node, operands = self.plain, self.node, self.operands
        if type(self) is not Call or self.arrangement is not None or self.has_objects or self.stated:
            return self.run
        if self.op is output and len(operands) == 1:
            ((source, index),) = operands

            def pass_on(values: Values) -> None:
                values[node] = (values[source][index],)

            return pass_on
        if dtype is None or isinstance(self.op, GraphOp) or self.op.effects:
            return self.run
        if prepared is not None:
            ((source, index), *_) = operands

            def compute_prepared(values: Values) -> None:
                try:
                    values[node] = (prepared(values[source][index]),)
                except Exception:
                    self.run(values)  # raises, with all operands

            return compute_prepared
        function, attributes = self.op.function, self.attributes

        def compute(values: Values) -> None:
            arrays = [values[source][index] for source, index in operands]
            try:
                result = function(*arrays, **attributes)
                if type(result) is np.ndarray and result.dtype is dtype:
                    values[node] = (result,)
                    return
                if result is None:
                    raise EvaluationError(
                        f"the function of {self.op.name} returned nothing; return its result", node=node
                    )
                results = tuple(map(np.asarray, result if isinstance(result, tuple) else (result,)))
                values[node] = self._as_typed(results)
            except GraphError:
                raise
            except Exception as error:
                raise self.failure(arrays, error) from error

        return compute

    def _as_typed(self, results: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Return results in the dtypes of their types."""
        if self.op is not output and (self.plain is None or len(results) != 1 or results[0].dtype != self.plain):
            return tuple(self._held(i, array) for i, array in enumerate(results))
        return results

    def computed(self, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the results for operands, before they are brought into the dtypes of their types."""
        return self.op.compute(arrays, self.attributes, self.arrangement)

    def _of_objects(self, arrays: Iterable[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the results for operands of which some are boxes, in which objects go through an evaluation."""
        computed = self.op.function(*map(unboxed, arrays), **self.attributes)
        if computed is None:
            return ()
        each = (computed,) if len(self.results) == 1 else tuple(computed)
        return tuple(
            boxed(kind.as_value(unboxed(value))) if isinstance(kind, EdgeType) else np.asarray(value)
            for kind, value in zip(self.results, each, strict=True)
        )

    def _check_sizes(self, results: Sequence[np.ndarray]) -> None:
        """Raise if results have other sizes than their types say: a slice to ``seq`` must lie inside, say."""
        for kind, stated, array in zip(self.results, self.stated, results, strict=False):
            if len(kind.shape) != array.ndim or any(
                isinstance(size, int) and size != got for size, got in zip(kind.shape, array.shape, strict=True)
            ):
                raise EvaluationError(
                    f"{self.op.name} gives an array of shape {list(array.shape)}, and its type {stated} is {kind} "
                    "here; the inputs have sizes that the graph cannot take",
                    node=self.node,
                )

    def failure(self, arrays: Iterable[np.ndarray], error: Exception) -> EvaluationError:
        """Return the error of a call on some arrays."""
        shapes = ", ".join(f"{a.dtype}{list(a.shape)}" for a in arrays)
        return EvaluationError(f"{self.op.name}({shapes}) failed: {error}", node=self.node)

    def _held(self, result: int, array: np.ndarray) -> np.ndarray:
        """Return a result in the dtype of its type; functions may compute in another one, such as for indices."""
        if result >= len(self.results):
            raise GraphError("has no result type", node=self.node)
        return hold(self.results[result].element, array)


def constant_value(graph: Graph, node: str) -> np.ndarray | None:
    """Return the value of a constant, as its call computes it; None for other nodes."""
    data = graph._node[node]
    if data.get("type") != "constant" or graph.op(node) is not constant or not isinstance(data.get("result"), Tensor):
        return None
    value, element = data.get("value"), data["result"].element
    if type(value) is np.ndarray and element in ("f32", "f64") and value.dtype == element_dtype(element):
        return value  # as most are, so that there is nothing to look for
    return hold(element, value) if isinstance(value, np.ndarray) else None


def _computed(
    graph: Graph, attributes: Mapping[str, Any], operands: tuple[Operand, ...]
) -> tuple[Op, tuple[Operand, ...], dict[str, Any]]:
    """Return the op that is computed into a region, what it reads, and its attributes."""
    op = find_op(attributes["of"], graph.ops)
    if op is None:
        raise UnknownOpError(f"computes {attributes['of']!r}, which is no op{did_you_mean(attributes['of'], LIBRARY)}")
    computed = {key: value for key, value in attributes.items() if key not in ("of", "outs")}
    return op, operands[attributes.get("outs", 1) :], attributes_of_into(**computed)


def carries_objects(graph: Graph, operands: Iterable[Operand], results: Iterable[Type]) -> bool:
    """Tell whether some operand or result is of a type that is no tensor."""
    for kind in results:
        if type(kind) is not Tensor and isinstance(kind, EdgeType):
            return True
    nodes = graph._node
    for source, _ in operands:
        read = nodes[source].get("result")
        if type(read) is not Tensor and any(
            isinstance(kind, EdgeType) for kind in (read if isinstance(read, tuple) else (read,))
        ):
            return True
    return False


def _arrangement(graph: Graph, node: str, op: Op, operands: tuple[Operand, ...]) -> Arrangement | None:
    stated = [graph.nodes[source].get("result") for source, _ in operands]
    types = [
        result[o.result] if isinstance(result, tuple) else result for result, o in zip(stated, operands, strict=True)
    ]
    try:
        return None if None in types else op.arrangement(types)
    except TypeMismatchError as error:
        raise EvaluationError(str(error), node=node) from error
