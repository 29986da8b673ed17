"""Running sums and products along rows."""

from portmp.routines.scan.launch import over_rows

__all__ = ["over_rows"]
