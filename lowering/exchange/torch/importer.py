"""Build a graph from an exported program of PyTorch by the tables of ops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite import Graph, GraphRewriteError, Tensor
from graphrewrite.errors import did_you_mean
from graphrewrite.graph import Value
from graphrewrite.lowering.errors import ModelError, UnsupportedOpsError
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.hooks import Hook, Hooks, ModelInfo, ModelNode
from graphrewrite.lowering.exchange.static_values import StaticValues, remove_consumed
from graphrewrite.lowering.exchange.torch.call import Call, Row, cast
from graphrewrite.lowering.exchange.torch.names import Names, output_names
from graphrewrite.lowering.exchange.torch.program import op_name
from graphrewrite.lowering.exchange.torch.sizes import size_of
from graphrewrite.types import as_element

__all__ = ["Importer"]

_MOST_LISTED = 50
_NOTHING = ("device", "layout", "memory_format", "generator")
"""Kinds of PyTorch's values that say nothing about numbers."""


class Importer:
    """Import of one program without operations in place."""

    def __init__(
        self, program: Any, table: Mapping[str, Row], name: str, sizes: Mapping[str, Mapping[int, str]]
    ) -> None:
        import torch

        self.torch, self.program, self.table, self.sizes = torch, program, table, sizes
        self.graph = Graph(name)
        self.values: dict[str, Any] = {}
        self.static = StaticValues(self.graph)
        self.consumed: list[str] = []
        self.names = Names(self.graph, program.graph.nodes)
        self.symbols: dict[str, str] = {}
        signature = program.graph_signature
        self.user_inputs = [spec for spec in signature.input_specs if spec.kind.name == "USER_INPUT"]
        self.stored = {
            spec.arg.name: spec.target
            for spec in signature.input_specs
            if spec.kind.name in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR")
        }
        self.hooks: Hooks | None = None
        self.parameters = {spec.target for spec in signature.input_specs if spec.kind.name == "PARAMETER"}
        self.changed: dict[str, str] = {
            spec.target: spec.arg.name for spec in signature.output_specs if spec.kind.name == "BUFFER_MUTATION"
        }

    def run(self, hooks: Sequence[Hook] = ()) -> Graph:
        """Return the graph, as hooks leave it."""
        nodes = list(self.program.graph.nodes)
        needed = self.needed()
        if hooks:
            self.hooks = Hooks(hooks, self.info([node for node in nodes if node.name in needed]))
            self.hooks.before_model()
        self.check([node for node in nodes if node.name in needed])
        self.name_symbols({node.name: node for node in nodes})
        for node in nodes:
            if node.op == "placeholder":
                self.placeholder(node, node.name in needed)
            elif node.op == "call_function" and node.name in needed:
                self.translate(node)
        self.outputs()
        remove_consumed(self.graph, self.consumed)
        graph = self.names.applied()
        return graph if self.hooks is None else self.hooks.after_model(graph)

    def info(self, nodes: list[Any]) -> ModelInfo:
        """Return what hooks are told of the program."""
        calls = [n for n in nodes if n.op == "call_function" and not _is_number(n) and op_name(n.target) != "getitem"]
        version = str(self.torch.__version__)
        ops = {self.names.label(node): op_name(node.target) for node in calls}
        return ModelInfo("torch", f"torch {version}", {"torch": version}, ops)

    def ends(self) -> list[tuple[str, Any]]:
        """Return kind and name, or value, of each result."""
        found = []
        for spec in self.program.graph_signature.output_specs:
            kind, arg = spec.kind.name, spec.arg
            if kind not in ("USER_OUTPUT", "BUFFER_MUTATION"):
                raise ModelError(f"the program has a result of the kind {kind}, which is not supported")
            found.append((kind, arg.name if hasattr(arg, "name") and not hasattr(arg, "value") else arg))
        return found

    def needed(self) -> set[str]:
        """Return the names of nodes on which results depend."""
        nodes = {node.name: node for node in self.program.graph.nodes}
        pending = [end for _, end in self.ends() if isinstance(end, str)]
        found: set[str] = set()
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                node = nodes[name]
                # A size is known by its expression, whatever computes it.
                pending += [] if _is_number(node) else [each.name for each in node.all_input_nodes]
        return found

    def check(self, nodes: list[Any]) -> None:
        """Raise if there are ops that the table lacks, with all of them."""
        missing: dict[str, list[str]] = {}
        for node in nodes:
            if _is_number(node) or op_name(node.target) in ("getitem", *self.table):
                continue
            is_call = node.op == "call_function"
            if is_call and self.hooks and self.hooks.are_for(op_name(node.target), self.names.label(node), before=True):
                continue
            if is_call:
                missing.setdefault(op_name(node.target), []).append(self.names.label(node))
            elif node.op not in ("call_function", "placeholder", "output"):
                missing.setdefault(f"{node.op} {node.target}", []).append(node.name)
        if missing:
            listed = "; ".join(
                f"{each} ({', '.join(map(repr, places[:3]))})"
                for each, places in sorted(missing.items())[:_MOST_LISTED]
            )
            raise UnsupportedOpsError(f"the program has ops that are not supported: {listed}")

    def name_symbols(self, nodes: Mapping[str, Any]) -> None:
        """Name open sizes as the caller does; the first size of inputs, where one alone is open, N; others stay."""
        firsts = set()
        for spec in self.user_inputs:
            node = nodes.get(getattr(spec.arg, "name", ""))
            shape = getattr(node.meta.get("val"), "shape", ()) if node is not None else ()
            given = self.sizes.get(getattr(spec.arg, "name", ""), {})
            for axis, size in enumerate(shape):
                if isinstance(size, int) or not size.node.expr.is_Symbol:
                    continue
                symbol = size.node.expr.name
                name = given.get(axis, given.get(axis - len(shape)))
                if name is not None:
                    self.symbols.setdefault(symbol, name)
                elif axis == 0:
                    firsts.add(symbol)
        if len(firsts) == 1 and not self.symbols:
            self.symbols[firsts.pop()] = "N"

    def placeholder(self, node: Any, is_needed: bool) -> None:
        """Add an input, a weight, or a buffer that changes: an input whose next value is an output."""
        if node.name in self.stored:
            target = self.stored[node.name]
            if target in self.changed:
                self.values[node.name] = self.state(node, target)
            elif is_needed:
                self.values[node.name] = self.weight(target)
            return
        value = node.meta.get("val")
        if isinstance(value, self.torch.Tensor):
            self.values[node.name] = self.graph.input(self.names.own(node.name), self.type_of(value))
        elif is_needed and not isinstance(value, int | float | bool | str | type(None)):
            raise ModelError(f"the input {node.name!r} is no tensor, which is not supported ({type(value).__name__})")
        else:
            self.values[node.name] = value

    def weight(self, target: str) -> Value:
        """Add a constant that shares the memory of a tensor of the model."""
        tensor = self.tensor(target)
        array, element = _shared(self.torch, tensor)
        value = self.graph.constant(array, type=Tensor(element, tuple(tensor.shape)), origin=(target,))
        if target not in self.parameters and tensor.is_floating_point():
            # A buffer: neither `fit` nor `to_torch` makes it a weight.
            self.graph.nodes[value.node]["trainable"] = False
        self.names.wish(value.node, target)
        return value

    def tensor(self, target: str) -> Any:
        """Return a parameter, buffer or constant of the program."""
        for source in (self.program.state_dict, self.program.constants):
            if target in source:
                return source[target].detach()
        raise ModelError(f"the program has no values for {target!r}")

    def state(self, node: Any, target: str) -> Value:
        """Add an input for a buffer that the program changes, with its initial value as an annotation."""
        tensor = self.tensor(target)
        name = self.names.own(target)
        value = self.graph.input(name, self.type_of(tensor))
        self.graph.nodes[name]["initial"] = np.array(_shared(self.torch, tensor)[0])
        self.graph.nodes[name]["next"] = f"{name}.next"
        return value

    def type_of(self, tensor: Any) -> Tensor:
        """Return the type of a tensor."""
        try:
            return Tensor(as_element(str(tensor.dtype)), tuple(size_of(size, self.symbols) for size in tensor.shape))
        except GraphRewriteError as error:
            raise Unfit(f"tensors of {tensor.dtype} are not supported") from error

    def translate(self, node: Any) -> None:
        """Add the nodes for a call of an op."""
        if _is_number(node):
            return
        if op_name(node.target) == "getitem":
            source, index = node.args
            self.values[node.name] = self.argument(source)[index]
            if self.values[node.name] is None:
                label = self.names.label(source)
                raise ModelError(f"node {label!r} ({op_name(source.target)}): its result {index} is not supported")
            return
        label = self.names.label(node)
        before = len(self.graph)
        try:
            results = self.meaning(node)
        except (GraphRewriteError, Unfit, ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
            reason = f"its argument {error} is missing" if isinstance(error, KeyError) else str(error)
            raise ModelError(f"node {label!r} ({op_name(node.target)}): {reason}") from error
        self.values[node.name] = results
        self.names.note(node, label, before, results)

    def meaning(self, node: Any) -> Any:
        """Return the results of a call."""
        types = tuple(self.result_types(node))
        arguments = {name: self.argument(value) for name, value in self.bound(node)}
        kind, common = op_name(node.target), self.common(node)
        if self.hooks is None or not self.hooks.are_for(kind, self.names.label(node)):
            results = self.table[kind](Call(self.graph, arguments, types, common, self.known))
        else:
            results = self.hooked_results(self.hooks, kind, self.names.label(node), arguments, types, common)
            results = results[0] if len(types) == 1 else results
        if isinstance(results, Value):
            return self.checked(results, types[0]) if len(types) == 1 else (results,)
        # Where an op has further results that nothing reads, such as the saved statistics of norms, they are None.
        paired = zip(results, (*types, *[None] * len(results)), strict=False)
        return tuple(each if each is None or kind is None else self.checked(each, kind) for each, kind in paired)

    def hooked_results(
        self, hooks: Hooks, kind: str, label: str, arguments: Mapping[str, Any], types: tuple[Tensor, ...], common: str
    ) -> tuple[Any, ...]:
        """Return the results of a call as its hooks make them: values that it reads are inputs, others attributes."""
        read = [name for name, value in arguments.items() if _is_read(value)]
        others = {name: value for name, value in arguments.items() if name not in read}

        def translated(node: ModelNode) -> tuple[Any, ...]:
            if node.op not in self.table:
                raise Unfit(f"the library has no op {node.op!r}{did_you_mean(node.op, self.table)}")
            given = {**arguments, **node.attributes, **dict(zip(read, node.inputs, strict=False))}
            found = self.table[node.op](Call(self.graph, given, types, common, self.known))
            return found if isinstance(found, tuple) else (found,)

        inputs = tuple(arguments[name] for name in read)
        return hooks.around(ModelNode(kind, label, inputs, others, len(types), hooks.model), self.graph, translated)

    def checked(self, value: Value, kind: Tensor) -> Any:
        """Return a value in the element type that PyTorch says; raise if its shape is another."""
        found = value.type.shape
        differs = len(found) != len(kind.shape) or any(
            isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(found, kind.shape, strict=True)
        )
        if differs:
            raise Unfit(f"it gives {value.type}, and PyTorch says {kind}")
        return cast(value, kind.element)

    def result_types(self, node: Any) -> Iterator[Tensor]:
        """Yield the types of the results that are tensors."""
        given = node.meta.get("val")
        for each in given if isinstance(given, tuple | list) else (given,):
            if isinstance(each, self.torch.Tensor):
                yield self.type_of(each)

    def bound(self, node: Any) -> Iterator[tuple[str, Any]]:
        """Yield all arguments of a call by name, with defaults."""
        schema = node.target._schema
        for index, each in enumerate(schema.arguments):
            if index < len(node.args):
                yield each.name, node.args[index]
            elif each.name in node.kwargs:
                yield each.name, node.kwargs[each.name]
            else:
                yield each.name, each.default_value if each.has_default_value() else None

    def argument(self, given: Any) -> Any:
        """Return an argument as tables take it."""
        torch = self.torch
        if isinstance(given, torch.fx.Node):
            if _is_number(given):
                value = given.meta["val"]
                if isinstance(value, (int, torch.SymInt)):
                    return size_of(value, self.symbols)
                if isinstance(value, bool | float):
                    return value
                raise Unfit(f"it computes with {value}, a number that follows from open sizes, which is not supported")
            return self.values[given.name]
        if isinstance(given, list | tuple):
            return tuple(self.argument(each) for each in given)
        if isinstance(given, torch.dtype):
            return as_element(str(given))
        if type(given).__name__ in _NOTHING:
            return None
        if isinstance(given, torch.SymInt):
            return size_of(given, self.symbols)
        return given

    def common(self, node: Any) -> str:
        """Return the element type in which PyTorch computes with the first two operands."""
        operands = [a.meta["val"] if isinstance(a, self.torch.fx.Node) else a for a in node.args[:2]]
        numbers = [each for each in operands if isinstance(each, self.torch.Tensor | int | float | bool)]
        if not numbers or not any(isinstance(each, self.torch.Tensor) for each in numbers):
            return "f32"
        return str(as_element(str(self.torch.result_type(numbers[0], numbers[-1]))))

    def known(self, value: Value) -> np.ndarray | None:
        """Return the array of a value that does not depend on inputs; what computes it may be without readers then."""
        found = self.static.array(value)
        if found is not None:
            self.consumed.append(value.node)
        return found

    def outputs(self) -> None:
        """Add the outputs: what the module returns, and the next values of buffers."""
        labels = iter(output_names(self.program, self.torch))
        targets = {spec: target for target, spec in self.changed.items()}
        last = []
        for kind, end in self.ends():
            if kind == "BUFFER_MUTATION":
                last.append((f"{self.names.kept(targets[end])}.next", self.values[end]))
                continue
            label = next(labels)
            value = self.values.get(end) if isinstance(end, str) else None
            if isinstance(value, Value):
                self.graph.output(self.names.own(label), value)
            elif not isinstance(end, str) and getattr(end, "value", None) is None:
                continue  # the module returns None there
            else:
                raise ModelError(f"the result {label!r} is no tensor, which is not supported")
        for name, value in last:
            self.graph.output(name, value)


def _is_read(value: Any) -> bool:
    """Tell whether an argument is a value of the graph, or a list of them."""
    return isinstance(value, Value) or (isinstance(value, tuple) and any(isinstance(each, Value) for each in value))


def _is_number(node: Any) -> bool:
    """Tell whether a node gives a number: a size, or one that follows from sizes."""
    value = node.meta.get("val")
    kind = type(value).__name__
    return node.op == "call_function" and (kind in ("SymInt", "SymFloat", "SymBool", "int", "float", "bool"))


def _shared(torch: Any, tensor: Any) -> tuple[np.ndarray, Any]:
    """Return the numbers of a tensor as an array on its memory that cannot be written to."""
    if tensor.device.type != "cpu" or tensor.layout != torch.strided:
        raise ModelError(f"a tensor of the model is on {tensor.device}, or sparse; move it: model.to('cpu')")
    try:
        element = as_element(str(tensor.dtype))
    except GraphRewriteError as error:
        raise ModelError(f"tensors of {tensor.dtype} are not supported") from error
    if element in ("f32", "f64", "f16", "bool", "i8", "i16", "i32", "i64", "u8"):
        return np.asarray(memoryview(tensor.resolve_conj().resolve_neg().numpy()).toreadonly()), element
    return tensor.to(torch.float32).numpy(), element
