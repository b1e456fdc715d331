"""Define an op: its signature, its types and its meaning in numpy, in one place."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial, update_wrapper
from typing import Any, overload

from graphrewrite.errors import TypeMismatchError, did_you_mean
from graphrewrite.op.attribute_forms import Entries
from graphrewrite.op.axes import Axes, common_layout
from graphrewrite.op.derived import spellings
from graphrewrite.op.dialect import Dialect, checked_level
from graphrewrite.op.domain import NUMBERS, check_kinds, one_element
from graphrewrite.op.op import Cost, Infer, Op, Step
from graphrewrite.op.reserved_keys import RESERVED
from graphrewrite.op.signature import Neutral
from graphrewrite.op.sizes import advice, shown
from graphrewrite.types import Dimension, Tensor

__all__ = ["broadcast_shape", "define_op", "elementwise"]


_COMPUTED = NUMBERS | {"bool"}


def broadcast_shape(*shapes: Sequence[Dimension]) -> tuple[Dimension, ...]:
    """Return the shape that numpy broadcasting gives, symbolic sizes included.

    Examples
    --------
    >>> broadcast_shape(("N", 1, 4), (3, 1))
    ('N', 3, 4)
    """
    rank = max(map(len, shapes), default=0)
    result: list[Dimension] = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, start=rank - len(shape)):
            if result[axis] == 1:
                result[axis] = size
            elif size not in (1, result[axis]):
                raise TypeMismatchError(
                    f"shapes {' and '.join(map(shown, shapes))} do not broadcast: {result[axis]} against {size}"
                    f"{advice(result[axis], size)}"
                )
    return tuple(result)


def elementwise(*types: Tensor, **_: Any) -> Tensor:
    """Infer the type of an element-wise op: one element type, broadcast shapes.

    Returns
    -------
    Tensor
        With the layout in which the operands that know theirs agree.

    Examples
    --------
    >>> print(elementwise(Tensor("f32", ("N", 1)), Tensor("f32", (3,))))
    f32[N,3]
    """
    one_element(*types)
    shape = broadcast_shape(*(t.shape for t in types))
    return Tensor(types[0].element, shape, common_layout(types, len(shape)))


def _without_results(*_: Any, **__: Any) -> tuple[()]:
    return ()


def _with_defaults(infer: Infer, attributes: Mapping[str, Any]) -> Infer:
    """Return an inference that gets the op's defaults of attributes for which it has no default of its own."""
    parameters = inspect.signature(infer).parameters.values()
    takes_all = any(p.kind == p.VAR_KEYWORD for p in parameters)
    open_ = {p.name for p in parameters if p.kind == p.KEYWORD_ONLY and p.default is p.empty}
    named = {p.name for p in parameters if p.kind != p.VAR_KEYWORD}  # an operand may be called like an attribute
    defaults = {
        name: default
        for name, default in attributes.items()
        if default is not inspect.Parameter.empty and (name in open_ or (takes_all and name not in named))
    }
    # Wrapped, so that the constants in its code, such as the words of an attribute, are found by inspection.
    return update_wrapper(partial(infer, **defaults), infer) if defaults else infer


def _check_derived(derived: Mapping[str, str | Callable[[Any], Any]], names: Sequence[str]) -> None:
    for name, meaning in derived.items():
        if name in names or not name.isidentifier():
            raise TypeMismatchError(f"the derived name {name!r} is taken or not an identifier; choose another")
        if isinstance(meaning, str) and meaning not in names:
            raise TypeMismatchError(
                f"{name!r} would be an alias of {meaning!r}, which is not an operand or attribute"
                f"{did_you_mean(meaning, names)}"
            )


def _check_names(op: str, attributes: Iterable[str], forms: Iterable[str]) -> None:
    for name in attributes:
        # What a transfer has as its attribute is the very mark that every node may have.
        if name in RESERVED | {"like"} and (op, name) != ("transfer", "backend"):
            raise TypeMismatchError(
                f"{op}: {name!r} is a reserved key of nodes, and no name of an attribute; rename the parameter"
            )
    for name in forms:
        if name not in attributes:
            raise TypeMismatchError(
                f"{op}: forms are of attributes, and {name!r} is none{did_you_mean(name, attributes)}"
            )


