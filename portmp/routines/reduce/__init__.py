"""DOT, GEMV, sums, minima, maxima."""
