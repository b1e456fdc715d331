"""Axes with names: the meaning of layouts for ops.

An op that is element-wise takes operands whose layouts agree (`common_layout`). An op of channels and positions states
the order of axes in which its function computes, as ``"NC*, OI*, O -> NC*"``: a letter is an axis, the star stands for
the positions. In brackets, ``"[NC*]"``, it is for layouts that have these axes, and any other keeps its order.
Its first operand may come in another order of its axes: the meaning is then that of the op between
transposes, and the result has the order of the operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types import Tensor, Type, permutation

__all__ = ["Arrangement", "Axes", "canonical", "common_layout"]

_POSITIONS = "TDHW"
"""Positions in the order in which frameworks have them: time, depth, height, width; all others follow by letter."""


class Arrangement(NamedTuple):
    """Transposes around an op's function.

    Attributes
    ----------
    operand : tuple of int
        Brings the first operand into the order in which the function computes.
    result : tuple of int
        Brings the result back into the order of the operand.
    """

    operand: tuple[int, ...]
    result: tuple[int, ...]


def canonical(wanted: str, layout: str) -> str:
    """Return the order of a layout's axes in which an op computes.

    Parameters
    ----------
    wanted : str
        Letters in order, and perhaps a star for all others; in brackets, if a layout without them keeps its order.

    Raises
    ------
    TypeMismatchError
        If the layout lacks one of the letters, or has others where there is no star.

    Examples
    --------
    >>> canonical("NC*", "NHWC"), canonical("NC*", "NLC")
    ('NCHW', 'NCL')
    """
    optional, wanted = wanted[0] == "[", wanted.strip("[]")
    letters = wanted.replace("*", "")
    if optional and not set(letters) <= set(layout):
        return layout
    # Other letters come last: find gives -1, which is the greatest remainder.
    others = sorted(
        (letter for letter in layout if letter not in letters),
        key=lambda letter: (_POSITIONS.find(letter) % (len(_POSITIONS) + 1), letter),
    )
    if not set(letters) <= set(layout) or (others and "*" not in wanted):
        raise TypeMismatchError(
            f"the layout {layout} does not have the axes {wanted}; name the axes with op.name_axes(x, layout=…)"
        )
    return wanted.replace("*", "".join(others))


class Axes(NamedTuple):
    """The orders in which an op's function has the axes of its operands and of its results.

    Attributes
    ----------
    operands : tuple of str
        Of each operand.
    result : str
        Of each result.
    """

    operands: tuple[str, ...]
    result: str

    @classmethod
    def of(cls, text: str) -> Axes:
        """Return the axes of a text such as ``"NC*, OI*, O -> NC*"``.

        Examples
        --------
        >>> Axes.of("NC*, OI* -> NC*").operands
        ('NC*', 'OI*')
        """
        operands, _, result = text.partition("->")
        return cls(tuple(word.strip() for word in operands.split(",")), result.strip())

    def arrangement(self, types: Sequence[Type]) -> Arrangement | None:
        """Return the transposes that operands of some types need; None if they come in order.

        Parameters
        ----------
        types : sequence of Tensor or Stream
            Of the operands; where a layout is not known, the axes are in order.

        Raises
        ------
        TypeMismatchError
            If a layout has other axes, or an operand that is not the first has another order.

        Examples
        --------
        >>> Axes.of("NC* -> NC*").arrangement([Tensor("f32", ("N", 5, 6, 8), "NHWC")])
        Arrangement(operand=(0, 3, 1, 2), result=(0, 2, 3, 1))
        """
        arrangement = None
        for position, (wanted, kind) in enumerate(zip(self.operands, types, strict=False)):
            layout = kind.layout if isinstance(kind, Tensor) else None
            if layout is None or len(wanted) == 1:
                continue
            order = canonical(wanted, layout)
            if order == layout:
                continue
            if position:
                raise TypeMismatchError(
                    f"operand {position} is {layout} and must be {order}; "
                    f"cast the layout with op.transpose(x, perm={permutation(layout, order)})"
                )
            result = permutation(canonical(self.result, layout), layout)
            arrangement = Arrangement(permutation(layout, order), result)
        return arrangement

    def of_a_batch(self, kind: Type) -> Tensor | None:
        """Return the type of a batch of one operand, where an operand of some type is one; None where it is a batch.

        Examples
        --------
        >>> print(Axes.of("NC* -> NC*").of_a_batch(Tensor("f32", (8, 3), "LC")))
        f32[1,8,3] NLC
        """
        if not isinstance(kind, Tensor) or kind.layout is None or "N" in kind.layout or self.operands[0][0] != "N":
            return None
        return Tensor(kind.element, (1, *kind.shape), f"N{kind.layout}")

    def in_order(self, types: Sequence[Type]) -> tuple[Type, ...]:
        """Return operand types with the first one's axes in the order in which the function has them."""
        arrangement, first = self.arrangement(types), types[0]
        if arrangement is None or not isinstance(first, Tensor):
            return tuple(types)
        return first.permuted(arrangement.operand), *types[1:]

    def as_given(self, result: Type, types: Sequence[Type]) -> Type:
        """Return a result's type, inferred for operands in the function's order, in the order of the first operand."""
        first = types[0] if types else None
        if not isinstance(first, Tensor) or first.layout is None or not isinstance(result, Tensor):
            return result
        named = Tensor(result.element, result.shape, canonical(self.result, first.layout))
        arrangement = self.arrangement(types)
        return named if arrangement is None else named.permuted(arrangement.result)


def common_layout(types: Sequence[Tensor], rank: int) -> str | None:
    """Return the layout of an element-wise result: axes are aligned from the right, as in broadcasting.

    Returns
    -------
    str or None
        The layout of an operand of that rank; None if none of them knows it.

    Examples
    --------
    >>> common_layout([Tensor("f32", ("N", 5, 6, 8), "NHWC"), Tensor("f32", (8,), "C")], 4)
    'NHWC'
    """
    layouts = sorted({t.layout for t in types if t.layout is not None}, key=lambda layout: (-len(layout), layout))
    for shorter in layouts[1:]:
        longest = layouts[0]
        if longest[-len(shorter) :] == shorter:
            continue
        if sorted(longest) == sorted(shorter):
            perm = permutation(shorter, longest)
            advice = f"cast the layout with op.transpose(x, perm={perm}), which gives {longest}"
        else:
            advice = "cast the layout with op.transpose(x, perm=…), or name other axes with op.name_axes(x, layout=…)"
        raise TypeMismatchError(f"the layouts {longest} and {shorter} do not agree; {advice}")
    return layouts[0] if layouts and len(layouts[0]) == rank else None
