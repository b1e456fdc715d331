"""Fourier transforms; a complex number is two reals along the last axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import FLOATS, NUMBERS, check_elements, one_element
from graphrewrite.op.precision import narrowed, widened
from graphrewrite.op.tensor.along import axis_of
from graphrewrite.types import Dimension, ElementName, Tensor, as_size, hold, is_at_most

__all__ = ["dft", "mel_weight_matrix", "stft"]


def _infer_dft(x: Tensor, *, length: Dimension | None, axis: int, inverse: bool, onesided: bool) -> Tensor:
    parts = x.shape[-1] if x.shape else 0
    if len(x.shape) < 2 or parts not in (1, 2):
        raise TypeMismatchError(f"the last axis holds 1 part of real numbers or 2 of complex ones, got {x}")
    at = axis_of(x, axis)
    if at == len(x.shape) - 1:
        raise TypeMismatchError(f"axis {axis} of {x} holds the parts of complex numbers; choose another")
    if onesided and parts != (2 if inverse else 1):
        raise TypeMismatchError(
            f"one half of a spectrum {'needs 2 parts' if inverse else 'is for real numbers, of 1 part'}, got {x}"
        )
    size = _length(as_size(x.shape[at]), length, half=inverse and onesided)
    if isinstance(size, int) and size < 1:
        raise TypeMismatchError(f"a transform has at least one entry, got a length of {size}")
    shape = [*x.shape[:-1], 1 if onesided and inverse else 2]
    shape[at] = size // 2 + 1 if onesided and not inverse else size
    return Tensor(x.element, tuple(shape))


def _length(own: Any, length: Any, *, half: bool) -> Any:
    if length is not None:
        return length if isinstance(length, int) else as_size(length)
    return 2 * (own - 1) if half else own


@define_op(infer=_infer_dft, elements=FLOATS)
def dft(
    x: np.ndarray, *, length: Dimension | None = None, axis: int = -2, inverse: bool = False, onesided: bool = False
) -> np.ndarray:
    """Discrete Fourier transform along an axis (ONNX specification, DFT).

    Parameters
    ----------
    x
        Signals [..., 1] of real, or [..., 2] of complex numbers.
    length
        Length to which a signal is cut or filled with zeros; its own if not given.
    axis
        The axis of the signal.
    inverse
        Whether it is the inverse transform.
    onesided
        Whether it is the half spectrum of a real signal; its inverse is real.

    Examples
    --------
    >>> dft(np.array([[1.0], [0.0], [-1.0], [0.0]]), onesided=True).tolist()
    [[0.0, 0.0], [2.0, 0.0], [0.0, 0.0]]
    """
    at = axis % x.ndim
    wide = widened(x)
    values = wide[..., 0] if x.shape[-1] == 1 else wide[..., 0] + 1j * wide[..., 1]
    size = _length(x.shape[at], length, half=inverse and onesided)
    if inverse and onesided:
        return narrowed(np.fft.irfft(values, size, at)[..., None], x)
    if onesided:
        return _parts(np.fft.rfft(values, size, at), x)
    return _parts(np.fft.ifft(values, size, at) if inverse else np.fft.fft(values, size, at), x)


def _parts(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    return narrowed(np.stack([values.real, values.imag], axis=-1), like)


def _infer_stft(
    x: Tensor, window: Tensor | None = None, *, step: int, length: Dimension | None, onesided: bool
) -> Tensor:
    check_elements(FLOATS, [x])
    one_element(x, window)
    if len(x.shape) != 3 or x.shape[2] not in (1, 2):
        raise TypeMismatchError(f"signals are [N,T,1], or [N,T,2] of complex numbers, got {x}")
    if onesided and x.shape[2] != 1:
        raise TypeMismatchError(f"one half of a spectrum is for real numbers, of 1 part, got {x}")
    if window is not None and (len(window.shape) != 1 or length not in (None, window.shape[0])):
        raise TypeMismatchError(f"a window [T] has as many entries as a frame, got {window}")
    signal: Any = as_size(x.shape[1])
    size: Any = as_size(window.shape[0]) if window is not None else signal if length is None else as_size(length)
    if step < 1 or size == 0:
        raise TypeMismatchError(f"frames have at least one entry, and steps, got {size} and {step}")
    if is_at_most(size, signal) is False:
        raise TypeMismatchError(f"a frame of {size} does not fit a signal of {signal}")
    frames = (signal - size) // step + 1
    return Tensor(x.element, (x.shape[0], frames, size // 2 + 1 if onesided else size, 2))


@define_op(infer=_infer_stft)
def stft(
    x: np.ndarray,
    window: np.ndarray | None = None,
    *,
    step: int,
    length: Dimension | None = None,
    onesided: bool = True,
) -> np.ndarray:
    """Fourier transforms of frames of a signal, each times a window (ONNX specification, STFT).

    Parameters
    ----------
    x
        Signals [N, T, 1] of real, or [N, T, 2] of complex numbers.
    window
        Factors of a frame's entries; ones if not given.
    step
        Distance of the frames.
    length
        Length of a frame; that of the window, or of the whole signal, if not given.
    onesided
        Whether only half of the spectrum is wanted.

    Examples
    --------
    >>> stft(np.ones((1, 4, 1)), step=2, length=2)[0, :, :, 0].tolist()
    [[2.0, 0.0], [2.0, 0.0]]
    """
    size = len(window) if window is not None else x.shape[1] if length is None else int(length)
    frames = sliding_window_view(widened(x), size, axis=1)[:, ::step]  # N, frames, parts, entries
    weighted = frames if window is None else frames * widened(window)
    return narrowed(dft.function(np.swapaxes(weighted, 2, 3), onesided=onesided), x)


def _infer_mel(
    *, num_mel_bins: int, dft_length: int, sample_rate: int, lower_edge: float, upper_edge: float, element: str
) -> Tensor:
    result = Tensor(element, (dft_length // 2 + 1, num_mel_bins))
    check_elements(NUMBERS, [result])
    if num_mel_bins < 1 or dft_length < 1 or sample_rate < 1 or not 0 <= lower_edge < upper_edge:
        raise TypeMismatchError(
            f"{num_mel_bins} bands from {lower_edge} to {upper_edge} Hz of {dft_length} samples at {sample_rate} Hz "
            "cannot be; give positive numbers, and a band that ends above its begin"
        )
    return result


@define_op(infer=_infer_mel)
def mel_weight_matrix(
    *,
    num_mel_bins: int,
    dft_length: int,
    sample_rate: int,
    lower_edge: float,
    upper_edge: float,
    element: ElementName = "f32",
) -> np.ndarray:
    """Weights of the frequencies of half a spectrum in bands of equal pitch (ONNX specification, MelWeightMatrix).

    A spectrum […, dft_length // 2 + 1] times them has ``num_mel_bins`` bands; each is a triangle whose peak is 1.

    Parameters
    ----------
    num_mel_bins
        Number of bands.
    dft_length
        Number of frequencies of the whole spectrum.
    sample_rate
        Samples a second.
    lower_edge
        Lowest frequency of the first band, in hertz.
    upper_edge
        Highest frequency of the last band, in hertz.
    element
        Element type of the result.

    Examples
    --------
    >>> limits = {"lower_edge": 0.0, "upper_edge": 4000.0}
    >>> mel_weight_matrix(num_mel_bins=2, dft_length=8, sample_rate=8000, **limits).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    """
    low, high = (2595 * np.log10(1 + edge / 700) for edge in (lower_edge, upper_edge))
    edges = low + (high - low) / (num_mel_bins + 2) * np.arange(num_mel_bins + 2)
    hertz = 700 * (10 ** (edges / 2595) - 1)
    bins = np.floor((dft_length + 1) * hertz / sample_rate)
    begin, peak, end = bins[:-2], bins[1:-1], bins[2:]
    row = np.arange(dft_length // 2 + 1)[:, None]
    rising = np.where(peak > begin, (row - begin) / np.maximum(peak - begin, 1), 1.0)
    falling = np.where(end > peak, (end - row) / np.maximum(end - peak, 1), 1.0)
    inside = (row >= begin) & ((row < end) | (row == peak))
    return hold(element, np.where(inside, np.where(row < peak, rising, falling), 0.0))
