"""The names of ``portmp.networks.functions``, and where they are."""

from portmp.networks.functions.table import ARITY as ARITY
from portmp.networks.functions.table import function as function
