"""The names of ``portmp.routines.reduce``, and where they are."""

from portmp.routines.reduce.launch import FEW as FEW
from portmp.routines.reduce.launch import LONG as LONG
from portmp.routines.reduce.launch import SHORT as SHORT
from portmp.routines.reduce.launch import Plan as Plan
from portmp.routines.reduce.launch import Schedule as Schedule
from portmp.routines.reduce.launch import compilation_unit as compilation_unit
from portmp.routines.reduce.launch import default as default
from portmp.routines.reduce.launch import dot as dot
from portmp.routines.reduce.launch import fitted as fitted
from portmp.routines.reduce.launch import gemv as gemv
from portmp.routines.reduce.launch import over_rows as over_rows
from portmp.routines.reduce.launch import planned as planned
from portmp.routines.reduce.launch import shape_class as shape_class
from portmp.routines.reduce.roles import IDENTITY as IDENTITY
from portmp.routines.reduce.roles import steps as steps
