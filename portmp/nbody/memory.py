"""What a run of ``portmp nbody`` takes of the device's and the host's memory, before it begins.

The host's share is the most that any part of the run takes at once: reading or making the
particles, rounding them to a format, samples, what is written at the end. The bytes below were
measured (peaks of what Python and NumPy allocate, 10^4 to 10^6 particles) and rounded up.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from portmp.backends.base import Device, available_memory
from portmp.errors import OutOfMemory
from portmp.files import arrays as files
from portmp.formats import Format
from portmp.nbody import particles
from portmp.routines.gravity import launch as gravity

LARGE = 10**8
"""Bytes from which the memory of a run is stated."""

SPHERE, DOUBLES = 200, 7 * 8
"""While a sphere is made; its numbers, or a file's, in float64."""
LINE, CHARACTER = 1900, 3
"""While a table is read: each number becomes an exact fraction."""
FRACTION = 300
"""A mass times a constant of its own, exactly."""
WIDENED, CHANGED = 15, 1500
"""Each byte of a saved state's numbers in another format; numbers that are rounded one by one."""
ROUNDED = 75
"""While a particle is rounded to a format, beside three numbers of it."""
LIMB = 110
"""While three numbers are brought to float64 for a sample, each limb, beside the numbers."""
PLACE = 24
"""A sample's position, three numbers of float64."""
DRAWN = 200
"""A particle in a picture."""


@dataclass(frozen=True)
class Start:
    """Initial values: particles (0: not known), and bytes of the host until they are systems."""

    count: int
    making: int


@dataclass(frozen=True)
class Kept:
    """What a run keeps: positions at so many samples, the start for the way back, a state."""

    samples: int = 0
    origin: bool = False
    state: bool = False


# --- initial values --------------------------------------------------------------------------


def sphere(count: int, forms: Sequence[Format]) -> Start:
    """Particles made here."""
    return Start(count, count * max(SPHERE, DOUBLES + _rounding(forms)))


def source(path: str, forms: Sequence[Format]) -> Start:
    """A file's particles, which are not read yet; none of a file that cannot be read."""
    file = Path(path)
    if path in particles.EXAMPLES or not file.is_file():
        return Start(0, 0)
    return _archive(file, forms) if file.suffix.lower() == ".npz" else _table(file)


def _table(file: Path) -> Start:
    count = 0
    try:
        with file.open("rb") as lines:
            for line in lines:
                count += not line.startswith(b"#") and bool(line.strip())
    except OSError:  # reading it will say why
        return Start(0, 0)
    return Start(max(count - 1, 0), count * LINE + file.stat().st_size * CHARACTER)


def _archive(file: Path, forms: Sequence[Format]) -> Start:
    """Arrays, or a state: the file's content beside all arrays, then arrays and copies."""
    found = files.headers(file)
    sizes = [array.nbytes for array in found.values()]
    reading = file.stat().st_size + sum(sizes) + max(sizes, default=0)
    first = found.get("bodies0", found.get("mass"))
    count = first.shape[0] if first and first.shape else 0
    if "facts" in found:
        stored = [array.dtype.name for name, array in found.items() if name.startswith("bodies")]
        changed = any(list(form.planes[: len(stored)]) != stored for form in forms)
        widest = count * (WIDENED * max(f.itemsize for f in forms) + CHANGED * changed)
        return Start(count, max(reading + sum(sizes) // 8, widest))
    copies = sum(sizes) + count * (DOUBLES + FRACTION * ("G" in found))
    return Start(count, max(reading, copies, count * (DOUBLES + _rounding(forms))))


def _rounding(forms: Sequence[Format]) -> int:
    return ROUNDED + 3 * max(form.itemsize for form in forms)


# --- a run -----------------------------------------------------------------------------------


def on_device(count: int, forms: Sequence[Format], device: Device) -> int:
    """Bytes on the device: states and forces of all formats, and room to sample the last.

    And what few particles take so that all units have work.
    """
    state = count * (10 * sum(f.itemsize for f in forms) + 8 * forms[-1].itemsize)
    return state + max(gravity.workspace(f, device, count) for f in forms)


def on_host(start: Start, forms: Sequence[Format], kept: Kept) -> int:
    """Bytes of the host, at the most at once."""
    size, limbs = max(f.itemsize for f in forms), max(f.limbs for f in forms)
    ways = start.count * PLACE * kept.samples * len(forms)
    running = ways + start.count * (
        (3 * size + LIMB * limbs) * bool(kept.samples) + 6 * size * kept.origin
    )
    # Arrays of all samples, and what is on its way to the file; limbs likewise.
    written = 3 * ways + start.count * DRAWN * bool(kept.samples)
    saved = ways + start.count * 10 * size * kept.state
    return max(start.making, running, written, saved)


def check(start: Start, forms: Sequence[Format], kept: Kept, device: Device) -> None:
    """Say what many particles take; OutOfMemory where that is too much. Nothing is made yet."""
    needed, there = on_device(start.count, forms, device), device.properties.memory
    host, spare = on_host(start, forms, kept), available_memory()
    # A CPU's device memory is the host's.
    total = host + needed if device.properties.kind == "cpu" else host
    place = "memory" if spare is None else f"{_gigabytes(spare)} that are free"
    words = (
        f"{start.count} particles take {_gigabytes(needed)} of {device.name}'s "
        f"{_gigabytes(there)} and {_gigabytes(host)} of the host's {place}"
    )
    if total > host:
        words += f", {_gigabytes(total)} in all"
    if needed > there:
        raise OutOfMemory(f"{words}: too much for the device")
    if spare is not None and total > spare:
        advice = f"; --trajectory and --plot keep the positions of {kept.samples} samples"
        raise OutOfMemory(f"{words}: too much for the host{advice if kept.samples else ''}")
    if max(needed, host) > LARGE:
        print(words, file=sys.stderr, flush=True)


def _gigabytes(nbytes: int) -> str:
    size = nbytes / 1e9
    return f"{size:.2g} GB" if size < 10 else f"{size:.0f} GB"
