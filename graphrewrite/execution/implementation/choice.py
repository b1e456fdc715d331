"""Choice of the best implementation for a node. The op's own function is one, on the backends ``cpu`` and ``numpy``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphrewrite.errors import EvaluationError, UnknownOpError, did_you_mean
from graphrewrite.execution.implementation.implementation import Implementation, bits_of, check_implementations
from graphrewrite.graph import Graph
from graphrewrite.hierarchy.conversion import FLOATS, Casting, Conversion, Permuting, layout_of
from graphrewrite.hierarchy.graph_ops import nested_graphs
from graphrewrite.op.op import Op
from graphrewrite.types import Tensor, Type

__all__ = ["Fit", "Wanted", "check_backends", "choose", "chosen", "fits"]

_OWN = ("cpu", "numpy")
"""Backends on which ops compute by their own functions: the target, and the library."""
_STANDING = frozenset({"constant", "input", "output", "transfer"})
_SHOWN = 8

_FLOATS_OF = {16: "f16", 32: "f32", 64: "f64"}


@dataclass(frozen=True)
class Wanted:
    """The requirements of a node on an implementation.

    Attributes
    ----------
    name : str
        Name of its op.
    op : Op or None
        Its op, if it is known.
    types : tuple of Tensor or Stream
        Types of its operands; of its results, if it has no operands.
    backend, kernel : str or None
        Its annotations ``backend`` and ``use_kernel``.
    node : str or None
        The node, for errors.
    """

    name: str
    op: Op | None = None
    types: tuple[Type, ...] = ()
    backend: str | None = None
    kernel: str | None = None
    node: str | None = None

    @property
    def is_own(self) -> bool:
        """Whether the op's own function meets them, as far as backend and kernel go."""
        return self.backend in (None, *_OWN) and self.kernel is None

    @classmethod
    def of(cls, graph: Graph, node: str) -> Wanted:
        r"""Return the requirements of a node of a graph.

        Examples
        --------
        >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x, backend='gpu')\ny = output(r)")
        >>> wanted = Wanted.of(g, "r")
        >>> wanted.name, wanted.backend, str(wanted.types[0])
        ('relu', 'gpu', 'f32[N]')
        """
        data = graph.nodes[node]
        try:
            op = graph.op(node)
        except UnknownOpError:
            op = None
        read = [graph.nodes[o.node].get("result") for o in graph.operands(node)]
        types = [
            t[o.result] if isinstance(t, tuple) else t for t, o in zip(read, graph.operands(node), strict=True)
        ] or [data.get("result")]
        types_of = tuple(t for t in types if t is not None and not isinstance(t, tuple))
        return cls(str(data.get("type")), op, types_of, data.get("backend"), data.get("use_kernel"), node)


@dataclass(frozen=True)
class Fit:
    """An implementation that meets the requirements of a node.

    Attributes
    ----------
    implementation : Implementation
        The implementation.
    exact : int
        Number of its properties that the node has.
    named : int
        Number of these that are the backend or the kernel, for which the node asks explicitly.
    element, layout : str or None
        Conversions that the node needs.
    """

    implementation: Implementation
    exact: int
    named: int = 0
    element: str | None = None
    layout: str | None = None

    @property
    def conversions(self) -> tuple[Conversion, ...]:
        """The conversions that the node needs."""
        casts: list[Conversion] = [] if self.element is None else [Casting(self.element)]
        return (*casts, *([] if self.layout is None else [Permuting(self.layout)]))


def fits(implementations: Iterable[Implementation], wanted: Wanted) -> list[Fit]:
    """Return the implementations that fit, the best first.

    They are sorted by the number of conversions that they need, then by matches with the backend and kernel that the
    node asks for, then by other matching properties, then in the order in which they are passed.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> candidates = [Implementation(op.exp, abs, element=e) for e in ("f64", "f16", None)]
    >>> fitting = fits(candidates, Wanted("exp", op.exp, (Tensor("f16", ("N",)),)))
    >>> [(fit.implementation.element, fit.element) for fit in fitting]
    [('f16', None), (None, None), ('f64', 'f64')]
    """
    fitting = [fit for implementation in implementations if (fit := _fit(implementation, wanted)) is not None]
    return sorted(fitting, key=lambda fit: (len(fit.conversions), -fit.named, -fit.exact))


def choose(implementations: Iterable[Implementation], wanted: Wanted) -> Fit | None:
    """Return the implementation that fits best; None if none does and the op's own function is what is asked for.

    Raises
    ------
    EvaluationError
        If the node asks for a backend or kernel that none has.
    """
    candidates = tuple(implementations)
    fitting = fits(candidates, wanted)
    if fitting:
        return fitting[0]
    if wanted.is_own:
        return None
    raise _refusal([wanted], candidates)


def chosen(implementations: Iterable[Implementation], graph: Graph) -> dict[str, Fit]:
    """Return the best implementation of each node that has one; raise for all nodes that ask for others."""
    candidates = check_implementations(implementations)
    found, unmet = dict[str, Fit](), list[Wanted]()
    for node, data in graph.nodes(data=True):
        if data.get("type") not in _STANDING:
            wanted = Wanted.of(graph, node)
            fitting = fits(candidates, wanted)
            if fitting:
                found[node] = fitting[0]
            elif not wanted.is_own:
                unmet.append(wanted)
    if unmet:
        raise _refusal(unmet, candidates)
    return found


