"""The names of ``portmp.routines.gemm``, and where they are."""

from portmp.routines.gemm.launch import COMBINE_THREADS as COMBINE_THREADS
from portmp.routines.gemm.launch import MAX_GRID_Y as MAX_GRID_Y
from portmp.routines.gemm.launch import Schedule as Schedule
from portmp.routines.gemm.launch import Updates as Updates
from portmp.routines.gemm.launch import compilation_unit as compilation_unit
from portmp.routines.gemm.launch import default as default
from portmp.routines.gemm.launch import fitted as fitted
from portmp.routines.gemm.launch import gemm as gemm
from portmp.routines.gemm.launch import kernel_spec as kernel_spec
from portmp.routines.gemm.launch import operands as operands
from portmp.routines.gemm.launch import shared_out as shared_out
