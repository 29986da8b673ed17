"""The names of ``portmp.distributed``, and where they are."""

from portmp.distributed.array import DistributedArray as DistributedArray
from portmp.distributed.creation import eye as eye
from portmp.distributed.creation import full as full
from portmp.distributed.creation import load as load
from portmp.distributed.creation import ones as ones
from portmp.distributed.creation import random as random
from portmp.distributed.creation import standard_normal as standard_normal
from portmp.distributed.creation import zeros as zeros
from portmp.distributed.processes import Processes as Processes
from portmp.distributed.processes import initialize as initialize
