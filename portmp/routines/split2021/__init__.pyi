"""The names of ``portmp.routines.split2021``, and where they are."""

from portmp.routines.split2021.launch import FORMAT as FORMAT
from portmp.routines.split2021.launch import MOST as MOST
from portmp.routines.split2021.launch import gemm as gemm
from portmp.routines.split2021.launch import kernel_spec as kernel_spec
from portmp.routines.split2021.launch import split as split
