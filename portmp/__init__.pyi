"""The names of ``portmp``, for type checkers and for what loads them.

Of functions on arrays each module's ``__all__`` names them; modules that are not named here are
there, too (``portmp.formats``).
"""

from typing import Any

from portmp import distributed as distributed
from portmp import errors as errors
from portmp import fft as fft
from portmp import linalg as linalg
from portmp import nbody as nbody
from portmp import random as random
from portmp.arrays import testing as testing
from portmp.arrays.applied import *
from portmp.arrays.arranging import *
from portmp.arrays.array import *
from portmp.arrays.blas import *
from portmp.arrays.choosing import *
from portmp.arrays.closeness import *
from portmp.arrays.composed import *
from portmp.arrays.counting import *
from portmp.arrays.creation import *
from portmp.arrays.dtypes import *
from portmp.arrays.elementwise import *
from portmp.arrays.errstate import errstate as errstate
from portmp.arrays.errstate import seterr as seterr
from portmp.arrays.functions import *
from portmp.arrays.fusing import fuse as fuse
from portmp.arrays.inspection import __array_api_version__ as __array_api_version__
from portmp.arrays.inspection import __array_namespace_info__ as __array_namespace_info__
from portmp.arrays.manipulation import *
from portmp.arrays.missing import *
from portmp.arrays.names import *
from portmp.arrays.numerics import *
from portmp.arrays.plain import *
from portmp.arrays.polynomials import *
from portmp.arrays.printing import *
from portmp.arrays.products import *
from portmp.arrays.queues import *
from portmp.arrays.sorting import *
from portmp.arrays.statistics import *
from portmp.definition import __version__ as __version__
from portmp.discovery import device as device
from portmp.discovery import devices as devices
from portmp.distributed.creation import shard as shard
from portmp.distributed.layout import BlockCyclic as BlockCyclic
from portmp.distributed.layout import Replicated as Replicated
from portmp.distributed.layout import Rows as Rows
from portmp.errors import PortmpError as PortmpError
from portmp.files.saved import load as load
from portmp.files.saved import save as save
from portmp.formats.constants import e as e
from portmp.formats.constants import euler_gamma as euler_gamma
from portmp.formats.constants import ln2 as ln2
from portmp.formats.constants import pi as pi
from portmp.kernels import Kernel as Kernel
from portmp.kernels import Module as Module
from portmp.linalg import sparse as sparse
from portmp.linalg.nonsymmetric import roots as roots
from portmp.linalg.polynomials import poly1d as poly1d
from portmp.linalg.polynomials import polyfit as polyfit
from portmp.nbody import particles as particles
from portmp.nbody import system as system
from portmp.routines import ozaki as ozaki

def _load_arrays() -> None: ...
def _names(package: str) -> tuple[list[str], Any, Any]: ...
def __getattr__(name: str) -> Any: ...
