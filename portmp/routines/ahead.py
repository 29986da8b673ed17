"""Factorisations in two queues: what all else waits for comes first, the rest is done beside it.

Panels and the small products between them follow from one another and leave most of a GPU idle;
what they do to columns that are needed much later fills it. Results do not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable

from portmp.backends.base import Event, Queue, is_recording
from portmp.runtime.planes import Planes

Here = Callable[[Planes], Planes]
"""Names a matrix in the queue in which work is done."""


class Ahead:
    """Work in a queue ``first``, and work beside it in the queue ``home`` of a matrix.

    Both are the same where the device has no queue that comes before others, and where launches are
    recorded.
    """

    def __init__(self, home: Queue) -> None:
        urgent = None if is_recording() else home.device.urgent_queue
        self.first, self.home = urgent or home, home
        self._pending: list[tuple[slice, Event]] = []

    @property
    def _apart(self) -> bool:
        return self.first is not self.home

    def begin(self) -> None:
        """Let work that comes first wait for what was done so far."""
        if self._apart:
            self.first.wait(self.home.record())

    def later(self, columns: slice, work: Callable[[Here], None]) -> None:
        """Do *work*: all that is done to some columns (or rows) until they are ``needed``."""
        if not self._apart:
            work(lambda view: view)
            return
        self.home.wait(self.first.record())
        work(lambda view: view.named_in(self.home))
        self._pending.append((columns, self.home.record()))

    def needed(self, columns: slice) -> None:
        """Let what follows wait for such work on these columns."""
        rest = []
        for there, event in self._pending:
            if there.start < columns.stop and columns.start < there.stop:
                self.first.wait(event)
            else:
                rest.append((there, event))
        self._pending = rest

    def end(self) -> None:
        """Let further work in ``home`` come after all that was done first."""
        if self._apart:
            self.home.wait(self.first.record())
            self._pending = []
