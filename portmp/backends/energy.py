"""What a backend offers to tell a device's energy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from portmp.errors import BackendUnavailable, DeviceError

JOULES, WATTS = "joules", "watts"


@dataclass(frozen=True)
class Meter:
    """What tells a device's energy or power.

    ``read`` may be called from any thread; where nothing can be read any more it raises a
    DeviceError with the reason. In ``JOULES`` it gives a counter that only grows, perhaps in steps,
    from any start; in ``WATTS`` the power of the moment. ``lag``: for so many seconds after a
    change of the work it still tells, in part, of what was before.
    """

    about: str
    unit: str
    read: Callable[[], float]
    lag: float = 0.25


def readable(offered: Sequence[Meter]) -> list[Meter]:
    """The meters that can be read; BackendUnavailable with their words where none can."""
    found, problems = [], []
    for meter in offered:
        try:
            meter.read()
        except DeviceError as error:
            problems.append(f"{meter.about}: {error}")
        else:
            found.append(meter)
    if not found:
        raise BackendUnavailable("; ".join(problems))
    return found
