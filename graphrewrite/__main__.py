"""``python -m graphrewrite`` is the command ``graphrewrite``."""

from __future__ import annotations

from graphrewrite.cli import main

if __name__ == "__main__":
    main()
