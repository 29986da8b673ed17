"""Conversions between formats and plain integers."""
