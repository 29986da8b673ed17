"""Arrays of numbers on devices, and the BLAS on them: the public face."""
