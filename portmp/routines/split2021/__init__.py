"""The split of a paper of 2021, for its reproduction."""
