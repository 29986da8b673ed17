"""The names of ``portmp.kernels``, and where they are."""

from portmp.kernels.kernel import Kernel as Kernel
from portmp.kernels.kernel import Module as Module
