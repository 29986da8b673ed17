"""The arithmetic probe of one device in a process of its own, started by its module's name.

It prints lines of JSON: each check before it runs, and the verdict last.
"""

import json
import os
import sys
from typing import Any

from portmp.backends.base import end_with_parent
from portmp.discovery import finding
from portmp.discovery.probe import examine
from portmp.discovery.verdict import Verdict
from portmp.errors import PortmpError


def main(platform: str, key: str, asked: str) -> int:
    """Probe the device with this compiler key, beginning with the traits of a verdict."""
    end_with_parent(os.getppid())
    found = [d for d in finding.find(platform).devices if d.compiler_key() == key]
    if not found:
        print(f"a process of its own does not find the device: {key}", file=sys.stderr)
        return 1
    device = found[0]
    device.traits = Verdict.from_json(json.loads(asked)).traits
    try:
        verdict = examine(device, lambda check: _say({"check": check}))
    except PortmpError as error:
        verdict = Verdict(device.traits, refusal=str(error))
    _say(verdict.as_json())
    return 0


def _say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
