"""A review of samples: whether they are enough to calibrate with, and like those that the network is tested on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from graphrewrite import Graph
from graphrewrite.lowering.quantisation.agreement import Reference
from graphrewrite.lowering.quantisation.guards import Finding

__all__ = ["doubtful_labels", "weak_samples"]

_FEW, _PLENTY = 10, 64
"""Fewer samples are always too few, as many are always enough; between them a quarter of the features is."""
_BEYOND = 0.01
"""A share of test values beyond the calibrated range that is still chance."""
_RARE = 0.05
"""A channel that leaves its only calibrated value in fewer test samples is not named."""
_SCALE = 4.0
"""A ratio of the sizes of test and calibration samples that is none."""
_MANY, _FAULTS, _FAR = 50, 0.02, 8.0
"""Of so many samples a share may be faults: those that reach so many times as far as the others."""


def weak_samples(graph: Graph, calibration: Any, test: Mapping[str, Any] | None = None) -> tuple[Finding, ...]:
    r"""Return what calibration samples lack: enough of them, features that vary, the range of the test samples.

    Parameters
    ----------
    graph : Graph
        The network.
    calibration : mapping of str to array-like
        Samples that `quantise` accepts, by input.
    test : mapping of str to array-like, optional
        Held-out samples.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    >>> x = np.random.default_rng(0).uniform(0, 1, (100, 2))
    >>> weak_samples(g, {"x": x}, {"x": x[::-1]})
    ()
    >>> print(*weak_samples(g, {"x": x}, {"x": 255 * x}))
    x: test samples are 255 times as large as calibration samples; prepare both alike, as for the training
    """
    found: list[Finding] = []
    for name in graph.inputs:
        known = np.asarray(calibration[name], np.float64)
        found.extend(_faults(name, known, None if test is None else np.asarray(test[name], np.float64)))
    return tuple(found)


def doubtful_labels(reference: Reference) -> tuple[Finding, ...]:
    """Return the outputs of which the float network itself knows no more than what is usual."""
    found = []
    for row in reference.agreement(reference.outputs):
        usual = reference.usual(row.output)
        if usual is None or (score := row.r2 if row.accuracy is None else row.accuracy) is None or score > usual:
            continue
        if row.accuracy is None:
            text = f"the float network explains nothing of its right numbers (R² {score:.2f})"
        else:
            text = f"the float network is right on {score:.2%}, and always saying the same would be on {usual:.2%}"
        remedy = "prepare samples as for the training, and look at the order of the labels"
        found.append(Finding(row.output, "samples", 1.0, text, remedy))
    return tuple(found)


def _faults(name: str, known: np.ndarray, test: np.ndarray | None) -> Iterator[Finding]:
    def found(share: float, text: str, remedy: str) -> Finding:
        return Finding(name, "samples", share, text, remedy)

    count, features = len(known), int(np.prod(known.shape[1:]))
    wanted = max(_FEW, min(features // 4, _PLENTY))
    if count < wanted:
        # A share of what would be enough is missing.
        text = f"{count} calibration {'sample is' if count == 1 else 'samples are'} few for {features} features"
        yield found(1 - count / wanted, text, f"give {wanted} or more")
    if count == 1:
        return
    if not np.ptp(known, axis=0).any():
        yield found(1.0, "all calibration samples are alike", "give samples as the network will meet them")
        return
    if (found_far := _outliers(known)) is not None:
        yield found(*found_far, "leave it out if it is a fault, since formats are made for it")
    channels = _by_channel(known)
    low, high = channels.min(axis=1), channels.max(axis=1)
    constant = low == high
    if test is None:
        # In images, borders are constant; of single features nothing is known then.
        if known.ndim == 2 and constant.any():
            text = f"{constant.sum()} of {features} features are constant in the calibration samples"
            yield found(float(constant.mean()), text, "give samples in which they vary, if they ever do")
        return
    size, tested = (float(np.sqrt(np.square(each).mean())) for each in (known, test))
    if size and tested and max(tested / size, size / tested) > _SCALE:
        text = f"test samples are {tested / size:.3g} times as large as calibration samples"
        yield found(1.0, text, "prepare both alike, as for the training")
        return
    values = _by_channel(test)
    differ = constant & ((values != low[:, None]).mean(axis=1) > _RARE)
    if differ.any():
        text = f"{differ.sum()} of {len(differ)} channels are constant in the calibration samples, and vary in the test"
        yield found(float(differ.mean()), text, "give calibration samples in which they vary")
    # Few samples do not reach as far as many: the range is widened by what that explains.
    slack = 2 * (high - low) / np.sqrt(channels.shape[1])
    beyond = (values < (low - slack)[:, None]) | (values > (high + slack)[:, None])
    share = float(beyond[~constant].mean()) if not constant.all() else 0.0
    if share > _BEYOND:
        text = f"{share:.1%} of the test values are beyond the range of the calibration samples"
        yield found(share, text, "calibrate with samples of the whole range")


def _outliers(known: np.ndarray) -> tuple[float, str] | None:
    """The share of samples that reach far beyond all others in a channel, and a text."""
    if len(known) < _MANY:
        return None
    channels = known.reshape(*known.shape[:2], -1) if known.ndim > 1 else known[:, None, None]
    reach = np.abs(channels - np.median(channels, axis=(0, 2), keepdims=True)).max(axis=2)
    usual = np.quantile(reach, 1 - _FAULTS, axis=0)
    # A channel that is rarely anything but small may reach as far as others do.
    times = np.where(reach > usual.max(), reach / np.where(usual > 0, usual, np.inf), 0).max(axis=1)
    count = int((times > _FAR).sum())
    reaches = "reaches" if count == 1 else "reach"
    text = f"{count} of {len(known)} calibration samples {reaches} {times.max():.3g} times as far as usual"
    return (count / len(known), text) if count else None


def _by_channel(array: np.ndarray) -> np.ndarray:
    """Return an array [channels, all else]."""
    return np.moveaxis(array, 1, 0).reshape(array.shape[1], -1) if array.ndim > 1 else array[None]
