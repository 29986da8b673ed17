"""The names of ``portmp.routines.triangular``, and where they are."""

from portmp.routines.triangular.launch import OnDevice as OnDevice
from portmp.routines.triangular.launch import copied_triangle as copied_triangle
from portmp.routines.triangular.launch import kernel_spec as kernel_spec
from portmp.routines.triangular.launch import threads_of as threads_of
from portmp.routines.triangular.steps import Steps as Steps
