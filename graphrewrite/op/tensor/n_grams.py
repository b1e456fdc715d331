"""Counts of n-grams: sequences of words, or of numbers that stand for words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import TEXTS
from graphrewrite.op.nn.sampling import check_word
from graphrewrite.types import Tensor

__all__ = ["tfidf_vectorize"]

_MODES = ("TF", "IDF", "TFIDF")


def _infer(
    x: Tensor,
    *,
    pool: Sequence[Any],
    starts: Sequence[int],
    indexes: Sequence[int],
    weights: Sequence[float] | None,
    mode: str,
    shortest: int,
    longest: int,
    skips: int,
) -> Tensor:
    check_word("mode", mode, _MODES)
    if len(x.shape) not in (1, 2):
        raise TypeMismatchError(f"words are [C] or [N,C], got {x}")
    if not 1 <= shortest <= longest or skips < 0:
        raise TypeMismatchError(f"n-grams of {shortest} to {longest} words with {skips} skips cannot be")
    if list(starts) != sorted(starts) or not starts or not 0 <= starts[0] <= starts[-1] <= len(pool):
        raise TypeMismatchError(f"starts {tuple(starts)} must be ascending places in a pool of {len(pool)} words")
    count = sum(len(grams) for grams in _grams(pool, starts))
    if len(indexes) != count or min(indexes, default=0) < 0 or len(indexes if weights is None else weights) != count:
        raise TypeMismatchError(f"the pool has {count} n-grams, each of which needs an index from 0, and a weight")
    return Tensor("f32", (*x.shape[:-1], max(indexes, default=-1) + 1))


def _grams(pool: Sequence[Any], starts: Sequence[int]) -> list[list[tuple[Any, ...]]]:
    """The n-grams of a pool, those of one word first."""
    found = []
    for n, (start, end) in enumerate(zip(starts, (*starts[1:], len(pool)), strict=True), start=1):
        if (end - start) % n:
            raise TypeMismatchError(f"the {end - start} words from {start} on are no n-grams of {n} words")
        found.append([tuple(pool[i : i + n]) for i in range(start, end, n)])
    return found


@define_op(infer=_infer, elements=TEXTS | {"integer"})
def tfidf_vectorize(
    x: np.ndarray,
    *,
    pool: Sequence[Any],
    starts: Sequence[int],
    indexes: Sequence[int],
    weights: Sequence[float] | None = None,
    mode: Literal["TF", "IDF", "TFIDF"] = "TF",
    shortest: int = 1,
    longest: int = 1,
    skips: int = 0,
) -> np.ndarray:
    """How often each n-gram of a pool is in a row of words (ONNX specification, TfIdfVectorizer).

    Parameters
    ----------
    x
        Words [C] or [N, C], numbers or texts.
    pool
        N-grams of one word, of two, and so on.
    starts
        Where the n-grams of each length begin in the pool.
    indexes
        Place of each n-gram in the result.
    weights
        Weight of each n-gram; 1 if not given.
    mode
        "TF" counts, "IDF" gives the weight of what is there, "TFIDF" is the count times the weight.
    shortest
        Least number of words of an n-gram.
    longest
        Greatest number of words of an n-gram.
    skips
        Greatest number of words that are skipped between two of an n-gram.

    Examples
    --------
    >>> x = np.array([1, 2, 1, 2])
    >>> tfidf_vectorize(x, pool=(1, 2, 1, 2), starts=(0, 2), indexes=(0, 1, 2), longest=2).tolist()
    [2.0, 2.0, 2.0]
    """
    grams = [gram for each in _grams(pool, starts) for gram in each]
    rows = x.reshape(math.prod(x.shape[:-1]), x.shape[-1]).tolist()
    result = np.zeros((len(rows), max(indexes, default=-1) + 1), np.float32)
    for row, words in zip(result, rows, strict=True):
        counts = Counter(_met(words, shortest, longest, skips))
        for place, (gram, index) in enumerate(zip(grams, indexes, strict=True)):
            times, weight = counts[gram], 1.0 if weights is None else weights[place]
            row[index] += times if mode == "TF" else weight * (times > 0) if mode == "IDF" else weight * times
    return result.reshape(*x.shape[:-1], result.shape[1])


def _met(words: list[Any], shortest: int, longest: int, skips: int) -> list[tuple[Any, ...]]:
    """The n-grams in a row of words; one word has nothing to skip."""
    return [
        tuple(words[start : start + (n - 1) * step + 1 : step])
        for n in range(shortest, longest + 1)
        for step in range(1, (skips if n > 1 else 0) + 2)
        for start in range(len(words) - (n - 1) * step)
    ]
