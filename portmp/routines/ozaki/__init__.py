"""GEMM by error-free products of integers: the Ozaki scheme by slices and by residues."""

from portmp.routines.ozaki.options import Ozaki1, Ozaki2

__all__ = ["Ozaki1", "Ozaki2"]
