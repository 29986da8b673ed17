"""The names of ``portmp.routines.elementwise``, and where they are."""

from portmp.routines.elementwise.launch import NAMES as NAMES
from portmp.routines.elementwise.launch import Operand as Operand
from portmp.routines.elementwise.launch import apply as apply
from portmp.routines.elementwise.launch import axpy as axpy
from portmp.routines.elementwise.launch import contiguous as contiguous
from portmp.routines.elementwise.launch import converted as converted
from portmp.routines.elementwise.launch import converts as converts
from portmp.routines.elementwise.launch import fill as fill
from portmp.routines.elementwise.launch import fitted as fitted
from portmp.routines.elementwise.launch import kernel_spec as kernel_spec
from portmp.routines.elementwise.launch import scal as scal
from portmp.routines.elementwise.launch import tested as tested
