"""The names of ``portmp.routines.ldl``, and where they are."""

from portmp.routines.ldl.launch import Factored as Factored
from portmp.routines.ldl.launch import factor as factor
from portmp.routines.ldl.launch import kernel_spec as kernel_spec
