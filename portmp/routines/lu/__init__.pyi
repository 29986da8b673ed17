"""The names of ``portmp.routines.lu``, and where they are."""

from portmp.routines.lu.launch import Factored as Factored
from portmp.routines.lu.launch import alone_spec as alone_spec
from portmp.routines.lu.launch import factor as factor
from portmp.routines.lu.launch import panel_spec as panel_spec
from portmp.routines.lu.launch import solved as solved
from portmp.routines.lu.launch import swap_spec as swap_spec
