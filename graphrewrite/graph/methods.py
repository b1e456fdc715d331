"""Methods of graphs and modules that delegate to rooms above this one: the one file of the package that reaches up."""

# mypy: disable-error-code="no-any-return"
# For mypy, objects imported by path are Any; the annotations here are those of the functions.

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cache
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, overload

import networkx as nx
import numpy as np

from graphrewrite.errors import GraphError, SerialError
from graphrewrite.op.given_ops import OpOrDialect
from graphrewrite.op.symbolic import Symbolic
from graphrewrite.runtime.display import Displayed
from graphrewrite.schema import IrData
from graphrewrite.types import Type

if TYPE_CHECKING:
    from graphrewrite.graph.graph import Graph
    from graphrewrite.graph.node import Node
    from graphrewrite.hierarchy.module import Module
    from graphrewrite.hierarchy.region import GraphView
    from graphrewrite.summary import Summary

__all__ = ["ENDINGS", "GraphMethods", "ModuleMethods"]

D = TypeVar("D", bound=IrData)

_DOCUMENTS = (".json", ".npz", ".txt", ".graph")
_OF_ONE_GRAPH = (".onnx", ".vhd")
ENDINGS = (*_DOCUMENTS, ".html", ".svg", ".png", ".dot", *_OF_ONE_GRAPH)
"""Endings of the names of files that `save` writes."""


