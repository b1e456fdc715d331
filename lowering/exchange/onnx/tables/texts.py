"""Texts, and labels mapped to others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.attribute_values import (
    element,
    integers,
    number,
    numbers,
    truth,
    whole,
    word,
    words,
)
from graphrewrite.lowering.exchange.entry import Entry, Unfit, same_names
from graphrewrite.types import TEXT, element_kind

__all__ = ["WORDING"]

_DOMAIN = "ai.onnx.ml"
_KINDS = {
    "strings": (TEXT, "default_string", "_Unused"),
    "int64s": ("i64", "default_int64", -1),
    "floats": ("f32", "default_float", -0.0),
}
"""Element types by the ends of the names of ONNX's lists, with the names and the defaults of their defaults."""


def _flat_tensor(value: Any) -> tuple[np.ndarray, str]:
    from onnx import numpy_helper

    return np.ravel(numpy_helper.to_array(value)), element(value.data_type)


def _labels(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    """Keys and values of one of ONNX's lists each (ONNX specification, LabelEncoder)."""
    classes = attributes.get("classes")
    if classes is not None:  # as the first version has them: texts and their numbers
        texts = types[0].element == TEXT
        default = attributes.get("default_int64", -1) if texts else attributes.get("default_string", "_Unused")
        pair = classes, tuple(range(len(classes)))
        keys, values = pair if texts else pair[::-1]
        return {"keys": keys, "values": values, "default": default, "element": "i64" if texts else TEXT}
    keys = next((attributes[f"keys_{end}"] for end in _KINDS if f"keys_{end}" in attributes), None)
    if keys is None and "keys_tensor" in attributes:
        keys = tuple(attributes["keys_tensor"][0].tolist())
    for end, (kind, name, default) in _KINDS.items():
        if f"values_{end}" in attributes:
            values = attributes[f"values_{end}"]
            return {"keys": keys, "values": values, "default": attributes.get(name, default), "element": kind}
    if keys is None or "values_tensor" not in attributes:
        raise ValueError("its keys or values are missing")
    array, kind = attributes["values_tensor"]
    given = attributes.get("default_tensor")
    default = {"string": "_Unused", "float": -0.0}.get(element_kind(kind), -1)
    default = default if given is None else given[0].tolist()[0]
    return {"keys": keys, "values": tuple(array.tolist()), "default": default, "element": kind}


def _labels_shown(attributes: dict[str, Any], types: Sequence[Tensor]) -> dict[str, Any]:
    keys, values = (_end(kind) for kind in (types[0].element, attributes["element"]))
    default = _KINDS[values][1]
    return {
        f"keys_{keys}": attributes["keys"],
        f"values_{values}": attributes["values"],
        default: attributes["default"],
    }


def _end(element: Any) -> str:
    end = next((end for end, (kind, *_) in _KINDS.items() if kind == element), None)
    if end is None:
        raise Unfit(f"ONNX lists labels of {', '.join(kind for kind, *_ in _KINDS.values())}, not of {element}")
    return end


def _categories(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    """Texts and numbers that belong together (ONNX specification, CategoryMapper)."""
    texts, numbers_ = attributes.get("cats_strings", ()), attributes.get("cats_int64s", ())
    if types[0].element == TEXT:
        default = attributes.get("default_int64", -1)
        return {"keys": texts, "values": numbers_, "default": default, "element": "i64"}
    return {"keys": numbers_, "values": texts, "default": attributes.get("default_string", "_Unused"), "element": TEXT}


def _pool(attributes: dict[str, Any], _: list[Tensor]) -> dict[str, Any]:
    pools = [attributes.pop(name, ()) for name in ("pool_strings", "pool_int64s")]
    return {**attributes, "pool": pools[0] or pools[1]}


def _pool_shown(attributes: dict[str, Any], types: Sequence[Tensor]) -> dict[str, Any]:
    name = "pool_strings" if types[0].element == TEXT else "pool_int64s"
    defaults = {"mode": "TF", "shortest": 1, "longest": 1, "skips": 0}  # which ONNX does not have
    return {**defaults, name: attributes.pop("pool"), **attributes}


_LISTS: dict[str, Any] = {
    **same_names(words, "keys_strings", "values_strings"),
    **same_names(integers, "keys_int64s", "values_int64s"),
    **same_names(numbers, "keys_floats", "values_floats"),
    **same_names(_flat_tensor, "keys_tensor", "values_tensor", "default_tensor"),
    **same_names(word, "default_string"),
    **same_names(whole, "default_int64"),
    **same_names(number, "default_float"),
    "classes_strings": ("classes", words),
}


def _mapped(x: Any, **labels: Any) -> Any:
    return op.encode_labels(x, **labels)


WORDING: tuple[Entry, ...] = (
    Entry(
        f"{_DOMAIN}.CategoryMapper",
        _mapped,
        {
            **same_names(words, "cats_strings"),
            **same_names(integers, "cats_int64s"),
            **same_names(word, "default_string"),
            **same_names(whole, "default_int64"),
        },
        complete=_categories,
    ),
    Entry(f"{_DOMAIN}.LabelEncoder", op.encode_labels, _LISTS, complete=_labels, shown=_labels_shown),
    Entry("RegexFullMatch", op.regex_full_match, same_names(word, "pattern")),
    Entry("StringConcat", op.string_concat),
    Entry(
        "TfIdfVectorizer",
        op.tfidf_vectorize,
        {
            **same_names(words, "pool_strings"),
            **same_names(integers, "pool_int64s"),
            "ngram_counts": ("starts", integers),
            "ngram_indexes": ("indexes", integers),
            "weights": ("weights", numbers),
            "mode": ("mode", word),
            "min_gram_length": ("shortest", whole),
            "max_gram_length": ("longest", whole),
            "max_skip_count": ("skips", whole),
        },
        complete=_pool,
        shown=_pool_shown,
    ),
    Entry(
        "StringNormalizer",
        op.string_normalize,
        {
            "case_change_action": ("case", lambda value: word(value).lower(), str.upper),
            "is_case_sensitive": ("is_case_sensitive", truth),
            "stopwords": ("stopwords", words),
        },
        ignored=("locale",),
    ),
    Entry("StringSplit", op.string_split, {**same_names(word, "delimiter"), **same_names(whole, "maxsplit")}),
)
