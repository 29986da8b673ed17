"""The names of ``portmp.routines.schur``, and where they are."""

from portmp.routines.schur.launch import Unfinished as Unfinished
from portmp.routines.schur.launch import iterate as iterate
from portmp.routines.schur.launch import kernel_spec as kernel_spec
