"""The names of ``portmp.routines.plain``, and where they are."""

from portmp.routines.plain.launch import apply as apply
from portmp.routines.plain.launch import counted as counted
from portmp.routines.plain.launch import fill as fill
from portmp.routines.plain.operations import OPERATIONS as OPERATIONS
