"""The names of ``portmp.routines.jacobi``, and where they are."""

from portmp.routines.jacobi.launch import kernel_spec as kernel_spec
from portmp.routines.jacobi.launch import measured as measured
from portmp.routines.jacobi.launch import turned as turned
from portmp.routines.jacobi.rule import Rule as Rule
