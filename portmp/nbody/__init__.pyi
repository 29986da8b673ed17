"""The names of ``portmp.nbody``, and where they are."""

from portmp.nbody import particles as particles
from portmp.nbody import system as system
from portmp.nbody.forces import acceleration as acceleration
from portmp.nbody.forces import energy as energy
from portmp.nbody.forces import field as field
from portmp.nbody.forces import kinetic_energy as kinetic_energy
from portmp.nbody.forces import potential as potential
from portmp.nbody.forces import potential_energy as potential_energy
from portmp.nbody.forces import squared as squared
