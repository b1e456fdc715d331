"""Forms in which attributes of windows may be written: one number for all positions, borders in words of frameworks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError, did_you_mean
from graphrewrite.types import Dimension, Type

__all__ = [
    "CONVOLUTION_FORMS",
    "FOLD_FORMS",
    "PAD_FORMS",
    "POOL_FORMS",
    "RESIZE_FORMS",
    "UNPOOL_FORMS",
    "Borders",
    "Entries",
    "same_pads",
]

_WORDS = ("same", "valid", "same_upper", "same_lower", "notset")
"""Of Keras and PyTorch, and of ONNX."""


def _positions(types: Sequence[Type], attributes: Mapping[str, Any]) -> int:
    """Return the number of positions of the first operand: of its axes after batch and channels."""
    return len(types[0].shape) - 2


def _axes(types: Sequence[Type], attributes: Mapping[str, Any]) -> int:
    return len(types[0].shape)


def same_pads(
    sizes: Sequence[Dimension], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], *, upper: bool
) -> tuple[int, ...]:
    """Return the pads with which there are as many windows as strides fit into each size (ONNX specification, Conv).

    Parameters
    ----------
    upper : bool
        Whether the extra entry of an odd border is at its end.

    Examples
    --------
    >>> same_pads((5, "W"), (2, 3), (2, 1), (1, 1), upper=True)
    (0, 1, 1, 1)
    """
    totals = []
    for size, width, stride, step in zip(sizes, kernel, strides, dilations, strict=True):
        reach = step * (width - 1) + 1
        if stride != 1 and not isinstance(size, int):
            raise TypeMismatchError(
                f"the borders of 'same' depend on the size {size} where the stride is {stride}; give numbers, or a size"
            )
        last = (-(-size // stride) - 1) * stride - size if isinstance(size, int) else -1
        totals.append(max(last + reach, 0))
    begins = [total // 2 if upper else total - total // 2 for total in totals]
    return (*begins, *(total - begin for total, begin in zip(totals, begins, strict=True)))


@dataclass(frozen=True)
class Entries:
    """An attribute with as many entries for each position: one number stands for all of them.

    Attributes
    ----------
    each : int
        Number of entries of a position.
    count : callable
        Gives the number of positions for operand types and attributes.
    """

    each: int = 1
    count: Callable[[Sequence[Type], Mapping[str, Any]], int] = _positions

    @property
    def said(self) -> str:
        """What documentation says of the form."""
        return "One number stands for all."

    def takes(self, value: Any) -> bool:
        """Tell whether a value is written so."""
        return isinstance(value, int | np.integer) and not isinstance(value, bool)

    def settled(self, value: Any, types: Sequence[Type], attributes: Mapping[str, Any]) -> tuple[float, ...]:
        """Return the entries that a value stands for.

        Parameters
        ----------
        types : sequence of Tensor or Stream
            Operand types, in the order of axes in which the op computes.
        attributes : mapping
            All attributes, with defaults.
        """
        return self.spread(value, self.count(types, attributes))

    def is_default(self, value: Any, default: Any) -> bool:
        """Tell whether a value is the default, which is written for two positions, for any number of them.

        Examples
        --------
        >>> Entries().is_default((1,), (1, 1)), Entries().is_default((1, 2), (1, 1))
        (True, False)
        """
        if not isinstance(value, tuple) or not isinstance(default, tuple) or not value:
            return False
        return all(isinstance(each, int) and each == default[0] for each in (*value, *default))

    def of_default(self, default: Any, types: Sequence[Type], attributes: Mapping[str, Any]) -> Any:
        """Return what the default of an attribute means, as `settled` does it for a value."""
        is_for_all = isinstance(default, tuple) and len(set(default)) == 1
        return self.spread(default[0], self.count(types, attributes)) if is_for_all else default

    def spread(self, value: Any, count: int) -> tuple[int, ...]:
        """Return the entries that a value stands for, for a number of positions.

        Examples
        --------
        >>> Entries(2).spread(1, 2)
        (1, 1, 1, 1)
        """
        return (int(value),) * (self.each * count)

    def depends_on_sizes(self, value: Any) -> bool:
        """Tell whether it follows from the sizes of operands what a value stands for."""
        return False

    def possible(self, value: Any) -> frozenset[tuple[float, ...]]:
        """Return what a value may stand for, for up to five positions: a pattern does not know their number.

        Examples
        --------
        >>> sorted(Entries().possible(2))
        [(2,), (2, 2), (2, 2, 2), (2, 2, 2, 2), (2, 2, 2, 2, 2)]
        """
        return frozenset(self.spread(value, count) for count in range(1, 6))


@dataclass(frozen=True)
class Borders(Entries):
    """Borders of windows: a number for all, one for each position, or ``"same"`` and ``"valid"``.

    Attributes
    ----------
    weights : int, optional
        The operand that has the sizes of the windows in its last axes; without, the attribute ``kernel`` has them.
    same : callable
        Gives the borders of ``"same"``, see `same_pads`.
    """

    each: int = 2
    weights: int | None = None
    same: Callable[..., tuple[int, ...]] = same_pads

    @property
    def said(self) -> str:
        """What documentation says of the form."""
        return "One number stands for all, one a position for begin and end; or ``'same'``, ``'valid'``."

    def takes(self, value: Any) -> bool:
        """Tell whether a value is written so: a number, a word, or too few entries."""
        if isinstance(value, list | tuple):
            # Of more entries, each is a border of its own; two are that for one position, see `spread`.
            return 0 < len(value) <= 3 and all(map(super().takes, value))
        return isinstance(value, str) or super().takes(value)

    def settled(self, value: Any, types: Sequence[Type], attributes: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the borders that a value stands for."""
        count = self.count(types, attributes)
        if not isinstance(value, str):
            return self.spread(value, count)
        word = self._word(value)
        if not self.depends_on_sizes(value):
            return (0,) * (2 * count)
        kernel = attributes["kernel"] if self.weights is None else types[self.weights].shape[2:]
        if count < 1 or len(kernel) != count:
            return (0,) * (2 * max(count, 0))  # types that do not fit, of which inference says what is wrong
        if not all(isinstance(size, int) for size in kernel):
            raise TypeMismatchError(f"the borders of 'same' depend on windows of {list(kernel)}; give numbers")
        rest = {
            name: value if len(value) == count else (value[0],) * count  # a default is for any number of positions
            for name in ("strides", "dilations", "output_padding")
            for value in [attributes.get(name, (1,))]
            if name != "output_padding" or name in attributes
        }
        return self.same(types[0].shape[-count:], kernel, **rest, upper=word != "same_lower")

    def depends_on_sizes(self, value: Any) -> bool:
        """Tell whether a value is one of the words for as many windows as positions."""
        return isinstance(value, str) and self._word(value).startswith("same")

    def _word(self, value: str) -> str:
        word = value.lower()
        if word in _WORDS:
            return word
        raise TypeMismatchError(f"borders are numbers, 'same' or 'valid', got {value!r}{did_you_mean(word, _WORDS)}")

    def spread(self, value: Any, count: int) -> tuple[int, ...]:
        """Return the borders, first those at the beginnings.

        Examples
        --------
        >>> Borders().spread((1, 2), 2), Borders().spread((1, 2), 1), Borders().spread("valid", 1)
        ((1, 2, 1, 2), (1, 2), (0, 0))
        """
        if isinstance(value, str):
            return (0,) * (2 * count)
        if isinstance(value, list | tuple):
            return tuple(map(int, value)) * (2 if len(value) == count else 1)
        return super().spread(value, count)


