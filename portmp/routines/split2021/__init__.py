"""The split of a paper of 2021, for its reproduction."""

from portmp import _names

__all__, __getattr__, __dir__ = _names(__name__)
