"""Energy of NVIDIA GPUs by NVIDIA's management library (nvidia-ml-py).

The counter, where a GPU has one (Volta and later), tells the millijoules of the whole board since
the driver was loaded, in steps of some ten milliseconds; the power is that of the board as well,
averaged over a second by GPUs of Ampere and later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from portmp.backends.energy import JOULES, WATTS, Meter, readable
from portmp.errors import BackendUnavailable, DeviceError

INSTALL = "pip install 'portmp[energy]', or nvidia-ml-py alone"
_AVERAGED = 1.0
"""Seconds over which power may be averaged."""
_MILLI = 1e-3


@cache
def _library() -> Any:
    """The library, started; BackendUnavailable where it is missing."""
    try:
        import pynvml
    except ImportError as error:
        raise BackendUnavailable(f"NVML's bindings are missing ({error}): {INSTALL}") from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise BackendUnavailable(
            f"NVML does not start ({error}); it comes with the driver of the GPU"
        ) from None
    return pynvml


def meters(address: str) -> Sequence[Meter]:
    """The counter and the power of the board at an address of the bus, as far as it tells them.

    BackendUnavailable where it tells neither, as a part of a GPU (MIG) and most virtual ones.
    """
    nvml = _library()

    def reader(name: str) -> Callable[[], float]:
        def read() -> float:
            try:
                return float(getattr(nvml, name)(handle)) * _MILLI
            except nvml.NVMLError as error:
                raise DeviceError(str(error)) from None

        return read

    try:
        handle = nvml.nvmlDeviceGetHandleByPciBusId(address)
    except nvml.NVMLError as error:
        raise BackendUnavailable(f"NVML knows no GPU at {address!r} of the bus: {error}") from None
    offered = (
        Meter("NVML, energy counter of the board", JOULES,
              reader("nvmlDeviceGetTotalEnergyConsumption")),
        Meter("NVML, power of the board", WATTS, reader("nvmlDeviceGetPowerUsage"), _AVERAGED),
    )  # fmt: skip
    return readable(offered)
