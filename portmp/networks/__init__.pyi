"""The names of ``portmp.networks``, and where they are."""

from portmp.networks import bounded as bounded
from portmp.networks import expansions as expansions
from portmp.networks import gravity as gravity
from portmp.networks import levels as levels
from portmp.networks import normwise as normwise
from portmp.networks.catalogue import NETWORKS as NETWORKS
from portmp.networks.catalogue import evaluate as evaluate
from portmp.networks.catalogue import get as get
from portmp.networks.language import Kind as Kind
from portmp.networks.language import Network as Network
from portmp.networks.language import network as network