@dataclass(frozen=True)
class Factors(Entries):
    """Factors of sizes: one number for all positions; the batch and the channels keep their sizes."""

    @property
    def said(self) -> str:
        """What documentation says of the form."""
        return "One number stands for all positions."

    def takes(self, value: Any) -> bool:
        """Tell whether a value is written so."""
        return isinstance(value, float | np.floating) or super().takes(value)

    def settled(self, value: Any, types: Sequence[Type], attributes: Mapping[str, Any]) -> tuple[float, ...]:
        """Return the factor of each axis, or of those that are stated."""
        if attributes["axes"] is not None:
            return (float(value),) * len(attributes["axes"])
        rank = len(types[0].shape)
        layout = getattr(types[0], "layout", None) or ("NC" if rank > 2 else "").ljust(rank, "*")
        return tuple(1.0 if axis in "NC" else float(value) for axis in layout)

    def possible(self, value: Any) -> frozenset[tuple[float, ...]]:
        """Return what a value may stand for, with batch and channels first or channels last, or for stated axes."""
        counts = range(1, 6)
        first = {(1.0, 1.0, *(float(value),) * count) for count in counts}
        last = {(1.0, *(float(value),) * count, 1.0) for count in counts}
        return frozenset(first | last | {(float(value),) * count for count in counts})


def _of_size(types: Sequence[Type], attributes: Mapping[str, Any]) -> int:
    size = attributes["size"]
    return len(size) if isinstance(size, list | tuple) else 2  # not known, or missing: as defaults are written


UNPOOL_FORMS = {"kernel": Entries(), "strides": Entries(), "pads": Entries(2)}
POOL_FORMS = {"kernel": Entries(), "strides": Entries(), "pads": Borders(), "dilations": Entries()}
CONVOLUTION_FORMS = {"strides": Entries(), "pads": Borders(weights=1), "dilations": Entries()}
FOLD_FORMS = {
    **{name: Entries(count=_of_size) for name in ("kernel", "strides", "dilations")},
    "pads": Entries(2, count=_of_size),
}
RESIZE_FORMS = {"scales": Factors()}
PAD_FORMS = {"pads": Entries(2, count=_axes)}
