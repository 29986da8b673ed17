"""Gravity of particles: forces, systems that move, simulations."""

from portmp import _load_arrays, _loading

with _loading:  # all of it as one thread's work: portmp says why
    _load_arrays()
    from portmp.nbody import particles as particles
    from portmp.nbody import system as system
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
