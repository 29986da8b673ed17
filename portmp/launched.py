"""By whom this process was started: mpiexec, or Slurm's srun, which start several at once."""

import os
from typing import NamedTuple


class Launched(NamedTuple):
    """Which process it is, of how many, as a variable of the environment says; none: alone."""

    rank: int
    count: int
    variable: str = ""


_VARIABLES = {
    "OMPI_COMM_WORLD_SIZE": "OMPI_COMM_WORLD_RANK",
    "PMI_SIZE": "PMI_RANK",
    "SLURM_STEP_NUM_TASKS": "SLURM_PROCID",
}
"""By which they tell how many processes there are, and which one it is. Slurm's is that of a step:
a batch script itself, which knows how many tasks its job may have, is one process."""


def launched() -> Launched:
    """What the environment says."""
    for size, rank in _VARIABLES.items():
        if os.environ.get(size, "").isdigit():
            return Launched(int(os.environ.get(rank) or 0), int(os.environ[size]), size)
    return Launched(0, 1)
