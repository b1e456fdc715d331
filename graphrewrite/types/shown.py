"""How a type shows itself in a notebook."""

from __future__ import annotations

from typing import Any

__all__ = ["Shown"]


class Shown:
    """Mixin of types and formats."""

    __slots__ = ()

    def show(self) -> Any:
        """Return its range, its resolution and its bits in words, as a display; see `graphrewrite.view.type_words`."""
        from graphrewrite.view import show  # the view is a leaf that knows types, loaded when asked for

        return show(self)

    def _repr_html_(self) -> str:
        """Let Jupyter show it in words."""
        return str(self.show()._repr_html_())
