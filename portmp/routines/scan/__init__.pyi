"""The names of ``portmp.routines.scan``, and where they are."""

from portmp.routines.scan.launch import over_rows as over_rows
