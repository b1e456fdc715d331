"""The mixin of all objects that can be shown; `graphrewrite.view` is loaded when one is."""

from __future__ import annotations

from html import escape
from importlib import import_module
from typing import Any, ClassVar

from graphrewrite.errors import GraphRewriteError

__all__ = ["Displayed"]


class Displayed:
    """Mixin: ``show()``, and HTML for Jupyter.

    A class names the function of `graphrewrite.view` that draws it, by module and name, where that is not `show`:
    ``class Trace(Displayed, shown_by="stepper.show_trace")``.
    """

    __slots__ = ()
    _shown_by: ClassVar[str] = "dispatch.show"

    def __init_subclass__(cls, *, shown_by: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if shown_by is not None:
            cls._shown_by = shown_by

    def show(self, **options: Any) -> Any:
        """Return the display for a notebook, a terminal or a file; options are those of `graphrewrite.show`."""
        module, _, function = self._shown_by.rpartition(".")
        return getattr(import_module(f"graphrewrite.view.{module}"), function)(self, **options)

    def _repr_html_(self) -> str:
        """Return HTML for Jupyter: the picture, or the text and the reason if nothing can be drawn."""
        try:
            return str(self.show()._repr_html_())
        except GraphRewriteError as error:
            return f"<pre>{escape(repr(self))}</pre><p>{escape(str(error))}</p>"
