"""Backends: find devices, move memory, launch kernels, time. One file a driver."""
