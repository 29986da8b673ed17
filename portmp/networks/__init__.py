"""Arithmetic as data: straight-line programs over words and expansions."""

from portmp.networks.language import NETWORKS, Kind, Network, evaluate, get, network

# These add their networks to NETWORKS; gravity's are written with those of expansions.
from portmp.networks import expansions, gravity, levels, bounded, normwise  # isort: skip

__all__ = [
    "NETWORKS",
    "Kind",
    "Network",
    "bounded",
    "evaluate",
    "expansions",
    "get",
    "gravity",
    "levels",
    "network",
    "normwise",
]
