"""The porting reference: CUDA beside HIP and OpenCL as data, its evidence, and `portmp port`."""
