"""Householder's QR factorisation by blocks."""
