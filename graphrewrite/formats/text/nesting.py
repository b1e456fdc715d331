"""Nesting of graphs by name, before they are built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

__all__ = ["inner_first"]


def inner_first(
    roots: Iterable[str], inside: Callable[[str], Iterable[str]], refuse: Callable[[str, str], None]
) -> list[str]:
    """Return the names of graphs, nested ones first, in linear time.

    `inside` returns the names nested in a graph; `refuse` raises if a graph contains itself.

    Examples
    --------
    >>> inner_first(["a"], {"a": ["b", "c"], "b": ["c"], "c": []}.__getitem__, print)
    ['c', 'b', 'a']
    """
    done: dict[str, None] = {}
    path: dict[str, Iterator[str]] = {}
    for root in roots:
        if root not in done:
            path[root] = iter(inside(root))
        while path:
            name = next(reversed(path))
            inner = next((each for each in path[name] if each not in done), None)
            if inner is None:
                del path[name]
                done[name] = None
            elif inner in path:
                names = list(path)
                refuse(
                    inner, f"the graph {inner!r} would contain itself: {_shown([*names[names.index(inner) :], inner])}"
                )
            else:
                path[inner] = iter(inside(inner))
    return list(done)


def _shown(names: list[str]) -> str:
    return " -> ".join(names if len(names) < _SHOWN else [*names[: _SHOWN // 2], "…", *names[-_SHOWN // 2 :]])


_SHOWN = 12
"""Longer cycles are abbreviated."""
