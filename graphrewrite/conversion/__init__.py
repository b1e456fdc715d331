"""Conversions of element types and layouts: of a whole view, or of what an implementation needs."""

from graphrewrite.conversion.conversion import FLOATS, Casting, Conversion, Permuting, layout_of
from graphrewrite.conversion.region import converted, settle_view

__all__ = ["FLOATS", "Casting", "Conversion", "Permuting", "converted", "layout_of", "settle_view"]
