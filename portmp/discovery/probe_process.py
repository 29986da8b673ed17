"""The arithmetic probe of one device in a process of its own, started by its module's name."""

from __future__ import annotations

import json
import sys

from portmp.discovery.probe import Verdict, as_json, examine
from portmp.errors import CompileError, DeviceError, LaunchError


def main(platform: str, key: str) -> int:
    """Probe the device with this compiler key and print the verdict as one line of JSON."""
    from portmp import discovery

    found = [d for d in discovery.find(platform).devices if d.compiler_key() == key]
    if not found:
        print(f"a process of its own does not find the device: {key}", file=sys.stderr)
        return 1
    device = found[0]
    try:
        verdict = examine(device)
    except (CompileError, LaunchError, DeviceError) as error:
        verdict = Verdict(device.traits, refusal=str(error))
    print(json.dumps(as_json(verdict)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
