"""Which values and block a call of a user's kernel takes: the declared ones, or measured ones.

``Kernel.tune`` keeps what it found in the user's database (``schedules.database``), under the
kernel's text, the device and its compiler: a kernel that is edited, or compiled by another version,
has no schedule until it is tuned again. Values must change no bits, which ``tune`` checks.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from portmp.backends.base import Device, Queue
from portmp.kernels.signature import Declaration
from portmp.kernels.words.types import Block
from portmp.schedules import database

Value = int | float | str
"""What a database keeps of a template's values; truth values are integers."""


@dataclass(frozen=True)
class Declared:
    """What a kernel was declared with, beside its template."""

    signature: str
    threads: Any
    grid: Any
    block: Any

    def __str__(self) -> str:
        """The same for the same declaration in another process; the text has the block."""
        return f"{self.signature} {_told(self.threads)} {_told(self.grid)}"


def _told(extent: Any) -> str:
    """A function by what it does: its code, which has no address in it."""
    code = getattr(extent, "__code__", None)
    return repr(extent) if code is None else f"{code.co_code.hex()} {code.co_names}"


@dataclass(frozen=True)
class Schedule:
    """Values of a template and the threads of a block; *origin*: where they come from.

    ``declared``, or ``user`` and the date of the measurement.
    """

    values: tuple[tuple[str, Value], ...]
    block: tuple[int, ...]
    origin: str = "declared"

    def __str__(self) -> str:
        return f"{self.words()} ({self.origin})"

    def words(self) -> str:
        """Values and block in a line."""
        block = self.block
        while len(block) > 1 and block[-1] == 1:
            block = block[:-1]
        pairs = [*self.values, ("block", "x".join(map(str, block)))]
        return " ".join(f"{name}={value}" for name, value in pairs)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"values": dict(self.values), "block": list(self.block), "origin": self.origin}


class Subject(Protocol):
    """A kernel as what tunes and verifies it sees it."""

    name: str
    signature: Declaration
    declared: Declared
    block: Block
    module: Any

    def __call__(self, *given: Any, device: str | Device | None = None, **named: Any) -> Any: ...

    def varied(self, schedule: Schedule) -> Any: ...

    def arguments(self, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]: ...

    def new_arrays(self, arguments: Mapping[str, Any], queue: Queue) -> dict[str, Any]: ...


def own(kernel: Subject) -> Schedule:
    """What a kernel is declared with, as far as a database can keep it: numbers and texts."""
    values = kernel.module.values.items()
    kept = tuple((k, v) for k, v in values if isinstance(v, (int, float, str)))
    return Schedule(kept, kernel.block.dimensions)


def purpose(kernel: Subject, device: Device) -> dict[str, Any]:
    """What an entry is for: the kernel by its text, the device, the compiler."""
    declared = kernel.declared
    text = kernel.module.write(device.platform, device.traits).source.text
    told = hashlib.sha256(f"{declared}\0{text}".encode()).hexdigest()
    compiler = hashlib.sha256(device.compiler_key().encode()).hexdigest()
    return {
        "kernel": kernel.name,
        "template": kernel.module.name,
        "text": told[:32],
        "where": database.identity(device),
        "compiler": compiler[:32],
    }


def find(kernel: Subject, device: Device) -> Schedule:
    """The measured schedule of a kernel on a device, or its own."""
    declared, names = own(kernel), (kernel.name, kernel.module.name)
    entries = [e for e in database.kernels() if (e["kernel"], e["template"]) == names]
    wanted = purpose(kernel, device) if entries else {}  # which renders the kernel
    for entry in entries:
        if all(entry[key] == value for key, value in wanted.items()):
            stored, values = entry["schedule"], dict(declared.values)
            known = values | stored["values"]
            if known.keys() == values.keys():
                origin = f"user {entry['measured']['date']}"
                return Schedule(tuple(known.items()), tuple(stored["block"]), origin)
    return declared
