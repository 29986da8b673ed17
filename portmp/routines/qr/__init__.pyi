"""The names of ``portmp.routines.qr``, and where they are."""

from portmp.routines.qr.launch import Factored as Factored
from portmp.routines.qr.launch import alone_spec as alone_spec
from portmp.routines.qr.launch import applied as applied
from portmp.routines.qr.launch import factor as factor
from portmp.routines.qr.launch import panel_spec as panel_spec
