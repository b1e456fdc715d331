"""Definition of a class of typed data: its annotations are read, and its fields checked."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, get_args, get_origin

from graphrewrite.errors import DataError
from graphrewrite.schema.fields import MISSING, Field

__all__ = ["check_definition", "is_class_variable", "signature_of", "specialised_fields"]


def is_class_variable(annotation: Any) -> bool:
    """Tell whether an annotation is a ``ClassVar``, which is not a field.

    Examples
    --------
    >>> is_class_variable("ClassVar[int]"), is_class_variable(int)
    (True, False)
    """
    if isinstance(annotation, str):
        return re.match(r"(\w+\.)?ClassVar\b", annotation) is not None
    return annotation is ClassVar or get_origin(annotation) is ClassVar


def specialised_fields(cls: type) -> dict[str, Field]:
    """Return the fields of generic parents that a class specialises, such as ``class Lengths(Box[int])``."""
    specialised: dict[str, Field] = {}
    for alias in reversed(vars(cls).get("__orig_bases__", ())):
        origin: Any = get_origin(alias)
        fields = getattr(origin, "_fields", None)
        if fields:
            variables = dict(zip(origin.__parameters__, get_args(alias), strict=True))
            specialised.update({name: one.specialised(variables) for name, one in fields.items()})
    return specialised


def signature_of(fields: Mapping[str, Field]) -> inspect.Signature:
    """Return the signature of the constructor: each field by keyword."""
    return inspect.Signature(
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if one.required else ... if one.factory else one.default,
                annotation=one.annotation,
            )
            for name, one in fields.items()
            if one.init
        ]
    )


def check_definition(fields: Iterable[Field], made: Mapping[str, Field]) -> None:
    """Raise if a field or its default is wrong; skip fields whose annotations mention names that are defined later."""
    owner: dict[str, str] = {}
    for one in fields:
        if one.init and owner.setdefault(one.key, one.name) != one.name:
            raise DataError(
                f"has the key {one.key!r}, as {owner[one.key]!r} has; a second name of a key is one with init=False",
                path=one.where,
            )
    for one in made.values():
        try:
            kind = one.kind
        except NameError:
            continue
        if one.default is not MISSING:
            kind.store(one.default, one.where)
