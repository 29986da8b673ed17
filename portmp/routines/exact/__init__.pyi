"""The names of ``portmp.routines.exact``, and where they are."""

from portmp.routines.exact.launch import gemm as gemm
from portmp.routines.exact.launch import gemm_apart as gemm_apart
from portmp.routines.exact.launch import over_rows as over_rows
from portmp.routines.exact.launch import over_rows_apart as over_rows_apart
