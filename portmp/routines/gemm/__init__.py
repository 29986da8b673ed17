"""GEMM by the format's own multiply-accumulate."""

from portmp import _names

__all__, __getattr__, __dir__ = _names(__name__)
