"""A field of typed data: a key in a dictionary with a type, a default, a conversion and a docstring."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, TypeVar, overload

from graphrewrite.errors import DataError, FieldError, did_you_mean
from graphrewrite.schema.annotation import substituted, words_for
from graphrewrite.schema.compound import Converted
from graphrewrite.schema.kind import Kind
from graphrewrite.schema.resolve import Scope, kind_of

if TYPE_CHECKING:
    from graphrewrite.schema.record import IrData

__all__ = ["MISSING", "Field", "field"]

T = TypeVar("T")
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING", "__deepcopy__": lambda self, memo: self})()
"""No default."""


class Field:
    """A field; the class attribute that reads and writes the data. Made by an annotation, or by `field`."""

    def __init__(
        self,
        *,
        default: Any = MISSING,
        factory: Callable[[], Any] | None = None,
        set_convert: Callable[[Any], Any] | None = None,
        get_convert: Callable[[Any], Any] | None = None,
        key: str | None = None,
        doc: str = "",
        init: bool = True,
    ) -> None:
        self.default, self.factory = default, factory
        self.set_convert, self.get_convert = set_convert, get_convert
        self.given_key, self.doc, self.init = key, doc, init
        self.name = ""
        self.annotation: Any = Any
        self.scope: Scope | None = None
        self.variables: dict[Any, Any] = {}

    def define(self, name: str, annotation: Any, scope: Scope) -> None:
        """Bind the field to its class: a name, and an annotation that may be resolved later."""
        self.name, self.annotation, self.scope = name, annotation, scope
        scope.unknown.add(name)  # until its annotation is resolved, the scope keeps the frames of the definition
        default = "" if self.required else f", {'a fresh default' if self.factory else repr(self.default)} if missing"
        self.__doc__ = f"{self.type}{default}.{' ' if self.doc else ''}{self.doc}"  # what help() shows

    def specialised(self, variables: dict[Any, Any]) -> Field:
        """Return the same field with types in place of type variables of the class."""
        new = copy.copy(self)
        vars(new).pop("kind", None)  # cached for the other types
        new.variables = {**variables, **{v: substituted(t, variables) for v, t in self.variables.items()}}
        return new

    def __repr__(self) -> str:
        return f"<field {self.where}: {self.type}>"

    @property
    def key(self) -> str:
        """Key of the value in the data."""
        return self.name if self.given_key is None else self.given_key

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is MISSING and self.factory is None

    @property
    def type(self) -> str:
        """The type, as it is written."""
        return words_for(self.annotation)

    @property
    def where(self) -> str:
        """Class and name, for messages."""
        return f"{self.scope.owner.__name__ if self.scope else '?'}.{self.name}"

    @cached_property
    def kind(self) -> Kind:
        """Kind that converts its values."""
        annotation = self.annotation
        if self.scope is not None:
            try:
                annotation = self.scope.evaluate(annotation, self.name)
            except NameError:
                raise
            except Exception as error:  # whatever an annotation can do
                raise DataError(f"cannot understand the annotation {self.type}: {error}", path=self.where) from error
        is_converted = self.set_convert is not None or self.get_convert is not None
        has_both = self.set_convert is not None and self.get_convert is not None
        try:
            kind = kind_of(annotation, known=self.variables, is_converted=has_both)
        except DataError as error:
            raise DataError(str(error), path=self.where) from None
        return Converted(kind, self.set_convert, self.get_convert) if is_converted else kind

    def known_kind(self) -> Kind:
        """Return the kind, or an error that says which name of its annotation is not defined."""
        try:
            return self.kind
        except NameError as error:
            name = str(getattr(error, "name", ""))
            hint = did_you_mean(name, self.scope.globals if self.scope else {})
            message = (
                f"its annotation {self.type} mentions {name!r}, which is not defined{hint}; import it at run time too"
            )
            raise DataError(message, path=self.where) from None

    def fresh_default(self, path: str) -> Any:
        """Return the default in its stored form, for one owner alone."""
        if self.factory is not None:
            return self.known_kind().store(self.factory(), path)
        return self.known_kind().store(copy.deepcopy(self.default), path)

    @overload
    def __get__(self, record: None, owner: Any = None) -> Field: ...
    @overload
    def __get__(self, record: IrData, owner: Any = None) -> Any: ...
    def __get__(self, record: IrData | None, owner: Any = None) -> Any:
        if record is None:
            return self
        backing, path = record._backing, f"{record._path}.{self.name}"
        data = backing.read()
        if self.key in data:
            return self.known_kind().load(data[self.key], path, backing)
        if self.required:
            return record._absent(self, path)
        return self.known_kind().load(self.fresh_default(path), path, backing, self.key)

    def __set__(self, record: IrData, value: Any) -> None:
        path = f"{record._path}.{self.name}"
        stored = self.store(value, path)
        record._backing.refuse_cycle(stored, path)
        record._put(self, stored)

    def __delete__(self, record: IrData) -> None:
        if self.key not in record._backing.read():
            raise FieldError("has no value that could be deleted", path=f"{record._path}.{self.name}")
        del record._backing.write()[self.key]

    def store(self, value: Any, path: str) -> Any:
        """Return the stored form of a value.

        Parameters
        ----------
        value : object
            The assigned value.
        path : str
            Of the field, for messages.
        """
        try:
            return self.known_kind().store(value, path)
        except RecursionError:
            raise DataError("is nested too deeply, or contains itself", path=path) from None


_OPTIONS = tuple(inspect.signature(Field).parameters)


@overload
def field(
    *,
    default: T,
    set_convert: Callable[[Any], Any] | None = ...,
    get_convert: Callable[[Any], Any] | None = ...,
    key: str | None = ...,
    doc: str = ...,
    init: bool = ...,
) -> T: ...
@overload
def field(
    *,
    factory: Callable[[], T],
    set_convert: Callable[[Any], Any] | None = ...,
    get_convert: Callable[[Any], Any] | None = ...,
    key: str | None = ...,
    doc: str = ...,
    init: bool = ...,
) -> T: ...
@overload
def field(
    *,
    set_convert: Callable[[Any], Any] | None = ...,
    get_convert: Callable[[Any], Any] | None = ...,
    key: str | None = ...,
    doc: str = ...,
    init: bool = ...,
) -> Any: ...
@wraps(Field, assigned=(), updated=())
def field(**options: Any) -> Any:
    """Declare a field with more than a type.

    Parameters
    ----------
    default : object, optional
        Its value where the data has none; each object gets its own copy.
    factory : callable, optional
        Makes such a value.
    set_convert, get_convert : callable, optional
        To the JSON-able form in which it is stored, and back. With both, the field may have any type. What
        `get_convert` makes is an object of its own: assign it again after changing it, or make its class one of
        `IrData`, which writes through.
    key : str, optional
        Its key in the data; its name where not given.
    doc : str
        Its meaning, for ``help``.
    init : bool
        Whether the constructor takes it.

    Raises
    ------
    DataError
        If there is both a default and a factory, or something that no field has.

    Examples
    --------
    >>> from pathlib import PurePosixPath as Path
    >>> from graphrewrite import IrData
    >>> class Source(IrData):
    ...     path: Path = field(set_convert=str, get_convert=Path, doc="Where it was read.")
    ...     kernel_size: int = field(key="kernel-size", default=1)
    >>> source = Source(path=Path("nets/a.onnx"))
    >>> source.data, source.path.name
    ({'path': 'nets/a.onnx', 'kernel-size': 1}, 'a.onnx')
    """
    if "default" in options and "factory" in options:
        raise DataError("pass a default or a factory, not both")
    for name in options:
        if name not in _OPTIONS:
            raise DataError(
                f"field() has no option {name!r} (known: {', '.join(_OPTIONS)}){did_you_mean(name, _OPTIONS)}"
            )
    return Field(**options)
