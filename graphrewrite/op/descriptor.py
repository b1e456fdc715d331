"""Descriptors of ops: each argument by its kind, name and place; calls by names, and by order."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphrewrite.errors import SerialError, TypeMismatchError, did_you_mean
from graphrewrite.op.ordered_call import KINDS, OrderedCall, check_kinds, without_ends

if TYPE_CHECKING:
    from graphrewrite.op.op import Op

__all__ = ["Argument", "OpDescriptor", "descriptor_of"]

_AXES = frozenset({"axis", "axes", "dim", "dims", "dimension", "dimensions"})
"""Last words of names of axes, as in ``batch_axis`` and ``concatDimension``."""
_NO_AXES = frozenset({"batch_dims", "swapFirst2Dims"})
"""Names that end like those of axes: a count, and a truth value."""

Named = Mapping[str, Mapping[str, Any]]
"""Values by kind and name. Names alone would not do: an op may have an input and an integer of the same name."""


@dataclass(frozen=True)
class Argument:
    """An argument of an op.

    Attributes
    ----------
    name : str
        Its name; no two arguments of a kind share one.
    kind : str
        One of `graphrewrite.op.ordered_call.KINDS`.
    index : int
        Its place among those of its kind.
    default : object
        What it is where a call leaves it out; ``inspect.Parameter.empty`` if that is not said.
    """

    name: str
    kind: str
    index: int
    default: Any = field(default=inspect.Parameter.empty, compare=False)

    @property
    def is_axis(self) -> bool:
        """Whether it is an integer that denotes an axis, or several."""
        words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", self.name)]
        last = words[-2:-1] if words and len(words[-1]) == 1 else words[-1:]  # dimC, dimensionsY
        return self.kind == "integers" and self.name not in _NO_AXES and not _AXES.isdisjoint(last)


@dataclass(frozen=True)
class OpDescriptor:
    """What a call of an op looks like.

    Attributes
    ----------
    name : str
        The op's name.
    arguments : tuple of Argument
        All of them, by kind and place.
    declaration : str
        How the op was declared: of the library's, its level; of ops of other projects, their word for it.
    variadic : bool
        Whether the last input stands for any number.

    Examples
    --------
    >>> from graphrewrite import op
    >>> conv = op.conv.descriptor()
    >>> conv.names("inputs"), conv.names("integers")
    (('x', 'w', 'b'), ('strides', 'pads', 'dilations', 'groups'))
    >>> call = conv.ordered({"inputs": {"x": "x", "w": "w"}, "integers": {"strides": (2, 2)}})
    >>> print(call)
    conv(inputs=("x", "w"), integers=((2, 2),))
    >>> conv.named(call)["integers"]
    {'strides': (2, 2)}
    """

    name: str
    arguments: tuple[Argument, ...]
    declaration: str = ""
    variadic: bool = False

    def __post_init__(self) -> None:
        ordered = sorted(self.arguments, key=lambda a: (KINDS.index(a.kind), a.index))
        object.__setattr__(self, "arguments", tuple(ordered))
        for kind in KINDS:
            own = self.of_kind(kind)
            if [a.index for a in own] != list(range(len(own))):
                raise TypeMismatchError(f"{self.name}: the places of its {kind} are not 0, 1, …: {own}")
            if len({a.name for a in own}) < len(own):
                raise TypeMismatchError(
                    f"{self.name}: two of its {kind} have one name: {', '.join(a.name for a in own)}"
                )

    def of_kind(self, kind: str) -> tuple[Argument, ...]:
        """Return the arguments of a kind, in order."""
        return tuple(argument for argument in self.arguments if argument.kind == kind)

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the names of the arguments of a kind, in order."""
        return tuple(argument.name for argument in self.of_kind(kind))

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the integers that denote axes."""
        return tuple(argument.name for argument in self.arguments if argument.is_axis)

    @property
    def in_place(self) -> bool:
        """Whether a call may say that its result takes the place of its input."""
        return "inPlace" in self.names("booleans")

    def kinds_of(self, name: str) -> tuple[str, ...]:
        """Return the kinds in which there is an argument of a name."""
        return tuple(argument.kind for argument in self.arguments if argument.name == name)

    def ordered(self, values: Named) -> OrderedCall:
        """Return a call by the order of the arguments, from one by their names.

        Parameters
        ----------
        values : mapping of str to mapping of str to object
            For each kind, values by the names of arguments. A tuple of two or more for the last argument of a kind is
            written as so many values.

        Raises
        ------
        TypeMismatchError
            If there is no argument of a name, or of a kind.
        """
        check_kinds(values)
        found: dict[str, tuple[Any, ...]] = {}
        for kind, named in values.items():
            known = self.names(kind)
            for name in named:
                if name not in known:
                    others = [other for other in self.kinds_of(name) if other != kind]
                    hint = f"; it is one of its {others[0]}" if others else did_you_mean(name, known)
                    listed = ", ".join(known) or "none"
                    raise TypeMismatchError(f"{self.name} has no {name!r} among its {kind} (known: {listed}){hint}")
            places = without_ends(named.get(name) for name in known)
            if len(places) == len(known) and places and _is_several(places[-1]):
                places = (*places[:-1], *places[-1])
            found[kind] = places
        return OrderedCall(self.name, found)

    def named(self, call: OrderedCall) -> dict[str, dict[str, Any]]:
        """Return a call by the names of the arguments, from one by their order.

        Raises
        ------
        TypeMismatchError
            If the call is of another op, or has values of a kind that the op does not have.
        """
        if call.op != self.name:
            raise TypeMismatchError(f"the call is of {call.op!r}, the descriptor that of {self.name!r}")
        found: dict[str, dict[str, Any]] = {}
        for kind, values in call.values.items():
            known = self.names(kind)
            if not known:
                raise TypeMismatchError(f"{self.name} has no {kind}, and the call has {len(values)}")
            places = values if len(values) <= len(known) else (*values[: len(known) - 1], values[len(known) - 1 :])
            found[kind] = {name: value for name, value in zip(known, places, strict=False) if value is not None}
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return it as nested dictionaries and lists, as JSON has them.

        Examples
        --------
        >>> from graphrewrite import op
        >>> data = op.leaky_relu.descriptor().to_dict()
        >>> data["inputs"], data["floats"], data["defaults"]
        (['x'], ['alpha'], {'floats': {'alpha': 0.01}})
        """
        kinds = {kind: list(self.names(kind)) for kind in KINDS if self.of_kind(kind)}
        defaults: dict[str, dict[str, Any]] = {}
        for argument in self.arguments:
            if argument.default is not inspect.Parameter.empty:
                defaults.setdefault(argument.kind, {})[argument.name] = _listed(argument.default)
        return {
            "name": self.name,
            "declaration": self.declaration,
            **({"variadic": True} if self.variadic else {}),
            **kinds,
            **({"defaults": defaults} if defaults else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> OpDescriptor:
        """Read what `to_dict` gives.

        Raises
        ------
        SerialError
            If a key is missing or not known, names are no strings, or a default is of no argument.
        """
        known = ("name", "declaration", "variadic", *KINDS, "defaults")
        for key in data:
            if key not in known:
                raise SerialError(f"a descriptor has no {key!r}{did_you_mean(str(key), known)}", path=str(key))
        if not isinstance(data.get("name"), str):
            raise SerialError("a descriptor needs the name of an op", path="name")
        arguments = []
        defaults = data.get("defaults", {})
        if not isinstance(defaults, Mapping) or not all(isinstance(each, Mapping) for each in defaults.values()):
            raise SerialError("expected values by kind and name", path="defaults")
        for kind in KINDS:
            names = data.get(kind, [])
            if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
                raise SerialError("expected a list of names", path=kind)
            own = {name: _tupled(value) for name, value in defaults.get(kind, {}).items()}
            for name in own:
                if name not in names:
                    raise SerialError(f"there is no argument {name!r}{did_you_mean(str(name), names)}", path=kind)
            empty = inspect.Parameter.empty
            arguments += [Argument(name, kind, index, own.get(name, empty)) for index, name in enumerate(names)]
        return cls(data["name"], tuple(arguments), str(data.get("declaration", "")), bool(data.get("variadic", False)))


def descriptor_of(op: Op) -> OpDescriptor:
    """Return the descriptor of an op of the library, or of one's own; its attributes' kinds follow from annotations."""
    parameters = inspect.signature(op.function).parameters
    arguments = [Argument(name, "inputs", index) for index, name in enumerate(op.operands)]
    results = max(op.results, 1)
    arguments += [Argument("y" if results == 1 else f"y{i}", "outputs", i) for i in range(results)]
    count = dict.fromkeys(KINDS, 0)
    for name, default in op.attributes.items():
        annotation = parameters[name].annotation if name in parameters else ""
        kind = _kind(annotation if isinstance(annotation, str) else inspect.formatannotation(annotation))
        arguments.append(Argument(name, kind, count[kind], default))
        count[kind] += 1
    return OpDescriptor(op.name, tuple(arguments), op.level, op.variadic)


_WORDS = (
    ("others", r"\b(Body|ndarray|Any)\b"),
    ("types", r"\b(Element|ElementName|FixedPoint|Quantised)\b"),
    ("floats", r"\bfloat\b"),
    ("integers", r"\b(int|Dimension)\b"),
    ("booleans", r"\bbool\b"),
    ("strings", r"\b(str|Literal)\b"),
)
"""Kinds, and the words in annotations that stand for them; the first counts."""


def _kind(annotation: str) -> str:
    return next((kind for kind, words in _WORDS if re.search(words, annotation)), "others")


def _listed(value: Any) -> Any:
    return list(map(_listed, value)) if isinstance(value, tuple | list) else value


def _tupled(value: Any) -> Any:
    return tuple(map(_tupled, value)) if isinstance(value, tuple | list) else value


def _is_several(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) > 1
