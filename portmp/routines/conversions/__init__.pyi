"""The names of ``portmp.routines.conversions``, and where they are."""

from portmp.routines.conversions.launch import between as between
from portmp.routines.conversions.launch import from_plain as from_plain
from portmp.routines.conversions.launch import holds as holds
from portmp.routines.conversions.launch import to_plain as to_plain
