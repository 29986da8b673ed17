"""Elementwise operations, AXPY and SCAL, with strides and broadcasting."""

from portmp import _names

__all__, __getattr__, __dir__ = _names(__name__)
