"""Hooks: functions of the user that are called as a model is imported, per op, per node and per model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from graphrewrite import Graph, verify
from graphrewrite.errors import did_you_mean
from graphrewrite.graph import Value
from graphrewrite.lowering.errors import ModelError

__all__ = ["Hook", "Hooks", "ModelInfo", "ModelNode"]

Made = TypeVar("Made")


@dataclass(frozen=True)
class ModelInfo:
    """What hooks are told of the model that is imported.

    Attributes
    ----------
    framework : str
        ``onnx``, ``tensorflow``, ``tflite``, ``keras`` or ``torch``.
    producer : str
        What wrote the file, with its version; empty where the file does not say it.
    versions : mapping of str to int or str
        Of ONNX, the opset of each domain, the main one by ``""``; of TensorFlow, ``producer`` and ``min_consumer``; of
        TensorFlow Lite, ``schema``; of Keras, ``keras``; of PyTorch, ``torch``, the version that reads the program.
    ops : mapping of str to str
        The op of each node, by its name; empty for a single node.
    """

    framework: str
    producer: str = ""
    versions: Mapping[str, int | str] = field(default_factory=dict)
    ops: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ModelNode:
    """A node of a model as hooks see it: in the framework's own words, but for what it reads.

    `dataclasses.replace` makes a changed one.

    Attributes
    ----------
    op, name : str
        The framework's name of its op, with the domain in front where that is not ONNX's own; and the node's name.
    inputs : tuple
        What it reads: values of the graph, None where an input is missing. Of a single node, which has no graph, names.
    attributes : mapping of str to object
        Its attributes, options or settings, as numbers, texts, arrays and tuples of these.
    outputs : int
        How many results it has.
    model : ModelInfo
        The model, with its versions.
    """

    op: str
    name: str
    inputs: tuple[Any, ...]
    attributes: Mapping[str, Any]
    outputs: int
    model: ModelInfo = field(repr=False)


@dataclass(frozen=True)
class Hook:
    """Functions that are called before and after nodes are imported, or the whole model.

    With ``op`` or ``node``, it is one of nodes:

    - ``before(node)`` gets a `ModelNode`. It returns None, and the node is imported as it is; or another `ModelNode`,
      which is imported in its place: with another op, other attributes, other operands; or the values that its results
      become: nothing of the node is left, and ops may have been added to the graph. Then the library need not know its
      op.
    - ``after(node, *results)`` gets the values of its results as well. It returns None, or other values for them.

    With neither, it is one of the model: ``before(model)`` gets a `ModelInfo` and returns None, or new names of inputs,
    outputs and nodes by those of the model; ``after(model, graph)`` returns None, or the graph to go on with.

    Attributes
    ----------
    before, after : callable, optional
        The functions.
    op : str, optional
        The framework's name of the op whose nodes they are for.
    node : str, optional
        The name of the node that they are for.

    Examples
    --------
    An op that this library does not know becomes two that it does.

    >>> import onnx
    >>> from graphrewrite import op
    >>> from graphrewrite.lowering import Hook, from_onnx
    >>> def swirl(node):
    ...     (x,) = node.inputs
    ...     return op.mul(x, op.sigmoid(x)) if node.model.versions["acme"] == 1 else None
    >>> model = onnx.helper.make_model(
    ...     onnx.parser.parse_graph("g (float[N, 2] x) => (float[N, 2] y) { y = acme.Swirl (x) }"),
    ...     opset_imports=[onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("acme", 1)])
    >>> print(from_onnx(model, hooks=[Hook(before=swirl, op="acme.Swirl")]))
    graph g
    x = input() : f32[N,2]
    sigmoid_1 = sigmoid(x) : f32[N,2]
    mul_1 = mul(x, sigmoid_1) : f32[N,2]
    y = output(mul_1)
    """

    before: Callable[..., Any] | None = None
    after: Callable[..., Any] | None = None
    op: str | None = None
    node: str | None = None

    @property
    def is_of_model(self) -> bool:
        """Whether it is one of the whole model."""
        return self.op is None and self.node is None

    def fits(self, op: str, name: str) -> bool:
        """Tell whether it is for a node."""
        return not self.is_of_model and self.op in (None, op) and self.node in (None, name)


class Hooks:
    """The hooks of one import."""

    def __init__(self, hooks: Iterable[Hook], model: ModelInfo) -> None:
        self.hooks, self.model = tuple(hooks), model
        self.names: dict[Any, str] = {}
        for hook in self.hooks:
            if not isinstance(hook, Hook):
                raise ModelError(f"{hook!r} is no hook; write Hook(before=function, op='Conv')")
            if hook.before is None and hook.after is None:
                raise ModelError(f"{hook!r} has no function; give it before= or after=")
            if hook.node is not None and model.ops and hook.node not in model.ops:
                near = did_you_mean(hook.node, model.ops)
                raise ModelError(f"a hook is for the node {hook.node!r}, which the model does not have{near}")

    def are_for(self, op: str, name: str, *, before: bool = False) -> bool:
        """Tell whether there is one for a node; or one that may give the node another meaning."""
        return any(hook.fits(op, name) and (hook.before is not None or not before) for hook in self.hooks)

    def around(
        self, node: ModelNode, graph: Graph, translate: Callable[[ModelNode], tuple[Value, ...]]
    ) -> tuple[Value, ...]:
        """Return the results of a node: hooks before it, its translation, hooks after it."""
        found: tuple[Value, ...] | None = None
        fitting = [hook for hook in self.hooks if hook.fits(node.op, node.name)]
        for hook in fitting:
            made = _called(hook.before, "before", node) if found is None else None
            if isinstance(made, ModelNode):
                node = made
            elif made is not None:
                found = _values(made, hook.before, "before", node, graph, node.outputs)
        found = translate(node) if found is None else found
        for hook in fitting:
            made = _called(hook.after, "after", node, *found)
            found = found if made is None else _values(made, hook.after, "after", node, graph, len(found))
        return found

    def before_node(self, node: ModelNode) -> ModelNode:
        """Return a single node as its hooks change it; there is no graph for values."""
        for hook in self.hooks:
            if hook.fits(node.op, node.name):
                made = _called(hook.before, "before", node)
                if made is not None and not isinstance(made, ModelNode):
                    raise _wrong(hook.before, "before", node, _kind(made), "None or a ModelNode, as there is no graph")
                node = made or node
        return node

    def after_node(self, node: ModelNode, result: Made) -> Made:
        """Return what a single node means, as its hooks change it."""
        for hook in self.hooks:
            if hook.fits(node.op, node.name):
                made = _called(hook.after, "after", node, result)
                if made is not None and not isinstance(made, type(result)):
                    raise _wrong(hook.after, "after", node, _kind(made), f"None or an {type(result).__name__}")
                result = made or result
        return result

    def before_model(self) -> None:
        """Call the hooks of the model before it is imported, and keep the names that they give."""
        for hook in self.hooks:
            made = _called(hook.before, "before", self.model) if hook.is_of_model else None
            if made is None:
                continue
            if not isinstance(made, Mapping) or not all(isinstance(t, str) for pair in made.items() for t in pair):
                raise _wrong(hook.before, "before", self.model, _kind(made), "None, or new names by those of the model")
            self.names |= made

    def after_model(self, graph: Graph) -> Graph:
        """Return the graph with its names changed, and as the hooks of the model leave it."""
        for name in self.names:
            if name not in graph:
                raise ModelError(f"a hook renames {name!r}, which the graph does not have{did_you_mean(name, graph)}")
        graph = graph.renamed(self.names) if self.names else graph
        for hook in self.hooks:
            made = _called(hook.after, "after", self.model, graph) if hook.is_of_model else None
            if made is None:
                continue
            if not isinstance(made, Graph):
                raise _wrong(hook.after, "after", self.model, _kind(made), "None or a Graph")
            verify(made)
            graph = made
        return graph


def _called(function: Callable[..., Any] | None, when: str, subject: Any, *others: Any) -> Any:
    if function is None:
        return None
    try:
        return function(subject, *others)
    except ModelError:
        raise
    except Exception as error:  # of a user's function
        reason = str(error) or type(error).__name__
        raise ModelError(f"hook {_name(function)} {when} {_place(subject)}: {reason}") from error


def _values(made: Any, function: Any, when: str, node: ModelNode, graph: Graph, outputs: int) -> tuple[Value, ...]:
    """Return what a hook gave for the results of a node, if these are as many values of the graph."""
    values = tuple(made) if isinstance(made, tuple | list) else (made,)
    count = f"{outputs} value{'s' * (outputs != 1)} of the graph"
    if not all(isinstance(value, Value) for value in values):
        raise _wrong(function, when, node, _kind(made), f"None, {'a ModelNode, ' * (when == 'before')}or {count}")
    if len(values) != outputs:
        raise _wrong(function, when, node, f"{len(values)} values", f"one for each of its results: {count}")
    if any(value.graph is not graph for value in values):
        raise _wrong(function, when, node, "a value of another graph", f"{count}, computed from node.inputs")
    return values


def _wrong(function: Any, when: str, subject: Any, made: str, wanted: str) -> ModelError:
    return ModelError(f"hook {_name(function)} {when} {_place(subject)} returned {made}; return {wanted}")


def _kind(made: Any) -> str:
    return type(made).__name__


def _name(function: Any) -> str:
    return repr(getattr(function, "__qualname__", type(function).__name__))


def _place(subject: Any) -> str:
    return f"node {subject.name!r} ({subject.op})" if isinstance(subject, ModelNode) else "the model"
