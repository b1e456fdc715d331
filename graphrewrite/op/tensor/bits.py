"""Bits of numbers, read as numbers of another type."""

from __future__ import annotations

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import NUMBERS, check_elements
from graphrewrite.types import ElementName, Tensor, element_dtype, element_of
from graphrewrite.types.named import HELD_WIDER

__all__ = ["bit_cast"]


def _infer(x: Tensor, *, element: str) -> Tensor:
    result = Tensor(element, x.shape, x.layout)
    check_elements(NUMBERS | {"bool"}, [x, result])
    for kind in (x.element, element):
        if kind in HELD_WIDER:
            raise TypeMismatchError(f"the bits of {kind} are not read here, which is stored in a wider type")
    own, wanted = element_dtype(x.element).itemsize, element_dtype(element).itemsize
    if own != wanted:
        raise TypeMismatchError(
            f"{x.element} has {8 * own} bits and {element} has {8 * wanted}; op.cast(x, element=…) converts numbers"
        )
    return result


@define_op(infer=_infer)
def bit_cast(x: np.ndarray, *, element: ElementName) -> np.ndarray:
    """The same bits as numbers of another element type of the same width (ONNX specification, BitCast).

    A byte that is not 0 is true.

    Parameters
    ----------
    x
        Any shape.
    element
        Element type of the result.

    Examples
    --------
    >>> bit_cast(np.array([1.0], np.float32), element="i32").tolist() == [0x3F800000]
    True
    """
    if element == "bool":
        return x.view(np.uint8) != 0
    # In the order of bytes of this machine: numbers are read as they are, whatever it is.
    native = np.ascontiguousarray(x, element_dtype(element_of(x.dtype)))
    return native.view(element_dtype(element)).reshape(x.shape)
