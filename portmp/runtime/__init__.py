"""Planes of numbers in a device's memory, and kernels compiled, cached and loaded."""
