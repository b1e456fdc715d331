"""Ops along axes."""

from __future__ import annotations

from typing import Any

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.conversions import integers, truth, whole
from graphrewrite.lowering.exchange.entry import Entry

__all__ = ["REDUCTIONS"]

_AXIS = {"axis": ("axis", whole)}
_ARG = {**_AXIS, "keepdims": ("keep_dims", truth), "select_last_index": ("select_last_index", truth)}
_REDUCED = {
    "ReduceL1": op.reduce_l1,
    "ReduceL2": op.reduce_l2,
    "ReduceLogSum": op.reduce_log_sum,
    "ReduceLogSumExp": op.reduce_log_sum_exp,
    "ReduceMax": op.reduce_max,
    "ReduceMean": op.reduce_mean,
    "ReduceMin": op.reduce_min,
    "ReduceProd": op.reduce_prod,
    "ReduceSum": op.reduce_sum,
    "ReduceSumSquare": op.reduce_sum_square,
}


def _axes(attributes: dict[str, Any], _: list[Tensor]) -> dict[str, Any]:
    """No axes are all of them, unless the node says that they are none."""
    nothing = attributes.pop("noop_with_empty_axes", False)
    if not attributes.get("axes") and not nothing:
        attributes.pop("axes", None)
    elif not attributes.get("axes"):
        attributes["axes"] = ()
    return attributes


def _empty_axes(attributes: dict[str, Any], _: object) -> dict[str, Any]:
    return {**attributes, "noop_with_empty_axes": attributes["axes"] == ()}


REDUCTIONS: tuple[Entry, ...] = (
    *(
        Entry(
            kind,
            ours,
            {
                "axes": ("axes", integers),
                "keepdims": ("keep_dims", truth),
                "noop_with_empty_axes": ("noop_with_empty_axes", truth),
            },
            {1: ("axes", integers)},
            complete=_axes,
            shown=_empty_axes,
        )
        for kind, ours in _REDUCED.items()
    ),
    Entry("ArgMax", op.arg_max, _ARG, defaults={"axis": 0}),
    Entry("ArgMin", op.arg_min, _ARG, defaults={"axis": 0}),
    *(
        Entry(
            kind,
            ours,
            {"exclusive": ("exclusive", truth), "reverse": ("reverse", truth)},
            {1: ("axis", whole)},
        )
        for kind, ours in (("CumProd", op.cum_prod), ("CumSum", op.cum_sum))
    ),
    Entry("Hardmax", op.hardmax, _AXIS),
    Entry("LogSoftmax", op.log_softmax, _AXIS),
    Entry("Softmax", op.softmax, _AXIS),
    Entry(
        "TopK",
        op.top_k,
        {**_AXIS, "largest": ("largest", truth), "sorted": ("sorted", truth)},
        {1: ("k", whole, lambda k: (k,))},
    ),
    Entry("graphrewrite.softmin", op.softmin, _AXIS),
)
