"""Quadruple and octuple precision BLAS: the experiments of a paper."""
