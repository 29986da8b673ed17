"""Energy of NVIDIA GPUs by NVIDIA's management library.

The counter, where a GPU has one (Volta and later), tells the millijoules of the whole board since
the driver was loaded, in steps of some ten milliseconds; the power is that of the board as well,
averaged over a second by GPUs of Ampere and later.
"""

from collections.abc import Sequence

from portmp.backends.cuda.nvml import Board
from portmp.backends.energy import JOULES, WATTS, Meter, readable
from portmp.errors import BackendUnavailable, DeviceError

_AVERAGED = 1.0
"""Seconds over which power may be averaged."""


def meters(address: str) -> Sequence[Meter]:
    """The counter and the power of the board at an address of the bus, as far as it tells them.

    BackendUnavailable where it tells neither, as a part of a GPU (MIG) and most virtual ones.
    """
    try:
        board = Board(address)
    except DeviceError as error:
        raise BackendUnavailable(f"NVML knows no GPU at {address!r} of the bus: {error}") from None
    return readable(
        (
            Meter("NVML, energy counter of the board", JOULES, board.joules),
            Meter("NVML, power of the board", WATTS, board.watts, _AVERAGED),
        )
    )
