"""Energy of AMD GPUs by AMD's management library (amdsmi, a part of ROCm).

Some releases and GPUs have a counter that stands still (within a process, or after days without
a restart): whoever reads it should look whether it moves, and take the power where it does not. On
boards with two GPUs the first one tells the energy of both, the second one nothing.
"""

import contextlib
import io
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from portmp.backends.energy import JOULES, WATTS, Meter, readable
from portmp.errors import BackendUnavailable, DeviceError, one_line

INSTALL = (
    "install ROCm's package amd-smi-lib, then pip install the folder share/amd_smi of ROCm "
    "(/opt/rocm/share/amd_smi)"
)
_MICRO = 1e-6
_COUNTERS = ("energy_accumulator", "power")
"""What releases call the counter; its resolution is in microjoules."""
_POWERS = ("current_socket_power", "average_socket_power", "socket_power")
"""What releases and GPUs have of the power in watts."""
_NO_POWER = 0xFFFF
"""From here on a power is none; neither is "N/A", or 0."""


@cache
def _library() -> Any:
    """The library, started; BackendUnavailable where it is missing."""
    try:
        # Without the library beneath it the package prints, and fails in ways of its own.
        with contextlib.redirect_stdout(io.StringIO()):
            import amdsmi
    except Exception as error:
        raise BackendUnavailable(f"AMD SMI cannot be imported ({error}): {INSTALL}") from None
    try:
        amdsmi.amdsmi_init()
    except Exception as error:
        raise BackendUnavailable(f"AMD SMI does not start: {one_line(error)}") from None
    return amdsmi


def meters(address: str) -> Sequence[Meter]:
    """The counter and the power of the GPU at an address of the bus, as far as it tells them.

    BackendUnavailable where it tells neither, as most virtual GPUs.
    """
    smi = _library()
    try:
        handle = smi.amdsmi_get_processor_handle_from_bdf(address)
    except Exception as error:
        raise BackendUnavailable(
            f"AMD SMI knows no GPU at {address!r} of the bus: {one_line(error)}"
        ) from None

    def joules() -> float:
        found = _asked(smi.amdsmi_get_energy_count, handle)
        return _first(found, _COUNTERS, math.inf) * float(found["counter_resolution"]) * _MICRO

    def watts() -> float:
        return _first(_asked(smi.amdsmi_get_power_info, handle), _POWERS, _NO_POWER)

    return readable(
        (
            Meter("AMD SMI, energy counter of the board", JOULES, joules),
            Meter("AMD SMI, power of the board", WATTS, watts, 1.0),
        )
    )


def _asked(call: Any, handle: Any) -> dict[str, Any]:
    """What a call gives; DeviceError in the library's words."""
    try:
        found: dict[str, Any] = call(handle)
    except Exception as error:
        raise DeviceError(one_line(error)) from None
    return found


def _first(found: dict[str, Any], names: Sequence[str], end: float) -> float:
    """The first of these entries that is a number above 0 and below *end*; else DeviceError."""
    for name in names:
        value = found.get(name)
        if isinstance(value, (int, float)) and 0 < value < end:
            return float(value)
    raise DeviceError(f"it tells no {' or '.join(names)}")
