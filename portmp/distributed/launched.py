"""By whom this process was started: mpiexec, or Slurm's srun, which start several at once."""

import os

_VARIABLES = {
    "OMPI_COMM_WORLD_SIZE": "OMPI_COMM_WORLD_RANK",
    "PMI_SIZE": "PMI_RANK",
    "SLURM_STEP_NUM_TASKS": "SLURM_PROCID",
}
"""By which they tell how many processes there are, and which one it is. Slurm's is that of a step:
a batch script itself, which knows how many tasks its job may have, is one process."""


def launched() -> tuple[int, int, str]:
    """Which process it is, of how many, and the variable that says so; none: alone."""
    for size, rank in _VARIABLES.items():
        if os.environ.get(size, "").isdigit():
            return int(os.environ.get(rank) or 0), int(os.environ[size]), size
    return 0, 1, ""
