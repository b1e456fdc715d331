"""A narrow search: of the cuts with as many steps, only those where least lives; and both searches in turn."""

from __future__ import annotations

from graphrewrite.memory.cuts import Cut, Found, Masks, following_cuts, search, weight
from graphrewrite.memory.running import peak_of
from graphrewrite.memory.step import Steps

__all__ = ["narrow_order", "searched"]

_FIRST = 20_000
"""Cuts of the search that finds the best order of most networks; no more than a quarter of all."""
_WIDTHS = (2, 8, 32)
"""Cuts of as many steps that are kept; a wider search follows where a narrower one was within its part of the limit."""

_TRIES = 6
"""Levels that are tried at each width."""


def searched(steps: Steps, bound: int, peak: int, limit: int) -> Found:
    """Look for an order with a peak below a given one, by at most a number of cuts; no order is below the bound.

    The search for the best order comes first, and last with what is left. Where it takes long, narrow searches lower
    the peak in between.

    Examples
    --------
    >>> from graphrewrite.memory.step import Step, steps_of
    >>> found, _ = steps_of({"a": Step(8), "b": Step(2), "c": Step(1, reads=("a",))}, {}, ["b", "c"])
    >>> searched(found, 9, 11, 100)
    Found(order=(0, 2, 1), bound=9, cuts=2)
    """
    first = search(steps, bound, peak, min(-(-limit // 4), _FIRST))
    if first.order is not None or first.bound == peak:
        return first
    masks, best, taken = Masks(steps), None, first.cuts
    low = first.bound
    for width in _WIDTHS:
        if width * len(steps) > (limit - taken) // 8:
            break
        below = low  # of levels at which this width finds nothing
        for _ in range(_TRIES):
            if below >= peak or taken > limit // 2:
                break
            level = peak - 1 - (peak - 1 - below) // 8
            found, cuts = narrow_order(masks, level, width, limit - taken)
            taken += cuts
            if found is None:
                below = level + 1
            else:
                best, peak = found, peak_of(steps, found)
    last = search(steps, low, peak, limit - taken) if limit > taken and peak > low else Found(None, low, 0)
    return Found(last.order or best, last.bound, taken + last.cuts)


def narrow_order(masks: Masks, level: int, width: int, limit: int) -> tuple[tuple[int, ...] | None, int]:
    """Return an order with a peak of at most a level, if a search of this width finds one, and the number of cuts.

    Examples
    --------
    >>> from graphrewrite.memory.step import Step, steps_of
    >>> masks = Masks(steps_of({"a": Step(8), "b": Step(2), "c": Step(1, reads=("a",))}, {}, ["b", "c"])[0])
    >>> narrow_order(masks, 9, 1, 100), narrow_order(masks, 8, 1, 100)
    (((0, 2, 1), 3), (None, 2))
    """
    first = masks.first()
    layers: dict[int, dict[int, Cut]] = {0: {0: first}} if first.live <= level else {}
    count = 0
    while layers:
        layer = layers.pop(min(layers))
        for cut in sorted(layer.values(), key=lambda cut: (cut.live, cut.done))[:width]:
            if cut.done == masks.everything:
                return cut.order(), count
            if count + weight(cut) > limit:
                return None, count
            count += weight(cut)
            for after in following_cuts(masks, cut, level)[1]:
                same = layers.setdefault(after.done.bit_count(), {})
                same.setdefault(after.done, after)
    return None, count
