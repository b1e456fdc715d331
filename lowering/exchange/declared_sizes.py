"""Sizes that a model declares: numbers, names, expressions, and those that it leaves open."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types import Size, as_size, symbols

__all__ = ["DeclaredSizes", "NegativeSizeError"]

_NUMBERED = re.compile(r"\?[1-9][0-9]*")


class NegativeSizeError(ValueError):
    """A declared size is no size."""


class DeclaredSizes:
    """Reader of the shapes of one model: equal names are equal sizes, and what has no name is a size of its own.

    Parameters
    ----------
    shapes : iterable
        The shapes of the model's inputs, as ONNX has them; empty where sizes have no names.
    """

    def __init__(self, shapes: Iterable[Any] = ()) -> None:
        self.named: dict[str, int | Size] = {}
        texts = [d.dim_param for shape in shapes for d in shape.dim if d.HasField("dim_param")]
        self.plain = {text for text in texts if text.isidentifier()}
        self.legal = set(self.plain)
        self.known = {text for text in texts if _NUMBERED.fullmatch(text)}
        """Unknown sizes that mean something already."""
        self.unknown = (Size(f"?{number}") for number in count(1) if f"?{number}" not in self.known)

    def shape(self, dims: Iterable[Any], unknown: Iterator[Size] | None = None) -> tuple[int | Size, ...]:
        """Return a shape, with unknown sizes of the model, or given ones, for those that have no name.

        Raises
        ------
        NegativeSizeError
            If a size is below -1, which is how some exporters write an open one.
        """
        return tuple(self.size(dim, self.unknown if unknown is None else unknown) for dim in dims)

    def open_shape(self, stored: Iterable[int | str | None], batch: str) -> tuple[int | str | Size, ...]:
        """Return a shape in which open sizes are None: the first one is the batch, others have no name."""
        return tuple(
            (batch if at == 0 else next(self.unknown)) if size is None else size for at, size in enumerate(stored)
        )

    @staticmethod
    def hint(reason: str) -> str:
        """Return why a node is refused, with what helps where a size without a name has to do with it."""
        if not re.search(r"\?[1-9]", reason) or "shapes=" in reason:
            return reason
        return f"{reason}; pass the shapes of inputs with open sizes: shapes={{'x': (…)}}"

    def size(self, dim: Any, unknown: Iterator[Size]) -> int | Size:
        """Return one size."""
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            return int(dim.dim_value)
        if dim.HasField("dim_value") and dim.dim_value < -1:
            raise NegativeSizeError(f"the size {dim.dim_value}")
        text = dim.dim_param
        if not text.strip(" ?"):
            return next(unknown)
        if text not in self.named:
            self.named[text] = self.read(text)
        return self.named[text]

    def read(self, text: str) -> int | Size:
        """Return the size that a name or expression says; a name that is none in Python becomes a legal one."""
        if not text.isidentifier():
            try:
                size = as_size(text)
            except TypeMismatchError:
                pass
            else:
                # A minus between names is a hyphen, unless these are sizes themselves.
                inside = symbols(size)
                if len(inside) == 1 or self.plain.issuperset(inside):
                    return size
        legal = re.sub(r"\W", "_", text)
        legal = legal if legal.isidentifier() else f"_{legal}"
        while text not in self.plain and legal in self.legal:
            legal += "_"
        self.legal.add(legal)
        return as_size(legal)
