"""GEMM by error-free products of integers: the Ozaki scheme by slices and by residues."""

from portmp import _names

__all__, __getattr__, __dir__ = _names(__name__)
