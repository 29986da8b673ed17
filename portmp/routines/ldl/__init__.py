"""Factors of symmetric indefinite matrices, by panels."""
