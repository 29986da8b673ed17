"""Discrete Fourier transforms of rows of complex numbers."""
