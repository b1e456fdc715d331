"""Op: an operation as a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import import_module
from math import copysign
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite.errors import RuleError, TypeMismatchError
from graphrewrite.op.attribute_check import AttributeCheck, as_attribute
from graphrewrite.op.attribute_forms import Entries
from graphrewrite.op.axes import Arrangement, Axes
from graphrewrite.op.body import Body
from graphrewrite.op.dialect import Dialect
from graphrewrite.op.domain import check_elements
from graphrewrite.op.named_operands import placed
from graphrewrite.op.signature import Signature
from graphrewrite.op.symbolic import BELOW, CURRENT, Symbolic
from graphrewrite.types import Tensor, Type, one_object

if TYPE_CHECKING:
    from graphrewrite.op.descriptor import OpDescriptor

__all__ = ["Alternatives", "Cost", "Infer", "Op"]


_REMEMBERED = 4096
"""Number of results of type inference that an op remembers."""

Infer = Callable[..., Type | tuple[Type, ...]]
"""Takes the operand types and the attributes as keywords; returns the result type or types."""

Step = Callable[..., tuple[Any, Any]]
"""Takes the state, None in the first cycle, and what the op's function takes; returns the result and the new state."""

Cost = Callable[[Sequence[Any], Any, Mapping[str, Any]], int]
"""Takes the operand types, the first result's type and the attributes; returns multiply-accumulates."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Op(Signature):
    """An operation: computes on arrays, builds a node on values of a graph, is a pattern on a rule's variables.

    Made with `define_op`.

    Attributes
    ----------
    function : callable
        The meaning in numpy, vectorised over the batch.
    level : str
        ``"nn"``, ``"integer"``, ``"stream"``, ``"memory"``, ``"structure"``, ``"bridge"`` for an op that only changes
        between levels, or a level of its dialect.
    dialect : Dialect, optional
        The dialect that it is part of; None for ops of the library and single ones.
    stateful : bool
        Whether it has a state or an effect, so that it is never folded or merged.
    step : callable, optional
        Of an op with a state: its meaning in one cycle of a sequence (`graphrewrite.execution.evaluate_sequence`).
    effects : bool
        Whether it has an effect, so that it is never removed because nobody reads it, and keeps its place among others.
    elements : frozenset of str, optional
        Kinds of element types that it computes with (`graphrewrite.op.domain`); None where inference decides.
    axes : Axes, optional
        The order in which the function has the axes of its operands; None where inference decides what layouts mean.
    cost : callable, optional
        Multiply-accumulates for one sample, from operand types, result type and attributes; none if not given.
    forms : mapping
        Attributes that may be written in other forms, which the operand types explain; see `settled`.
    sized : frozenset of str
        Attributes that may hold symbolic sizes, which evaluation replaces by numbers.
    held : callable, optional
        Of an op that rounds: a function of operands and attributes that returns one of operands, the op near to them
        with what rounding adds held as it is, whose slopes its gradients have.
    doc : str
        The docstring of the function, to which `documentation` adds types and defaults.
    """

    function: Callable[..., Any]
    level: str
    infer_types: Infer
    dialect: Dialect | None = field(default=None, repr=False)
    stateful: bool = False
    step: Step | None = None
    effects: bool = False
    elements: frozenset[str] | None = None
    axes: Axes | None = None
    cost: Cost | None = field(default=None, repr=False)
    forms: Mapping[str, Entries] = field(default_factory=dict, repr=False)
    sized: frozenset[str] = field(default=frozenset(), repr=False)
    held: Callable[..., Callable[..., Any]] | None = field(default=None, repr=False)
    doc: str = field(default="", repr=False)
    remembered: dict[Any, tuple[Type, ...]] = field(default_factory=dict, repr=False, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "__module__", self.function.__module__)

    def __get__(self, instance: Any, owner: Any = None) -> Op:
        return self  # an op is a routine to pydoc and doctest, and bound to nothing

    def __call__(self, *operands: Any, **attributes: Any) -> Any:
        """Compute, build a node, or be a pattern, as the operands are."""
        if attributes:
            if not self.operand_positions.keys().isdisjoint(attributes):
                operands = placed([self], operands, attributes)
            for word, express in self.expressed.items():
                if word in attributes and (found := express(self, operands, attributes)) is not None:
                    return found
        for operand in operands:
            if isinstance(operand, Symbolic):
                return operand.apply_op(self, operands, attributes)
        if (listed := self.one_by_one(operands)) is not operands:
            return self(*listed, **attributes)
        current = CURRENT.get()
        if current is not None:  # inside of a rule, an op of literals only is part of the pattern, too
            return current.apply_op(self, operands, attributes)
        if (attributes or self.stateful) and (below := BELOW.get()) is not None and below.takes(self, attributes):
            return below.apply(self, operands, attributes)
        attributes = self.as_attributes(attributes)
        operands = tuple(self.completed(operands, attributes)) if self.neutral else operands
        self.check(len(operands), attributes)
        if not self.is_settled(attributes):
            attributes = self.settled(attributes, [Tensor("f32", np.shape(x)) for x in operands])
        try:
            return self.function(*operands, **attributes)
        except AttributeError as error:  # functions use attributes of arrays, which lists and numbers lack
            wrong = [x for x in operands if x is not None and not isinstance(x, np.ndarray | np.generic)]
            if not wrong:
                raise
            message = f"{self.name} computes with arrays, got {wrong[0]!r}; convert it with np.asarray"
            raise TypeMismatchError(message) from error

    @property
    def stem(self) -> str:
        """The beginning of the names of its nodes: its own name without that of its dialect."""
        return self.name if self.dialect is None else self.name.removeprefix(f"{self.dialect.name}.")

    @cached_property
    def vjp(self) -> Op:
        """The op of its vector-Jacobian products, `graphrewrite.op.differentiation.Vjp`."""
        from graphrewrite.op.differentiation import vjp_of  # made of this class

        return vjp_of(self)

    def has_state(self, attributes: Mapping[str, Any]) -> bool:
        """Tell whether a node with some attributes has a state or an effect: the op, or a graph among them.

        Parameters
        ----------
        attributes : mapping
            Attributes of the node.
        """
        return self.stateful or any(isinstance(each, Body) and each.has_state for each in attributes.values())

    def has_effects(self, attributes: Mapping[str, Any]) -> bool:
        """Tell whether a node with some attributes has an effect: the op, or a graph among them.

        Parameters
        ----------
        attributes : mapping
            Attributes of the node.
        """
        if self.effects or not attributes:
            return self.effects
        return any(isinstance(each, Body) and each.has_effects for each in attributes.values())

    def descriptor(self) -> OpDescriptor:
        """Return its arguments by kind, name and place, as data; see `graphrewrite.op.descriptor`."""
        from graphrewrite.op.descriptor import descriptor_of

        return descriptor_of(self)

    def stands_for(self, other: Op) -> bool:
        """Tell whether another op of the same name is this one, defined again."""
        mine, its = self.function, other.function
        return (type(self), mine.__module__, mine.__qualname__) == (type(other), its.__module__, its.__qualname__)

    def enter(self, graph: Any) -> None:
        """Raise if a graph cannot have nodes of this op: an op that is a graph may contain that very graph."""

    def __or__(self, other: Any) -> Alternatives:
        return _either(self, other) if isinstance(other, _OPS) else NotImplemented

    def infer(self, *types: Type, **attributes: Any) -> tuple[Type, ...]:
        """Return the result types for the operand types and attributes.

        Parameters
        ----------
        *types : Tensor or Stream
            Operand types, in order.
        **attributes
            Keyword attributes.

        Returns
        -------
        tuple of Tensor or Stream
            One a result.

        Raises
        ------
        TypeMismatchError
            If they do not fit.

        Examples
        --------
        >>> from graphrewrite import Tensor, op
        >>> print(*op.add.infer(Tensor("f32", ("N", 4)), Tensor("f32", (4,))))
        f32[N,4]
        """
        attributes = self.settled(self.as_attributes(attributes), types)
        self.check(len(types), attributes)
        try:
            if self.elements is not None:
                check_elements(self.elements, types)
            inferred = self.infer_types(*(types if self.axes is None else self.axes.in_order(types)), **attributes)
            results = inferred if isinstance(inferred, tuple) else (inferred,)
            return results if self.axes is None else tuple(self.axes.as_given(t, types) for t in results)
        except TypeMismatchError as error:
            raise TypeMismatchError(f"{self.name}({', '.join(map(str, types))}): {error}") from None
        except Exception as error:
            if self.dialect is None:
                raise
            # The inference of somebody's own op meets types for which it is not meant.
            raise TypeMismatchError(f"{self.name} does not take {', '.join(map(str, types))}: {error}") from error

    def arrangement(self, types: Sequence[Type]) -> Arrangement | None:
        """Return the transposes that the function needs around it for operands of some types, if any.

        Parameters
        ----------
        types : sequence of Tensor or Stream
            Operand types, in order.

        Examples
        --------
        >>> from graphrewrite import Tensor, op
        >>> op.max_pool.arrangement([Tensor("f32", ("N", 6, 8), "NLC")])
        Arrangement(operand=(0, 2, 1), result=(0, 2, 1))
        """
        return None if self.axes is None else self.axes.arrangement(types)

    def compute(
        self, arrays: Sequence[np.ndarray], attributes: Mapping[str, Any], arrangement: Arrangement | None = None
    ) -> tuple[np.ndarray, ...]:
        """Return the results for operands whose axes lie as their types say.

        Parameters
        ----------
        arrays : sequence of ndarray
            The operands.
        attributes : mapping
            Keyword attributes.
        arrangement : Arrangement, optional
            What `arrangement` gives for the operands' types.

        Returns
        -------
        tuple of ndarray
            One a result; empty if the function returned nothing.

        Examples
        --------
        >>> from graphrewrite import Tensor, op
        >>> order = op.max_pool.arrangement([Tensor("f32", (1, 4, 1), "NLC")])
        >>> sizes = {"kernel": (4,), "strides": (1,), "pads": (0, 0)}
        >>> op.max_pool.compute([np.arange(4.0).reshape(1, 4, 1)], sizes, order)
        (array([[[3.]]]),)
        """
        if arrangement is not None:
            arrays = (np.transpose(arrays[0], arrangement.operand), *arrays[1:])
        computed = self.function(*arrays, **attributes)
        if computed is None:
            return ()
        results = computed if isinstance(computed, tuple) else (computed,)
        if arrangement is None:
            return tuple(map(np.asarray, results))
        return tuple(np.transpose(array, arrangement.result) for array in results)

    @cached_property
    def expressed(self) -> Mapping[str, Callable[[Op, tuple[Any, ...], Mapping[str, Any]], Any]]:
        """Keywords of calls that other nodes express, and what gives the result of such a call; None if it is plain."""
        return {name: meaning.express for name, meaning in self.derived.items() if hasattr(meaning, "express")}

    @cached_property
    def checks(self) -> Mapping[str, AttributeCheck]:
        """What values each attribute takes."""
        return {
            name: AttributeCheck.of(self.function, name, default, is_sized=name in self.sized)
            for name, default in self.attributes.items()
        }

    def check_of(self, attribute: str) -> AttributeCheck | None:
        """Return what values an attribute takes; None if the op has no such attribute."""
        return self.checks.get(attribute)

    def as_attributes(self, attributes: Mapping[str, Any], *, path: str = "") -> dict[str, Any]:
        """Return attributes in the form in which nodes have them.

        An attribute may have another name, as in other frameworks; an element type may be written as in other packages,
        and a size as an expression in any form. An attribute that the op does not have stays as it is: `check` refuses
        it.

        Parameters
        ----------
        attributes : mapping
            Keyword attributes.
        path : str
            Of the node in messages; the op's name where not given.

        Raises
        ------
        AttributeValueError
            If an attribute does not have the type that the op's function annotates.

        Examples
        --------
        >>> from graphrewrite import op
        >>> op.cast.as_attributes({"element": np.float16}), op.transpose.as_attributes({"perm": [1, 0]})
        ({'element': 'f16'}, {'perm': (1, 0)})
        >>> op.reshape.as_attributes({"shape": ["seq*2", 4]})
        {'shape': ('2*seq', 4)}
        >>> op.clip.as_attributes({"low": "a"})
        Traceback (most recent call last):
        ...
        graphrewrite.errors.AttributeValueError: clip.low: expected int | float | None, got str 'a'; for example low=0.5
        """
        given: dict[str, Any] = {}
        for written, value in attributes.items():
            key = written if written in self.attributes else self.canonical_name(written)
            if key in given:
                raise self._given_twice(key, attributes)
            check, form = self.check_of(key), self.forms.get(key)
            if check is None:
                given[key] = as_attribute(value)
            elif type(value) in check.scalars and form is None:  # most of them: nothing to convert
                given[key] = value
            elif form is None or not form.takes(value):
                given[key] = check.stored(value, f"{path or self.name}.{written}")
            else:
                given[key] = tuple(value) if isinstance(value, list) else value
        return given

    def _given_twice(self, attribute: str, written: Mapping[str, Any]) -> TypeMismatchError:
        """Return the error that a call gives an attribute by two names."""
        names = [name for name in written if self.canonical_name(name) == attribute]
        other = next(name for name in names if name != attribute)
        beside = attribute if attribute in names else next(name for name in names if name != other)
        same = "which is given, too" if beside == attribute else f"which is given as {beside!r}, too"
        return TypeMismatchError(f"{self.name}: {other!r} is another name of {attribute!r}, {same}")

    def is_settled(self, attributes: Mapping[str, Any]) -> bool:
        """Tell whether attributes, as `as_attributes` gives them, have their final form whatever the operands are."""
        for key, value in attributes.items():
            form = self.forms.get(key)
            if form is not None:
                if form.takes(value):
                    return False
            elif key not in self.attributes and key in self.derived:
                return False
        return True

    def defaults(self, first: Any, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the attributes with their defaults, for the type of the first operand, if that is known.

        Parameters
        ----------
        first : Tensor or Stream, optional
            The type of the first operand.
        attributes : mapping
            Those that are not at their defaults.

        Examples
        --------
        >>> from graphrewrite import Tensor, op
        >>> op.conv.defaults(Tensor("f32", ("N", 3, 9)), {})["pads"]
        (0, 0)
        """
        if not self.forms or not isinstance(first, Tensor) or len(first.shape) == 4:  # as the definition writes them
            return self.attributes
        known = {**self.attributes, **attributes}
        settled = {name: form.of_default(self.attributes[name], [first], known) for name, form in self.forms.items()}
        return {**self.attributes, **settled}

    def settled(self, attributes: dict[str, Any], types: Sequence[Type]) -> dict[str, Any]:
        """Return attributes in their final form, where operand types say what they stand for.

        One number of a window stands for all positions. What the view of a node derives from operands may be stated,
        and is no attribute then.

        Parameters
        ----------
        attributes : dict
            As `as_attributes` gives them.
        types : sequence of Tensor or Stream
            Operand types, in order.

        Raises
        ------
        TypeMismatchError
            If they do not fit the operands.

        Examples
        --------
        >>> from graphrewrite import Tensor, op
        >>> x, w = Tensor("f32", ("N", 3, 9)), Tensor("f32", (8, 3, 3))
        >>> op.conv.settled({"strides": 2, "pads": "same", "in_channels": 3}, [x, w])
        {'strides': (2,), 'pads': (1, 1)}
        """
        if not types or self.is_settled(attributes):
            return attributes
        if not all(isinstance(kind, Tensor) for kind in types):
            raise TypeMismatchError(f"{self.name}: write an entry for each position, where the operands are streams")
        if len(types) < self.required:
            return attributes  # `check` says which is missing
        try:
            in_order = types if self.axes is None else self.axes.in_order(types)
            known = {**self.attributes, **attributes}
            # Words, such as "same", follow from numbers.
            for key, form in sorted(self.forms.items(), key=lambda item: isinstance(known.get(item[0]), str)):
                if key in attributes and form.takes(known[key]):
                    known[key] = form.settled(known[key], in_order, known)
            for key in attributes.keys() - self.attributes.keys():
                self._check_stated(key, known.pop(key), types, known)
        except TypeMismatchError as error:
            raise TypeMismatchError(f"{self.name}({', '.join(map(str, types))}): {error}") from None
        return {key: known[key] for key in attributes if key in known}

    def _check_stated(self, name: str, value: Any, types: Sequence[Type], attributes: Mapping[str, Any]) -> None:
        """Raise unless a value is what the view of a node with some operands derives."""
        meaning = self.derived.get(name)
        if not callable(meaning):
            return  # `check` refuses it
        try:
            found = meaning(SimpleNamespace(**attributes, operand_types=tuple(types)))
        except AttributeError:
            raise TypeMismatchError(f"{name!r} follows from the operands; leave it out") from None
        known = set(found) if isinstance(found, tuple) else {found}
        if as_attribute(value) not in (found, (found,), *(known if len(known) == 1 else ())):
            raise TypeMismatchError(f"{name}={value!r} is stated, and the operands say {found!r}; leave it out")

    def stored(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes that a node stores: one at its default is left out, so that equal nodes look equal.

        Examples
        --------
        >>> from graphrewrite import op
        >>> op.conv.stored({"strides": (1,), "pads": (1, 1), "groups": 1})
        {'pads': (1, 1)}
        """
        if not attributes:
            return {}
        defaults, forms = self.attributes, self.forms
        return {
            k: v
            for k, v in attributes.items()
            if isinstance(v, np.ndarray)
            or not (_is_same(v, defaults[k]) or (k in forms and forms[k].is_default(v, defaults[k])))
        }

    def result_types(self, types: tuple[Type, ...], attributes: Mapping[str, Any]) -> tuple[Type, ...]:
        """Return what `infer` returns, remembered: rewriting asks the same again and again.

        Parameters
        ----------
        types : tuple of Tensor or Stream
            Operand types, in order.
        attributes : mapping
            Keyword attributes.

        Returns
        -------
        tuple of Tensor or Stream
            Equal types are one object as long as they are remembered.
        """
        try:
            key = (types, tuple(attributes.items()))
            results = self.remembered.get(key)
        except TypeError:  # an attribute that cannot be hashed, such as an array
            return self.infer(*types, **attributes)
        if results is None:
            results = tuple(one_object(t) for t in self.infer(*types, **attributes))
            if len(self.remembered) >= _REMEMBERED:
                self.remembered.clear()
            self.remembered[key] = results
        return results

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Let IPython and hypothesis print an op as it prints itself."""
        printer.text(repr(self))

    def __copy__(self) -> Op:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Op:
        return self  # an op is a value: a copied graph has the same ops

    def __reduce__(self) -> Any:
        # An op of the library is found by its name again; one defined elsewhere pickles by its function's module.
        return _find_op, (self.function.__module__, self.function.__qualname__)


@dataclass(frozen=True, eq=False)
class Alternatives:
    """One of several ops, in a pattern: ``(op.conv | op.linear)(x, w)``."""

    ops: tuple[Op, ...]

    def __or__(self, other: Any) -> Alternatives:
        return _either(self, other) if isinstance(other, _OPS) else NotImplemented

    def __call__(self, *operands: Any, **attributes: Any) -> Any:
        """Make a pattern node that is one of the ops."""
        operands = placed(self.ops, operands, attributes)
        current = CURRENT.get()
        if current is not None:
            return current.apply_form("node", self.ops, operands, attributes)
        raise RuleError(f"{' | '.join(op.name for op in self.ops)} are alternatives of a pattern; apply one of the ops")


_OPS = Op | Alternatives


def _is_same(value: Any, default: Any) -> bool:
    """Tell whether a value is a default: -0.0 is not, where that is 0."""
    if value is default:
        return True
    is_equal: bool = value == default
    if is_equal and isinstance(value, float) and value == 0:
        return copysign(1, value) == copysign(1, default)
    return is_equal


@lru_cache(maxsize=1024)
def _either(a: Op | Alternatives, b: Op | Alternatives) -> Alternatives:
    """Return one of two, or of all that these are; remembered, for a rule asks for the same at each of its matches."""
    return Alternatives(tuple([each for x in (a, b) for each in (x.ops if isinstance(x, Alternatives) else (x,))]))


def _find_op(module: str, name: str) -> Op:
    op = getattr(import_module(module), name.rpartition(".")[2])
    assert isinstance(op, Op)
    return op
