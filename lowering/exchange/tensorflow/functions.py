"""Functions of TensorFlow: written in place of their calls, or taken as the bodies of control flow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from graphrewrite.errors import did_you_mean
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.tensorflow.frames import FunctionBody, structured
from graphrewrite.lowering.exchange.tensorflow.node import Node

__all__ = ["FunctionBody", "Functions", "called_function", "source_of"]

_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_MOST_NODES = 1_000_000
_DEEPEST = 64
"""Most functions that call each other."""
_NORM = ["y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"]
_RESULTS = {
    "FusedBatchNorm": _NORM,
    "FusedBatchNormV2": _NORM,
    "FusedBatchNormV3": _NORM,
    "TopKV2": ["values", "indices"],
    "Unique": ["y", "idx"],
    "NonMaxSuppressionV4": ["selected_indices", "valid_outputs"],
}
"""Names of the results of ops that have several."""


class Functions:
    """The functions of a file.

    Parameters
    ----------
    messages : iterable
        The functions as they are stored.
    """

    def __init__(self, messages: Iterable[Any]) -> None:
        self.messages = {each.signature.name: each for each in messages}
        self.bodies: dict[str, FunctionBody] = {}
        """Those of loops and branches that are written without functions."""

    def without_calls(self, nodes: Iterable[Any]) -> tuple[tuple[Node, ...], dict[str, list[tuple[str, int]]]]:
        """Return stored nodes, with those of functions in place of calls, and what stands for the results of a call.

        Each node comes after those that it reads.

        Raises
        ------
        ModelError
            If nodes are missing or go round in a circle, or functions call themselves.
        """
        inlined = _Inlined(self.messages)
        for each in nodes:
            inlined.node(each, "", source_of, 0)
        calls = {name: [inlined.final(each) for each in results] for name, results in inlined.results.items()}
        found, replaced = structured(inlined.finished(), self.bodies)
        calls = {name: [replaced.get(each, each) for each in results] for name, results in calls.items()}
        return _sorted(found), calls | {name: [new] for (name, _), new in replaced.items()}

    def body(self, name: str) -> FunctionBody:
        """Return a function as nodes.

        Raises
        ------
        ModelError
            If there is no such function, or it is damaged.
        """
        if name in self.bodies:
            stored = self.bodies[name]
            return replace(stored, nodes=_sorted({each.name: each for each in stored.nodes}, stored.parameters))
        if name not in self.messages:
            raise ModelError(f"there is no function {name!r}{did_you_mean(name, self.messages)}")
        function = self.messages[name]
        parameters = tuple(arg.name for arg in function.signature.input_arg)
        inlined = _Inlined(self.messages)
        results = inlined.written_out(function, "", {each: (each, 0) for each in parameters}, 0)
        nodes, replaced = structured(inlined.finished(), self.bodies)
        finals = map(inlined.final, results)
        return FunctionBody(parameters, _sorted(nodes, parameters), tuple(replaced.get(e, e) for e in finals))


class _Inlined:
    """Nodes in which those of functions stand in place of the calls."""

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self.functions = functions
        self.nodes: dict[str, Node] = {}
        self.results: dict[str, list[tuple[str, int]]] = {}
        """What stands for the results of a call."""

    def finished(self) -> dict[str, Node]:
        """Return the nodes, with what they read."""
        return {name: replace(node, inputs=tuple(map(self.final, node.inputs))) for name, node in self.nodes.items()}

    def final(self, source: tuple[str, int]) -> tuple[str, int]:
        """Return what a source stands for, through calls of functions."""
        for _ in range(_DEEPEST):
            if source[0] not in self.results:
                return source
            results = self.results[source[0]]
            if source[1] >= len(results):
                raise ModelError(f"the call {source[0]!r} has {len(results)} results, and result {source[1]} is read")
            source = results[source[1]]
        raise ModelError(f"functions call each other more than {_DEEPEST} times at {source[0]!r}")

    def node(self, message: Any, prefix: str, source: Callable[[str], tuple[str, int]], depth: int) -> None:
        """Add a node, or those of the function that it calls; ``source`` tells what a text denotes."""
        name, inputs = f"{prefix}{message.name}", [source(text) for text in message.input if text[:1] != "^"]
        if name in self.nodes or name in self.results:
            raise ModelError(f"two nodes have the name {name!r}; freeze the graph again")
        if len(self.nodes) >= _MOST_NODES:
            raise ModelError(f"the graph has more than {_MOST_NODES} nodes")
        attributes = {each.key: each.value for each in message.attr}
        called = called_function(message)
        if called in self.functions:
            self.call(self.functions[called], name, inputs, depth + 1)
        else:
            after = tuple(f"{prefix}{text[1:]}" for text in message.input if text[:1] == "^")
            self.nodes[name] = Node(name, message.op, tuple(inputs), attributes, after=after)

    def call(self, function: Any, name: str, inputs: list[tuple[str, int]], depth: int) -> None:
        """Write the nodes of a function in place of a call."""
        if depth > _DEEPEST:
            raise ModelError(f"the call {name!r} is of a function that calls itself, or of too many in a row")
        parameters = [arg.name for arg in function.signature.input_arg]
        if len(parameters) != len(inputs):
            raise ModelError(f"the call {name!r} passes {len(inputs)} values, and its function takes {len(parameters)}")
        given = dict(zip(parameters, inputs, strict=True))
        self.results[name] = self.written_out(function, f"{name}/", given, depth)

    def written_out(
        self, function: Any, prefix: str, given: Mapping[str, tuple[str, int]], depth: int
    ) -> list[tuple[str, int]]:
        """Add the nodes of a function, and return what stands for its results."""
        bodies = {each.name: each for each in function.node_def}

        def source(text: str) -> tuple[str, int]:
            """Return what a text in a function denotes: ``parameter``, or ``node:result:index``."""
            head, *rest = text.split(":")
            if head in given and not rest:
                return given[head]
            place = self.offsets(bodies.get(head), rest[0] if len(rest) > 1 else "")
            return f"{prefix}{head}", place + int(rest[-1] if rest and rest[-1].isdigit() else 0)

        for each in function.node_def:
            self.node(each, prefix, source, depth)
        results = {pair.key: pair.value for pair in function.ret}
        return [source(results.get(arg.name, arg.name)) for arg in function.signature.output_arg]

    def offsets(self, message: Any, result: str) -> int:
        """Return the index of a named result of a node."""
        if message is None:
            return 0
        called = called_function(message)
        if called in self.functions and message.op not in _CALLS:
            names = [arg.name for arg in self.functions[called].signature.output_arg]
        else:
            names = _RESULTS.get(message.op, [])
        return names.index(result) if result in names else 0


def called_function(node: Any) -> str:
    """Return the name of the function that a stored node calls, or else its op, which may be one itself."""
    names = (each.value.func.name for each in node.attr if each.key == "f" and node.op in _CALLS)
    return str(next(names, node.op))


def source_of(text: str) -> tuple[str, int]:
    """Return the node and the index of the result that ``node`` or ``node:index`` denotes."""
    name, _, index = text.partition(":")
    return name, int(index) if index.isdigit() else 0


def _sorted(nodes: Mapping[str, Node], parameters: Iterable[str] = ()) -> tuple[Node, ...]:
    """Return nodes after those that they read; parameters are given."""
    done: dict[str, bool] = dict.fromkeys(parameters, True)
    found: list[Node] = []
    for start in nodes:
        pending = [start]
        while pending:
            name = pending[-1]
            if done.get(name):
                pending.pop()
                continue
            if name in done:
                done[name] = True
                found.append(nodes[name])
                pending.pop()
                continue
            done[name] = False
            for source, _ in nodes[name].inputs:
                if source not in nodes and source not in done:
                    raise ModelError(f"node {name!r} reads {source!r}, which is not there{did_you_mean(source, nodes)}")
                if done.get(source) is False and source in pending:
                    raise ModelError(f"nodes go round in a circle at {name!r}; freeze the graph again")
                if source not in done:
                    pending.append(source)
    return tuple(found)
