"""Gravity of particles: forces, systems that move, simulations."""

from portmp.nbody.forces import (
    acceleration,
    energy,
    field,
    kinetic_energy,
    potential,
    potential_energy,
    squared,
)

__all__ = [
    "acceleration",
    "energy",
    "field",
    "kinetic_energy",
    "potential",
    "potential_energy",
    "squared",
]
