"""What the integers of a port stand for, and how they get into its beats; needs numpy only: designs hold a copy."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Encoding", "Port", "Step"]

_WORD = 32  # bits


class Step(NamedTuple):
    """A function of numpy that the host applies to each number of a port.

    Attributes
    ----------
    function : str
        Its name in numpy.
    dtype : str
        In which it computes.
    constant : tuple of float
        Its second operand: none, one for all numbers, one for each channel, or one for each number of the port.
    """

    function: str
    dtype: str
    constant: tuple[float, ...] = ()


@dataclass(frozen=True)
class Encoding:
    """How a host makes the integers of an input of numbers, or numbers of the integers of an output.

    Attributes
    ----------
    tensor : str
        What the numbers are called: an input or output of the model, or the value next to what the host computes else.
    element : str
        Their dtype in numpy.
    shape : tuple of int
        Their shape, without the batch.
    port_shape : tuple of int
        Shape of the integers, without the batch: channels first.
    low, high : int
        The least and the greatest integer.
    steps : tuple of Step
        The arithmetic, in the order of the port's integers; an input is rounded half to even and limited at its end.
    gather : tuple of (int, int)
        Size and stride of nested loops, the outermost first, over the places in what is read of what is written: in the
        model's numbers for an input, in the port's integers for an output. Empty where both have the same order.
    scale, zero_point : tuple of float
        One for all, or one for each channel: a number is ``scale * (integer - zero_point)``, within the rounding of the
        steps. Empty where the steps are no straight line.
    rounding : str
        How an input is rounded.
    meaning : str
        What the numbers are, where that is known.
    host : tuple of str
        Ops that the host computes besides: before these numbers of an input, behind these of an output.

    Examples
    --------
    >>> grey = Encoding("x", "float32", (2, 2), (2, 2), 0, 255, (Step("divide", "float32", (0.5,)),), scale=(0.5,))
    >>> grey.encode([[[0.0, 0.75], [1.0, 999.0]]]).tolist()
    [[[0, 2], [2, 255]]]
    """

    tensor: str
    element: str
    shape: tuple[int, ...]
    port_shape: tuple[int, ...]
    low: int
    high: int
    steps: tuple[Step, ...] = ()
    gather: tuple[tuple[int, int], ...] = ()
    scale: tuple[float, ...] = ()
    zero_point: tuple[float, ...] = ()
    rounding: str = "half to even"
    meaning: str = ""
    host: tuple[str, ...] = ()

    def encode(self, numbers: Any) -> np.ndarray:
        """Return the integers of a batch of numbers: rounded, then limited to what the port holds.

        Raises
        ------
        ValueError
            If the shape is another one, a number is NaN, or an integer that is taken as it is lies outside.
        """
        given = _of_shape(self.tensor, np.asarray(numbers).astype(self.element), self.shape)
        values = self._applied(given.reshape(len(given), -1)[:, self.places()])
        if values.dtype.kind in "iu":
            if values.min() < self.low or values.max() > self.high:
                raise ValueError(f"integers of {self.tensor} are {self.low} to {self.high}")
        elif np.isnan(values).any() or (self.rounds_between and np.isnan(given).any()):
            raise ValueError(f"{self.tensor} holds NaN, which no integer stands for; remove such samples")
        else:
            values = np.clip(np.rint(values.astype(np.float64)), self.low, self.high)
        return values.astype(np.int64).reshape(len(given), *self.port_shape)

    def decode(self, integers: Any) -> np.ndarray:
        """Return the numbers that a batch of integers stands for."""
        given = _of_shape(self.tensor, np.asarray(integers), self.port_shape)
        values = self._applied(given.reshape(len(given), -1)).astype(self.element)
        return values[:, self.places()].reshape(len(given), *self.shape)

    @property
    def rounds_between(self) -> bool:
        """Tell whether steps give integers, which do not say that a number was NaN."""
        return any(np.dtype(step.dtype).kind in "iu" for step in self.steps)

    def _applied(self, values: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):  # what is beyond the floats is infinite, and limited like any other number
            for step in self.steps:
                operands = [np.asarray(step.constant, step.dtype)] if step.constant else []
                if operands and operands[0].size == self.port_shape[0]:
                    operands = [np.repeat(operands[0], math.prod(self.port_shape[1:]))]
                values = getattr(np, step.function)(values.astype(step.dtype), *operands)
        return values

    def places(self) -> np.ndarray:
        """Return for each number that is written the place of the one that is read."""
        places = np.zeros((), np.int64)
        for size, stride in self.gather or ((math.prod(self.shape), 1),):
            places = places[..., None] + stride * np.arange(size)
        return places.ravel()


@dataclass(frozen=True)
class Port:
    """A port of a design: how integers lie in its beats, and what they stand for.

    Attributes
    ----------
    name : str
        In the VHDL.
    width : int
        Bits of an integer.
    signed : bool
        Whether it is in two's complement.
    lanes : int
        Integers in a beat, lane 0 in the lowest bits.
    encoding : Encoding
        What they stand for.

    Examples
    --------
    >>> port = Port("x", 4, True, 3, Encoding("x", "int64", (3,), (3,), -8, 7))
    >>> port.encode([[1, -1, 0]]).tolist(), port.lines(port.encode([[1, -1, 0]]))
    ([[[241]]], ['0f1'])
    >>> port.decode([[[0x0F1]]]).tolist()
    [[1, -1, 0]]
    """

    name: str
    width: int
    signed: bool
    lanes: int
    encoding: Encoding

    def encode(self, numbers: Any) -> np.ndarray:
        """Return the words of a batch of numbers: uint32, shape [N, beats, words], word 0 with the lowest bits."""
        return self.to_words(self.encoding.encode(numbers))

    def decode(self, words: Any) -> np.ndarray:
        """Return the numbers of a batch of words."""
        return self.encoding.decode(self.from_words(words))

    def to_words(self, integers: np.ndarray) -> np.ndarray:
        """Return the words of a batch of integers: all channels of a position, then those of the next one."""
        beats = np.asarray(integers, np.int64).reshape(len(integers), self.encoding.port_shape[0], -1)
        lanes = beats.transpose(0, 2, 1).reshape(len(integers), -1, self.lanes, 1)
        bits = (lanes >> np.arange(self.width)) & 1
        packed = np.packbits(bits.astype(np.uint8).reshape(*lanes.shape[:2], -1), axis=-1, bitorder="little")
        words = -(-self.width * self.lanes // _WORD)
        full = np.zeros((*lanes.shape[:2], words * _WORD // 8), np.uint8)
        full[..., : packed.shape[-1]] = packed
        return full.view("<u4").astype(np.uint32)

    def from_words(self, words: Any) -> np.ndarray:
        """Return the integers of a batch of words; the inverse of `to_words`."""
        full = np.ascontiguousarray(np.asarray(words).astype("<u4")).view(np.uint8)
        bits = np.unpackbits(full, axis=-1, bitorder="little")[..., : self.width * self.lanes]
        worth = 1 << np.arange(self.width, dtype=np.int64)
        worth[-1] *= -1 if self.signed else 1
        integers = bits.reshape(len(full), -1, self.encoding.port_shape[0], self.width).astype(np.int64) @ worth
        return integers.transpose(0, 2, 1).reshape(len(full), *self.encoding.port_shape)

    def lines(self, words: np.ndarray) -> list[str]:
        """Return each beat in hexadecimal digits, as the files of test vectors hold them."""
        digits = -(-self.width * self.lanes // 4)
        return ["".join(f"{word:08x}" for word in beat[::-1])[-digits:] for beat in words.reshape(-1, words.shape[-1])]


def _of_shape(name: str, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if array.shape[1:] != shape or not array.ndim:
        raise ValueError(f"{name} has the shape {array.shape}; give [N, {', '.join(map(str, shape))}]")
    return array
