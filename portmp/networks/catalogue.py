"""All networks that formats and routines are made of: the table, and the modules that fill it."""

# The last of a row of modules, each of which imports those before it.
from portmp.networks import normwise  # noqa: F401
from portmp.networks.language import NETWORKS, evaluate, get

__all__ = ["NETWORKS", "evaluate", "get"]
