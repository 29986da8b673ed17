"""NVIDIA's management library (NVML), which comes with the driver: versions, clocks, energy."""

import ctypes
import sys
from functools import cache
from typing import Any

from portmp.errors import BackendUnavailable, DeviceError

_NAME = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"
_DRIVER = "it comes with the driver of the GPU"
_SM_CLOCK = 1
"""NVML's number of the clock of the multiprocessors."""
_MILLI = 1e-3
_TEXT = 80


@cache
def library() -> Any:
    """The library, started once; BackendUnavailable where it is missing or does not start."""
    try:
        found: Any = ctypes.CDLL(_NAME)
        status = found.nvmlInit_v2()
    except (OSError, AttributeError) as error:
        raise BackendUnavailable(f"NVML is missing ({error}); {_DRIVER}") from None
    if status:
        raise BackendUnavailable(f"NVML does not start ({_words(found, status)}); {_DRIVER}")
    return found


def _words(found: Any, status: int) -> str:
    """What a status means."""
    try:
        describe = found.nvmlErrorString
        describe.restype = ctypes.c_char_p
        return (describe(status) or b"").decode(errors="replace") or f"status {status}"
    except AttributeError:
        return f"status {status}"


def _call(function: str, *given: Any) -> None:
    """Call a function of the library; DeviceError in its words where it fails."""
    found = library()
    if not hasattr(found, function):
        raise DeviceError(f"this driver has no {function}")
    if status := getattr(found, function)(*given):
        raise DeviceError(_words(found, status))


def driver_version() -> str:
    """The driver's version, ``580.95.05``."""
    text = ctypes.create_string_buffer(_TEXT)
    _call("nvmlSystemGetDriverVersion", text, ctypes.c_uint(len(text)))
    return text.value.decode(errors="replace")


class Board:
    """The GPU at an address of the bus; DeviceError where NVML knows none there.

    Every reading may raise a DeviceError: GPUs differ in what they tell.
    """

    def __init__(self, address: str) -> None:
        self._handle = ctypes.c_void_p()
        place = address.encode()
        _call("nvmlDeviceGetHandleByPciBusId_v2", place, ctypes.byref(self._handle))

    def clock_mhz(self) -> float:
        """The multiprocessors' clock at this moment."""
        clock = ctypes.c_uint()
        _call("nvmlDeviceGetClockInfo", self._handle, _SM_CLOCK, ctypes.byref(clock))
        return float(clock.value)

    def joules(self) -> float:
        """The counter of the board's energy since the driver was loaded."""
        counter = ctypes.c_ulonglong()
        _call("nvmlDeviceGetTotalEnergyConsumption", self._handle, ctypes.byref(counter))
        return counter.value * _MILLI

    def watts(self) -> float:
        """The board's power."""
        power = ctypes.c_uint()
        _call("nvmlDeviceGetPowerUsage", self._handle, ctypes.byref(power))
        return power.value * _MILLI
