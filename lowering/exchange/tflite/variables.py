"""Variables of streaming models: what they hold comes in as an input, and goes out as an output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite import Graph, Tensor
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.tflite.model import Network, Operator, Stored

__all__ = ["OPERATORS", "Variables"]

OPERATORS = frozenset({"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"})
"""Operators that have no entry in the table."""


class Variables:
    """The variables of one subgraph by name: those that operators handle, and tensors that keep their values.

    An input has the annotations ``next``, the name of the output with the value after a step, and ``initial``, the
    value before the first one.
    """

    def __init__(self, graph: Graph, networks: Sequence[Network], reserved: set[str]) -> None:
        self.graph, self.networks, self.reserved = graph, networks, reserved
        self.handles: dict[int, str] = {}
        self.initial: dict[str, np.ndarray] = {}
        self.inputs: dict[str, str] = {}
        self.current: dict[str, Value] = {}
        self.formats: dict[str, Any] = {}

    def run(self, operator: Operator, tensors: Sequence[Stored], value_of: Any) -> Value | None:
        """Carry out an operator; return what it reads."""
        if operator.kind == "VAR_HANDLE":
            (handle,) = operator.outputs
            self.handles[handle] = operator.options.get("shared_name") or operator.label
        elif operator.kind == "CALL_ONCE":
            self.initialise(operator.options.get("init_subgraph_index", 0))
        elif operator.kind == "READ_VARIABLE":
            (handle,), (result,) = operator.inputs, operator.outputs
            return self.read(self.name(handle), tensors[result])
        else:
            handle, given = operator.inputs
            self.current[self.name(handle)] = value_of(given)
            self.formats.setdefault(self.name(handle), tensors[given].format)
        return None

    def name(self, handle: int) -> str:
        """Return the name of the variable that a handle is of."""
        if handle not in self.handles:
            raise Unfit("it names no variable: the handle is not of a VAR_HANDLE before it")
        return self.handles[handle]

    def read(self, name: str, tensor: Stored) -> Value:
        """Return the value of a variable, of the type of a tensor that gets it: an input, if it has none yet."""
        if name not in self.current:
            if not tensor.element:
                raise Unfit(f"the variable {name!r} is of a type that is not supported")
            node = name if name not in self.graph and name not in self.reserved else self.graph.fresh(name)
            self.current[name] = self.graph.input(node, Tensor(tensor.element, tensor.shape))
            self.inputs[name] = node
            self.formats[name] = tensor.format
        return self.current[name]

    def initialise(self, index: int) -> None:
        """Read the initial values that a subgraph assigns."""
        if not 0 < index < len(self.networks):
            raise Unfit(f"it calls subgraph {index} of {len(self.networks)}")
        network, handles = self.networks[index], {}
        for operator in network.operators:
            if operator.kind == "VAR_HANDLE":
                handles[operator.outputs[0]] = operator.options.get("shared_name") or operator.label
            elif operator.kind == "ASSIGN_VARIABLE" and operator.inputs[0] in handles:
                array = network.tensors[operator.inputs[1]].array
                if array is None:
                    raise Unfit(f"the initial value of {handles[operator.inputs[0]]!r} is computed, and no constant")
                self.initial[handles[operator.inputs[0]]] = array
            else:
                raise Unfit(f"initialising variables by {operator.kind} is not supported")

    def finish(self) -> None:
        """Add an output for each variable."""
        for name, value in self.current.items():
            node = f"{name}.next"
            node = node if node not in self.graph and node not in self.reserved else self.graph.fresh(node)
            self.graph.output(node, value)
            if name in self.inputs:
                data = self.graph.nodes[self.inputs[name]]
                data["next"] = node
                if name in self.initial:
                    data["initial"] = self.initial[name]
            if self.formats.get(name) is not None:
                for end in {node, self.inputs.get(name, node)}:
                    self.graph.nodes[end]["quantisation"] = self.formats[name]
