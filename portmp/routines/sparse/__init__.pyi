"""The names of ``portmp.routines.sparse``, and where they are."""

from portmp.routines.sparse.launch import Rows as Rows
from portmp.routines.sparse.launch import kernel_spec as kernel_spec
from portmp.routines.sparse.launch import rows_of as rows_of
from portmp.routines.sparse.launch import times as times