def check_backends(graph: Graph, nodes: Iterable[str] | None = None) -> None:
    r"""Raise if a node, or one of a nested graph, asks for a backend on which its op does not compute itself.

    A node that names its implementation need not be computed by its op.

    Parameters
    ----------
    graph : Graph
        Any graph.
    nodes : iterable of str, optional
        The nodes of the graph that are to run; all if not given.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x) {backend='cpu'}\ny = output(r)")
    >>> check_backends(g)
    >>> g.nodes["r"]["backend"] = "cdua"
    >>> check_backends(g)
    Traceback (most recent call last):
    ...
    graphrewrite.errors.EvaluationError: node 'r': no implementation of relu(f32[N]) has the backend 'cdua'; available:
    none, and the op itself on 'cpu' and 'numpy'; pass implementations=[…], remove the annotation, or pass
    implementations=None to run every op itself
    """
    graphs = list(nested_graphs(graph))
    named = [(g, n, data["backend"]) for g in graphs for n, data in g._node.items() if "backend" in data]
    marked = [(each, node) for each, node, backend in named if backend not in (None, *_OWN)]
    if not marked:
        return
    running = graph._node.keys() if nodes is None else set(nodes)
    unmet = [
        Wanted.of(each, node)
        for each, node in marked
        if each is not graph or node in running
        if each._node[node].get("type") not in _STANDING and "implementation" not in each._node[node]
    ]
    if unmet:
        raise _refusal(unmet, ())


def _refusal(unmet: Sequence[Wanted], implementations: Iterable[Implementation]) -> EvaluationError:
    """Return the error of nodes that ask for what no implementation has."""
    wanted, *others = unmet
    stated = {"backend": wanted.backend, "kernel": wanted.kernel}
    required = " and the ".join(f"{key} {value!r}" for key, value in stated.items() if value)
    candidates = tuple(implementations)
    own = [each for each in candidates if each.name == wanted.name]
    known = {each.backend for each in candidates if each.backend} - {wanted.backend}
    hint = did_you_mean(wanted.backend or "", known)
    more = [repr(each.node) for each in others[:_SHOWN]] + ["…"] * (len(others) > _SHOWN)
    also = f"; the same holds for {', '.join(more)}" if more else ""
    itself = "" if wanted.op is None else f", and the op itself on {' and '.join(map(repr, _OWN))}"
    return EvaluationError(
        f"no implementation of {wanted.name}({', '.join(map(str, wanted.types))}) has the {required}{hint}; available: "
        f"{', '.join(map(repr, own)) or 'none'}{itself}{also}; pass "
        "implementations=[…], remove the annotation, or pass implementations=None to run every op itself",
        node=wanted.node,
    )


def _fit(option: Implementation, wanted: Wanted) -> Fit | None:
    """Return the fit of an implementation; None if it does not meet the requirements."""
    if option.name != wanted.name or not _is_for(option.op, wanted.op):
        return None
    exact = 0
    for stated, required in ((option.backend, wanted.backend), (option.kernel, wanted.kernel)):
        if None not in (stated, required) and stated != required:
            return None
        exact += stated is not None and stated == required
    named = exact  # an explicit backend or kernel outweighs all other properties
    kind = wanted.types[0] if wanted.types else None
    if kind is None:
        return None if {"element", "precision", "layout"} & option.stated.keys() else Fit(option, exact, named)
    element = layout = None
    if option.element is not None or option.precision is not None:
        is_met = (
            kind.element == option.element if option.element is not None else bits_of(kind.element) == option.precision
        )
        if not is_met:  # a cast between floats makes it fit
            wish = option.element if option.element is not None else _FLOATS_OF.get(option.precision or 0)
            if kind.element not in FLOATS or wish not in FLOATS or wanted.op is None or wanted.op.level == "generic":
                return None
            element = str(wish)
        exact += is_met * ((option.element is not None) + (option.precision is not None))
    if option.layout is not None:
        if not isinstance(kind, Tensor) or len(kind.shape) != len(option.layout):
            return None
        if kind.layout == option.layout:
            exact += 1
        elif kind.layout is not None or not _is_usual(option.layout):
            # A transpose makes it fit if the axes are known and the op computes in any order of them.
            current = layout_of(kind, option.layout) if _has_channels(option.layout) else kind.layout
            if current is None or sorted(current) != sorted(option.layout):
                return None
            if wanted.op is None or not Permuting.permutes(wanted.op):
                return None
            layout = option.layout
    return Fit(option, exact, named, element, layout)


def _is_for(target: Op | str, op: Op | None) -> bool:
    """Tell whether an implementation is for this op, of the same name; it may be for any generic op."""
    if isinstance(target, str) or op is None or op is target:
        return True
    return op.level == "generic" or op.stands_for(target)


def _has_channels(layout: str) -> bool:
    return "N" in layout and "C" in layout


def _is_usual(layout: str) -> bool:
    """Tell whether a layout is the one that ops assume for types without a layout."""
    return _has_channels(layout) and layout_of(Tensor("f32", (1,) * len(layout)), layout) == layout
