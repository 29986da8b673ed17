"""GEMM by the format's own multiply-accumulate."""
