"""Triple-single arithmetic: the experiments of a paper."""
