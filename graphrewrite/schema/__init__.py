"""Typed data: classes whose annotations become checked fields of a dictionary of JSON-able data."""

from graphrewrite.schema.fields import Field, field
from graphrewrite.schema.record import IrData
from graphrewrite.schema.views import DictView, ListView

__all__ = ["DictView", "Field", "IrData", "ListView", "field"]


def __dir__() -> list[str]:
    return sorted(__all__)
