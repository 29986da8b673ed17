"""Demonstrations: what formats and storage do to real data."""
