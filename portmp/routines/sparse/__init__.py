"""Products of sparse matrices, stored by rows, with vectors and matrices."""
