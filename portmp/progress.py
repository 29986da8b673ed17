"""A line on standard error that says what is being done."""

from __future__ import annotations

import sys


class Progress:
    """A line on standard error that is rewritten; silent where that is no terminal."""

    def __init__(self, visible: bool) -> None:
        self.visible = visible

    def show(self, text: str) -> None:
        """Replace the line."""
        if self.visible:
            print(f"\r{text:100.100}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the line."""
        if self.visible:
            print("\r" + " " * 100 + "\r", end="", file=sys.stderr, flush=True)
