"""Gradients of Fourier transforms."""

from __future__ import annotations

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.lowering.gradients.shapes import added_along, number, placed

__all__ = ["DIFFERENTIATE_SPECTRA"]


@rule(keeps="rounding")
def differentiate_dft(g, x):
    """The matrix of a transform is symmetric: conjugated, which is that of the other way, it brings gradients back."""
    d = op.dft.vjp(g, x)
    yield d
    axis, last = d.axis % len(x.shape), len(x.shape) - 1
    own, half = x.shape[axis], d.inverse and d.onesided
    if isinstance(own, str) or isinstance(d.length, str):
        return decline("only run time tells how long a signal is", at=d)
    length = d.length if d.length is not None else 2 * (own - 1) if half else own
    if half:  # both halves of the spectrum are this one, but for the entries that are their own mirror images
        twice = [1 if 2 * k % length == 0 else 2 for k in range(length // 2 + 1)]
        shape = [len(twice) if i == axis else 1 for i in range(len(x.shape))]
        made = op.dft(g, axis=axis, onesided=True) * number(np.reshape(twice, shape) / length, x)
    elif d.inverse:
        made = op.dft(g, axis=axis) * number(1 / length, x)
    else:
        made = op.dft(g, length=length, axis=axis, inverse=True) * number(length, x)
    found = made.shape[axis]
    if found < own:
        made = placed(made, axis, 0, own - found)
    elif found > own:
        made = op.slice(made, starts=(0,), ends=(own,), axes=(axis,))
    return made if x.shape[last] == 2 else op.slice(made, starts=(0,), ends=(1,), axes=(last,))


@rule(keeps="rounding")
def differentiate_stft(g, x, window=None):
    """Each frame is transformed back, times its window, and added where it was."""
    d = op.stft.vjp(g, x, window)
    yield d
    signal, count, parts = x.shape[1], g.shape[1], x.shape[2]
    if isinstance(signal, str) or isinstance(count, str) or isinstance(d.length, str):
        return decline("only run time tells how many frames there are", at=d)
    size = signal - (count - 1) * d.step if window is None and d.length is None else d.length
    size = window.shape[0] if window is not None else size
    back = op.dft(g, length=size, axis=2, inverse=True) * number(size, x)
    if parts == 1:
        back = op.slice(back, starts=(0,), ends=(1,), axes=(3,))
    places = d.step * np.arange(count)[:, None] + np.arange(size)
    if d.wrt == 1:
        return op.reduce_sum(back * op.gather(x, places, axis=1), axes=(0, 1, 3), keep_dims=False)
    weighted = back if window is None else back * op.unsqueeze(window, axes=(1,))
    return added_along(op.reshape(weighted, shape=(0, places.size, parts)), x.shape, 1, places.ravel())


DIFFERENTIATE_SPECTRA = (differentiate_dft, differentiate_stft)
"""Gradients of Fourier transforms."""
