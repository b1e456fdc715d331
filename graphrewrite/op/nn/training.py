"""Ops in training mode: reproducible, for comparison with frameworks."""

from __future__ import annotations

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import FLOATS
from graphrewrite.types import Tensor

__all__ = ["random_dropout"]


def _infer(x: Tensor, *, ratio: float = 0.5, seed: int = 0) -> tuple[Tensor, Tensor]:
    if not 0 <= ratio < 1:
        raise TypeMismatchError(f"the ratio must be at least 0 and below 1, got {ratio}")
    if not 0 <= seed < 1 << 32:
        raise TypeMismatchError(f"the seed {seed} is out of range; give 0 to {(1 << 32) - 1}")
    return x, Tensor("bool", x.shape, x.layout)


@define_op(infer=_infer, elements=FLOATS, results=2)
def random_dropout(x: np.ndarray, *, ratio: float = 0.5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Some entries set to zero, the others scaled to keep the mean; and which were kept (Srivastava et al. 2014).

    Which ones, one uniform number an entry decides, of the generator MT19937 (ONNX specification, Dropout with
    ``training_mode``, as its reference implementation draws).

    Parameters
    ----------
    x
        Any shape.
    ratio
        Share of the entries that are dropped.
    seed
        Seed of the generator.

    Examples
    --------
    >>> y, kept = random_dropout(np.ones(4), ratio=0.5, seed=1)
    >>> y.tolist(), kept.tolist()
    ([0.0, 2.0, 0.0, 0.0], [False, True, False, False])
    """
    generator = np.random.RandomState(seed)  # the draws that the reference makes, stable for ever
    kept = generator.uniform(size=x.shape) >= ratio
    return x * kept * x.dtype.type(1 / (1 - ratio)), kept
