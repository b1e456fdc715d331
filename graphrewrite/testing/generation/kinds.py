"""Kinds of values: the element types of generated graphs by family, with numbers of axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from graphrewrite.errors import GraphRewriteError
from graphrewrite.testing.generation.demand import Unfit
from graphrewrite.types import TEXT, Dimension, Element, FixedPoint, Quantised, Stream, Tensor, Type, element_kind

__all__ = [
    "FAMILIES",
    "FORMATS",
    "LAYOUTS",
    "LONG",
    "POSITIVE",
    "QUANTISED",
    "RANKS",
    "SIZES",
    "UNSIGNED",
    "USUAL",
    "Kind",
    "family_of",
    "kind_of",
    "retyped",
    "starts",
]

FORMATS: tuple[FixedPoint, ...] = tuple(
    FixedPoint(*f)
    for f in (
        (True, 8, 4),
        (True, 24, 6),
        (False, 4),
        (True, 4, 1),
        (False, 8, 8),
        (True, 16, 8),
        (False, 1),
        (True, 32),
    )
)
"""Fixed-point formats of generated graphs: narrow and wide, with and without a sign."""
_RARE_FORMATS = tuple(FixedPoint(*f) for f in ((True, 60, 30), (True, 6, -20), (True, 20, 40), (True, 1)))
"""Nearly as wide as possible, far from the point, or nothing but a sign."""
QUANTISED: tuple[Quantised, ...] = (Quantised("i8", 0.5, 3), Quantised("u4", 0.25), Quantised("i16", 0.125, -7))
"""Quantised formats of generated graphs, of one scale each."""
FAMILIES: Mapping[str, tuple[Element, ...]] = {
    "float": ("f32", "f64", "f16", "bf16", "f8e4m3fn"),
    "fixed": (*FORMATS, *_RARE_FORMATS),
    "integer": ("i64", "i8", "i32", "u8", "i4", "u4", "i16", "u16", "u32", "u64"),
    "bool": ("bool",),
    "quantised": QUANTISED,
    "stream": FORMATS[:6],
    "string": (TEXT,),
}
"""Element types of generated graphs, by kind; those of streams count as a kind of their own."""
USUAL: Mapping[str, tuple[Element, ...]] = {
    **FAMILIES,
    "float": ("f32", "f64"),
    "integer": ("i64", "i8", "i32"),
    "fixed": FORMATS,
}
"""Those that most graphs hold: what is right for them, and forgets the others, is what most people mean."""
UNSIGNED: tuple[Element, ...] = ("u8", "u16", "u32", "u64")
"""Integers without a sign, of whole bytes, of which bits are shifted in most files."""
RANKS = (2, 4, 1, 3, 5, 0)
"""Numbers of axes of generated values, the usual ones first."""
SIZES = (1, 2, 3)
"""Sizes of generated tensors: small ones show everything."""
LONG = (5, 6, 8, 9)
"""Sizes of axes of which something is left where several nodes take a part, and of which a step leaves a rest."""
LAYOUTS = {2: ("NC", "CN"), 3: ("NCW", "NWC"), 4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}
"""Layouts by number of axes."""
POSITIVE = frozenset({"var", "variance"})
"""Operands whose constants are above zero, by name."""


class Kind(NamedTuple):
    """A family of element types, and a number of axes."""

    family: str
    rank: int


def family_of(kind: Type) -> str:
    """Return the family of a type's elements."""
    return "stream" if isinstance(kind, Stream) else element_kind(kind.element)


def kind_of(kind: Type) -> Kind:
    """Return the kind of a type.

    Examples
    --------
    >>> kind_of(Tensor("f16", ("N", 3)))
    Kind(family='float', rank=2)
    """
    return Kind(family_of(kind), len(kind.shape))


def retyped(kind: Type, *, element: Element | None = None, shape: Sequence[Dimension] | None = None) -> Type:
    """Return a type with other elements or another shape.

    Raises
    ------
    Unfit
        If there is none, as of scales of channels that it has not, or of a stream of floats.

    Examples
    --------
    >>> print(retyped(Tensor("f32", ("N", 3)), shape=("N", 5)))
    f32[N,5]
    """
    changed = kind.element if element is None else element
    sizes: Any = kind.shape if shape is None else tuple(shape)
    try:
        if isinstance(kind, Stream):
            return Stream(changed, sizes)  # type: ignore[arg-type]  # it refuses what is no format
        return Tensor(changed, sizes, kind.layout if len(sizes) == len(kind.shape) else None)
    except GraphRewriteError as error:
        raise Unfit(str(error)) from error


def starts(kind: Kind) -> tuple[Type, ...]:
    """Return types of a kind with sizes that tell the axes apart, and some with sizes that ops ask for.

    Examples
    --------
    >>> print(*starts(Kind("float", 2)))
    f32[N,4] f32[2,4] f32[N,1] f32[1,4] f64[N,4]
    """
    family, rank = kind
    element = FAMILIES[family][0]
    if family == "stream":
        sizes = [(4, 6, 5)[:rank], (4, 1, 1)[:rank]]
        return tuple(Stream(element, s) for s in sizes if rank) if rank <= 3 else ()  # type: ignore[arg-type]
    second = FAMILIES[family][1:2]
    shapes = [("N", 4, 6, 5, 3)[:rank], (2, 4, 6, 5, 3)[:rank], ("N", 1, 1, 6, 3)[:rank], (1, 4, 1, 5, 1)[:rank]]
    return tuple(dict.fromkeys([*(Tensor(element, s) for s in shapes), *(Tensor(e, shapes[0]) for e in second)]))
