"""Householder's QR factorisation by blocks."""

from portmp.routines.qr.launch import Factored, applied, factor, panel_spec

__all__ = ["Factored", "applied", "factor", "panel_spec"]
