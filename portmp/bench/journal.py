"""What a run has measured so far, on disk: a run that was ended goes on from there.

A report ``-o FILE`` is written at the end. Until then ``FILE.partial`` has a line for each case
that is done; the same command takes them from there, and removes the file with its report.
"""

import contextlib
import copy
import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from portmp.bench.tables import Row

ENDING = ".partial"


class Done(NamedTuple):
    """A case that was measured: its rows, what belongs to no row, and how long it took."""

    rows: list[Row]
    beside: Row
    seconds: float


class Journal:
    """The cases of one command, of all its devices. Without *output* nothing is kept.

    *key*: what must be the same, so that cases of an earlier run count; *again*: they do not.
    """

    def __init__(self, output: Path | None = None, key: object = None, again: bool = False) -> None:
        self.path = output.with_name(output.name + ENDING) if output else None
        text = json.dumps(key, sort_keys=True, default=str)
        self._head = json.dumps({"run": hashlib.sha256(text.encode()).hexdigest()})
        self._cases: dict[str, Done] = {}
        self._of: tuple[str, ...] = ()
        if self.path and not again:
            self._read(self.path)
        self.known = len(self._cases)
        """Cases of an earlier run."""
        if self.path and not self.known:
            self._write(f"{self._head}\n", "w")

    def _read(self, path: Path) -> None:
        """Keep the whole lines of a run with the same key."""
        try:
            head, *lines = path.read_bytes().split(b"\n")
        except OSError:
            return
        if head.decode(errors="replace") != self._head:
            return
        for line in lines:
            with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                item = json.loads(line)
                done = Done([dict(r) for r in item["rows"]], dict(item["beside"]), item["seconds"])
                self._cases[str(item["case"])] = done

    def _write(self, text: str, mode: str) -> None:
        """Where nothing can be written, a run that is ended begins anew."""
        if self.path and (self.path.is_file() or not self.path.exists()):
            with contextlib.suppress(OSError), self.path.open(mode, encoding="utf-8") as file:
                file.write(text)

    def of(self, benchmark: str) -> "Journal":
        """The same file for one of several benchmarks."""
        found = copy.copy(self)
        found._of = (*self._of, benchmark)
        return found

    def _name(self, *words: str) -> str:
        return json.dumps([*self._of, *words])

    def get(self, *case: str) -> Done | None:
        """What is known of a case."""
        return self._cases.get(self._name(*case))

    def add(self, done: Done, *case: str) -> None:
        """Keep a case."""
        if self.path:
            item: dict[str, Any] = {"case": self._name(*case), **done._asdict()}
            # A killed run's half line ends before it.
            self._write(f"\n{json.dumps(item)}\n", "a")

    def close(self) -> None:
        """Remove the file: the report is written."""
        if self.path:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
