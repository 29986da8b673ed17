"""The names of ``portmp.routines.order``, and where they are."""

from portmp.routines.order.launch import argsort as argsort
from portmp.routines.order.launch import position as position
from portmp.routines.order.launch import searchsorted as searchsorted
