"""Node: the typed view of a node of a graph, with the operands, attributes and derived names of its op."""

from __future__ import annotations

import inspect
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from graphrewrite.errors import FieldError, GraphError, did_you_mean, not_there
from graphrewrite.graph.node_class import class_of
from graphrewrite.graph.value import Value
from graphrewrite.op.attribute_check import STORABLE
from graphrewrite.op.generic_op import Generic
from graphrewrite.op.library import find_op
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import annotations_in, attributes_in
from graphrewrite.schema import IrData, field
from graphrewrite.schema.backing import Backing
from graphrewrite.schema.equality import same_data
from graphrewrite.schema.fields import Field
from graphrewrite.types import Type, read_only

if TYPE_CHECKING:
    from graphrewrite.graph.graph import Graph

__all__ = ["Node", "node_view"]


class Annotation(Field):
    """An optional field of a node's data: assigning None removes it."""

    def __set__(self, record: IrData, value: Any) -> None:
        if value is None:
            record._backing.write().pop(self.key, None)
        else:
            super().__set__(record, value)


def _annotation(doc: str) -> Any:
    return Annotation(default=None, doc=doc, init=False)


class Node(IrData):
    """Typed view of a node; `data` is the networkx dictionary of the node itself.

    It has the operands by the names of the op's parameters (constants as arrays that cannot be written to, other values
    as `Value`, None where there is none), the attributes with their defaults, and the names that `define_op` was given
    as ``derived=``. Assigning an attribute checks it against the annotation of the op's function and writes through; a
    default is not stored, so that equal nodes look equal. Result types are not inferred again: see `infer`.

    For type checkers, a subclass can say what a node of some op has: ``class Conv(Node): strides: tuple[int, ...]``.

    Examples
    --------
    >>> from graphrewrite import Graph, Tensor, op
    >>> g = Graph("g")
    >>> x = g.input("x", Tensor("f32", ("N", 3, 8, 8)))
    >>> y = op.conv(x, np.ones((6, 3, 5, 5), np.float32), pads=(2, 2, 2, 2))
    >>> conv = g.node("conv_1")
    >>> conv.x, conv.weight.shape, conv.bias.shape
    (<value x>, (6, 3, 5, 5), (0,))
    >>> conv.in_channels, conv.out_channels, conv.kernel_size, conv.padding, conv.groups
    (3, 6, (5, 5), (2, 2, 2, 2), 1)
    >>> conv.strides = [2, 2]
    >>> g.nodes["conv_1"]["strides"]
    (2, 2)
    >>> conv.strides = [2, "x"]
    Traceback (most recent call last):
    graphrewrite.errors.AttributeValueError: nodes.conv_1.strides[1]: expected int, got str 'x'; ...
    """

    type: str = field(doc="Name of its op.")
    result: Type | tuple[Type, ...] | None = _annotation("Its result type, or a tuple of types.")
    origin: tuple[str, ...] | None = _annotation("Names in the graph that it was made from.")
    backend: str | None = _annotation("Backend on which it runs.")
    implementation: str | None = _annotation("Name of the graph that implements it.")
    operator: str | None = _annotation(
        "Name of the operator whose attributes and parameters it shares with other nodes."
    )
    shared: str | None = _annotation("Name of the module's constant or placeholder that it stands for.")
    use_kernel: str | None = _annotation("Name of the kernel that implements it.")

    _graph: ClassVar[Any] = None
    _name: ClassVar[str | None] = None
    _op: ClassVar[Op | None] = None

    @classmethod
    def of(cls, data: dict[str, Any] | IrData) -> Self:
        """Return a view of the data of a node alone: it knows attributes, and neither name nor operands."""
        if isinstance(data, Node) and data._graph is not None:
            bound: Self = _bound(data._graph, data._name, cls)
            return bound
        view = super().of(data)
        op = view._definition()
        if cls is Node and op is not None:
            view = class_of(Node, op)._at(view._backing, view._path)
        return view

    @property
    def name(self) -> str:
        """Its name in the graph."""
        if self._name is None:
            raise FieldError("is a view of plain data, which has no name; use graph.node(…)", path=self._path)
        return self._name

    @property
    def graph(self) -> Graph:
        """The graph that it is in."""
        if self._graph is None:
            raise FieldError("is a view of plain data, which belongs to no graph; use graph.node(…)", path=self._path)
        graph: Graph = self._graph
        return graph

    @property
    def op(self) -> Op | None:
        """The op that its type names; None if it is unknown."""
        return self._definition()

    @property
    def annotations(self) -> dict[Any, Any]:
        """Its data beside the attributes of its op."""
        return annotations_in(self.data, self.op)

    def _definition(self) -> Op | None:
        name = self.data.get("type")
        if not isinstance(name, str):
            return None
        return find_op(name) or self._op if self._graph is None else find_op(name, self._graph.ops)

    @property
    def operands(self) -> tuple[Any, ...]:
        """The operands: constants as arrays, other values as `Value`."""
        return tuple(map(self._operand, self.graph.operands(self.name)))

    @property
    def operand_types(self) -> tuple[Type, ...]:
        """Types of the operands."""
        return tuple(self.graph.result_type(*operand) for operand in self.graph.operands(self.name))

    @property
    def input_shape(self) -> Any:
        """Shape of the first operand; of an input, of its result."""
        types = self.operand_types
        return types[0].shape if types else self.output_shape

    @property
    def output_shape(self) -> Any:
        """Shape of the first result; of an output, of its operand."""
        if "result" not in self.data and self.operand_types:
            return self.operand_types[0].shape
        return self.graph.result_type(self.name).shape

    def get_missing_required_fields(self) -> dict[str, str]:
        """Return the required fields and attributes that have no value, with their types."""
        missing = super().get_missing_required_fields()
        op = self.op
        if op is not None:
            # A subclass's annotation gives a type to the op's own name, or to what every node has.
            taken = {*op.operands, *op.attributes, *op.derived}
            taken |= {name for name in missing if isinstance(getattr(Node, name, None), property)}
            missing = {name: kind for name, kind in missing.items() if name not in taken}
            missing |= {
                key: op.checks[key].kind.name
                for key, default in op.attributes.items()
                if default is inspect.Parameter.empty and key not in self.data
            }
        return missing

    def _operand(self, operand: Any) -> Any:
        data = self.graph.nodes[operand.node]
        if data.get("type") != "constant":
            return Value(self.graph, *operand)
        return read_only(np.asarray(data["value"]))

    def _read(self, name: str) -> Any:
        """Return the operand, attribute or derived value of that name."""
        op = self.op
        if op is None:
            if name in self.data:
                return self.data[name]
            raise self._unknown(name)
        if name in op.derived:
            meaning = op.derived[name]
            return self._read(meaning) if isinstance(meaning, str) else meaning(self)
        if name in op.operands:
            index, operands = op.operands.index(name), self.graph.operands(self.name)
            if op.variadic and name == op.operands[-1]:
                return tuple(map(self._operand, operands[index:]))
            # An optional operand that is not connected is None.
            return self._operand(operands[index]) if index < len(operands) else None
        if name in self.data:
            return self.data[name]
        # None may be a default: an empty one marks attributes that are required.
        default = op.attributes.get(name, inspect.Parameter.empty)
        if default is inspect.Parameter.empty:
            if name not in op.attributes:
                raise self._unknown(name)
            raise FieldError("is required and missing; assign it", path=f"{self._path}.{name}")
        return default if self._graph is None else self._graph.attributes(self.name)[name]

    def _write(self, name: str, value: Any) -> None:
        op, path = self.op, f"{self._path}.{name}"
        if op is None:
            raise FieldError(
                f"the op {self.data.get('type')!r} is unknown, and so are its attributes; write to `data`", path=path
            )
        meaning = op.canonical_name(name)
        if callable(op.derived.get(meaning)):
            raise FieldError("is derived from operands and attributes; assign those", path=path)
        if op.derived.get(name, name) in op.operands:
            raise FieldError("is an operand, which is an edge of the graph; rewrite the node with a rule", path=path)
        if meaning not in op.attributes and not isinstance(op, Generic):
            if name not in self.annotations:
                raise self._unknown(name)
            self._backing.refuse_cycle(value, path)
            self._backing.write()[name] = STORABLE.store(value, path)
            return
        (stored,) = op.as_attributes({name: value}, path=self._path).values()
        if not op.is_settled({meaning: stored}):
            if self._graph is None:
                raise FieldError("has an entry for each position; write them out, or use graph.node(…)", path=path)
            stored = op.settled({**attributes_in(self.data, op), meaning: stored}, self.operand_types)[meaning]
        self._backing.refuse_cycle(stored, path)
        data = self._backing.write()
        # Defaults are not stored, unless they already are: an assignment of the same value changes nothing.
        if op.stored({meaning: stored}) or (meaning in data and same_data(data[meaning], stored)):
            data[meaning] = stored
        else:
            data.pop(meaning, None)

    def _names(self) -> list[str]:
        op = self.op
        own = [] if op is None else [*op.operands, *op.attributes, *op.derived]
        return list(dict.fromkeys([*own, *self._fields, *self.data]))

    def _unknown(self, name: str) -> FieldError:
        names = self._names()
        hint = did_you_mean(name, names) or f"; an annotation is new data: write data[{name!r}]"
        return FieldError(f"has no {name!r} (known: {', '.join(names)}){hint}", path=self._path)

    def _absent(self, field: Field, path: str) -> Any:
        own = getattr(Node, field.name, None)
        if isinstance(own, property):  # a subclass may annotate a property of every node, such as its name
            return field.known_kind().load(own.__get__(self), path)
        if not self._is_of_op(field):
            return super()._absent(field, path)
        return field.known_kind().load(self._read(field.key), path, self._backing)

    def _put(self, field: Field, stored: Any) -> None:
        if self._is_of_op(field):
            self._write(field.key, stored)
        else:
            super()._put(field, stored)

    def _is_of_op(self, field: Field) -> bool:
        """Tell whether a field of a subclass gives a type to a name that the node's op has."""
        op = self.op
        names = () if field.name in Node._fields or op is None else (*op.operands, *op.attributes, *op.derived)
        return field.key in names

    if TYPE_CHECKING:  # which attributes there are depends on the op: they are Any

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    else:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or hasattr(type(self), name):
                return super().__getattr__(name)
            return self._read(name)

        def __setattr__(self, name: str, value: Any) -> None:
            if name == "name":
                raise FieldError(
                    "is the node's in the graph; graph.renamed(…) gives it another",
                    path=f"{self._path}.name",
                )
            if hasattr(type(self), name):
                super().__setattr__(name, value)
            else:
                self._write(name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.data and name not in self._fields:
            del self._backing.write()[name]
        else:
            super().__delattr__(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._names()})

    def __repr__(self) -> str:
        if self._name is None:
            return f"{'Node' if self._op is not None else type(self).__name__}.of({self.data!r})"
        return f"<{self.data.get('type')} node {self._name!r} {self.data!r}>"

    def __reduce__(self) -> Any:
        kind = Node if self._op is not None else type(self)
        return (kind.of, (self.data,)) if self._graph is None else (_bound, (self._graph, self._name, kind))


def _bound(graph: Any, name: Any, kind: Any) -> Any:
    """Return a view that knows its graph and its name, if its class has use for them."""
    data = graph.nodes[name]
    op = find_op(data.get("type"), graph.ops)
    view = (class_of(Node, op) if kind is Node and op is not None else kind)._at(Backing(data), f"nodes.{name}")
    if isinstance(view, Node):
        object.__setattr__(view, "_graph", graph)
        object.__setattr__(view, "_name", name)
    return view


def node_view(graph: Graph, name: Any, kind: Any) -> Any:
    """Return the view of a node that `graph.node` returns.

    Parameters
    ----------
    kind : type
        `Node`, for a view that has what the node's op has; or any class of `IrData`.
    """
    if not (isinstance(kind, type) and issubclass(kind, IrData)):
        raise GraphError(f"{kind!r} is not a view class; derive it from Node or from IrData", node=str(name))
    if not isinstance(name, Hashable) or name not in graph._node:
        raise not_there(name, graph._node)
    return _bound(graph, name, kind)
