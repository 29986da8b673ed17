"""Elementary functions as networks: each written once, for any word and number of limbs."""

from portmp import _names

__all__, __getattr__, __dir__ = _names(__name__)
