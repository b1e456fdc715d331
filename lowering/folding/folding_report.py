"""Report of the chosen foldings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = ["FoldingReport", "LayerReport", "Price"]


class Price(NamedTuple):
    """An interval, and what it costs.

    Attributes
    ----------
    interval : int
        Cycles a frame of the slowest component.
    multipliers : int
        Products formed in one cycle, by constants too.
    memory_bits : int
    """

    interval: int
    multipliers: int
    memory_bits: int


class LayerReport(NamedTuple):
    """Folding of one layer.

    Attributes
    ----------
    lanes_in, lanes_out : int
        Columns and rows that are worked on in one cycle.
    multipliers : int
    cycles : int
        Of a frame.
    """

    lanes_in: int
    lanes_out: int
    multipliers: int
    cycles: int


@dataclass(frozen=True)
class FoldingReport:
    """Foldings of the layers of a design.

    Attributes
    ----------
    price : Price
        Of the design.
    bottleneck : str
        The slowest component.
    layers : dict of str to LayerReport
        By node.
    shorter : Price or None
        The next shorter interval, where one was asked for by limits and there is one.

    Examples
    --------
    >>> report = FoldingReport(Price(64, 10, 0), "fc", {"fc": LayerReport(2, 5, 10, 64)}, Price(32, 20, 0))
    >>> print(report)
    interval 64 cycles, 10 multipliers, 0 bits of memory; fc is the slowest
    next: interval 32 cycles for 20 multipliers, 0 bits of memory
    fc: 10 multipliers (2 columns, 5 rows a cycle), 64 cycles a frame
    """

    price: Price
    bottleneck: str
    layers: dict[str, LayerReport] = field(repr=False)
    shorter: Price | None = None

    def __str__(self) -> str:
        lines = [f"{_price_text(self.price)}; {self.bottleneck} is the slowest".replace(" for ", ", ", 1)]
        if self.shorter is not None:
            lines.append(f"next: {_price_text(self.shorter)}")
        lines += [
            f"{name}: {layer.multipliers} multipliers ({layer.lanes_in} columns, {layer.lanes_out} rows a cycle), "
            f"{layer.cycles} cycles a frame"
            for name, layer in self.layers.items()
        ]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return the report as nested dictionaries of primitive types."""
        return {
            **self.price._asdict(),
            "bottleneck": self.bottleneck,
            "layers": {name: layer._asdict() for name, layer in self.layers.items()},
            "shorter": None if self.shorter is None else self.shorter._asdict(),
        }


def _price_text(price: Price) -> str:
    return f"interval {price.interval} cycles for {price.multipliers} multipliers, {price.memory_bits} bits of memory"
