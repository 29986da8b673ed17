"""The names of ``portmp.routines.cholesky``, and where they are."""

from portmp.routines.cholesky.launch import factor as factor
from portmp.routines.cholesky.launch import kernel_spec as kernel_spec
