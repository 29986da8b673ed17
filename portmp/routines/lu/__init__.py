"""LU with partial pivoting by blocks."""
