"""Ops along axes."""

from __future__ import annotations

from typing import Any

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.attribute_values import integers, size, snake_case, truth, whole
from graphrewrite.lowering.exchange.entry import Entry, same_names

__all__ = ["REDUCTIONS"]

_AXIS = {"axis": ("axis", whole)}
_ARG = {**_AXIS, "keepdims": ("keep_dims", truth), "select_last_index": ("select_last_index", truth)}
_REDUCED = ["L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"]


def _axes(attributes: dict[str, Any], _: list[Tensor]) -> dict[str, Any]:
    """No axes mean all, unless the node has noop_with_empty_axes."""
    is_identity = attributes.pop("noop_with_empty_axes", False)
    axes = attributes.pop("axes", ())
    return {**attributes, "axes": axes} if axes or is_identity else attributes


def _empty_axes(attributes: dict[str, Any], _: object) -> dict[str, Any]:
    return {**attributes, "noop_with_empty_axes": attributes["axes"] == ()}


REDUCTIONS: tuple[Entry, ...] = (
    *(
        Entry(
            f"Reduce{kind}",
            getattr(op, f"reduce_{snake_case(kind)}"),
            {
                **same_names(integers, "axes"),
                "keepdims": ("keep_dims", truth),
                **same_names(truth, "noop_with_empty_axes"),
            },
            {1: ("axes", integers)},
            complete=_axes,
            shown=_empty_axes,
        )
        for kind in _REDUCED
    ),
    Entry("ArgMax", op.arg_max, _ARG, defaults={"axis": 0}),
    Entry("ArgMin", op.arg_min, _ARG, defaults={"axis": 0}),
    *(
        Entry(kind, ours, same_names(truth, "exclusive", "reverse"), {1: ("axis", whole)})
        for kind, ours in (("CumProd", op.cum_prod), ("CumSum", op.cum_sum))
    ),
    Entry("Hardmax", op.hardmax, _AXIS),
    Entry("LogSoftmax", op.log_softmax, _AXIS),
    Entry("Softmax", op.softmax, _AXIS),
    Entry("TopK", op.top_k, {**_AXIS, **same_names(truth, "largest", "sorted")}, {1: ("k", size, lambda k: (k,))}),
    Entry("graphrewrite.softmin", op.softmin, _AXIS),
)