def _names_sizes(annotation: str) -> bool:
    """Tell whether an annotation has `Dimension`, as it is written or as Python prints what it stands for."""
    return "Dimension" in annotation or str(Dimension) in annotation


@overload
def define_op(function: Callable[..., Any], /) -> Op: ...
@overload
def define_op(
    *,
    name: str | None = ...,
    dialect: Dialect | None = ...,
    level: str | None = ...,
    infer: Infer | None = ...,
    commutative: bool = ...,
    stateful: bool = ...,
    step: Step | None = ...,
    effects: bool = ...,
    results: int | Callable[[Mapping[str, Any]], int] = ...,
    elements: Set[str] | None = ...,
    axes: str | None = ...,
    derived: Mapping[str, str | Callable[[Any], Any]] | None = ...,
    forms: Mapping[str, Entries] | None = ...,
    cost: Cost | None = ...,
    neutral: Mapping[str, Neutral] | None = ...,
    held: Callable[..., Callable[..., Any]] | None = ...,
) -> Callable[[Callable[..., Any]], Op]: ...
def define_op(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    dialect: Dialect | None = None,
    level: str | None = None,
    infer: Infer | None = None,
    commutative: bool = False,
    stateful: bool = False,
    step: Step | None = None,
    effects: bool = False,
    results: int | Callable[[Mapping[str, Any]], int] = 1,
    elements: Set[str] | None = None,
    axes: str | None = None,
    derived: Mapping[str, str | Callable[[Any], Any]] | None = None,
    forms: Mapping[str, Entries] | None = None,
    cost: Cost | None = None,
    neutral: Mapping[str, Neutral] | None = None,
    held: Callable[..., Callable[..., Any]] | None = None,
) -> Op | Callable[[Callable[..., Any]], Op]:
    """Make an op of a numpy function.

    Positional parameters are the operands (with the default None: optional; ``*xs``: any number), keyword-only ones are
    the attributes, the docstring documents the op. An attribute that is annotated with `graphrewrite.types.Dimension`
    may hold symbolic sizes; where a graph is evaluated, the function gets numbers.

    Parameters
    ----------
    function : callable
        The meaning in numpy, vectorised over the batch.
    name : str, optional
        The ``type`` of its nodes; the function's name if not given.
    dialect : Dialect, optional
        The dialect that it is part of, whose name comes before its own: ``"sig.gain"``.
    level : str, optional
        ``"nn"``, ``"integer"``, ``"stream"``, ``"memory"``, ``"structure"``, ``"bridge"`` for an op that only changes
        between levels, or a level of the dialect; where not given the dialect's first one, or ``"nn"``.
    infer : callable, optional
        Result type(s) from operand types and attributes, with the op's defaults where it has none of its own;
        element-wise if not given.
    commutative : bool
        Whether the first two operands may be swapped; of a variadic op, whether all of them may be permuted.
    stateful : bool
        Whether it has a state, such as a counter or a generator of random numbers: it is never folded or merged.
    step : callable, optional
        What an op with a state does in one cycle: it takes the state, which is None in the first cycle, and then what
        the function takes; it returns the result and the state of the next cycle. With it, graphs are evaluated over
        sequences (`graphrewrite.execution.evaluate_sequence`), and the op is stateful.
    effects : bool
        Whether it does something beside computing its results, such as writing a log: a node of it is never folded,
        merged or dropped because nobody reads it, and the nodes with effects of a graph stay in one order.
    results : int or callable
        Number of results, 0 for an effect alone, or a function that gives it for a mapping of attributes.
    elements : set of str, optional
        Kinds of element types that it computes with: "float", "integer", "fixed", "bool", "quantised"; sets of them are
        in `graphrewrite.op.domain`. All others are refused with advice. If not given, ``infer`` decides; without
        that either, it computes with numbers and bool.
    axes : str, optional
        The order in which the function has the axes of its operands and results, as in ``"NC*, OI*, O -> NC*"``: a
        first operand whose layout is another is computed with between transposes. If not given, ``infer`` sees
        the layouts and says the result's.
    derived : mapping, optional
        Further names that the view of a node has: a word is another name of an operand or attribute, a function takes
        the view and computes; see `graphrewrite.graph.node.Node`. Attributes that have a name of the library's own,
        such as ``axis``, have the names of other frameworks, too (`graphrewrite.op.derived.SPELLINGS`).
    forms : mapping, optional
        Attributes that may be written in other forms, such as one number for all positions, with what says what they
        stand for (`graphrewrite.op.attribute_forms`).
    cost : callable, optional
        Multiply-accumulates for one sample: a function of the operand types, the first result's type and the
        attributes (`graphrewrite.op.cost` has the usual ones). None if not given.
    neutral : mapping, optional
        Operands that a caller may leave out before others, or pass None for, although the function needs them: each
        name, to a function of the types of all operands (None of missing ones) and the attributes, which returns an
        array that changes nothing. Nodes have it as a constant.
    held : callable, optional
        Of an op that rounds, what its gradients are of, since its own slopes are zero: a function of operands and
        attributes that returns one of operands, the op near to them with what rounding adds held as it is.

    Returns
    -------
    Op
        Or a decorator, when called with keywords only.

    Raises
    ------
    TypeMismatchError
        If an attribute has a reserved name, a derived name is taken or stands for nothing, or a level or kind of
        element types is unknown.
    GraphError
        If the dialect has another op of that name.

    Examples
    --------
    >>> import numpy as np
    >>> @define_op
    ... def double(x):
    ...     "Twice the operand."
    ...     return x + x
    >>> double(np.array([1, 2])).tolist()
    [2, 4]
    >>> print(*double.infer(Tensor("f32", ("N", 3))))
    f32[N,3]
    """

    def wrap(body: Callable[..., Any]) -> Op:
        parameters = inspect.signature(body).parameters.values()
        keywords = [p for p in parameters if p.kind == p.KEYWORD_ONLY]
        attributes = {p.name: p.default for p in keywords}
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        rest = [p for p in parameters if p.kind == p.VAR_POSITIONAL]
        _check_derived(derived or {}, [p.name for p in parameters])
        check_kinds(elements or ())
        _check_names(name or body.__name__.rstrip("_"), attributes, forms or ())
        is_open = infer is not None or results == 0
        accepted = frozenset(elements) if elements is not None else None if is_open else _COMPUTED
        word = name or body.__name__.rstrip("_")
        made = Op(
            name=word if dialect is None else f"{dialect.name}.{word}",
            function=body,
            level=checked_level(level, dialect),
            dialect=dialect,
            infer_types=_without_results
            if results == 0
            else elementwise
            if infer in (None, elementwise)
            else _with_defaults(infer, attributes),
            operands=tuple(p.name for p in [*positional, *rest]),
            required=sum(p.default is p.empty for p in positional),
            variadic=bool(rest),
            attributes=attributes,
            commutative=commutative,
            stateful=stateful or effects or step is not None,
            step=step,
            effects=effects,
            results=results if isinstance(results, int) else 0,
            elements=accepted,
            axes=None if axes is None else Axes.of(axes),
            derived=spellings([p.name for p in parameters], attributes) | dict(derived or {}),
            forms=dict(forms or {}),
            results_of=None if isinstance(results, int) else results,
            cost=cost,
            neutral=dict(neutral or {}),
            held=held,
            sized=frozenset(p.name for p in keywords if _names_sizes(str(p.annotation))),
            doc=inspect.getdoc(body) or "",
        )
        if dialect is not None:
            dialect.add_member(word, made)
        return made

    return wrap if function is None else wrap(function)
