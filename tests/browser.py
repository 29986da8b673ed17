"""A headless browser for tests: Chromium by its DevTools protocol, through a pipe."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_START = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for place, end in zip((3, 4), ends):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""The protocol's pipes are handles 3 and 4."""
PATIENCE = 60.0
"""Seconds for an answer."""


def program() -> str | None:
    """The browser of this machine."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One page in a browser of its own. ``complaints``: errors and warnings of its console."""

    def __init__(self, path: str) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        here, theirs = os.pipe()  # what it reads
        answers, told = os.pipe()  # what it writes
        os.set_inheritable(here, True)
        os.set_inheritable(told, True)
        command = [
            path,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--remote-debugging-pipe",
            f"--user-data-dir={self._folder.name}",
            "about:blank",
        ]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, str(here), str(told), *command],
            pass_fds=(here, told),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(here)
        os.close(told)
        self._to, self._from = theirs, answers
        self._rest, self._count, self._session = b"", 0, ""
        self.complaints: list[str] = []
        targets = self._ask("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log"):
            self._ask(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._folder.cleanup()

    # --- the protocol ---

    def _message(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            read = os.read(self._from, 2**20)
            if not read:
                raise RuntimeError("the browser ended")
            self._rest += read
        text, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        self._note(found)
        return found

    def _note(self, message: dict[str, Any]) -> None:
        """Keep what the console says."""
        found = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(str(found["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.complaints.append(f"{found['type']}: {found['args']}")
            case "Log.entryAdded":
                self.complaints.append(str(found["entry"]))

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._count += 1
        ask = {"id": self._count, "method": method, "params": params}
        if self._session:
            ask["sessionId"] = self._session
        os.write(self._to, json.dumps(ask).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            answer = self._message(until)
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                found: dict[str, Any] = answer["result"]
                return found

    # --- what tests do ---

    def open(self, page: Path) -> None:
        """Load a file, and wait until it is there."""
        self._ask("Page.navigate", url=page.resolve().as_uri())
        until = time.monotonic() + PATIENCE
        while self.run("document.readyState") != "complete":
            if time.monotonic() > until:
                raise TimeoutError(f"{page}: is not loaded")
            time.sleep(0.02)

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self._ask("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def size(self, width: int, height: int = 900) -> None:
        """The window, in units of the page."""
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def media(self, name: str = "", scheme: str = "light") -> None:
        """``print`` or the screen, and which colours the system asks for."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._ask("Emulation.setEmulatedMedia", media=name, features=features)

    def press(self, key: str, code: int) -> None:
        """A key."""
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self._ask(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **text,
            )

    def picture(self, path: Path, whole: bool = False) -> None:
        """A screenshot."""
        answer = self._ask("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def printed(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self._ask("Page.printToPDF")["data"])
