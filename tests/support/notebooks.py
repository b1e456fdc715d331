"""Notebooks as the HTML that nbconvert exports, without what it would fetch from elsewhere."""

from __future__ import annotations

from pathlib import Path

import nbformat

__all__ = ["exported"]


def exported(notebook: Path | nbformat.NotebookNode, *, theme: str = "light") -> str:
    """A notebook with its outputs as one page."""
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(
        theme=theme, mathjax_url="", require_js_url="", mermaid_js_url="", jupyter_widgets_base_url=""
    )
    read = nbformat.read(notebook, as_version=4) if isinstance(notebook, Path) else notebook
    body, _ = exporter.from_notebook_node(read)
    return body
