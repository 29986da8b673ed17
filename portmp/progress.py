"""A line on standard error that says what is being done."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator


class Progress:
    """A line on standard error that is rewritten; silent where that is no terminal."""

    def __init__(self, visible: bool) -> None:
        self.visible = visible
        self.step = ""

    def show(self, text: str) -> None:
        """Replace the line."""
        if self.visible:
            print(f"\r{text:100.100}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the line."""
        if self.visible:
            print("\r" + " " * 100 + "\r", end="", file=sys.stderr, flush=True)


PATIENCE = 2.0
"""Seconds after which work says that it goes on."""

_running: list[Progress] = []
"""Lines of work that goes on: the last one is shown, being inside of the others."""


@contextlib.contextmanager
def every(interval: float, act: Callable[[], object], first: float | None = None) -> Iterator[None]:
    """Call *act* each *interval* seconds beside the block, in a thread of its own.

    *first*: seconds before the first call, if that is another number.
    """
    ended = threading.Event()

    def run() -> None:
        pause = interval if first is None else first
        while not ended.wait(pause):
            act()
            pause = interval

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextlib.contextmanager
def lasting(text: str | Callable[[], str], visible: bool | None = None) -> Iterator[None]:
    """Show *text* and the seconds so far while what is inside goes on, once it has taken some.

    A function is asked for the text each time. *visible*: by default on a terminal, where nothing
    else is shown.
    """
    if not (sys.stderr.isatty() and not _running if visible is None else visible):
        yield
        return
    line, began = Progress(True), time.monotonic()

    def tell() -> None:
        if _running[-1] is line:
            told = text() if callable(text) else text
            told += f", {line.step}" if line.step else ""
            line.show(f"{told}: {time.monotonic() - began:.0f} s")

    _running.append(line)
    try:
        with every(1.0, tell, first=PATIENCE):
            yield
    finally:
        line.clear()
        _running.remove(line)


def doing(step: str) -> None:
    """Say which step the work has come to, where a line tells of it: done inside of ``lasting``."""
    if _running:
        _running[-1].step = step
