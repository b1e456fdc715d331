"""Plugins: what other installed packages offer under a name, found by their entry points when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from graphrewrite.errors import GraphRewriteError, did_you_mean

__all__ = ["Plugin", "PluginError", "offered", "plugin"]

_GROUPS = tuple(f"graphrewrite.{kind}" for kind in ("ops", "rules", "lowerings", "components", "importers"))


class PluginError(GraphRewriteError):
    """No installed package offers what was asked for, or it cannot be loaded."""


@dataclass(frozen=True)
class Plugin:
    """What is offered under a name; each part is imported when it is read, and empty where there is none.

    A package offers it by entry points of that name: of the group ``graphrewrite.ops`` for an op, a dialect, or a tuple
    of them, and so on for the other groups.

    Attributes
    ----------
    name : str
        The name.
    found : tuple of EntryPoint
        Those of the name, of all groups.
    """

    name: str
    found: tuple[EntryPoint, ...]

    @property
    def ops(self) -> tuple[Any, ...]:
        """Ops and dialects, for every ``ops=``: the group ``graphrewrite.ops``."""
        return self._loaded("graphrewrite.ops")

    @property
    def rules(self) -> tuple[Any, ...]:
        """Rules and passes that stay on their level: the group ``graphrewrite.rules``."""
        return self._loaded("graphrewrite.rules")

    @property
    def lowerings(self) -> tuple[Any, ...]:
        """Rules and passes to a more specific level: the group ``graphrewrite.lowerings``."""
        return self._loaded("graphrewrite.lowerings")

    @property
    def components(self) -> tuple[Any, ...]:
        """Hardware components: the group ``graphrewrite.components``."""
        return self._loaded("graphrewrite.components")

    @property
    def importers(self) -> tuple[Any, ...]:
        """Entries for `graphrewrite.lowering.from_onnx`: the group ``graphrewrite.importers``."""
        return self._loaded("graphrewrite.importers")

    def _loaded(self, group: str) -> tuple[Any, ...]:
        members: list[Any] = []
        for each in self.found:
            if each.group != group:
                continue
            try:
                offered = each.load()
            except Exception as error:  # it is somebody else's code
                raise PluginError(
                    f"the plugin {self.name!r} offers {each.value!r} in {group}, which cannot be imported: "
                    f"{type(error).__name__}: {error}"
                ) from error
            members += offered if isinstance(offered, tuple | list) else [offered]
        return tuple(members)


def plugin(name: str) -> Plugin:
    """Return what installed packages offer under a name; nothing of it is imported yet.

    Parameters
    ----------
    name : str
        The name of entry points in the groups ``graphrewrite.ops``, ``.rules``, ``.lowerings``, ``.components`` and
        ``.importers``.

    Raises
    ------
    PluginError
        If nobody offers it, with a similar name and all that there are.

    Examples
    --------
    >>> plugin("signals")
    Traceback (most recent call last):
    graphrewrite.runtime.plugins.PluginError: no installed package offers a plugin 'signals'; ...
    """
    offered = [each for group in _GROUPS for each in entry_points(group=group)]
    found = tuple(sorted({each for each in offered if each.name == name}, key=lambda each: (each.group, each.value)))
    if not found:
        names = sorted({each.name for each in offered})
        known = f"there are {', '.join(names)}" if names else "there are none: a package has entry points for them"
        raise PluginError(f"no installed package offers a plugin {name!r}{did_you_mean(name, names)}; {known}")
    return Plugin(name, found)


def offered(names: str | Iterable[str], part: str) -> tuple[Any, ...]:
    """Return a part of some plugins, in their order.

    Parameters
    ----------
    names : str or iterable of str
        Names of plugins.
    part : {"ops", "rules", "lowerings", "components", "importers"}
        Which part.

    Examples
    --------
    >>> offered((), "ops")
    ()
    """
    listed = (names,) if isinstance(names, str) else names
    return tuple(member for name in listed for member in getattr(plugin(name), part))