@cache
def _above(path: str) -> Any:
    """Import the object of a path such as ``"summary.summary"``, when a method is first called."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(f"graphrewrite.{module}"), name)


class _Documents(Displayed):
    """Base of the mixins of graphs and modules: a text form, files, a summary."""

    __slots__ = ()

    def save(self, path: str | PathLike[str], *, arrays: Literal["inline", "npz"] = "inline") -> None:
        """Write it to a file, in the form that the ending of its name says.

        Parameters
        ----------
        path : path
            Ends in .json, .npz, .txt or .graph (the text form), which `graphrewrite.load` reads; in .html,
            .svg, .png or .dot, for a picture; in .onnx, or, of a graph at the stream level, in .vhd.
        arrays : {"inline", "npz"}
            Where the arrays of a .json file go; see `graphrewrite.formats.save`.
        """
        ending = Path(path).suffix.lower()
        if ending not in ENDINGS:
            *others, last = ENDINGS
            raise SerialError(f"its name must end in {', '.join(others)} or {last}", path=Path(path).name)
        if ending in _OF_ONE_GRAPH and isinstance(self, Mapping):
            one = f"module[{min(self)!r}].save(…)" if self else "a graph"
            raise SerialError(f"it holds one graph, and not a module; save {one}", path=Path(path).name)
        if ending in _DOCUMENTS or arrays != "inline":
            _above("formats.documents.save")(self, path, arrays=arrays)
        elif ending == ".onnx":
            _above("lowering.exchange.onnx_export.to_onnx")(self, path)
        elif ending == ".vhd":
            _above("hdl.emission.single_file.save")(self, path)
        else:
            _above("view.dispatch.show")(self).save(path)

    def summary(self) -> Summary:
        """Return a table of the nodes with types, parameters and multiply-accumulates; see `graphrewrite.summary`."""
        return _above("summary.summary")(self)

    def __str__(self) -> str:
        return str(_above("formats.text.graph_printer.to_text")(self))


class GraphMethods(_Documents):
    """Mixin of graphs."""

    def __eq__(self, other: object) -> bool:
        """Whether both have the same nodes, data, operands and graph attributes."""
        return isinstance(other, GraphMethods) and self.equals(other)

    def __copy__(self: Any) -> Any:
        return self.copy()

    __hash__ = nx.DiGraph.__hash__  # graphs are mutable: hashed by identity, as networkx does

    def __repr__(self: Any) -> str:
        return f"<Graph {self.name!r}: {len(self)} nodes, {self.number_of_edges()} edges>"

    def equals(self, other: Any, *, names: bool = True) -> bool:
        """Tell whether another graph is the same, with names or without; see `graphrewrite.compare.equals`."""
        return _above("compare.equality.equals")(self, other, names=names)

    def structure_hash(self, *, names: bool = True) -> str:
        """Return a hash that equal graphs share, on every machine; see `graphrewrite.compare.structure_hash`."""
        return _above("compare.equality.structure_hash")(self, names=names)

    @property
    def has_state(self) -> bool:
        """Whether any op in it, or in a graph nested in it, has a state or an effect."""
        return _above("hierarchy.graph_ops.facts_of")(self).state

    @property
    def has_effects(self) -> bool:
        """Whether any op in it, or in a graph nested in it, has an effect."""
        return _above("hierarchy.graph_ops.facts_of")(self).effects

    @property
    def input_types(self: Any) -> tuple[Type, ...]:
        """Types of the inputs, in order."""
        return tuple(self.result_type(name) for name in self.inputs)

    def output_types(self, *types: Type) -> tuple[Type, ...]:
        """Return the types of the outputs for types of the inputs, which determine the symbolic sizes."""
        return _above("hierarchy.bound_sizes.output_types")(self, types)

    def as_body(self: Any) -> Any:
        """Return a copy that cannot be changed, as nodes have it that hold a graph; of such a copy, itself."""
        return self if nx.is_frozen(self) else nx.freeze(self.copy())

    def infer(self, nodes: Iterable[str] | None = None) -> tuple[str, ...]:
        """Compute the types of nodes anew, in place; see `graphrewrite.graph.type_inference.infer`."""
        return _above("graph.type_inference.infer")(self, nodes)

    def with_sizes(self, sizes: Mapping[str, int | str]) -> Graph:
        """Return a graph with numbers in place of symbolic sizes; see `graphrewrite.hierarchy.graph_sizes`."""
        return _above("hierarchy.graph_sizes.graph_with_sizes")(self, sizes)

    def with_inputs(self, values: Mapping[str, Any]) -> Graph:
        """Return a graph with constants in place of inputs; see `graphrewrite.execution.fixed_inputs`."""
        return _above("execution.fixed_inputs.graph_with_inputs")(self, values)

    def renamed(self, names: Mapping[Hashable, str] | Callable[[str], str]) -> Self:
        r"""Return a graph whose nodes have other names, as a mapping of old to new ones, or a function, says.

        Parameters
        ----------
        names : mapping of str to str, or callable
            Nodes that a mapping lacks keep their names; see `graphrewrite.hierarchy.renaming`.

        Examples
        --------
        >>> from graphrewrite import Graph
        >>> graph = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
        >>> list(graph.renamed({"r": "positive"})), list(graph.renamed("left_{}".format))
        (['x', 'positive', 'y'], ['left_x', 'left_r', 'left_y'])
        """
        return _above("hierarchy.renaming.renamed")(self, names)

    def evaluate(
        self: Any, /, *inputs: Any, implementations: Any = (), backend: str | None = None, **named: Any
    ) -> dict[str, np.ndarray]:
        r"""Return the values of the outputs for values of the inputs, batch first; see `graphrewrite.evaluate`.

        Parameters
        ----------
        *inputs : array-like, or one mapping of str to array-like
            In the order of the inputs, or by name.
        implementations : iterable of Implementation, or mapping of str to Graph, Op or Component
            As `graphrewrite.evaluate` takes them.
        backend : str, optional
            Another engine, ``"onnxruntime"``.
        **named : array-like
            By name.

        Examples
        --------
        >>> from graphrewrite import Graph
        >>> graph = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
        >>> graph.evaluate({"x": [-1, 2]})
        {'y': array([0., 2.], dtype=float32)}
        >>> graph.evaluate([-1, 2])["y"].tolist(), graph.evaluate(x=[-1, 2])["y"].tolist()
        ([0.0, 2.0], [0.0, 2.0])
        """
        single = len(inputs) == 1 and not named
        given = inputs[0] if single else _above("execution.program.arguments.by_name")(self.inputs, inputs, named)
        return _above("execution.evaluator.evaluate")(self, given, implementations=implementations, backend=backend)

    def _session(self: Any) -> Any:
        """Return what computes the graph by onnxruntime."""
        return _above("lowering.exchange.onnx.onnxruntime_session.session_of")(self)

    def __call__(self: Any, /, *inputs: Any, **named: Any) -> Any:
        r"""Return the output's array for values of the inputs; a tuple of arrays where there are several outputs.

        Parameters
        ----------
        *inputs, **named
            Arrays, as `evaluate` takes them. For values of a graph and variables of a rule, a graph becomes an op by
            `graphrewrite.hierarchy.graph_op`, and its nodes are added by `graphrewrite.hierarchy.sequential`.

        Examples
        --------
        >>> from graphrewrite import Graph
        >>> graph = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
        >>> graph([-1, 2]).tolist()
        [0.0, 2.0]
        """
        if any(isinstance(each, Symbolic) for each in (*inputs, *named.values())):
            raise GraphError(
                f"the graph {self.name!r} is called with arrays; graph_op(graph)(x) of graphrewrite.hierarchy adds a "
                "node that is this graph, and sequential(graph)(x) adds its nodes"
            )
        outputs = tuple(self.evaluate(*inputs, **named).values())
        return outputs[0] if len(outputs) == 1 else outputs

    @classmethod
    def parse(cls, text: str, *, ops: Iterable[OpOrDialect] = ()) -> Graph:
        """Return the graph that a text form writes; see `graphrewrite.formats.parse`."""
        return _above("formats.text.graph_parser.parse")(text, ops=ops)

    @overload
    def node(self, name: str) -> Node: ...
    @overload
    def node(self, name: str, kind: type[D]) -> D: ...
    def node(self, name: str, kind: Any = None) -> Any:
        """Return the typed view of a node, of a class of one's own if one is given; see `graphrewrite.graph.Node`."""
        return _above("graph.node.node_view")(self, name, _above("graph.node.Node") if kind is None else kind)

    def view(self, name: str, nodes: Any = None, *, inputs: Any = None, outputs: Any = None) -> GraphView:
        """Return the view of that name, made and stored if nodes are given; see `graphrewrite.hierarchy.GraphView`."""
        return _above("hierarchy.region.make_view")(self, name, nodes, inputs, outputs)

    def set(self, **settings: Any) -> Graph:
        r"""Return a graph in which all nodes have another backend, element type, layout, kernel or implementation.

        Parameters
        ----------
        **settings
            Those of `graphrewrite.hierarchy.GraphView.set`: inputs and outputs keep their types.

        Examples
        --------
        >>> from graphrewrite import Graph
        >>> graph = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
        >>> print(graph.set(backend="gpu", element="f16"))
        graph g
        x = input() : f32[N]
        cast_1 = cast(x, element='f16') {backend='gpu'} : f16[N]
        r = relu(cast_1) {backend='gpu'} : f16[N]
        cast_2 = cast(r, element='f32') {backend='gpu'} : f32[N]
        y = output(cast_2)
        """
        return _above("hierarchy.region.whole")(self).set(**settings)

    @property
    def views(self: Any) -> tuple[str, ...]:
        """Names of the views that are stored."""
        return tuple(self.graph.get("views", ()))

    def views_of(self, node: str) -> tuple[str, ...]:
        """Return the names of the views that a node is in."""
        return tuple(name for name in self.views if node in self.view(name))

    def _repr_svg_(self) -> str | None:
        """Return the SVG for viewers without HTML, if pydot and Graphviz are installed."""
        return self.show()._repr_svg_()


class ModuleMethods(_Documents):
    """Mixin of modules."""

    @staticmethod
    def parse(text: str, *, ops: Iterable[OpOrDialect] = ()) -> Module:
        """Return the module that a text form writes; see `graphrewrite.formats.parse_module`."""
        return _above("formats.text.graph_parser.parse_module")(text, ops=ops)

    def _has_graphs_of(self: Any, other: Any) -> bool:
        return _above("compare.equality.equal_graphs")(self._graphs, other._graphs)

    def _head(self: Any) -> str:
        """Return the name, the attributes, the constants and the types of placeholders in the exact text form."""
        parts = (self.attributes, self._constants, self._types)
        return str(_above("formats.text.format_exactly")([self.name, *(dict(sorted(part.items())) for part in parts)]))
