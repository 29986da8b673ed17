"""Kernels under Oclgrind, which checks each access of each thread on a CPU."""
