"""The sensitivity of layers as a table with bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphrewrite.view.display import Display
from graphrewrite.view.table import Table

if TYPE_CHECKING:
    from graphrewrite.lowering import Sensitivity

__all__ = ["show_sensitivity"]

_LONGEST = 12
_COLUMNS = ("layer", "", "noise alone", "loss alone", "noise without", "loss without")


def show_sensitivity(found: Sensitivity) -> Display:
    """Return the table of a sensitivity, the layer of the greatest noise first."""
    largest = max((each.alone_noise for each in found.layers), default=0.0)
    rows = tuple(
        (
            each.layer,
            "█" * round(_LONGEST * each.alone_noise / largest) if largest else "",
            *(f"{100 * share:.3g} %" for share in (each.alone_noise, each.alone, each.kept_noise, each.kept)),
        )
        for each in found.layers
    )
    caption = (
        f"layers at {found.bits} bits, the others at 16 (alone), and the other way round (without), on "
        f"{found.samples} samples; all at {found.bits} bits: noise {100 * found.noise:.3g} %, loss "
        f"{100 * found.loss:.3g} %; all at 16: {100 * found.least_noise:.3g} %, {100 * found.least_loss:.3g} %"
    )
    table = Table(_COLUMNS, rows, frozenset({2, 3, 4, 5}), caption)
    return Display(table, table.text(), template="table.html", title=f"sensitivity of layers at {found.bits} bits")
