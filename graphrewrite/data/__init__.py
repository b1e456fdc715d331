"""Typed data: classes whose annotations become checked fields of a dictionary of JSON-able data."""

from graphrewrite.data.field import Field, field
from graphrewrite.data.record import IrData
from graphrewrite.data.views import DictView, ListView

__all__ = ["DictView", "Field", "IrData", "ListView", "field"]
