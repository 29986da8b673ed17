"""Arithmetic as data: straight-line programs over words and expansions."""

from portmp.networks.language import Kind, Network, evaluate, network
from portmp.networks.library import NETWORKS, get

from portmp.networks import gravity  # isort: skip  (adds to the library)

__all__ = ["NETWORKS", "Kind", "Network", "evaluate", "get", "gravity", "network"]
