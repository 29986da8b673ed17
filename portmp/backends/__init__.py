"""Backends: find devices, move memory, launch kernels, time. One folder a driver."""
