"""What became of a case on a device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """A case's digest on a device, the recorded one, or the error that prevented it."""

    key: str
    digest: str
    expected: str
    error: str = ""

    @property
    def ok(self) -> bool:
        """Whether the bits are the recorded ones."""
        return not self.error and self.digest == self.expected
