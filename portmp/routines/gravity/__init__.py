"""Gravity by direct summation."""
