"""The text form, read; `graphrewrite.text` says what it looks like."""

from __future__ import annotations

from graphrewrite.parse.sections import parse, parse_module, read

__all__ = ["parse", "parse_module", "read"]
