"""The names of ``portmp.routines.ozaki``, and where they are."""

from portmp.routines.ozaki.options import Auto as Auto
from portmp.routines.ozaki.options import Ozaki1 as Ozaki1
from portmp.routines.ozaki.options import Ozaki2 as Ozaki2
