"""Short storage formats: the experiments of a paper."""
