"""Any GPU, and CPUs, through OpenCL drivers."""
