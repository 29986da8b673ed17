"""Products of matrices and vectors by any method: what they share, and who multiplies."""
