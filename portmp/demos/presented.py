"""What demonstrations share: options checked first, a device, and results that are shown."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from portmp import discovery
from portmp.backends.base import Device
from portmp.errors import ArgumentError
from portmp.files import pictures, target
from portmp.progress import Progress

Found = TypeVar("Found")


def presented(
    args: Any,
    usual: int,
    allowed: tuple[int, int],
    run: Callable[[Device, int, Progress], Found],
    table: Callable[[Device, Found], str],
    as_json: Callable[[Found], dict[str, Any]],
    plot: Callable[[Path, Found], None],
) -> int:
    """Show or write what *run* finds for the size asked for: 0 if that has passed, else 1.

    Sizes are *allowed* from one to the other, *usual* without an option.
    """
    size = usual if args.size is None else args.size
    if not allowed[0] <= size <= allowed[1]:
        raise ArgumentError(f"--size: {size} given, {allowed[0]} to {allowed[1]} are allowed")
    output, picture = pictures.outputs(args.output, args.plot)
    progress = Progress(sys.stderr.isatty())
    progress.show("opening the device (the first time it is probed, which takes some seconds)")
    device = discovery.get(args.device)
    if not device.properties.float64:
        raise ArgumentError(f"--device: {device.name} has no float64, which this needs")
    found = run(device, size, progress)
    progress.clear()
    data = {"device": {"name": device.name, **device.properties.as_dict()}, **as_json(found)}
    text = json.dumps(data, indent=1)
    if output:
        target.replace(output, (text + "\n").encode())
    print(text if args.json else table(device, found))
    if picture:
        plot(picture, found)
    return 0 if data["passed"] else 1
