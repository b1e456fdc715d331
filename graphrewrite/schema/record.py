"""IrData: typed access to a dictionary of JSON-able data."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, dataclass_transform

from graphrewrite.errors import DataError, FieldError, did_you_mean
from graphrewrite.schema.annotation import is_open, specialised
from graphrewrite.schema.backing import Backing
from graphrewrite.schema.definition import check_definition, is_class_variable, signature_of, specialised_fields
from graphrewrite.schema.equality import same_data
from graphrewrite.schema.fields import MISSING, Field, field
from graphrewrite.schema.resolve import Scope

__all__ = ["IrData"]


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class IrData:
    """Typed view of a dictionary; an annotation in a subclass is a field.

    The view owns nothing: `data` is always the JSON-able truth, reading checks it, assigning checks and writes through,
    at any depth. Made by keyword, it has a new dictionary, with all defaults; `of` is a view of one that is there, and
    `like` takes another's data as a prototype.

    A field's type is a primitive, ``Literal``, an enum (stored as its value), ``list``, ``dict`` with keys of type str,
    ``tuple``, ``Sequence``, ``X | None``, another class of `IrData`, a numpy array or dtype, a type of this library
    such as ``Tensor``, ``Any`` for whatever is JSON-able, or anything at all with conversions; see `field`.

    Examples
    --------
    >>> class Shape(IrData):
    ...     channels: int
    ...     length: int = 1
    >>> class Layer(IrData):
    ...     name: str
    ...     input_shape: Shape
    ...     pads: list[int] = field(factory=list, doc="Begins, then ends.")
    >>> layer = Layer(name="conv_1", input_shape=Shape(channels=3))
    >>> layer.input_shape.length = 5
    >>> layer.pads.append(1)
    >>> layer.data
    {'name': 'conv_1', 'input_shape': {'channels': 3, 'length': 5}, 'pads': [1]}
    >>> layer.input_shape.length = "x"
    Traceback (most recent call last):
    graphrewrite.errors.DataError: Layer.input_shape.length: expected int, got str 'x'
    """

    __slots__ = ("_backing", "_path")
    __hash__ = None  # type: ignore[assignment]  # the data is mutable
    _fields: ClassVar[dict[str, Field]] = {}
    _path: str
    _backing: Backing

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        scope = Scope(cls)
        own = {n: a for n, a in inspect.get_annotations(cls).items() if not is_class_variable(a)}
        inherited: dict[str, Field] = {}
        for parent in reversed(cls.__mro__[1:]):
            inherited |= vars(parent).get("_fields", {})
        inherited |= specialised_fields(cls)
        # A value without an annotation would hide a field silently.
        for name, value in vars(cls).items():
            if name in own or name in ("_fields", "__orig_bases__"):
                continue
            if name in inherited or isinstance(value, Field):
                kind = inherited[name].type if name in inherited else "int"
                raise DataError(
                    f"is a field without an annotation; write `{name}: {kind} = …`", path=f"{cls.__name__}.{name}"
                )
        fields = {}
        for name, annotation in own.items():
            if hasattr(IrData, name) or name.startswith("__") or isinstance(vars(cls).get(name), property):
                raise DataError("is a reserved name; rename the field and pass key=…", path=f"{cls.__name__}.{name}")
            default = vars(cls).get(name, MISSING)
            fields[name] = default if isinstance(default, Field) else Field(default=default)
            fields[name].define(name, annotation, scope)
        cls._fields = {**inherited, **fields}
        for name, one in cls._fields.items():
            if cls.__dict__.get(name) is not one and (name in fields or one is not getattr(cls, name, None)):
                setattr(cls, name, one)
        cls.__signature__ = signature_of(cls._fields)  # type: ignore[attr-defined]  # what inspect and help look at
        check_definition(cls._fields.values(), fields)

    def __init__(self, *positional: Any, **values: Any) -> None:
        cls = type(self)
        if positional:
            raise DataError(
                f"takes fields by keyword only; {cls.__name__}.of(…) is a view of a dictionary", path=cls.__name__
            )
        self._adopt(Backing({}), cls.__name__)
        data = self._filled({}, values)
        self._backing.container.update(data)

    def _filled(self, data: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
        """Return data with values and defaults in it; all required fields are there."""
        cls, name = type(self), type(self).__name__
        fields = {n: f for n, f in cls._fields.items() if f.init}
        for key in values:
            if key not in fields:
                raise FieldError(
                    f"has no field {key!r} (known: {', '.join(fields) or 'none'}){did_you_mean(key, fields)}", path=name
                )
        # Data that a value replaces need not be valid.
        cls._check({k: v for k, v in data.items() if k not in {fields[key].key for key in values}}, name)
        data = dict(data)
        for key, one in fields.items():
            if key in values:
                data[one.key] = one.store(values[key], f"{name}.{key}")
            elif not one.required and one.key not in data:
                data[one.key] = one.fresh_default(f"{name}.{key}")
        missing = [f"{key}: {one.type}" for key, one in fields.items() if one.key not in data]
        if missing:
            raise FieldError(
                f"required fields are missing: {', '.join(missing)}; {name}.of({{}}) is a view of data to be filled",
                path=name,
            )
        return data

    def _adopt(self, backing: Backing, path: str) -> None:
        object.__setattr__(self, "_backing", backing)
        object.__setattr__(self, "_path", path)

    @classmethod
    def _at(cls, backing: Backing, path: str) -> Self:
        """Return a view of a part of other data; for implementations of `Kind`."""
        new = cls.__new__(cls)
        new._adopt(backing, path)
        return new

    @classmethod
    def of(cls, data: dict[str, Any] | IrData) -> Self:
        """Return a view of data that is there, without copying it.

        Parameters
        ----------
        data : dict or IrData
            A dictionary, such as the attributes of a networkx node, or another view. Fields may be missing: reading one
            of them raises then.

        Raises
        ------
        DataError
            If it is no dictionary.

        Examples
        --------
        >>> import networkx as nx
        >>> class Layer(IrData):
        ...     type: str
        ...     groups: int = 1
        >>> g = nx.DiGraph()
        >>> g.add_node("conv_1", type="conv")
        >>> layer = Layer.of(g.nodes["conv_1"])
        >>> layer.groups
        1
        >>> layer.groups = 3
        >>> g.nodes["conv_1"]
        {'type': 'conv', 'groups': 3}
        """
        if isinstance(data, IrData):
            return cls._at(data._backing, cls.__name__)
        if not isinstance(data, dict):
            raise DataError(f"is a view of a dictionary, not of {type(data).__name__}", path=cls.__name__)
        return cls._at(Backing(data), cls.__name__)

    @classmethod
    def like(cls, other: dict[str, Any] | IrData, /, **more: Any) -> Self:
        """Return new data with another's as prototype.

        Parameters
        ----------
        other : dict or IrData
            Its data is copied, arrays included; keys that are no fields here are kept.
        **more
            Further fields, or other values.

        Raises
        ------
        DataError
            If fields of the prototype have other types here, or required ones are still missing.

        Examples
        --------
        >>> class Node(IrData):
        ...     name: str
        >>> class VhdlNode(Node):
        ...     implementation: str
        >>> VhdlNode.like(Node(name="conv_1"), implementation="matvec").data
        {'name': 'conv_1', 'implementation': 'matvec'}
        """
        new = cls.of(copy.deepcopy(cls.of(other).data))
        new._adopt(Backing(new._filled(new.data, more)), cls.__name__)
        return new

    @property
    def data(self) -> dict[str, Any]:
        """The dictionary itself, always as it is stored."""
        data: dict[str, Any] = self._backing.read()
        return data

    def get_missing_required_fields(self) -> dict[str, str]:
        """Return the required fields that have no value, with their types; those of nested data by path.

        Examples
        --------
        >>> class Shape(IrData):
        ...     length: int
        >>> class Layer(IrData):
        ...     name: str
        ...     shape: Shape
        >>> Layer.of({"shape": {}}).get_missing_required_fields()
        {'name': 'str', 'shape.length': 'int'}
        """
        return {path[1:]: kind for path, kind in self._missing_in(self.data, "")}

    def _absent(self, field: Field, path: str) -> Any:
        """Return the value of a required field that the data lacks, or raise; for subclasses with other sources."""
        raise FieldError(f"is required and missing; assign it ({field.type})", path=path)

    def _put(self, field: Field, stored: Any) -> None:
        """Write the stored form of an assigned value."""
        self._backing.write()[field.key] = stored

    @classmethod
    def _missing_in(cls, data: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
        """Yield path and type of each required field that a dictionary lacks, at any depth."""
        for name, one in cls._fields.items():
            if one.key in data:
                yield from one.known_kind().missing(data[one.key], f"{path}.{name}")
            elif one.required:
                yield f"{path}.{name}", one.type

    @classmethod
    def _check(cls, data: dict[str, Any], path: str) -> None:
        """Raise a `DataError` unless all fields that a dictionary has are of their types; some may be missing."""
        for name, one in cls._fields.items():
            if one.key in data:
                one.known_kind().check(data[one.key], f"{path}.{name}")

    if not TYPE_CHECKING:  # type checkers know the fields, and that there are no others

        def __class_getitem__(cls, args: Any) -> Any:
            if not hasattr(super(), "__class_getitem__"):
                raise TypeError(f"{cls.__name__} has no type variables; derive it from Generic[…] too")
            alias = super().__class_getitem__(args)
            return alias if is_open(alias) else specialised(cls, alias)

        def __setattr__(self, name: str, value: Any) -> None:
            if name == "data":
                raise FieldError(
                    f"is the dictionary itself; change its entries, or use {type(self).__name__}.of",
                    path=f"{self._path}.data",
                )
            attribute = inspect.getattr_static(type(self), name, None)
            if not hasattr(attribute, "__set__"):
                raise self._unknown(name)
            if isinstance(attribute, property) and attribute.fset is None:
                raise FieldError("is computed from other data; assign that", path=f"{self._path}.{name}")
            object.__setattr__(self, name, value)

        def __getattr__(self, name: str) -> Any:
            if name in ("_backing", "_path") or (name.startswith("__") and name.endswith("__")):
                raise AttributeError(name)  # asked for by copy, pickle, inspect, …
            if hasattr(type(self), name):  # a property raised AttributeError: let its own error through
                return object.__getattribute__(self, name)
            raise self._unknown(name)

    def __delattr__(self, name: str) -> None:
        if name not in self._fields:
            raise self._unknown(name)
        object.__delattr__(self, name)

    def _unknown(self, name: str) -> FieldError:
        return FieldError(
            f"has no field {name!r} (known: {', '.join(self._fields) or 'none'}){did_you_mean(name, self._fields)}",
            path=self._path,
        )

    def __eq__(self, other: object) -> bool:
        """Whether both have the same data, whatever their classes."""
        return same_data(self.data, other.data) if isinstance(other, IrData) else NotImplemented

    def __repr__(self) -> str:
        return f"{type(self).__name__}.of({self.data!r})"

    def __copy__(self) -> Self:
        return self.of(dict(self.data))

    def __reduce__(self) -> Any:
        generic, args = vars(type(self)).get("_generic", (type(self), ()))
        return _again, (generic, args, self.data)


def _again(generic: Any, args: tuple[Any, ...], data: dict[str, Any]) -> IrData:
    """Return an unpickled view of its own data."""
    view: IrData = (generic[args] if args else generic).of(data)
    return view
