"""What became of a case on a device, and what is compared of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from portmp.arrays.array import Array


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


def read(report: Mapping[str, Any]) -> list[Outcome]:
    """The outcomes that a report of ``portmp verify`` tells."""
    failed = {one["key"]: Outcome(**one) for one in report["failures"]}
    return [
        failed.get(key) or Outcome(key, digest, digest) for key, digest in report["digests"].items()
    ]


def planes_of(result: Any) -> list[np.ndarray[Any, Any]]:
    """What a call gives, on the host: the limbs of values, plain numbers as they are."""
    return result.to_limbs() if isinstance(result, Array) else [np.asarray(result)]
