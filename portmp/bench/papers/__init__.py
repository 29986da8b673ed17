"""Papers' experiments, repeated on a device: one folder a paper."""
