"""Arithmetic as data: straight-line programs over words and expansions."""

from portmp.networks.language import Kind, Network, evaluate, network
from portmp.networks.library import NETWORKS, get

__all__ = ["NETWORKS", "Kind", "Network", "evaluate", "get", "network"]
