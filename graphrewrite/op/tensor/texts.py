"""Texts joined, split and matched; and labels mapped to others."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import broadcast_shape, define_op
from graphrewrite.op.domain import TEXTS
from graphrewrite.types import ElementName, Size, Tensor, check_element, element_dtype, element_kind, hold, out_of_range

__all__ = ["encode_labels", "regex_full_match", "string_concat", "string_normalize", "string_split"]

_LABELS: dict[str, Any] = {"string": str, "integer": int, "bool": bool, "float": (int, float)}
"""What stands for a label in an attribute, by the kind of its element type."""


def _check_labels(name: str, labels: Sequence[Any], element: Any) -> None:
    expected = _LABELS.get(element_kind(element))
    wrong = [] if expected is None else [label for label in labels if not isinstance(label, expected)]
    if expected is None or wrong or (expected is not str and out_of_range(element, list(labels)) is not None):
        shown = f", got {wrong[0]!r}" if wrong else ""
        raise TypeMismatchError(f"{name} must be labels of type {element}{shown}")


def _infer_labels(x: Tensor, *, keys: Sequence[Any], values: Sequence[Any], default: Any, element: str) -> Tensor:
    check_element(element)
    if len(keys) != len(values):
        raise TypeMismatchError(f"there are {len(keys)} keys and {len(values)} values; give one value for each key")
    _check_labels("keys", keys, x.element)
    _check_labels("values and the default", [*values, default], element)
    return Tensor(element, x.shape, x.layout)


@define_op(infer=_infer_labels)
def encode_labels(
    x: np.ndarray, *, keys: Sequence[Any], values: Sequence[Any], default: Any, element: ElementName
) -> np.ndarray:
    """Labels, numbers or texts, mapped to others (ONNX specification, LabelEncoder).

    Parameters
    ----------
    x
        Labels, of any shape.
    keys
        Labels that are known; of equal ones the last counts, and NaN is equal to NaN.
    values
        What each key becomes.
    default
        What any other label becomes.
    element
        Element type of the result.

    Examples
    --------
    >>> x = np.array(["cat", "dog", "cow"])
    >>> encode_labels(x, keys=("cat", "dog"), values=(0, 1), default=-1, element="i64").tolist()
    [0, 1, -1]
    """
    known = {_same(key): value for key, value in zip(keys, values, strict=True)}
    found = [known.get(_same(label), default) for label in x.ravel().tolist()]
    return hold(element, np.array(found, element_dtype(element)).reshape(x.shape))


def _same(label: Any) -> Any:
    """A label by which equal ones are found: NaN is not equal to itself."""
    return "nan" if isinstance(label, float) and label != label else (type(label) is str, label)


def _infer_concat(x: Tensor, y: Tensor) -> Tensor:
    return Tensor("string", broadcast_shape(x.shape, y.shape))


@define_op(infer=_infer_concat, elements=TEXTS)
def string_concat(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Texts, one after the other, entry by entry (ONNX specification, StringConcat).

    Parameters
    ----------
    x, y
        Texts; shapes broadcast.

    Examples
    --------
    >>> string_concat(np.array(["a", "b"]), np.array("!")).tolist()
    ['a!', 'b!']
    """
    return np.char.add(x, y)


def _infer_match(x: Tensor, *, pattern: str) -> Tensor:
    try:
        re.compile(pattern)
    except re.error as error:
        raise TypeMismatchError(f"the pattern {pattern!r} is no regular expression: {error}") from None
    return Tensor("bool", x.shape, x.layout)


@define_op(infer=_infer_match, elements=TEXTS)
def regex_full_match(x: np.ndarray, *, pattern: str) -> np.ndarray:
    """Whether a regular expression matches the whole of a text (ONNX specification, RegexFullMatch).

    Parameters
    ----------
    x
        Texts, of any shape.
    pattern
        The regular expression.

    Examples
    --------
    >>> regex_full_match(np.array(["a@b.c", "ab"]), pattern=r".+@.+").tolist()
    [True, False]
    """
    matches = re.compile(pattern).fullmatch
    return np.array([matches(text) is not None for text in x.ravel().tolist()], np.bool_).reshape(x.shape)


def _infer_split(x: Tensor, *, delimiter: str | None, maxsplit: int | None) -> tuple[Tensor, Tensor]:
    if maxsplit is not None and maxsplit < 0:
        raise TypeMismatchError(f"texts are not split {maxsplit} times; leave maxsplit out for no limit")
    return Tensor("string", (*x.shape, Size.unknown())), Tensor("i64", x.shape)


@define_op(infer=_infer_split, elements=TEXTS, results=2)
def string_split(
    x: np.ndarray, *, delimiter: str | None = None, maxsplit: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Texts split at a delimiter along a new last axis, and how many parts each has (ONNX specification, StringSplit).

    Shorter rows end with empty texts.

    Parameters
    ----------
    x
        Texts, of any shape.
    delimiter
        The delimiter; white space if not given.
    maxsplit
        Greatest number of splits; no limit if not given.

    Examples
    --------
    >>> parts, counts = string_split(np.array(["a b", "c"]))
    >>> parts.tolist(), counts.tolist()
    ([['a', 'b'], ['c', '']], [2, 1])
    """
    limit = -1 if maxsplit is None else maxsplit
    rows = [text.split(delimiter or None, limit) for text in x.ravel().tolist()]
    longest = max(map(len, rows), default=0)
    parts = [row + [""] * (longest - len(row)) for row in rows]
    counts = np.array([len(row) for row in rows], np.int64)
    return np.array(parts, np.str_).reshape(*x.shape, longest), counts.reshape(x.shape)


_CASES: dict[str, Callable[[str], str]] = {"none": str, "lower": str.lower, "upper": str.upper}


def _infer_normalize(x: Tensor, *, case: str, stopwords: Sequence[str], is_case_sensitive: bool) -> Tensor:
    if case not in _CASES:
        raise TypeMismatchError(f"case is one of {', '.join(map(repr, _CASES))}, got {case!r}")
    if len(x.shape) not in (1, 2) or (len(x.shape) == 2 and x.shape[0] != 1):
        raise TypeMismatchError(f"a row of texts is [C] or [1,C], got {x}")
    return Tensor("string", (*x.shape[:-1], Size.unknown())) if stopwords else x


@define_op(infer=_infer_normalize, elements=TEXTS)
def string_normalize(
    x: np.ndarray, *, case: str = "none", stopwords: Sequence[str] = (), is_case_sensitive: bool = False
) -> np.ndarray:
    """Row of texts without some of them, in "lower" or "upper" case (ONNX specification, StringNormalizer).

    Where nothing is left, there is one empty text.

    Parameters
    ----------
    x
        Texts [C] or [1, C].
    case
        "lower", "upper", or "none" where the letters stay.
    stopwords
        Texts that are left out.
    is_case_sensitive
        Whether they must agree in upper and lower case.

    Examples
    --------
    >>> string_normalize(np.array(["Monday", "The", "tuesday"]), case="upper", stopwords=("the",)).tolist()
    ['MONDAY', 'TUESDAY']
    """
    folded = str if is_case_sensitive else str.lower
    left_out = set(map(folded, stopwords))
    left = [_CASES[case](text) for text in x.ravel().tolist() if folded(text) not in left_out]
    left = left if left or not stopwords else [""]
    return np.array(left, np.str_).reshape(*x.shape[:-1], len(left))
