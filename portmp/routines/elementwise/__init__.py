"""Elementwise operations, AXPY and SCAL, with strides and broadcasting."""
