"""Mutants of modules of the lowerings and of the hardware that are as right as the original, each with the reason.

Every one was looked at. The names are those that `tests.quality.module_mutants` gives.
"""

from __future__ import annotations

__all__ = ["EQUIVALENT"]

EQUIVALENT: dict[str, tuple[str, ...]] = {
    "A mark for what lies outside compares with the ranks of what lies inside as before.": (
        "hdl/emission/units: _Builder.arranged: off by one: 1 for 0",
    ),
    "Buffers are looked for in more places than they can be needed in: there, none is found to be.": (
        "hdl/buffering: _joins: drop guard: no len(network.components[k.sink].takes) > 1 in a condition",
    ),
    "A number drawn from an interval is its boundary as good as never, and may then be taken for either side.": (
        "hdl/checking/case: _numbers: shift boundary: another boundary in kind < 0.8",
    ),
}
