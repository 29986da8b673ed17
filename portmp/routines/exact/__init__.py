"""Correctly rounded sums and products."""
