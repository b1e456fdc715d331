"""Memory that is given and taken back one request after the other, in the first gap that is large enough."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from graphrewrite.errors import PlacementError, did_you_mean
from graphrewrite.memory.span import Span

__all__ = ["Allocator", "spans_of"]


class Allocator:
    """A block of memory whose requests come one by one; what is known in advance, `place` puts closer together.

    Parameters
    ----------
    capacity : int, optional
        Its size; any if not given.
    align : int
        Number whose multiples all offsets are; sizes are rounded up to it.

    Examples
    --------
    >>> memory = Allocator(capacity=64, align=8)
    >>> memory.allocate("a", 10), memory.allocate("b", 8)
    (0, 16)
    >>> memory.free("a")
    >>> memory.allocate("c", 16), memory.height, memory.load
    (0, 24, 24)
    """

    def __init__(self, capacity: int | None = None, *, align: int = 1) -> None:
        if align < 1 or (capacity is not None and capacity < 0):
            raise PlacementError(f"an alignment is 1 or more and a capacity not negative, got {align} and {capacity}")
        self.capacity, self.align = capacity, align
        self.height = 0
        self.load = 0
        self._taken: dict[str, tuple[int, int]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def allocate(self, name: str, size: int) -> int:
        """Return the offset of new memory.

        Raises
        ------
        PlacementError
            If the name is taken, or no gap is large enough; nothing changes then.
        """
        need = self._needed(name, size)
        at = 0
        for start, stop in sorted(self._taken.values()):
            if start - at >= need:
                break
            at = max(at, stop)
        if self.capacity is not None and at + need > self.capacity:
            raise PlacementError(
                f"{name!r} needs {need}, and no gap of {self.capacity} is that large; free others, or give more memory"
            )
        return self._take(name, at, need)

    def evict(self, name: str, size: int, *, keep: Collection[str] = ()) -> tuple[int, tuple[str, ...]]:
        """Return the offset of new memory, and what is freed for it: none if there is a gap, else the first in its way.

        Parameters
        ----------
        keep : collection of str
            What must stay.

        Raises
        ------
        PlacementError
            If it does not fit beside what must stay; nothing changes then.

        Examples
        --------
        >>> memory = Allocator(16)
        >>> memory.allocate("a", 8), memory.allocate("b", 8)
        (0, 8)
        >>> memory.evict("c", 4, keep=["a"])
        (8, ('b',))
        """
        need = self._needed(name, size)
        for other in keep:
            self._known(other)
        try:
            return self.allocate(name, size), ()
        except PlacementError:
            pass
        at = 0
        for start, stop in sorted(self._taken[other] for other in keep):
            if start - at >= need:
                break
            at = max(at, stop)
        assert self.capacity is not None
        if at + need > self.capacity:
            raise PlacementError(
                f"{name!r} needs {need} of {self.capacity}, and {', '.join(map(repr, keep)) or 'nothing'} must stay; "
                "let more of it go, or give more memory"
            )
        gone = [n for n, (start, stop) in self._taken.items() if start < at + need and at < stop]
        gone.sort(key=lambda n: self._taken[n])
        for other in gone:
            self.free(other)
        return self._take(name, at, need), tuple(gone)

    def free(self, name: str) -> None:
        """Take memory back.

        Raises
        ------
        PlacementError
            If there is none of that name.
        """
        self._known(name)
        del self._taken[name]

    def offset(self, name: str) -> int:
        """Return where memory lies."""
        self._known(name)
        return self._taken[name][0]

    def _known(self, name: str) -> None:
        if name not in self._taken:
            raise PlacementError(f"nothing is allocated as {name!r}{did_you_mean(name, self._taken)}")

    def _needed(self, name: str, size: int) -> int:
        if name in self._taken:
            raise PlacementError(f"{name!r} is allocated already; free it first, or give another name")
        if size < 0:
            raise PlacementError(f"{name!r}: a size is not negative, got {size}")
        return -(-size // self.align) * self.align

    def _take(self, name: str, at: int, need: int) -> int:
        self._taken[name] = (at, at + need)
        self.height = max(self.height, at + need)
        self.load = max(self.load, sum(stop - start for start, stop in self._taken.values()))
        return at


def spans_of(events: Iterable[Sequence[object]]) -> dict[str, Span]:
    """Return the spans of a trace of events, by name, for `place`.

    Parameters
    ----------
    events : iterable of (word, name, ...)
        ``("alloc", name, size)`` and ``("free", name)``, in order. What is never freed lives to the end.

    Raises
    ------
    PlacementError
        If a name is allocated twice, or freed without being allocated; the message counts events from 0.

    Examples
    --------
    >>> spans_of([("alloc", "a", 4), ("alloc", "b", 8), ("free", "a")])
    {'a': Span(size=4, begin=0, end=2, ...), 'b': Span(size=8, begin=1, end=3, ...)}
    """
    listed = list(events)
    begun: dict[str, tuple[int, int]] = {}
    spans: dict[str, Span] = {}
    for time, (word, name, *size) in enumerate(listed):
        key = str(name)
        if word == "alloc":
            if key in begun or not size or not isinstance(size[0], int):
                said = f"allocates {key!r} a second time" if key in begun else f"gives {key!r} no size"
                raise PlacementError(f"event {time} {said}; write ('alloc', name, size), each name once")
            begun[key] = size[0], time
        elif word == "free":
            if key not in begun or key in spans:
                said = "twice" if key in spans else f"without allocating it{did_you_mean(key, begun)}"
                raise PlacementError(f"event {time} frees {key!r} {said}; remove it")
            spans[key] = Span(begun[key][0], begun[key][1], time)
        else:
            raise PlacementError(f"event {time} is {word!r}{did_you_mean(str(word), ['alloc', 'free'])}")
    return {key: spans.get(key) or Span(size, begin, len(listed)) for key, (size, begin) in begun.items()}
